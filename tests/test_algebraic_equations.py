"""Proves that the implicit integrators solve B x' = f(t, x) with constant B, singular where entries are algebraic.

The pendulum of mass 1 and length 1 in Cartesian coordinates, x = (p, v, lambda[, mu]), of index 2: with the constraint
at velocity level, and stabilized by mu (Gear, Gupta, Leimkuhler). Reference: the angle, by dop853 at 1e-13.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from linkwork import _core

GRAVITY = np.array([0.0, -9.81])


def index2(t, x):
    p, v, force = x[:2], x[2:4], x[4]
    return np.array([*v, *(GRAVITY - p * force), p @ v])


def ggl(t, x):
    p, v, force, stray = x[:2], x[2:4], x[4], x[5]
    return np.array([*(v - p * stray), *(GRAVITY - p * force), p @ v, 0.5 * (p @ p - 1)])


@cache
def find_motion(t):
    def rate(t, y):
        return [y[1], -9.81 * math.sin(y[0])]

    angle, spin = solve_ivp(rate, (0, t), [1.5, 0], rtol=1e-13, atol=1e-13, method="DOP853").y[:, -1] if t else (1.5, 0)
    s, c = math.sin(angle), math.cos(angle)
    return np.array([s, -c, spin * c, spin * s, spin * spin + 9.81 * c, 0.0])


def solve(function, t1, integrator, tolerance, step=0.0, output=(), mass=None, **options):
    size = 5 if function is index2 else 6
    mass = np.diag([1.0] * 4 + [0.0] * (size - 4)) if mass is None else mass
    run = _core.solve_ode(function, 0.0, find_motion(0)[:size], t1, integrator, tolerance, tolerance, step,
                          list(output), None, options, mass, list(range(4, size)))  # fmt: skip
    assert run["status"] == 0
    return run


def calc_errors(run, t):
    """Of positions, velocities, and each multiplier."""
    gap = np.abs(run["x"][-1] - find_motion(t)[: run["x"].shape[1]])
    return np.array([gap[:2].max(), gap[2:4].max(), *gap[4:]])


# Stiffly accurate methods of stage order q: radau5 (5, q = 3) keeps its order in p and v and has q in the multipliers,
# sdirk4 (4, q = 1) falls to 2 and 1 [Hairer, Lubich, Roche 1989].
@pytest.mark.parametrize("function", (index2, ggl))
@pytest.mark.parametrize(("integrator", "order", "multiplier_order"), (("radau5", 5, 3), ("sdirk4", 2, 1)))
def test_orders_at_fixed_step_are_those_of_the_theory_of_index_2(function, integrator, order, multiplier_order):
    counts = (20, 40) if integrator == "radau5" else (80, 160)
    errors = [calc_errors(solve(function, 0.5, integrator, 1e-10, step=0.5 / n), 0.5) for n in counts]
    orders = np.log2(errors[0] / errors[1])
    assert orders[:2] == pytest.approx(order, abs=0.35), orders
    assert orders[2:] == pytest.approx(multiplier_order, abs=0.35), orders


@pytest.mark.parametrize("function", (index2, ggl))
@pytest.mark.parametrize("order", (1, 2, 3, 4, 5))
def test_bdf_has_its_orders_with_the_multipliers_too(function, order):
    """From tolerance to tolerance the error falls, the sooner the higher the order."""
    errors, steps = [], []
    for tolerance in (1e-5, 1e-7) if order > 1 else (1e-3, 1e-5):
        # an error may happen to change its sign just here: the larger one of two neighbours
        runs = [solve(function, 0.5, "bdf", factor * tolerance, max_order=order) for factor in (1, 0.3)]
        assert all(run["highest_order"] <= order for run in runs)
        errors.append(np.maximum(*(calc_errors(run, 0.5) for run in runs)))
        steps.append(runs[0]["steps"])
    assert (errors[1][:3] < 0.2 * errors[0][:3]).all(), errors  # mu jumps with the step
    growth = math.log(steps[1] / steps[0]) / math.log(100)
    assert growth < 1 / (order + 1) + 0.12, steps


@pytest.mark.parametrize("integrator", ("radau5", "sdirk4", "bdf"))
def test_adaptive_steps_find_the_motion_and_dense_output_keeps_to_it(integrator):
    times = [0.13, 0.4, 0.77]
    for function in (index2, ggl):
        errors = []
        for tolerance in (1e-4, 1e-6):
            run = solve(function, 1.0, integrator, tolerance, output=times)
            errors.append(calc_errors(run, 1.0)[:2].max())
            inside = [np.abs(x[:4] - find_motion(t)[:4]).max() for t, x in zip(times, run["output_x"], strict=True)]
            assert max(*inside, errors[-1]) < 300 * tolerance
        assert errors[1] < 0.2 * errors[0]


def test_only_the_stabilized_form_keeps_the_length():
    lengths = []
    for function in (index2, ggl):
        run = solve(function, 20.0, "bdf", 1e-5)
        lengths.append(np.abs(np.linalg.norm(run["x"][:, :2], axis=1) - 1).max())
        along = np.abs((run["x"][:, :2] * run["x"][:, 2:4]).sum(axis=1)).max()
        assert along < 1e-4
    assert lengths[0] > 100 * lengths[1] and lengths[1] < 1e-6, lengths


@pytest.mark.parametrize("integrator", ("radau5", "sdirk4", "bdf"))
def test_a_regular_mass_changes_no_step(integrator):
    """The same work to the step with B = diag(2, 8) as with B = I: powers of two are exact."""

    def rate(t, x):
        return np.array([x[1], -9.81 * math.sin(x[0]) - x[1]])

    scale = np.array([2.0, 8.0])
    plain = _core.solve_ode(rate, 0.0, np.array([1.0, 0.0]), 2.0, integrator, 1e-6, 1e-6)
    massive = _core.solve_ode(lambda t, x: scale * rate(t, x), 0.0, np.array([1.0, 0.0]), 2.0, integrator, 1e-6, 1e-6,
                              mass=np.diag(scale))  # fmt: skip
    for key in ("steps", "rejected", "iterations", "jacobians", "decompositions"):
        assert plain[key] == massive[key], key
    assert np.allclose(plain["x"], massive["x"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("integrator", ("radau5", "bdf"))
def test_the_unit_of_a_multiplier_has_no_part_in_the_error(integrator):
    """A wild start of the multipliers is forgiven: they have no past and no tolerance of their own."""
    start = find_motion(0)
    mass = np.diag([1.0] * 4 + [0.0] * 2)
    runs = []
    for guess in (0.0, 40.0):
        x0 = start + np.array([0, 0, 0, 0, guess, 0])
        run = _core.solve_ode(ggl, 0.0, x0, 1.0, integrator, 1e-6, 1e-6, mass=mass, algebraic=[4, 5])
        assert run["status"] == 0 and calc_errors(run, 1.0)[:2].max() < 1e-4
        runs.append(run["steps"])
    assert runs[1] < 1.5 * runs[0], runs
