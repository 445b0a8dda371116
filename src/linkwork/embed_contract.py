"""What linkwork and an ODE code of others agree upon: the protocol of the code, and how failures are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .errors import LinkworkError
from .status import build_status

Array = NDArray[np.float64]
Rate = Callable[[float, Array], Array]  # f(t, w), or its Jacobian


class EmbedError(LinkworkError, ArithmeticError):
    """Base of the numerical failures of an embedded run; ``status`` is one of linkwork.status.STATUS_NAMES."""

    def __init__(self, status: str, t: float, message: str = ""):
        super().__init__(message or build_status(status, t).message)
        self.status, self.t = status, t


class EvaluationError(EmbedError):
    """The equations cannot be evaluated at (t, w); a shorter step may do.

    ``status`` says why: "position_lost" (no position on the constraints belongs to w), "singular_position" (the
    constraints lost rank there) or "not_finite" (a force or an acceleration is not a number).
    """


class StepFailed(EmbedError):
    """Raised by `OdeCode.step` of a code that gives up: ``status`` "step_too_small" or "no_convergence"."""


class OdeCode(Protocol):
    """An integrator of w' = f(t, w) that takes one step at a time. Any class with these members can be embedded."""

    w: Array
    """The state at the end of the last step."""

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
        """Forgets all history and begins at (t, w), bound for t_end > t, which no evaluation may pass.

        fun(t, w) gives w', jac(t, w) its Jacobian (n, n), both new arrays. atol (n,) holds one tolerance per entry of
        w. Called again after a change of chart, after an event that changes the state, and to repeat a step that could
        not be used, then with a shorter first_step. first_step None: the code finds one. max_step None: no bound.
        """
        ...

    def step(self) -> tuple[float, float]:
        """Takes one step whose error is acceptable and returns (t_old, t_new).

        An EvaluationError of fun or jac may be met with a shorter step or let through: the step is then repeated from
        t_old by a new start. StepFailed says that the code gives up.
        """
        ...

    def interpolate(self, t: float) -> Array:
        """w at t within the last step, by the code's own continuous extension."""
        ...


# Optional members of a code:
#   mass, algebraic           set before `start` for the equations B w' = f(t, w) of "index2" and "ggl": B, (n, n), and
#                             which entries of w have no derivative, (n,); codes without them get f with B = I only
#   one_step: bool            True for methods without history: a new chart keeps the step size (default False)
#   counters: dict[str, int]  totals over all starts by names of `Statistics`: rejected, iterations, ...


def calc_norm(error: Array, weights: Array) -> float:
    """The norm of the native integrators: root mean square of error_i / weight_i."""
    return float(np.sqrt(np.mean((error / weights) ** 2)))


def find_first_step(fun: Rate, t: float, w: Array, t_end: float, rtol: float, atol: Array, order: int) -> float:
    """A first step for a method of this order [Hairer, Norsett, Wanner, Solving ODE I, II.4]; fun may fail."""
    weights = atol + rtol * np.abs(w)
    rate = fun(t, w)
    size, slope = calc_norm(w, weights), calc_norm(rate, weights)
    step = min(1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope, t_end - t)
    for _ in range(20):
        try:
            change = fun(t + step, w + step * rate) - rate
        except EvaluationError:
            step *= 0.1
            continue
        bend = calc_norm(change, weights) / step
        largest = max(slope, bend)
        wanted = max(1e-6, 1e-3 * step) if largest <= 1e-15 else (0.01 / largest) ** (1.0 / (order + 1))
        return float(min(100.0 * step, wanted, t_end - t))
    return step
