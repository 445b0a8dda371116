"""Proves that the integrators have their orders, keep their tolerances at their known cost, interpolate, and fail well.

Work counts of dopri5 are those of Hairer's DOPRI5 on the same problem [hairer II.10]: accepted steps and evaluations,
the same on every machine up to round-off.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from linkwork import _core

NAMES = ("dopri5", "dop853", "adams")
SUCCESS, STEP_TOO_SMALL, NOT_FINITE = 0, 3, 7
ECCENTRICITY = 0.3


def kepler(t, x):
    r3 = math.hypot(x[0], x[1]) ** 3
    return np.array([x[2], x[3], -x[0] / r3, -x[1] / r3])


def kepler_start(e=ECCENTRICITY):
    return np.array([1 - e, 0, 0, math.sqrt((1 + e) / (1 - e))])


def kepler_exact(t, e=ECCENTRICITY):
    """Position and velocity at t from Kepler's equation."""
    anomaly = t
    for _ in range(50):
        anomaly -= (anomaly - e * math.sin(anomaly) - t) / (1 - e * math.cos(anomaly))
    c, s, root = math.cos(anomaly), math.sin(anomaly), math.sqrt(1 - e * e)
    return np.array([c - e, root * s, -s / (1 - e * c), root * c / (1 - e * c)])


def arenstorf(t, y):
    mu = 0.012277471
    d1, d2 = math.hypot(y[0] + mu, y[1]) ** 3, math.hypot(y[0] - 1 + mu, y[1]) ** 3
    a = y[0] + 2 * y[3] - (1 - mu) * (y[0] + mu) / d1 - mu * (y[0] - 1 + mu) / d2
    return np.array([y[2], y[3], a, y[1] - 2 * y[2] - (1 - mu) * y[1] / d1 - mu * y[1] / d2])


ARENSTORF_START = np.array([0.994, 0, 0, -2.00158510637908252240537862224])
ARENSTORF_PERIOD = 17.0652165601579625588917206249


def solve(function, x0, t1, name, tolerance=1e-6, **options):
    return _core.solve_ode(function, 0.0, np.array(x0, dtype=float), t1, name, tolerance, tolerance, **options)


def calc_orders(errors):
    return [math.log2(a / b) for a, b in pairwise(errors)]


@pytest.mark.parametrize(("name", "steps", "order"), [("dopri5", 80, 5), ("dop853", 24, 8)])
def test_the_error_at_fixed_step_falls_with_the_order_of_the_method(name, steps, order):
    t1, errors = 6.0, []
    for count in (steps, 2 * steps, 4 * steps):
        run = solve(kepler, kepler_start(), t1, name, step=t1 / count)
        assert run["steps"] == count
        errors.append(np.abs(run["x"][-1] - kepler_exact(t1)).max())
    assert calc_orders(errors)[-1] > order - 0.6, errors


@pytest.mark.parametrize(("name", "end", "inside"), [("dopri5", 4, 3), ("dop853", 7, 6)])
def test_polynomials_of_the_degree_of_the_method_are_integrated_exactly(name, end, inside):
    times = [0.1, 0.33, 0.9]
    for degree in range(end + 1):
        run = solve(lambda t, x, p=degree: np.array([(t + 0.5) ** p]), [0.0], 1.0, name, step=1.0, output=times)
        exact = [((t + 0.5) ** (degree + 1) - 0.5 ** (degree + 1)) / (degree + 1) for t in (*times, 1.0)]
        assert run["x"][-1, 0] == pytest.approx(exact[-1], rel=2e-14)
        if degree <= inside:
            np.testing.assert_allclose(run["output_x"][:, 0], exact[:-1], rtol=1e-13)
    run = solve(lambda t, x: np.array([(t + 0.5) ** (end + 1)]), [0.0], 1.0, name, step=1.0)
    exact = (1.5 ** (end + 2) - 0.5 ** (end + 2)) / (end + 2)
    assert abs(run["x"][-1, 0] - exact) > 1e-9


@pytest.mark.parametrize(("name", "order"), [("dopri5", 5), ("dop853", 8)])
def test_one_step_on_the_linear_equation_agrees_with_the_exponential_to_the_order(name, order):
    errors = []
    for h in (0.8, 0.4):
        run = solve(lambda t, x: -x, [1.0], h, name, step=h)
        errors.append(abs(run["x"][-1, 0] - math.exp(-h)))
    assert calc_orders(errors)[0] > order + 0.4


