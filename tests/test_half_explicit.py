"""Half-explicit integrators: orders, order conditions, the motion of state-space methods, drift, work, refusals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from catalogue import Case, list_machines, name_of
from linkwork.compile import compile_model
from linkwork.initial import find_assembly

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


@pytest.mark.parametrize("method", ("index2/phem56", "index2/mexx"))
@pytest.mark.parametrize("case", list_machines(without=("stiff",)), ids=name_of)
def test_methods_of_high_order_follow_every_machine(case: Case, method: str) -> None:
    exact = case.build().simulate(case.t_end, method=TIGHT, rtol=1e-10, atol=1e-10)
    run = case.build().simulate(case.t_end, method=method, rtol=1e-6, atol=1e-6)
    assert run.status.success, run.status
    assert max(np.abs(run[body].position[-1] - exact[body].position[-1]).max() for body in run.bodies) < 1e-5
    assert run.violations.largest[1] < 1e-10 and run.violations.largest_velocity[1] < 1e-9


def test_phem56_takes_steps_by_an_error_of_order_five() -> None:
    model = lw.models.andrews()
    steps = [
        model.simulate(0.03, method="index2/phem56", rtol=tolerance, atol=tolerance).statistics.steps
        for tolerance in (1e-7, 1e-10)
    ]
    # the difference of its two solutions falls with h^4 only where multipliers enter; these parts are left out
    assert 10 ** (3 / 5) * 0.85 < steps[1] / steps[0] < 10 ** (3 / 5) * 1.15


# --- extrapolation ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("place", (0.3, 0.8, 1.0))
@pytest.mark.parametrize(
    ("name", "t_end", "order", "counts"),
    (("andrews", 0.005, 4, (48, 64)), ("andrews", 0.005, 6, (16, 24)), ("pendulum", 1.0, 8, (8, 12))),
)
def test_each_column_of_mexx_adds_two_orders_at_steps_and_between_them(
    name: str, t_end: float, order: int, counts: tuple[int, int], place: float
) -> None:
    model, method = getattr(lw.models, name)(), lw.Method("index2", "mexx", max_order=order)
    errors = []
    for n in counts:
        times = (np.arange(n) + place) * t_end / n
        exact = model.simulate(t_end, method=TIGHT, rtol=1e-13, atol=1e-13, output=times)
        run = model.simulate(t_end, method=method, step=t_end / n, rtol=1e-15, atol=1e-15, output=times)
        assert run.status.success and run.statistics.steps == n
        errors.append(np.abs(run._v - exact._v).max())
    assert np.log(errors[0] / errors[1]) / np.log(counts[1] / counts[0]) > order - 0.7, errors


def build_driven() -> lw.Model:
    """A swinging arm on one that is turned by a motor."""
    model = lw.Model("driven arm")
    inner = model.add(lw.Body("inner", 2.0, (0.1, 0.2, 0.2), position=(0.5, 0, 0)))
    outer = model.add(lw.Body("outer", 1.0, (0.1, 0.2, 0.2), position=(1.5, 0, 0), angular_velocity=(0, 0, 1)))
    model.add(lw.Revolute("pin", model.ground, inner, point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(lw.Spherical("ball", inner, outer, point=(1, 0, 0)))
    model.add(lw.Driver("motor", on="pin", function="0.4*(1 - cos(3*t))"))
    return model


def extrapolate(model: lw.Model, step: float, columns: int) -> np.ndarray:
    """One step of mexx written down with dense matrices: (q, v) at its end, without projection."""
    compiled = compile_model(model)
    system, start = compiled.system, find_assembly(compiled)
    q_0, v_0, memory = start.q, start.v, start.memory
    mass, active = np.asarray(system.mass()), np.asarray(system.active_rows(0.0, q_0, memory)[1]).astype(bool)

    def jacobian(t: float, q: np.ndarray) -> np.ndarray:
        return np.asarray(system.jacobian(t, q, memory))[active]

    def accelerate(t: float, q: np.ndarray, v: np.ndarray, change: np.ndarray) -> np.ndarray:
        J = jacobian(t, q)
        matrix = np.block([[mass, J.T], [J, np.zeros((len(J), len(J)))]])
        return np.linalg.solve(matrix, np.concatenate([system.forces(t, q, v, memory), change]))[: len(v)]

    def target(t: float, q: np.ndarray) -> np.ndarray:
        return np.asarray(system.velocity_target(t, q, memory))[active]

    def change(t: tuple[float, float], q: tuple[np.ndarray, np.ndarray], v: np.ndarray) -> np.ndarray:
        (t_0, t_1), (a, b) = t, q
        return (target(t_1, b) - jacobian(t_1, b) @ v - target(t_0, a) + jacobian(t_0, a) @ v) / (t_1 - t_0)

    table: list[list[np.ndarray]] = []
    for j in range(1, columns + 1):
        n = 4 * j - 2
        h = step / n
        before, q = (q_0, v_0), q_0 + h * np.asarray(system.position_rate(q_0, v_0))
        v = v_0 + h * accelerate(0.0, q_0, v_0, change((0.0, h), (q_0, q), v_0))
        for i in range(1, n):
            t = i * h
            after = before[0] + 2 * h * np.asarray(system.position_rate(q, v))
            a = accelerate(t, q, v, change((t - h, t + h), (before[0], after), v))
            before, q, v = (q, v), after, before[1] + 2 * h * a
        row = [np.concatenate([q, v])]
        for k in range(1, j):
            row.append(row[-1] + (row[-1] - table[-1][k - 1]) / ((n / (4 * (j - k) - 2)) ** 2 - 1))
        table.append(row)
    return table[-1][-1]


@pytest.mark.parametrize("name", ("andrews", "four_bar", "driven"))
def test_a_step_of_mexx_is_the_extrapolated_midpoint_rule(name: str) -> None:
    model, step = {
        "andrews": lambda: (lw.models.andrews(), 1e-3),
        "four_bar": lambda: (lw.models.four_bar(form="spatial"), 0.05),
        "driven": lambda: (build_driven(), 0.05),
    }[name]()
    method = lw.Method("index2", "mexx", max_order=6, project=False)
    run = model.simulate(step, method=method, step=step, rtol=1e-15, atol=1e-15)
    expected = extrapolate(model, step, 3)
    found = np.concatenate([run._q[-1], run._v[-1]])
    assert run.status.success and found == pytest.approx(expected, abs=1e-10 * np.abs(expected).max())


def test_mexx_evaluates_a_jacobian_per_substep_and_raises_its_order_with_the_accuracy() -> None:
    model = lw.models.andrews()
    runs = [model.simulate(0.03, method="index2/mexx", rtol=r, atol=r).statistics for r in (1e-4, 1e-10)]
    for s in runs:
        assert s.factorizations == s.evaluations
        assert s.evaluations < s.linear_solves < 1.7 * s.evaluations  # those of the projections included
        assert s.constraint_jacobians < 1.3 * s.evaluations  # one each, and one more where a chain begins
    assert runs[1].steps < 2.5 * runs[0].steps  # order 5 would take 16 times as many
    with pytest.raises(lw.MethodError, match="max_order=17 of 'mexx' must be an integer from 1 to 16"):
        lw.Method("index2", "mexx", max_order=17)
