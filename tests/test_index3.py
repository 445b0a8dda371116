"""Proves that the Newmark family solves the equations as they stand (index 3): order 2 of positions, velocities and
multipliers from the first step on and at steps that change, constraints where theory says they hold, damping by alpha,
and the same motion as independent coordinates give, stiff vehicle included.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from catalogue import MACHINES
from linkwork import _core
from linkwork.compile import compile_model

PAIRS = ("index3/hht", "index3/generalized_alpha")
CONSTANT = {alpha: (1 - alpha) ** 2 / 4 + alpha / 2 - 1 / 6 for alpha in (-0.05, -0.1, -0.3)}  # of positions


@pytest.fixture(scope="module")
def exact() -> lw.Result:
    grid = np.linspace(0.0, 1.0, 401)
    return lw.models.four_bar(form="spatial").simulate(
        1.0, method="tangent_plane/dop853", rtol=1e-12, atol=1e-12, output=grid
    )


def calc_errors(result: lw.Result, exact: lw.Result) -> np.ndarray:
    """Largest errors of positions, velocities and reactions over all states at hand but the first."""
    truth = exact.at(result.t)
    return np.array(
        [
            max(np.abs(result[b].position - truth[b].position)[1:].max() for b in result.bodies),
            max(np.abs(result[b].velocity - truth[b].velocity)[1:].max() for b in result.bodies),
            max(np.abs(result[j].force - truth[j].force)[1:].max() for j in result.joints),
        ]
    )


# --- order ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", PAIRS)
def test_positions_velocities_and_reactions_have_order_two_from_the_first_step_on(method: str, exact: lw.Result):
    model = lw.models.four_bar(form="spatial")
    errors = [
        calc_errors(model.simulate(1.0, method=method, step=1 / n, rtol=1e-11, atol=1e-11), exact)
        for n in (100, 200, 400)
    ]
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(np.abs(orders[-1] - 2) < 0.1), orders


@pytest.mark.parametrize(("name", "t_end"), (("chain-spherical", 0.2), ("bricard", 0.5), ("spinning_top", 0.05)))
def test_the_order_is_that_of_motions_in_space(name: str, t_end: float):
    """Turns do not commute: the error of a step and the offset of normal velocities have a term [v, v']."""
    model = next(case for case in MACHINES if case.name == name).build()
    errors = []
    for n in (50, 100):
        run = model.simulate(t_end, method="index3/hht", step=t_end / n, rtol=1e-11, atol=1e-11)
        truth = model.simulate(t_end, method="tangent_plane/dop853", rtol=1e-12, atol=1e-12, output=run.t)
        errors.append(calc_errors(run, truth))
    assert np.all(np.abs(np.log2(errors[0] / errors[1]) - 2) < 0.05), errors


def test_the_first_steps_alone_are_of_full_order(exact: lw.Result):
    """Without the offset of normal velocities the reactions of the first steps would be off by O(h)."""
    model = lw.models.four_bar(form="spatial")
    errors = [
        calc_errors(model.simulate(5 * h, method="index3/hht", step=h, rtol=1e-11, atol=1e-11), exact)
        for h in (0.01, 0.005, 0.0025)
    ]
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(orders[-1] > (2.7, 1.8, 1.8)), orders


@pytest.mark.parametrize("method", PAIRS)
def test_order_two_survives_steps_that_change(method: str, exact: lw.Result):
    """Tolerances a thousand times smaller take steps ten times shorter: all errors fall a hundred times."""
    model = lw.models.four_bar(form="spatial")
    loose, tight = (model.simulate(1.0, method=method, rtol=tol, atol=tol) for tol in (1e-5, 1e-8))
    sizes = np.diff(tight.t)[:-1]
    assert sizes.max() > 1.5 * sizes.min()
    shorter = tight.statistics.steps / loose.statistics.steps
    gained = calc_errors(loose, exact) / calc_errors(tight, exact)
    assert np.all(np.log(gained) / math.log(shorter) > 1.75), (shorter, gained)


# --- constraints ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("alpha", CONSTANT)
def test_velocities_miss_their_constraint_by_the_constant_of_theory(alpha: float):
    """The normal velocity makes up for the error of positions: r.v = -c h^2 r.r''' with r.r''' = -3 v.a on a circle."""
    h = 1 / 200
    result = lw.models.simple_pendulum().simulate(
        1.0, method=lw.Method("index3", "hht", alpha=alpha), step=h, rtol=1e-12, atol=1e-12
    )
    r, v, a = (result["bob"].position, result["bob"].velocity, result["bob"].acceleration)
    expected = 3 * CONSTANT[alpha] * h * h * np.einsum("ij,ij->i", v, a)
    observed = np.einsum("ij,ij->i", r, v)
    np.testing.assert_allclose(observed[1:], expected[1:], atol=0.03 * np.abs(expected).max())
    assert result.violations.largest[1] < 1e-12


@pytest.mark.parametrize("name", ("four_bar", "bricard", "andrews-spatial", "slider_crank-driven"))
def test_positions_meet_their_constraints_at_every_step(name: str):
    machine, _, form = name.partition("-")
    keywords = {"driven": {"driven": True}, "spatial": {"form": "spatial"}}.get(form, {})
    t_end = 0.03 if machine == "andrews" else 2.0
    result = getattr(lw.models, machine)(**keywords).simulate(t_end, method="index3/hht", rtol=1e-6, atol=1e-6)
    assert result.status.success and not result.warnings
    assert result.violations.largest[1] < 1e-8 and result.violations.largest_velocity[1] < 1e-2


# --- damping ----------------------------------------------------------------------------------------------------------
def build_oscillator() -> lw.Model:
    """A wheel on a spring at 1 kHz: the pin never moves, so the equations are linear."""
    model = lw.Model("oscillator", gravity=(0, 0, 0))
    wheel = model.add(lw.PlanarBody("wheel", mass=1, inertia=1, angle=0.1))
    model.add(lw.Revolute("pin", model.ground, wheel, point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(lw.RotationalSpring("coil", on="pin", stiffness=(2e3 * math.pi) ** 2, free_angle=-0.1))
    return model


@pytest.mark.parametrize("alpha", (-0.05, -0.1, -1 / 3))
def test_alpha_damps_an_oscillation_as_it_does_in_independent_coordinates(alpha: float):
    runs = [
        build_oscillator().simulate(
            0.02, method=lw.Method(formulation, "hht", alpha=alpha), step=1e-4, rtol=1e-12, atol=1e-12
        )
        for formulation in ("index3", "partitioning")
    ]
    energy = [run.energy.total for run in runs]
    # the first acceleration is taken at another time: the same amplitude but for a fraction of a percent
    left = [e[-1] / e[40] for e in energy]
    assert left[0] == pytest.approx(left[1], rel=1e-3) and left[0] < 0.98


def test_without_damping_multipliers_ring_louder_and_louder():
    """What the methods refuse: normal accelerations have the double root -1, and Newton's last digits excite it."""
    compiled = compile_model(lw.models.simple_pendulum())
    largest = {}
    for alpha in (0.0, -0.1):
        driver = {"t_start": 0.0, "t_end": 10.0, "fixed_step": 0.01, "alpha": alpha}
        arguments = ({}, driver, 1e-6, 1e-6, 1e-6, compiled.q, compiled.v, compiled.memory, {})
        largest[alpha] = np.abs(_core.run(compiled.system, "index3", "hht", *arguments)["lambda_"]).max()
    assert largest[0.0] > 1000 and largest[-0.1] == pytest.approx(3 * 9.81, rel=1e-3), largest


# --- agreement --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", (*PAIRS, "index3/hht/newton_fd"))
def test_the_stiff_vehicle_moves_as_in_independent_coordinates(method: str):
    vehicle = lw.models.hmmwv(stiff=True)
    grid = np.linspace(0, 1, 21)
    truth = vehicle.simulate(1.0, method="partitioning/sdirk4", rtol=1e-7, atol=1e-7, output=grid)
    result = vehicle.simulate(1.0, method=method, rtol=1e-5, atol=1e-5, output=grid)
    assert result.status.success and result.statistics.steps < 400
    assert np.abs(result["chassis"].position - truth["chassis"].position).max() < 1e-4


def test_differences_find_the_steps_of_derivatives():
    model = lw.models.andrews(form="spatial")
    analytic, differences = (
        model.simulate(0.02, method=f"index3/hht/{solver}", rtol=1e-6, atol=1e-6) for solver in ("newton", "newton_fd")
    )
    assert abs(analytic.statistics.steps - differences.statistics.steps) <= 2
    np.testing.assert_allclose(analytic["K1"].position[-1], differences["K1"].position[-1], atol=1e-7)


def test_a_body_that_spins_evenly_is_moved_without_error():
    model = lw.Model("wheel", gravity=(0, 0, 0))
    model.add(lw.Body("wheel", 1.0, (1.0, 2.0, 3.0), angular_velocity=(0, 0, 40.0)))
    result = model.simulate(1.0, method="index3/hht", step=0.05, rtol=1e-12, atol=1e-12)
    turned = result["wheel"].orientation[-1]
    assert abs(turned @ [math.cos(20.0), 0, 0, math.sin(20.0)]) == pytest.approx(1, abs=1e-12)


def test_shorter_steps_do_not_spoil_the_matrix():
    """Divided by 1/h^2 the matrix goes to that of the accelerations; what is lost is eps / h^2 of the multipliers."""
    model = lw.models.four_bar(form="spatial")
    for h in (1e-4, 1e-6):
        result = model.simulate(50 * h, method="index3/hht", step=h, rtol=1e-9, atol=1e-9)
        assert result.status.success
        forces = [np.ptp(result[joint].force, axis=0).max() for joint in result.joints]
        assert max(forces) < 1.0


def test_an_event_ends_a_step_and_the_next_begins_with_full_order():
    """A pendulum loses half of its speed at the bottom: reactions are right from the first step after it."""

    def halve(state):
        state["bob"].velocity = 0.5 * state["bob"].velocity

    model = lw.models.simple_pendulum()
    model.add(lw.Event("bottom", "bob.position.x", direction=1, action=halve))
    runs = [
        model.simulate(1.5, method=method, rtol=tolerance, atol=tolerance)
        for method, tolerance in (("partitioning/dop853", 1e-12), ("index3/hht", 1e-7))
    ]
    assert [len(run.events) for run in runs] == [1, 1]
    assert abs(runs[0].events[0].t - runs[1].events[0].t) < 1e-5
    joint = runs[0].joints[0]
    after = runs[1].t > runs[1].events[0].t + 1e-3
    truth = runs[0].at(runs[1].t[after])[joint].force
    np.testing.assert_allclose(runs[1][joint].force[after], truth, atol=3e-4 * np.abs(truth).max())


# --- words ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("index3", "trapezoidal"), {}, "integrated by 'trapezoidal': without damping .*; its integrators: hht"),
        (("index3", "bdf2"), {}, "'index3' cannot be integrated by 'bdf2'"),
        (("index3", "hht", "krylov"), {}, "no solver 'krylov' on 'index3'; .*: newton, newton_fd .*indefinite"),
        (("index3", "hht", "fixed_point"), {}, "no solver 'fixed_point' on 'index3'; .*newton_fd .*multipliers"),
        (("index3", "hht"), {"alpha": 0.0}, "'index3/hht' needs damping, alpha below 0"),
        (("index3", "generalized_alpha"), {"rho": 1}, "'index3/generalized_alpha' needs damping, rho below 1"),
    ],
)  # fmt: skip
def test_what_index_3_cannot_do_is_refused_with_the_reason(arguments, options, message):
    with pytest.raises(lw.MethodError, match=message):
        lw.Method(*arguments, **options)