@pytest.mark.parametrize("name", NAMES)
def test_the_error_follows_the_tolerance(name):
    t1 = 12.0
    errors = []
    for tolerance in (1e-5, 1e-7, 1e-9, 1e-11):
        run = solve(kepler, kepler_start(), t1, name, tolerance)
        assert run["status"] == SUCCESS
        assert run["t"][-1] == t1
        errors.append(np.abs(run["x"][-1] - kepler_exact(t1)).max())
    assert all(a > 5 * b for a, b in pairwise(errors)), errors
    assert errors[-1] < 1e-8


@pytest.mark.parametrize("name", NAMES)
def test_outputs_between_the_steps_are_as_good_as_the_steps(name):
    times = list(np.linspace(0, 6, 61))
    run = solve(kepler, kepler_start(), 6.0, name, 1e-9, output=times)
    exact = np.array([kepler_exact(t) for t in times])
    at_steps = max(np.abs(x - kepler_exact(t)).max() for t, x in zip(run["t"], run["x"], strict=True))
    assert run["output_x"].shape == (61, 4)
    assert np.abs(run["output_x"] - exact).max() < 5 * at_steps
    np.testing.assert_array_equal(run["output_x"][0], kepler_start())


@pytest.mark.parametrize(("tolerance", "steps", "evaluations"), [(1e-5, 93, 728), (1e-7, 216, 1442), (1e-9, 530, 3212)])
def test_dopri5_needs_the_work_of_the_published_code_on_the_arenstorf_orbit(tolerance, steps, evaluations):
    run = solve(arenstorf, ARENSTORF_START, ARENSTORF_PERIOD, "dopri5", tolerance)
    assert run["steps"] == pytest.approx(steps, abs=2)
    assert run["evaluations"] == pytest.approx(evaluations, rel=0.01)


@pytest.mark.parametrize("tolerance", [1e-5, 1e-7, 1e-9, 1e-11])
def test_dop853_needs_no_more_work_than_the_one_of_scipy(tolerance):
    from scipy.integrate import solve_ivp

    span = (0, ARENSTORF_PERIOD)
    other = solve_ivp(arenstorf, span, ARENSTORF_START, method="DOP853", rtol=tolerance, atol=tolerance)
    run = solve(arenstorf, ARENSTORF_START, ARENSTORF_PERIOD, "dop853", tolerance)
    assert run["evaluations"] == pytest.approx(other.nfev, rel=0.08)


def test_adams_takes_two_evaluations_per_step_and_climbs_to_high_order_on_a_smooth_problem():
    run = solve(kepler, kepler_start(), 20.0, "adams", 1e-9)
    attempts = run["steps"] + run["rejected"]
    assert run["evaluations"] <= 2 * attempts + 3
    assert run["highest_order"] == 12
    assert run["rejected"] < 0.1 * run["steps"]
    # fewer evaluations than the fixed orders need for the same tolerance
    for name in ("dopri5", "dop853"):
        assert run["evaluations"] < solve(kepler, kepler_start(), 20.0, name, 1e-9)["evaluations"]


def test_adams_needs_few_steps_where_the_solution_is_a_polynomial():
    run = solve(lambda t, x: np.array([5 * t**4 - 3 * t**2]), [0.0], 100.0, "adams", 1e-8)
    assert run["x"][-1, 0] == pytest.approx(100.0**5 - 100.0**3, rel=1e-8)
    assert run["steps"] < 80


