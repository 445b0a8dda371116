"""Formulations with the multipliers among their unknowns, index2 and ggl on implicit integrators.

Their linearization against differences, solutions with the iteration matrix against dense ones, the drift of each,
redundant rows, and the work that its options save. That they give the motion, the orders and the reactions of the
others is tested with all pairs in test_formulations.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from catalogue import ELEMENTS, MACHINES, build_everything, list_machines, name_of
from linkwork.errors import MethodError
from linkwork.methods import EMBEDDED, LEGAL, LOW_ORDER, MULTIPLIERS
from test_reduced_jacobians import difference, open_state_space

# those whose errors fit the bounds below: formulas of order 2 are tested in test_low_order.py
NATIVE = [integrator for integrator in LEGAL["ggl"] if integrator not in EMBEDDED + LOW_ORDER]
PAIRS = [f"{f}/{i}" for f in MULTIPLIERS for i in NATIVE]
OF_VELOCITY, OF_POSITION = 2, 3  # kinds of the multipliers in x


def open_near_solution(model, formulation, **options):
    """A state off the constraints, with the multipliers of positions at zero, where they are in the exact solution."""
    space, t, x = open_state_space(model, formulation, **options)
    x = np.where(np.array(space.kinds) == OF_POSITION, 0.0, x)
    status, J = space.jacobian(t, x)
    assert status == 0
    return space, t, x, J


# --- derivatives ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("formulation", MULTIPLIERS)
@pytest.mark.parametrize("case", [*list_machines(without=("stiff",)), *ELEMENTS], ids=name_of)
def test_the_linearization_is_that_of_the_residual(case, formulation):
    space, t, x, J = open_near_solution(case.build(), formulation)
    rows = np.abs(D := difference(space, t, x)).max(axis=1)
    # a curve is a spline, whose third derivative jumps
    tolerance = 1e-4 if case.name == "point_on_curve" else 1e-7
    assert (np.abs(J - D).max(axis=1) < tolerance * np.maximum(rows, 1.0)).all()


@pytest.mark.parametrize("options", ({"formalism": "explicit"}, {"solver": "newton_fd"},
                                     {"solver": "newton_fd", "grouped": False}), ids=str)  # fmt: skip
def test_other_ways_to_the_same_linearization(options):
    model = build_everything()
    _, _, x, J = open_near_solution(model, "ggl")
    other_space, t, _, other = open_near_solution(model, "ggl", **options)
    size = np.abs(J).max(axis=1)
    if "formalism" in options:
        J = difference(other_space, t, x)
        size = np.abs(J).max(axis=1)
    assert (np.abs(other - J).max(axis=1) < 1e-5 * np.maximum(size, 1.0)).all()


@pytest.mark.parametrize("formulation", MULTIPLIERS)
@pytest.mark.parametrize("case", MACHINES, ids=name_of)
def test_solutions_with_the_iteration_matrix_are_those_of_the_dense_one(case, formulation):
    space, _, x, J = open_near_solution(case.build(), formulation)
    n = len(x)
    B = np.column_stack([space.apply_mass(e) for e in np.eye(n)])
    kinds = np.array(space.kinds)
    random = np.random.default_rng(3)
    for c in (30.0, 1e3, 1e5):
        # a correction of usual proportions: multipliers are rates
        y = random.uniform(-1, 1, n) * np.where(kinds >= OF_VELOCITY, c, 1.0) / np.where(kinds == 0, c, 1.0)
        for factor in (1.0, 1.0 + 1.2j):
            A = factor * c * B - J
            r = A @ y
            got = np.array(space.solve(c, r) if factor == 1.0 else space.solve_complex(factor * c, list(r)))
            scale = np.abs(A) @ np.abs(y)
            # an order of pivots found for another c is kept until multipliers grow beyond 1e6
            assert (np.abs(A @ got - r) < 1e-7 * scale.max()).all()


# --- constraints ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("integrator", NATIVE)
def test_positions_drift_at_velocity_level_and_do_not_where_they_are_stabilized(integrator):
    tolerance, t_end = 1e-4, 20.0
    gaps = {}
    for name, method in (
        ("drifting", lw.Method("index2", integrator, project=False)),
        ("projected", lw.Method("index2", integrator)),
        ("stabilized", lw.Method("ggl", integrator)),
    ):
        result = lw.models.four_bar().simulate(t_end, method=method, rtol=tolerance, atol=tolerance)
        assert result.status.success, result.status
        gaps[name] = result.violations.largest[1]
        assert result.violations.largest_velocity[1] < 5 * tolerance
    assert gaps["projected"] < 1e-10 and gaps["stabilized"] < 0.1 * tolerance, gaps
    assert gaps["drifting"] > 3 * gaps["stabilized"], gaps


@pytest.mark.parametrize(
    ("method", "tolerance"),
    (("ggl/bdf", 1e-4), ("index2/bdf", 1e-4), ("index2/phem56", 1e-6), ("projection/dopri5", 1e-6),
     ("partitioning/dopri5", 1e-6)),
)  # fmt: skip
def test_constraints_hold_for_a_thousand_seconds(method, tolerance):
    held = lw.models.four_bar().simulate(1000.0, method=method, rtol=tolerance, atol=tolerance)
    assert held.status.success and held.violations.largest[1] < 0.1 * tolerance


def test_index_1_loses_them_in_a_tenth_of_that_time():
    lost = lw.models.four_bar().simulate(100.0, method="index1/dopri5", rtol=1e-4, atol=1e-4)
    assert lost.violations.largest[1] > 1e-2


def test_redundant_rows_are_off_and_switched_on_where_they_become_independent():
    """A parallelogram begins stretched, where a row is dependent that is not so elsewhere."""
    model = lw.models.n_four_bar(2, form="spatial")
    for method in PAIRS:
        result = model.simulate(0.3, method=method, rtol=1e-6, atol=1e-6)
        assert result.status.success and result.violations.largest[1] < 1e-6
        exact = model.simulate(0.3, rtol=1e-10, atol=1e-10)
        for body in result.bodies:
            assert np.allclose(result[body].position[-1], exact[body].position[-1], atol=1e-4)


@pytest.mark.parametrize("method", PAIRS)
@pytest.mark.parametrize(
    "name", ("four_bar-spatial", "slider_crank-spatial", "bricard", "andrews-spatial", "n_four_bar")
)
def test_accelerations_and_multipliers_of_closed_loops_are_those_of_partitioning(name, method):
    """Reported ones are solved for at the state, on redundant rows the shortest: they are as good as the state."""
    case = next(case for case in MACHINES if case.name == name)
    times = np.linspace(0, case.t_end, 5)
    exact = case.build().simulate(case.t_end, method="partitioning/dop853", rtol=1e-11, atol=1e-11, output=times)
    tolerance = 1e-6 if method.endswith("sdirk4") else 1e-8
    result = case.build().simulate(case.t_end, method=method, rtol=tolerance, atol=tolerance, output=times)
    assert result.status.success
    for got, wanted in ((result._a, exact._a), (result._lambda, exact._lambda)):
        assert np.abs(got - wanted).max() < 1e-3 * np.abs(wanted).max()


# --- stiffness, work, options -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", PAIRS)
@pytest.mark.parametrize("case", list_machines("stiff"), ids=name_of)
def test_stiff_machines_agree_with_partitioning(case, method):
    t_end = max(case.t_end, 0.02)
    exact = case.build().simulate(t_end, method="partitioning/radau5", rtol=1e-9, atol=1e-9)
    result = case.build().simulate(t_end, method=method, rtol=1e-6, atol=1e-6)
    assert result.status.success and result.statistics.steps < 1000
    for body in result.bodies:
        assert np.allclose(result[body].position[-1], exact[body].position[-1], atol=1e-4)
    size = np.abs(exact._lambda[-1]).max()
    assert np.abs(result._lambda[-1] - exact._lambda[-1]).max() < 1e-3 * size


@pytest.mark.parametrize("integrator", NATIVE)
def test_the_jacobian_outlives_changes_of_the_step_unless_told_not_to(integrator):
    counts = {}
    for keep in (True, False):
        method = lw.Method("ggl", integrator, keep_jacobian=keep)
        result = lw.models.double_pendulum().simulate(0.3, method=method, rtol=1e-5, atol=1e-5)
        assert result.status.success
        s = counts[keep] = result.statistics
        assert keep or s.jacobians == s.decompositions
    assert counts[True].jacobians < (0.9 if integrator == "sdirk4" else 0.7) * counts[False].jacobians, counts
    assert counts[True].jacobians < counts[True].decompositions


def test_groups_take_fewer_sweeps_for_the_same_steps():
    runs = [
        lw.models.chain(10).simulate(0.1, method=lw.Method("ggl", "bdf", "newton_fd", grouped=grouped))
        for grouped in (True, False)
    ]
    analytic = lw.models.chain(10).simulate(0.1, method="ggl/bdf/newton")
    assert analytic.statistics.difference_sweeps == 0
    few, many = (run.statistics.difference_sweeps / run.statistics.jacobians for run in runs)
    assert few == 13 and many == 61  # two groups of three coordinates, and all thirty; displaced and faster, and once
    assert runs[0].statistics.steps == runs[1].statistics.steps
    assert np.allclose(runs[0]["link9"].position[-1], analytic["link9"].position[-1], atol=1e-4)


def test_formalisms_are_one_iteration_in_exact_numbers():
    """M is constant, so M^-1 in front of a residual changes nothing but its unit."""
    runs = [
        lw.models.bricard().simulate(0.2, method=lw.Method("ggl", "radau5", formalism=formalism))
        for formalism in ("residual", "explicit")
    ]
    for name in ("steps", "rejected", "iterations", "jacobians", "evaluations"):
        assert getattr(runs[0].statistics, name) == getattr(runs[1].statistics, name), name


def test_events_end_steps_and_outputs_lie_between_them():
    model, times = lw.models.pendulum(), np.linspace(0, 1, 11)
    lowest = lw.Event("lowest", lambda t, state: state["arm"].position[0], action="stop")
    exact = model.simulate(1.0, rtol=1e-11, atol=1e-11, output=times, events=[lowest])
    assert exact.status.name == "stopped"
    for method in PAIRS:
        result = model.simulate(1.0, method=method, rtol=1e-7, atol=1e-7, output=times, events=[lowest])
        assert result.events[0].t == pytest.approx(exact.events[0].t, abs=1e-5)
        assert np.allclose(result["arm"].position, exact["arm"].position, atol=1e-4)


@pytest.mark.parametrize("method", PAIRS)
def test_angles_are_followed_over_turns_and_parameters_keep_their_length(method):
    model = lw.models.pendulum(angular_velocity=30.0, stiffness=1.0)
    result = model.simulate(1.5, method=method, rtol=1e-6, atol=1e-6)
    exact = model.simulate(1.5, rtol=1e-10, atol=1e-10)
    assert result["pin"].angle[-1] > 6 * np.pi
    assert result["pin"].angle[-1] == pytest.approx(exact["pin"].angle[-1], abs=2e-2)
    assert np.abs(np.linalg.norm(result["arm"].orientation, axis=1) - 1).max() < 1e-12


def test_what_theory_does_not_carry_is_refused_with_the_partners():
    with pytest.raises(
        MethodError, match="'ggl' cannot be integrated by 'rodas'; its integrators: bdf, radau5, sdirk4, ida"
    ):
        lw.Method("ggl", "rodas")
    with pytest.raises(MethodError, match="no solver 'krylov' on 'index2'; its solvers on 'index2': newton, newton_fd"):
        lw.Method("index2", "bdf", "krylov")
    with pytest.raises(MethodError, match="there is no formalism 'both'; take residual or explicit"):
        lw.Method("ggl", "bdf", formalism="both")
    with pytest.raises(MethodError, match="project='no' must be True or False"):
        lw.Method("index2", "bdf", project="no")
