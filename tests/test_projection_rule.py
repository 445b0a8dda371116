"""When states are projected: the rule counts, keeps its tolerance, leaves orders alone and refuses what is extreme."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

LOOP = {"form": "spatial"}
INTEGRATORS = (
    "projection/dopri5",
    "projection/dop853",
    "projection/adams",
    "index2/phem56",
    "index2/mexx",
    "index2/bdf",
)


def simulate(model: lw.Model, method: str, tolerance: float, t_end: float = 4.0, **options: object) -> lw.Result:
    return model.simulate(t_end, method=lw.Method(*method.split("/"), **options), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("method", INTEGRATORS)
def test_steps_within_the_constraint_tolerance_are_left_as_they_are(method: str) -> None:
    model = lw.models.four_bar(**LOOP)
    always = simulate(model, method, 1e-6)
    seldom = simulate(model, method, 1e-6, constraint_tolerance=1e-6)
    assert always.status.success and seldom.status.success
    assert always.statistics.projections > 0.9 * always.statistics.steps - 2
    assert seldom.statistics.projections < 0.6 * always.statistics.projections
    assert seldom.statistics.linear_solves < always.statistics.linear_solves
    for violations in (seldom.violations.largest, seldom.violations.largest_velocity):
        assert violations[1] < 2e-6
    assert always.violations.largest[1] < 1e-10
    for body in always.bodies:
        assert seldom[body].position[-1] == pytest.approx(always[body].position[-1], abs=2e-3)


def test_a_tighter_constraint_tolerance_asks_for_more_projections() -> None:
    model = lw.models.four_bar(**LOOP)
    counts = [
        simulate(model, "projection/dop853", 1e-6, constraint_tolerance=bound).statistics.projections
        for bound in (1e-5, 1e-7, 1e-9, 1e-14)
    ]
    assert counts == sorted(counts) and counts[0] < 0.2 * counts[-1]


def test_a_step_that_leaves_the_constraints_far_behind_is_refused_and_tried_shorter() -> None:
    model = lw.models.four_bar(**LOOP)
    taken = simulate(model, "projection/dopri5", 1e-1, t_end=2.0)
    careful = simulate(model, "projection/dopri5", 1e-1, t_end=2.0, constraint_tolerance=1e-9)
    assert careful.status.success
    assert careful.statistics.rejected > taken.statistics.rejected
    # fixed steps are taken whatever they are worth
    fixed = model.simulate(
        2.0, method=lw.Method("projection", "dopri5", constraint_tolerance=1e-9), step=0.1, rtol=1e-1, atol=1e-1
    )
    assert fixed.status.success and fixed.statistics.steps == 20 and fixed.statistics.rejected == 0


@pytest.mark.parametrize("form", ("planar", "spatial"))
def test_errors_along_the_constraints_take_longer_steps_to_the_same_motion(form: str) -> None:
    model = lw.models.andrews(form=form)
    whole = simulate(model, "projection/dopri5", 1e-8, 0.02)
    along = simulate(model, "projection/dopri5", 1e-8, 0.02, project_error=True)
    assert along.statistics.steps < 0.8 * whole.statistics.steps
    for body in whole.bodies:
        assert np.abs(along[body].position[-1] - whole[body].position[-1]).max() < 1e-6


def test_the_rule_is_an_option_of_formulations_that_project() -> None:
    with pytest.raises(lw.MethodError, match="'partitioning/dopri5' has no option 'constraint_tolerance'"):
        lw.Method("partitioning", "dopri5", constraint_tolerance=1e-7)
    with pytest.raises(lw.MethodError, match="constraint_tolerance=0 must be a positive number"):
        lw.Method("projection", "dopri5", constraint_tolerance=0)
    with pytest.raises(lw.MethodError, match="project_error=1 must be True or False"):
        lw.Method("projection", "dopri5", project_error=1)
