"""Half-explicit integrators: orders, order conditions, the motion of state-space methods, drift, work, refusals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from catalogue import Case, list_machines, name_of

TIGHT = "tangent_plane/dop853"
LOOP = {"form": "spatial"}


def find_orders(errors: list[float]) -> np.ndarray:
    return np.log2([a / b for a, b in pairwise(errors)])


def calc_errors(model: lw.Model, method: str, t_end: float, counts: tuple[int, ...]) -> np.ndarray:
    """Largest errors at t_end of velocities and of multipliers, a row per number of steps."""
    exact = model.simulate(t_end, method=TIGHT, rtol=1e-13, atol=1e-13)
    rows = []
    for n in counts:
        run = model.simulate(t_end, method=method, step=t_end / n, rtol=1e-12, atol=1e-12)
        assert run.status.success and run.statistics.steps == n
        rows.append((np.abs(run._v[-1] - exact._v[-1]).max(), np.abs(run._lambda[-1] - exact._lambda[-1]).max()))
    return np.array(rows)


@pytest.mark.parametrize(
    ("method", "order", "counts"),
    (("index2/half_explicit_euler", 1, (200, 400, 800)), ("index2/phem56", 5, (20, 40, 80))),
)
def test_velocities_and_multipliers_have_the_order_of_the_method(
    method: str, order: int, counts: tuple[int, ...]
) -> None:
    model = lw.models.andrews()
    errors = calc_errors(model, method, 0.01, counts)
    for column in errors.T:
        assert find_orders(list(column))[-1] == pytest.approx(order, abs=0.25), errors


@pytest.mark.parametrize("case", list_machines(without=("stiff",)), ids=name_of)
def test_half_explicit_euler_follows_every_machine(case: Case) -> None:
    t_end = min(case.t_end, 0.02)
    exact = case.build().simulate(t_end, method=TIGHT, rtol=1e-10, atol=1e-10)
    for tolerance in (1e-3, 1e-5):
        run = case.build().simulate(t_end, method="index2/half_explicit_euler", rtol=tolerance, atol=tolerance)
        assert run.status.success, run.status
        error = max(np.abs(run[body].position[-1] - exact[body].position[-1]).max() for body in run.bodies)
        assert error < 50 * tolerance  # a hundred local errors add up
    assert run.violations.largest[1] < 1e-10 and run.violations.largest_velocity[1] < 1e-9
