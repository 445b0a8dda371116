"""The stepping classes of scipy.integrate as embedded codes: Radau, BDF and LSODA."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .embed_contract import Array, EvaluationError, Rate, StepFailed, find_first_step


def shield(fun: Rate) -> Rate:
    """fun for codes that shorten their steps where a rate is not a number."""

    def calc_rate(t: float, w: Array) -> Array:
        try:
            return fun(t, w)
        except EvaluationError:
            return np.full(len(w), np.nan)

    return calc_rate


class ScipyCode:
    """A stepping class of scipy.integrate; rejected steps are not counted by scipy."""

    name = ""
    order = 1  # of the first step
    one_step = False
    shielded = True  # NaN from fun makes this code shorten its step; else failures are let through

    def __init__(self) -> None:
        self._solver: Any = None
        self._dense: Any = None
        self._decompositions = 0  # of the solvers given up

    def start(
        self,
        fun: Rate,
        jac: Rate,
        t: float,
        w: Array,
        t_end: float,
        rtol: float,
        atol: Array,
        first_step: float | None,
        max_step: float | None,
    ) -> None:
        import scipy.integrate

        self._decompositions = self.counters["decompositions"]
        if first_step is None and self.order:
            first_step = find_first_step(fun, t, w, t_end, rtol, atol, self.order)
        if first_step is not None:
            first_step = min(first_step, t_end - t)
        self._dense, self.w = None, w
        # scipy refuses relative tolerances near round-off with a warning; its own floor is taken silently
        self._solver = getattr(scipy.integrate, self.name)(
            shield(fun) if self.shielded else fun, t, w, t_end, rtol=max(rtol, 1e-13), atol=atol, jac=jac,
            first_step=first_step, max_step=np.inf if max_step is None else max_step,
        )  # fmt: skip
        if self.shielded:
            self._ignore_noise(rtol, atol)

    def _ignore_noise(self, rtol: float, atol: Array) -> None:
        """Ends Newton iterations at corrections far below the tolerance.

        scipy accepts an iterate only when the corrections contract or are exactly zero. Where the motion hardly bends
        they are round-off, do not contract, and the step would be halved in vain, over and over.
        """
        solver, solve, decompose = self._solver, self._solver.solve_lu, self._solver.lu
        smallest = 0.1 * solver.newton_tol
        solved = 0  # systems since the last decomposition; Radau solves a real and a complex one per iteration

        def decompose_and_count(A: Any) -> Any:
            nonlocal solved
            solved = 0
            return decompose(A)

        def solve_above_noise(LU: Any, b: Array) -> Array:
            nonlocal solved
            solved += 1
            x: Array = solve(LU, b)
            if getattr(solver, "sol", True) is None and solved <= 2:
                return x  # Radau's first step is predicted at rest: its first correction is the motion itself
            weights = atol + rtol * np.abs(solver.y)
            return np.zeros_like(x) if np.sqrt(np.mean(np.abs(x / weights) ** 2)) < smallest else x

        solver.lu, solver.solve_lu = decompose_and_count, solve_above_noise

    def step(self) -> tuple[float, float]:
        t = float(self._solver.t)
        # what goes wrong is told by the status of the run, not printed
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            message = self._solver.step()
        if self._solver.status == "failed":
            raise StepFailed("step_too_small", t, f"scipy:{self.name} gave up at t = {t:.6g} s: {message}")
        self._dense, self.w = None, self._solver.y
        return t, float(self._solver.t)

    def interpolate(self, t: float) -> Array:
        if self._dense is None:
            self._dense = self._solver.dense_output()
        return np.asarray(self._dense(t), dtype=float)

    @property
    def counters(self) -> dict[str, int]:
        now = int(self._solver.nlu) if self._solver is not None else 0
        return {"decompositions": self._decompositions + now}


class Radau(ScipyCode):
    name, order, one_step = "Radau", 3, True


class BDF(ScipyCode):
    name = "BDF"


class LSODA(ScipyCode):
    """LSODA finds its first step itself; its norm overlooks NaN, so failures go through it to the driver."""

    name, order, shielded = "LSODA", 0, False
