"""Formulations that keep invariants of the underlying equations: projected_invariants [petzold (22), (23)] and odae.

Their iteration matrix against differences, what they keep and at which rate the rest drifts, and where theory says that
they are the same as another formulation. Agreement on all machines and orders: test_formulations.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from catalogue import ELEMENTS, MACHINES, list_machines, name_of
from linkwork.errors import MethodError
from test_reduced_jacobians import difference, open_state_space

KEPT: tuple[dict[str, Any], ...] = ({}, {"curvature": True}, {"invariants": "positions"})


def build_two_masses(second: float = 1.0) -> lw.Model:
    """Two point masses on two rods: M is proportional to the identity when they are alike."""
    model = lw.Model("two masses", gravity=(0, -9.81, 0))
    first = model.add(lw.PointMass("a", 1.0, position=(1, 0, 0)))
    other = model.add(lw.PointMass("b", second, position=(1.5, 0.5, 0)))
    model.add(lw.Distance("upper", model.ground, first, point_a=(0, 0, 0), point_b=(1, 0, 0)))
    model.add(lw.Distance("lower", first, other, point_a=(1, 0, 0), point_b=(1.5, 0.5, 0)))
    return model


def take_steps(model: lw.Model, formulation: str, steps: int, order: int, **options: Any) -> lw.Result:
    method = lw.Method(formulation, "bdf", max_order=order, **options)
    result = model.simulate(0.5, method=method, step=0.5 / steps, rtol=1e-12, atol=1e-12)
    assert result.status.success, result.status
    return result


def calc_gap(one: lw.Result, other: lw.Result) -> float:
    return max(float(np.abs(one[b].position - other[b].position).max()) for b in one.bodies)


# --- iteration matrix -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("options", KEPT, ids=str)
@pytest.mark.parametrize("case", [*list_machines(without=("stiff",)), *ELEMENTS], ids=name_of)
def test_solutions_are_those_with_the_derivative_of_the_residual(case, options):
    space, t, x = open_state_space(case.build(), "projected_invariants", **options)
    kinds = np.array(space.kinds)
    x = np.where(kinds >= 2, 0.0, x)  # multipliers are zero in the exact solution, and their terms are left out
    status, _ = space.jacobian(t, x)
    assert status == 0
    D = difference(space, t, x)
    B = np.diag((kinds < 2).astype(float))
    y = np.random.default_rng(3).uniform(-1, 1, len(x))
    for c in (30.0, 1e3):
        for factor in (1.0, 1.0 + 1.2j):
            A = factor * c * B - D
            r = A @ y
            got = np.array(space.solve(c, r) if factor == 1.0 else space.solve_complex(factor * c, list(r)))
            # a curve is a spline, whose third derivative jumps
            accuracy = 1e-2 if case.name == "point_on_curve" else 1e-6
            assert (np.abs(A @ got - r) < accuracy * (np.abs(A) @ np.abs(y)).max()).all()


# --- what is kept -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", (1, 2))
def test_projection_of_positions_keeps_them_and_velocities_drift_with_the_order(order: int):
    runs = [
        take_steps(build_two_masses(), "projected_invariants", n, order, invariants="positions") for n in (100, 200)
    ]
    drift = [run.violations.largest_velocity[1] for run in runs]
    assert max(run.violations.largest[1] for run in runs) < 1e-12
    assert np.log2(drift[0] / drift[1]) == pytest.approx(order, abs=0.1) and drift[1] > 1e-4


@pytest.mark.parametrize(
    ("formulation", "options"),
    [("projected_invariants", {}), ("projected_invariants", {"curvature": True}), ("odae", {})],
)
def test_positions_and_velocities_are_kept_to_the_last_digits(formulation: str, options: dict[str, Any]):
    run = take_steps(build_two_masses(50.0), formulation, 100, 2, **options)
    assert run.violations.largest[1] < 1e-13 and run.violations.largest_velocity[1] < 1e-12


@pytest.mark.parametrize("method", ("projected_invariants/bdf", "odae/bdf", "odae/park"))
def test_nothing_drifts_in_a_long_run(method: str):
    tolerance = 1e-4
    held = lw.models.four_bar().simulate(50.0, method=method, rtol=tolerance, atol=tolerance)
    assert held.status.success
    assert held.violations.largest[1] < tolerance and held.violations.largest_velocity[1] < 5 * tolerance
    early, late = (
        max(np.abs(held[joint].violation[part]).max() for joint in held.joints)
        for part in (held.t < 10.0, held.t > 40.0)
    )
    assert late < 3 * early


# --- where they are the same as others --------------------------------------------------------------------------------
@pytest.mark.parametrize("order", (1, 2))
def test_without_curvature_it_is_ggl_where_all_masses_are_alike(order: int):
    """Discretely, step for step; with L^T tau, or other masses, the two differ by an error of the method."""
    ggl = take_steps(build_two_masses(), "ggl", 100, order)
    assert calc_gap(take_steps(build_two_masses(), "projected_invariants", 100, order), ggl) < 1e-12
    other = [take_steps(build_two_masses(), "projected_invariants", n, order, curvature=True) for n in (100, 200)]
    gaps = [calc_gap(other[0], ggl), calc_gap(other[1], take_steps(build_two_masses(), "ggl", 200, order))]
    assert np.log2(gaps[0] / gaps[1]) == pytest.approx(order, abs=0.3) and gaps[1] > 1e-5
    heavy = [take_steps(build_two_masses(50.0), f, 100, order) for f in ("projected_invariants", "ggl")]
    assert calc_gap(*heavy) > 1e-5


@pytest.mark.parametrize("integrator", ("bdf2", "park"))
def test_the_overdetermined_equations_are_a_state_space_form_where_constraints_are_linear(integrator: str):
    """Bodies on rails: J is constant, and the corrector that remains tangential is that of any state space."""
    model = lw.Model("rails", gravity=(0, -9.81, 0))
    first = model.add(lw.PlanarBody("a", 1.0, 1.0, velocity=(0.6, 0.8)))
    other = model.add(lw.PlanarBody("b", 3.0, 2.0, position=(1, 1)))
    model.add(lw.Translational("rail", model.ground, first, point=(0, 0, 0), axis=(0.6, 0.8, 0)))
    model.add(lw.Translational("cross rail", first, other, point=(0, 0, 0), axis=(1, 0, 0)))
    model.add(lw.Spring("spring", model.ground, other, point_a=(0, 0, 0), point_b=(1, 1, 0), stiffness=100, damping=1))
    runs = [
        model.simulate(1.0, method=f"{formulation}/{integrator}", step=0.01, rtol=1e-12, atol=1e-12)
        for formulation in ("odae", "partitioning")
    ]
    assert calc_gap(*runs) < 1e-11


@pytest.mark.parametrize("method", ("projected_invariants/bdf", "projected_invariants/radau5", "odae/bdf", "odae/park"))
@pytest.mark.parametrize("case", list_machines("stiff"), ids=name_of)
def test_stiff_machines_agree_with_partitioning(case, method: str):
    t_end = max(case.t_end, 0.02)
    exact = case.build().simulate(t_end, method="partitioning/radau5", rtol=1e-9, atol=1e-9)
    result = case.build().simulate(t_end, method=method, rtol=1e-5, atol=1e-5)
    assert result.status.success and result.statistics.steps < 1000
    for body in result.bodies:
        assert np.allclose(result[body].position[-1], exact[body].position[-1], atol=2e-4), body


@pytest.mark.parametrize("method", ("projected_invariants/bdf/newton_fd", "odae/bdf/newton_fd"))
def test_differences_serve_as_well_as_derivatives(method: str):
    model = next(case for case in MACHINES if case.name == "four_bar-spatial").build()
    by_differences = model.simulate(0.5, method=method, rtol=1e-6, atol=1e-6)
    analytic = model.simulate(0.5, method=method.removesuffix("/newton_fd"), rtol=1e-6, atol=1e-6)
    assert by_differences.statistics.difference_sweeps > 0 == analytic.statistics.difference_sweeps
    assert abs(by_differences.statistics.steps - analytic.statistics.steps) < 5


# --- words ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("odae", "radau5"), {}, "'odae' cannot be integrated by 'radau5'.*multistep.*; its integrators: bdf"),
        (("odae", "bdf"), {"curvature": True}, "'odae/bdf' has no option 'curvature'"),
        (("odae", "bdf", "krylov"), {}, "no solver 'krylov' on 'odae'"),
        (("odae", "park", "fixed_point"), {}, "no solver 'fixed_point' on 'odae'"),
        (
            ("projected_invariants", "rodas"),
            {},
            "cannot be integrated by 'rodas'; its integrators: bdf, radau5, sdirk4",
        ),
        (("projected_invariants", "bdf"), {"invariants": "velocities"}, "no invariants 'velocities'; take both or pos"),
        (("projected_invariants", "bdf"), {"curvature": 1}, "curvature=1 must be True or False"),
    ],
)
def test_what_does_not_exist_is_refused_with_the_partners(arguments, options, message):
    with pytest.raises(MethodError, match=message):
        lw.Method(*arguments, **options)
