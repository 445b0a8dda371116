"""IDA of SUNDIALS as an embedded code, through the package scikit-sundae: variable-order BDF on B w' = f(t, w)."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .embed_contract import Array, Rate, StepFailed
from .embed_cvode import CONVERGENCE
from .embed_scipy import shield
from .status import MissingExtra

FREE = 1e30  # the tolerance of entries that errors are not measured of


class Ida:
    """IDA on the residual B w' - f with its analytic Jacobian c B - f_w, dense.

    Entries without a derivative, the multipliers, stay out of its error norm, and the norm is the mean over the others,
    as in the native integrators.
    """

    one_step = False
    mass: Array | None = None
    algebraic: NDArray[np.bool_] | None = None

    def __init__(self) -> None:
        try:
            from sksundae.ida import IDA
        except ImportError:
            raise MissingExtra("scikit-sundae", "sundials", "the integrator 'ida'") from None
        self._build = IDA
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
        B = np.eye(len(w)) if self.mass is None else self.mass
        algebraic = np.zeros(len(w), dtype=bool) if self.algebraic is None else self.algebraic
        self._t, self._t_end, self.w = t, t_end, w

        def fill_residual(t: float, w: Array, rate: Array, out: Array) -> None:
            out[:] = B @ rate - calc_rate(t, w)

        def fill_jacobian(t: float, w: Array, rate: Array, residual: Array, c: float, out: Array) -> None:
            out[:] = c * B - jac(t, w)

        # IDA takes its mean over all entries
        share = np.sqrt(max(len(w) - int(algebraic.sum()), 1) / len(w))
        index = np.flatnonzero(algebraic)
        self._solver = self._build(
            fill_residual, jacfn=fill_jacobian, linsolver="dense", rtol=float(share * rtol),
            atol=np.where(algebraic, FREE, share * atol), algebraic_idx=index if len(index) else None,
            first_step=float(first_step or 0.0), max_step=float(max_step or 0.0),
        )  # fmt: skip
        rate = np.zeros(len(w))
        rate[~algebraic] = np.linalg.solve(B[np.ix_(~algebraic, ~algebraic)], fun(t, w)[~algebraic])
        self._solver.init_step(t, np.array(w, dtype=float), rate)

    def step(self) -> tuple[float, float]:
        t = self._t
        answer = self._advance("onestep", self._t_end)
        if answer.status >= 0 and answer.t <= t:  # after an interpolation IDA first returns to the end of its step
            answer = self._advance("onestep", self._t_end)
        if answer.status < 0:
            status = "no_convergence" if answer.status in CONVERGENCE else "step_too_small"
            raise StepFailed(status, t, f"IDA gave up at t = {t:.6g} s: {answer.message}")
        self._t, self.w = float(answer.t), np.array(answer.y, dtype=float).ravel()
        return t, self._t

    def interpolate(self, t: float) -> Array:
        if t == self._t:
            return self.w
        return np.array(self._advance("normal", t).y, dtype=float).ravel()

    def _advance(self, kind: str, t: float) -> Any:
        # IDA prints its messages; they are in the status of the run
        with contextlib.redirect_stdout(io.StringIO()):
            return self._solver.step(t, method=kind, tstop=self._t_end)
