"""Proves that the low-order formulas have order 2 at any steps from the first one on, with the constants of theory;
that simple iteration, Krylov and Newton solve the same equations; and that their bounds are where theory puts them.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from linkwork import _core
from linkwork.methods import LOW_ORDER
from test_implicit_integrators import (
    NO_CONVERGENCE,
    SUCCESS,
    build_pendulum,
    build_prothero_robinson,
    calc_orders,
    kepler,
    kepler_exact,
    kepler_jacobian,
    pendulum_jacobian,
)

NEWMARK = ("hht", "generalized_alpha")
FIRST_ORDER = tuple(name for name in LOW_ORDER if name not in NEWMARK)
SOLVERS = ("newton", "krylov", "fixed_point")
BDF2_RATIO = 1 + math.sqrt(2)  # of successive steps, up to which BDF2 is stable
# error of one step over h^3 x''', and growth of the global error over h^2 x''' t: the first by h eta, the second by h
LOCAL = {"trapezoidal": 1 / 12, "bdf2": 2 / 9, "park": 1 / 10}
GLOBAL = {"trapezoidal": 1 / 12, "bdf2": 1 / 3, "park": 1 / 6}


def solve(function, x0, t1, name, rtol=1e-6, atol=None, t0=0.0, jacobian=None, step=0.0, output=(), **options):
    atol = rtol if atol is None else atol
    x0 = np.array(x0, dtype=float)
    options = {**({"second_order": 1} if name in NEWMARK else {}), **options}
    return _core.solve_ode(function, t0, x0, t1, name, rtol, atol, step, list(output), jacobian, options)


def take(function, x0, steps, name, rtol=1e-6, atol=None, t0=0.0, jacobian=None, **options):
    atol = rtol if atol is None else atol
    options = {**({"second_order": 1} if name in NEWMARK else {}), **options}
    run = _core.take_steps(function, t0, np.array(x0, float), list(steps), name, rtol, atol, jacobian, options)
    assert run["status"] == SUCCESS
    return run


def calc_hht_constant(alpha):
    return (1 - alpha) ** 2 / 4 + alpha / 2 - 1 / 6


# --- order ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", LOW_ORDER)
def test_fixed_steps_show_order_two_at_their_ends_and_inside(name, solver):
    times = list(np.linspace(0, 6, 23))
    exact = np.array([kepler_exact(t) for t in times])
    for halves in ({}, {"second_order": 1}) if name in FIRST_ORDER else ({},):
        errors, outputs = [], []
        for count in (320, 640):
            run = solve(
                kepler, kepler_exact(0), 6.0, name, 1e-9, jacobian=kepler_jacobian, step=6.0 / count, output=times,
                solver=solver, **halves,
            )  # fmt: skip
            assert (run["steps"], run["rejected"]) == (count, 0)
            errors.append(np.abs(run["x"][-1] - kepler_exact(6.0)).max())
            outputs.append(np.abs(run["output_x"] - exact).max())
        assert calc_orders(errors)[0] == pytest.approx(2, abs=0.06)
        assert calc_orders(outputs)[0] == pytest.approx(2, abs=0.06)


@pytest.mark.parametrize("solver", ("newton", "krylov"))
@pytest.mark.parametrize("name", LOW_ORDER)
@pytest.mark.parametrize("pattern", ("random", "alternating"))
def test_order_two_survives_steps_that_change_all_the_time(name, solver, pattern):
    errors = []
    for count in (400, 800, 1600):
        if pattern == "random":
            sizes = 2.0 ** np.random.default_rng(5).uniform(-1, 1, count)
        else:
            sizes = np.where(np.arange(count) % 2, 1.0, 2.0)
        steps = 6.0 * sizes / sizes.sum()
        run = take(kepler, kepler_exact(0), steps, name, 1e-9, jacobian=kepler_jacobian, solver=solver)
        errors.append(np.abs(run["x"][-1] - kepler_exact(6.0)).max())
    assert np.log2(errors[0] / errors[-1]) / 2 == pytest.approx(2, abs=0.15), errors


@pytest.mark.parametrize("name", FIRST_ORDER)
@pytest.mark.parametrize("count", (1, 2, 3, 4))
def test_the_first_steps_have_full_order(name, count):
    errors = []
    for h in (0.1, 0.05, 0.025):
        run = take(kepler, kepler_exact(0.5), [h] * count, name, 1e-8, t0=0.5, jacobian=kepler_jacobian)
        errors.append(np.abs(run["x"][-1] - kepler_exact(0.5 + count * h)).max())
    assert min(calc_orders(errors)) > 2.6 and calc_orders(errors)[-1] > 2.8, errors


# --- error constants --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FIRST_ORDER)
def test_the_error_grows_with_the_constant_of_theory(name):
    """x' = 3 t^2 has x''' = 6: the error grows by 6 C h^2 per unit of time once the history is full."""
    h = 1 / 64
    run = solve(lambda t, x: np.array([3 * t * t]), [0.0], 3.0, name, 1e-12, step=h)
    error = run["x"][:, 0] - run["t"] ** 3
    late = run["t"] > 1.5
    growth = np.polyfit(run["t"][late], error[late], 1)[0]
    assert growth == pytest.approx(6 * GLOBAL[name] * h * h, rel=1e-6)


@pytest.mark.parametrize("name", FIRST_ORDER)
@pytest.mark.parametrize("ratio", (1.0, 0.7, 1.6))
def test_the_error_estimate_is_the_error_of_the_step(name, ratio):
    """On a cubic the estimate is exact at equal steps; where steps change, the errors of the past points change it."""
    steps = 0.01 * ratio ** np.arange(12.0)
    run = take(lambda t, x: np.array([3 * t * t]), [0.0], steps, name, rtol=1e-300, atol=1.0)
    t = np.concatenate([[0.0], np.cumsum(steps)])
    h, h1, h2 = steps[-1], steps[-2], steps[-3]
    # the formula with exact past values, from its polynomial
    if name == "trapezoidal":
        expected = h**3 / 2
    else:
        points = t[[-1, -2, -3, -4]] - t[-1]
        share = 0.5 if name == "park" else 0.0
        two = np.linalg.solve(np.vander(points[:3], increasing=True).T, [0, 1, 0])
        three = np.linalg.solve(np.vander(points, increasing=True).T, [0, 1, 0, 0])
        weights = share * three + (1 - share) * np.append(two, 0)
        values = (points + t[-1]) ** 3
        expected = (3 * t[-1] ** 2 - weights[1:] @ values[1:]) / weights[0] - values[0]
        assert expected == pytest.approx(6 * LOCAL[name] * h**3, rel=1e-9) if ratio == 1 else h1 != h2
    assert run["errors"][-1] == pytest.approx(abs(expected), rel=2e-5 if ratio == 1 else 0.3)


@pytest.mark.parametrize("alpha", (0.0, -0.1, -0.2, -0.3))
def test_hht_has_its_error_constant_and_estimates_it(alpha):
    """y'' = 6 t: velocities are exact, positions are wrong by (beta + alpha/2 - 1/6) h^3 y''' in each step."""
    h, constant = 1 / 64, calc_hht_constant(alpha)

    def fall(t, x):
        return np.array([x[1], 6 * t])

    run = solve(fall, [0.0, 0.0], 3.0, "hht", 1e-12, step=h, alpha=alpha)
    late = run["t"] > 1.5
    drift = run["x"][1, 1] - 3 * h * h  # of the first step, whose acceleration is taken at its own time
    error = run["x"][:, 0] - run["t"] ** 3 - drift * run["t"]
    assert np.polyfit(run["t"][late], error[late], 1)[0] == pytest.approx(6 * constant * h * h, rel=1e-5)
    estimates = take(fall, [0.0, 0.0], [h] * 6, "hht", rtol=1e-300, atol=1.0, alpha=alpha)["errors"]
    assert estimates[-1] * math.sqrt(2) == pytest.approx(6 * constant * h**3, rel=1e-3)


@pytest.mark.parametrize("name", LOW_ORDER)
def test_the_error_follows_the_tolerance(name):
    errors = []
    times = list(np.linspace(0, 6, 61))
    exact = np.array([kepler_exact(t) for t in times])
    for tolerance in (1e-4, 1e-6, 1e-8):
        run = solve(kepler, kepler_exact(0), 6.0, name, tolerance, output=times)
        assert run["status"] == SUCCESS and run["t"][-1] == 6.0
        at_steps = max(np.abs(x - kepler_exact(t)).max() for t, x in zip(run["t"], run["x"], strict=True))
        assert np.abs(run["output_x"] - exact).max() < 3 * at_steps + 10 * tolerance
        assert run["rejected"] < 0.1 * run["steps"] + 4
        errors.append(at_steps)
    assert all(a > 8 * b for a, b in pairwise(errors)), errors


@pytest.mark.parametrize("name", LOW_ORDER)
def test_time_may_run_backwards(name):
    run = solve(kepler, kepler_exact(3.0), 0.0, name, 1e-7, t0=3.0, output=[2.0, 1.0])
    assert run["t"][-1] == 0.0 and np.all(np.diff(run["t"]) < 0)
    np.testing.assert_allclose(run["output_x"], [kepler_exact(2.0), kepler_exact(1.0)], atol=3e-3)


# --- damping ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "options", "factor"),
    [
        ("trapezoidal", {}, 1.0),
        ("hht", {"alpha": 0.0}, 1.0),
        ("hht", {"alpha": -0.1}, 0.9 / 1.1),
        ("hht", {"alpha": -0.3}, 0.7 / 1.3),
        ("generalized_alpha", {"rho": 0.5}, 0.5),
        ("generalized_alpha", {"rho": 0.9}, 0.9),
    ],
)
def test_high_frequencies_shrink_by_the_factor_of_theory(name, options, factor):
    def swing(t, x):
        return np.array([x[1], -1e12 * x[0]])

    steps = 60
    run = take(swing, [1.0, 0.0], [1.0] * steps, name, 1e-10, **options)
    sizes = np.abs(run["x"][:, 0])
    # a double or triple root at infinity: the powers of the factor carry a polynomial in the number of steps
    observed = (sizes[steps] / sizes[steps // 2]) ** (2 / steps)
    assert observed == pytest.approx(factor, abs=0.06)


@pytest.mark.parametrize("name", ("bdf2", "park"))
def test_bdf2_and_park_wipe_out_what_is_infinitely_stiff(name):
    run = take(lambda t, x: -1e8 * x, [1.0], [1.0] * 12, name, 1e-8)
    assert abs(run["x"][-1, 0]) < 1e-12


@pytest.mark.parametrize("solver", ("newton", "krylov"))
@pytest.mark.parametrize("name", FIRST_ORDER)
def test_the_number_of_steps_does_not_grow_with_the_stiffness(name, solver):
    counts = []
    for stiffness in (1e3, 1e5, 1e7):
        function, jacobian = build_prothero_robinson(stiffness)
        run = solve(function, [1], 10.0, name, 1e-5, jacobian=jacobian, first_step=1e-3, solver=solver)
        assert run["status"] == SUCCESS and abs(run["x"][-1, 0] - math.cos(10.0)) < 1e-4
        counts.append(run["steps"] + run["rejected"])
    assert max(counts) < 700 and counts[2] <= 1.3 * counts[1] + 10, counts


# --- outer loop -------------------------------------------------------------------------------------------------------
ETA = {"trapezoidal": 1 / 2, "bdf2": 2 / 3, "park": 3 / 5}


@pytest.mark.parametrize("name", FIRST_ORDER)
def test_simple_iteration_converges_exactly_where_h_eta_rho_is_below_one(name):
    rho = 1e4
    function, _ = build_prothero_robinson(rho)
    for fraction, converges in ((0.5, True), (0.85, True), (1.01, False)):  # the second step of park is one of bdf2
        h = fraction / (ETA[name] * rho)
        run = solve(function, [0.0], 30 * h, name, 1e-10, step=h, solver="fixed_point")
        assert (run["status"] == SUCCESS) == converges, fraction
        assert converges or run["status"] == NO_CONVERGENCE
        assert run["jacobians"] == 0


@pytest.mark.parametrize("fraction", (0.3, 0.5, 0.8))
@pytest.mark.parametrize("name", FIRST_ORDER)
def test_simple_iteration_contracts_at_the_rate_h_eta_rho(name, fraction):
    rho, iterates = 1e4, []
    function, _ = build_prothero_robinson(rho)

    def watched(t, x):
        iterates.append((t, x[0]))
        return function(t, x)

    h = fraction / (ETA[name] * rho)
    solve(watched, [0.0], 4 * h, name, 1e-12, step=h, solver="fixed_point")
    last = [x for t, x in iterates if abs(t - 4 * h) < 1e-3 * h]
    changes = np.diff(last)
    assert len(changes) > 5
    np.testing.assert_allclose(changes[1:6] / changes[:5], -fraction, rtol=1e-4)


@pytest.mark.parametrize("alpha", (0.0, -0.1))
def test_krylov_converges_where_stiff_and_soft_motions_meet(alpha):
    """A residual small beside the right side may hide a soft correction larger than the stiff one found."""
    soft, stiff = 1.0, 1e12
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    matrix = -turn @ np.diag([soft, stiff]) @ turn.T

    def function(t, x):
        return np.concatenate([x[2:], matrix @ (x[:2] - [math.cos(t), 0.1])])

    for tolerance in (1e-6, 1e-10):
        runs = [
            solve(function, [1, 0.1, 0, 0], 0.01, "hht", tolerance, step=1e-4, solver=solver, alpha=alpha,
                  jacobian=lambda t, x: np.block([[np.zeros((2, 2)), np.eye(2)], [matrix, np.zeros((2, 2))]]))
            for solver in ("newton", "krylov")
        ]  # fmt: skip
        assert [run["status"] for run in runs] == [SUCCESS, SUCCESS]
        np.testing.assert_allclose(runs[1]["x"][:, :2], runs[0]["x"][:, :2], atol=30 * tolerance)
        assert runs[1]["iterations"] < 4.2 * runs[1]["steps"]


def test_simple_iteration_keeps_the_step_below_its_bound_without_failing_all_the_time():
    function, _ = build_prothero_robinson(1e4)
    run = solve(function, [1.0], 0.3, "park", 1e-4, solver="fixed_point")
    free = solve(function, [1.0], 0.3, "park", 1e-4, solver="krylov")
    assert run["status"] == SUCCESS
    late = run["t"][1:] > 0.05  # the first iterations start so near that one is enough, and show nothing
    assert np.diff(run["t"])[late].max() < 1 / (0.6 * 1e4) < 0.1 * np.diff(free["t"]).max()
    assert run["convergence_failures"] < 0.01 * run["steps"] and run["restrictions"] > 0.5 * run["steps"]
    assert free["steps"] < 0.1 * run["steps"] and free["restrictions"] == 0


@pytest.mark.parametrize("name", LOW_ORDER)
def test_krylov_follows_the_path_of_newton_on_linear_equations(name):
    rng = np.random.default_rng(3)
    stiff = -np.diag([1.0, 1e2, 1e4]) + 0.1 * rng.standard_normal((3, 3))
    matrix = np.block([[np.zeros((3, 3)), np.eye(3)], [stiff, -np.diag([0.1, 1.0, 1e3])]])

    def function(t, x):
        return matrix @ x + np.array([0, 0, 0, math.sin(t), math.cos(t), 1.0])

    options = {"second_order": 1, "jacobian": lambda t, x: matrix}
    newton, krylov = (
        solve(function, np.ones(6), 1.0, name, 1e-6, step=0.02, solver=solver, forcing=1e-9, **options)
        for solver in ("newton", "krylov")
    )
    np.testing.assert_allclose(krylov["x"], newton["x"], rtol=1e-6, atol=1e-8)
    assert krylov["iterations"] == newton["iterations"] and krylov["jacobians"] >= 0
    # no more vectors than unknowns of a half, each time, and one to look at the residual
    assert krylov["krylov_vectors"] <= 4 * krylov["iterations"]


@pytest.mark.parametrize("integrator", ("sdirk4", "radau5", "rodas", "bdf", "park"))
@pytest.mark.parametrize("options", ({}, {"iom": 2}, {"preconditioner": "kept"}, {"preconditioner": "block"}), ids=str)
def test_one_krylov_solver_serves_all_implicit_methods(integrator, options):
    exact = solve(build_pendulum(), [6.28, 6.02, 0, 10], 0.5, "radau5", 1e-10, jacobian=pendulum_jacobian)["x"][-1]
    for halves in ({}, {"second_order": 1}):
        run = solve(
            build_pendulum(), [6.28, 6.02, 0, 10], 0.5, integrator, 1e-6, jacobian=pendulum_jacobian, solver="krylov",
            **options, **halves,
        )  # fmt: skip
        assert run["status"] == SUCCESS and run["krylov_vectors"] > 0
        np.testing.assert_allclose(run["x"][-1], exact, rtol=2e-3)


def test_a_kept_matrix_saves_krylov_vectors():
    model = lw.models.hmmwv(stiff=True)
    plain, kept = (
        model.simulate(0.2, method=lw.Method("partitioning", "park", "krylov", **options), rtol=1e-4, atol=1e-4)
        for options in ({}, {"preconditioner": "kept"})
    )
    assert plain.status.success and kept.status.success
    assert kept.statistics.krylov_vectors < 0.6 * plain.statistics.krylov_vectors
    assert plain.statistics.jacobians == 0 < kept.statistics.jacobians < 5
    np.testing.assert_allclose(kept["chassis"].position[-1], plain["chassis"].position[-1], atol=1e-3)


@pytest.mark.parametrize("name", FIRST_ORDER)
def test_evaluations_are_iterations_and_krylov_vectors_on_mechanisms(name):
    """Besides: one at each accepted state that differs from the last iterate, and a few at starts."""
    model = lw.models.double_pendulum(form="planar")
    for solver in SOLVERS:
        t_end = 0.002 if solver == "fixed_point" else 0.3
        s = model.simulate(t_end, method=f"partitioning/{name}/{solver}", rtol=1e-4, atol=1e-4).statistics
        most = s.iterations + s.krylov_vectors + s.steps + 6 * (s.restarts + 1)
        assert most - s.steps - 12 * (s.restarts + 1) < s.evaluations <= most, (solver, s)
        assert (s.jacobians > 0) == (solver == "newton")


# --- mechanisms -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", LOW_ORDER)
def test_krylov_lets_the_step_of_the_stiff_pendulum_grow_to_what_accuracy_allows(name):
    model = lw.models.double_pendulum(form="planar")
    bound, free, newton = (
        model.simulate(t_end, method=f"partitioning/{name}/{solver}", rtol=1e-4, atol=1e-4).statistics
        for t_end, solver in ((0.005, "fixed_point"), (2.0, "krylov"), (2.0, "newton"))
    )
    assert bound.largest_step < 4e-5 and bound.restrictions > 0.8 * bound.steps
    assert free.largest_step > 500 * bound.largest_step and free.restrictions == 0
    assert free.steps < 1.15 * newton.steps


def test_park_with_krylov_is_far_cheaper_than_adams_on_the_stiff_vehicle():
    """Evaluations are what both methods are made of; seconds are printed by `linkwork bench tlismni`."""
    model = lw.models.hmmwv(stiff=True)
    park = model.simulate(1.0, method="partitioning/park/krylov", rtol=1e-4, atol=1e-4).statistics
    adams = model.simulate(0.01, method="partitioning/adams", rtol=1e-4, atol=1e-4).statistics
    assert 100 * adams.evaluations > 5 * 5 * park.evaluations


@pytest.mark.parametrize("name", ("bdf2", "park"))
@pytest.mark.parametrize("formulation", ("ggl", "index2", "projected_invariants"))
def test_multipliers_among_the_unknowns_cost_no_steps(formulation, name):
    """The error is that of positions and velocities, so steps are those of independent coordinates."""
    vehicle = lw.models.hmmwv(stiff=True)
    one, other = (
        vehicle.simulate(0.5, method=f"{f}/{name}", rtol=1e-4, atol=1e-4) for f in (formulation, "partitioning")
    )
    assert one.status.success and one.statistics.steps < 1.5 * other.statistics.steps
    np.testing.assert_allclose(one["chassis"].position[-1], other["chassis"].position[-1], atol=2e-3)


# --- words ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("partitioning", "hht"), {"alpha": 0.1}, "alpha=0.1 of 'hht' must be numerical damping, from -1/3"),
        (("partitioning", "generalized_alpha"), {"rho": 2}, "rho=2 of 'generalized_alpha' must be"),
        (("partitioning", "park"), {"alpha": -0.1}, "'partitioning/park' has no option 'alpha'"),
        (("partitioning", "park", "krylov"), {"preconditioner": "jacobi"}, "no preconditioner 'jacobi'; take none"),
        (("partitioning", "park", "krylov"), {"iom": -1}, "iom=-1 must be a whole number"),
        (("partitioning", "park"), {"iom": 3}, "has no option 'iom'"),
        (("partitioning", "sdirk4", "fixed_point"), {}, "'sdirk4' has no solver 'fixed_point'; its solvers: newton"),
        (("index1", "park"), {}, "'index1' cannot be integrated by 'park'"),
        (("ggl", "trapezoidal"), {}, "'ggl' cannot be integrated by 'trapezoidal': it does not damp multipliers"),
        (("ggl", "hht"), {}, "'ggl' cannot be integrated by 'hht': it ties positions to accelerations, which index3"),
        (("ggl", "park", "fixed_point"), {}, "no solver 'fixed_point' on 'ggl'"),
    ],
)
def test_options_that_do_not_exist_are_refused(arguments, options, message):
    with pytest.raises(lw.MethodError, match=message.replace("(", r"\(")):
        lw.Method(*arguments, **options)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("hht", {"alpha": -0.5}, "hht has no alpha = -0.5"),
        ("generalized_alpha", {"rho": 1.5}, "generalized_alpha has no rho = 1.5"),
        ("park", {"variant": "2"}, "park has no variants"),
    ],
)
def test_the_core_refuses_them_too(name, options, message):
    with pytest.raises(ValueError, match=message):
        solve(kepler, kepler_exact(0), 1.0, name, **options)