@pytest.mark.parametrize("name", NAMES)
def test_time_may_run_backwards(name):
    x1 = kepler_exact(5.0)
    run = _core.solve_ode(kepler, 5.0, x1, 0.0, name, 1e-10, 1e-10, output=[4.0, 1.0])
    assert run["t"][-1] == 0.0
    assert np.all(np.diff(run["t"]) < 0)
    np.testing.assert_allclose(run["x"][-1], kepler_start(), atol=1e-7)
    np.testing.assert_allclose(run["output_x"], [kepler_exact(4.0), kepler_exact(1.0)], atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_a_solution_that_escapes_ends_with_a_status_and_the_part_computed(name):
    run = solve(lambda t, x: x**2, [1.0], 2.0, name)  # x = 1 / (1 - t)
    assert run["status"] in (STEP_TOO_SMALL, NOT_FINITE)
    assert run["t"][-1] == pytest.approx(1.0, abs=1e-3)
    early = run["t"] < 0.9
    np.testing.assert_allclose(run["x"][early, 0], 1 / (1 - run["t"][early]), rtol=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_a_rate_that_is_not_finite_beyond_a_point_is_approached_by_shorter_steps(name):
    def function(t, x):
        return np.array([1.0 if x[0] < 1 else math.nan])

    run = solve(function, [0.0], 3.0, name)
    assert run["status"] == NOT_FINITE
    assert run["rejected"] > 10
    assert run["x"][-1, 0] == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_an_exception_of_the_function_ends_the_run_and_is_raised(name):
    def function(t, x):
        if t > 0.5:
            raise LookupError("no road at this point")
        return x

    with pytest.raises(LookupError, match="no road at this point"):
        solve(function, [1.0], 1.0, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_fixed_step_is_kept_whatever_the_error(name):
    run = solve(kepler, kepler_start(), 1.0, name, 1e-12, step=0.03)
    np.testing.assert_allclose(np.diff(run["t"])[:-1], 0.03, rtol=1e-12)
    assert run["t"][-1] == 1.0
    assert run["rejected"] == 0
    assert run["steps"] == 34


@pytest.mark.parametrize("name", NAMES)
def test_the_same_problem_twice_gives_the_same_bits(name):
    first, second = (solve(kepler, kepler_start(), 10.0, name, 1e-8) for _ in range(2))
    np.testing.assert_array_equal(first["x"], second["x"])
    np.testing.assert_array_equal(first["t"], second["t"])


# ---------------------------------------------------------------------------------------------------------------------
# events
# ---------------------------------------------------------------------------------------------------------------------


def build_ball():
    model = lw.Model("ball", gravity=(0, 0, -9.81))
    model.add(lw.PointMass("ball", mass=1, position=(0, 0, 1)))
    return model


def calc_bounces(restitution, t_end):
    fall = math.sqrt(2 / 9.81)
    t, speed, times = fall, 9.81 * fall, []
    while t < t_end:
        times.append(t)
        speed *= restitution
        t += 2 * speed / 9.81
    return times


@pytest.mark.parametrize("name", NAMES)
def test_a_bouncing_ball_bounces_at_the_exact_times_and_fires_once_each(name):
    def bounce(t, state):
        state["ball"].velocity = (0, 0, -0.8 * state["ball"].velocity[2])

    for direction in (-1, 0):
        event = lw.Event("floor", lambda t, state: state["ball"].position[2], direction=direction, action=bounce)
        result = build_ball().simulate(3.0, method=f"index1/{name}", rtol=1e-9, atol=1e-9, events=[event])
        times = [hit.t for hit in result.events]
        np.testing.assert_allclose(times, calc_bounces(0.8, 3.0), atol=1e-9)
        assert result["ball"].position[:, 2].min() > -1e-9


@pytest.mark.parametrize("name", NAMES)
def test_a_stop_ends_the_run_at_the_root_and_later_crossings_of_the_step_are_dropped(name):
    events = [
        lw.Event("half", lambda t, state: state["ball"].position[2] - 0.5, action="stop"),
        lw.Event("later", lambda t, state: state["ball"].position[2] - 0.499),
        lw.Event("earlier", lambda t, state: state["ball"].position[2] - 0.501),
        lw.Event("rising only", lambda t, state: state["ball"].position[2] - 0.9, direction=1),
    ]
    result = build_ball().simulate(3.0, method=f"index1/{name}", rtol=1e-9, atol=1e-9, events=events)
    assert result.status.name == "stopped"
    assert [hit.name for hit in result.events] == ["earlier", "half"]
    assert result.t[-1] == pytest.approx(math.sqrt(1 / 9.81), rel=1e-12)
    assert result["ball"].position[-1, 2] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("name", ["dopri5", "dop853"])
def test_two_crossings_within_one_long_step_are_both_found(name):
    model = lw.Model("thrown", gravity=(0, 0, -9.81))
    model.add(lw.PointMass("ball", mass=1, velocity=(0, 0, 9.81)))
    event = lw.Event("level", lambda t, state: state["ball"].position[2] - 4.5)  # apex 4.905 at t = 1
    result = model.simulate(2.1, method=f"index1/{name}", step=2.1, events=[event])
    half = math.sqrt(2 * (4.905 - 4.5) / 9.81)
    np.testing.assert_allclose([hit.t for hit in result.events], [1 - half, 1 + half], rtol=1e-9)
