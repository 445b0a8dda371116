"""CVODE of SUNDIALS as an embedded code, through the package scikit-sundae: variable-order BDF, one step at a time."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np

from .embed_contract import Array, Rate, StepFailed
from .embed_scipy import shield
from .status import MissingExtra

CONVERGENCE = (-4, -5, -6, -7, -10, -11, -13, -14, -16)  # flags of CVODE that tell of its iteration


class Cvode:
    """CVODE with its BDF formulas and analytic Jacobians, dense.

    CVODE bounds the error of every step in the norm of the native integrators; over a run the errors of its multistep
    formulas add up, typically to ten times the tolerance.
    """

    one_step = False

    def __init__(self) -> None:
        try:
            from sksundae.cvode import CVODE
        except ImportError:
            raise MissingExtra("scikit-sundae", "sundials", "the integrator 'cvode'") from None
        self._build = CVODE
        self._solver: Any = None

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
        calc_rate = shield(fun)
        self._t, self._t_end, self.w = t, t_end, w

        def fill_rate(t: float, w: Array, out: Array) -> None:
            out[:] = calc_rate(t, w)

        def fill_jacobian(t: float, w: Array, rate: Array, out: Array) -> None:
            out[:] = jac(t, w)

        self._solver = self._build(
            fill_rate, jacfn=fill_jacobian, method="BDF", linsolver="dense", rtol=float(rtol), atol=np.array(atol),
            first_step=float(first_step or 0.0), max_step=float(max_step or 0.0),
        )  # fmt: skip
        self._solver.init_step(t, np.array(w, dtype=float))

    def step(self) -> tuple[float, float]:
        t = self._t
        answer = self._advance("onestep", self._t_end)
        if answer.status >= 0 and answer.t <= t:  # after an interpolation CVODE first returns to the end of its step
            answer = self._advance("onestep", self._t_end)
        if answer.status < 0:
            status = "no_convergence" if answer.status in CONVERGENCE else "step_too_small"
            raise StepFailed(status, t, f"CVODE gave up at t = {t:.6g} s: {answer.message}")
        self._t, self.w = float(answer.t), np.array(answer.y, dtype=float).ravel()
        return t, self._t

    def interpolate(self, t: float) -> Array:
        if t == self._t:
            return self.w
        return np.array(self._advance("normal", t).y, dtype=float).ravel()

    def _advance(self, kind: str, t: float) -> Any:
        # CVODE prints its messages; they are in the status of the run
        with contextlib.redirect_stdout(io.StringIO()):
            return self._solver.step(t, method=kind, tstop=self._t_end)
