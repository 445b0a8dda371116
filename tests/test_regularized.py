"""Redundant rows regularized instead of eliminated: the same motion, the same shortest multipliers."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

MACHINES = {
    "a four-bar of revolutes": (lambda: lw.models.four_bar(form="spatial"), 1.0),
    "Andrews' mechanism in space": (lambda: lw.models.andrews(form="spatial"), 0.01),
    "the vehicle": (lw.models.hmmwv, 0.2),
}
FORMULATIONS = ("index1", "baumgarte", "projection")


def run(model: lw.Model, t_end: float, formulation: str, **options: str) -> lw.Result:
    method = lw.Method(formulation, "dopri5", **options)
    return model.simulate(t_end, method=method, rtol=1e-9, atol=1e-9, progress=False)


def assert_same(one: lw.Result, other: lw.Result, tolerance: float) -> None:
    assert one.status.success and other.status.success
    for body in one.bodies:
        np.testing.assert_allclose(one[body].position[-1], other[body].position[-1], atol=tolerance)
    forces = {joint: (one[joint].force[-1], other[joint].force[-1]) for joint in one.joints}
    largest = max(np.abs(pair[0]).max() for pair in forces.values())
    for joint, (a, b) in forces.items():
        np.testing.assert_allclose(a, b, atol=1e3 * tolerance * largest, err_msg=joint)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("machine", MACHINES)
def test_motion_and_reactions_are_those_of_elimination(machine: str, formulation: str) -> None:
    build, t_end = MACHINES[machine]
    model = build()
    regularized = run(model, t_end, formulation, redundant="regularize")
    assert_same(run(model, t_end, formulation), regularized, 1e-10)


@pytest.mark.parametrize("linear", ("topology", "reduced_band", "augmented_sparse", "augmented_dense"))
def test_every_linear_solver_regularizes(linear: str) -> None:
    model = lw.models.four_bar(form="spatial")
    other = run(model, 0.5, "projection", redundant="regularize", linear=linear)
    assert_same(run(model, 0.5, "projection"), other, 1e-10)


@pytest.mark.parametrize("formulation", ("index1", "projection"))
def test_a_run_passes_singular_positions_on_its_branch_and_tells_them(formulation: str) -> None:
    """The row of parallelograms lies flat twice in two seconds; it moves by one angle."""
    result = run(lw.models.n_four_bar(2), 2.0, formulation, redundant="regularize")
    assert result.status.success and any("passed a singular position" in text for text in result.warnings)
    expected = (0.05781576579789697, 0.9983272678634622)  # upper end of the first rod [iftomm.json, A02, t = 2 s]
    names = [body for body in result.bodies if np.allclose(result[body].position[0, :2], (0, 0.5))]
    np.testing.assert_allclose(2 * result[names[0]].position[-1, :2], expected, atol=1e-5)


def test_the_choice_is_checked_and_belongs_to_formulations_that_take_all_rows() -> None:
    with pytest.raises(lw.MethodError, match="no redundant 'drop'; take eliminate or regularize"):
        lw.Method("projection", "dopri5", redundant="drop")
    with pytest.raises(lw.MethodError, match="'partitioning/dopri5' has no option 'redundant'"):
        lw.Method("partitioning", "dopri5", redundant="regularize")
