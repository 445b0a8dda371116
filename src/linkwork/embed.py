"""Embeds any ODE code: the equations of motion as w' = f(t, w), and the codes that are ready to be used.

Two ways. A code that wants a function takes `StateSpace`. A class with the protocol `OdeCode` is an integrator of a
method: ``model.simulate(1.0, method=("partitioning", MyCode))``, with events, outputs and statistics as always.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .embed_contract import Array, EmbedError, EvaluationError, OdeCode, StepFailed, find_first_step
from .embed_driver import run_embedded
from .embed_equations import Equations
from .errors import MethodError
from .methods import EMBEDDED, STATE_SPACE, Method
from .states import find_memory

if TYPE_CHECKING:
    from .hooks import State
    from .initial import Assembly

NAMED = {  # integrator -> module, class
    "scipy:Radau": ("embed_scipy", "Radau"),
    "scipy:BDF": ("embed_scipy", "BDF"),
    "scipy:LSODA": ("embed_scipy", "LSODA"),
    "cvode": ("embed_cvode", "Cvode"),
    "ida": ("embed_ida", "Ida"),
}


class StateSpace:
    """A model as w' = f(t, w), w = (y, y') with y the coordinates of a chart of the positions, one per freedom.

    ``formulation``: "partitioning" (y are some of the position coordinates) or "tangent_plane". ``solver``: "newton"
    for analytic Jacobians, "newton_fd" for differences. ``initial`` and ``start`` as in `simulate`; further options
    are those of the formulation.

    A chart is opened at (`t0`, `w0`) and holds near it. Call `correct` after every step that your code accepts: it
    follows angles over turns and says when another chart was opened, in which the same state has another w; codes with
    a history must begin anew then. `fun`, `jac` and `lift` raise `EvaluationError` where no state belongs to (t, w), so
    that a code can take a shorter step.

        space = lw.embed.StateSpace(model)
        t, w = space.t0, space.w0
        while t < 1.0:
            w = w + 1e-4 * space.fun(t, w)
            t += 1e-4
            w, changed = space.correct(t, w)
        print(space.lift(t, w)["arm"].position)
    """

    def __init__(
        self,
        model: Any,
        formulation: str = "partitioning",
        solver: str = "newton",
        t_start: float = 0.0,
        linear: str = "topology",
        initial: str = "project",
        start: Assembly | None = None,
        **options: Any,
    ) -> None:
        from .compile import compile_model
        from .simulate import find_start

        if formulation not in STATE_SPACE:
            raise MethodError(f"'{formulation}' has no state space of its own; use {' or '.join(STATE_SPACE)}")
        method = Method(formulation, "sdirk4", solver, linear, **options)
        self.compiled = compile_model(model)
        assembly = find_start(model, self.compiled, initial, start, t_start)
        self._equations = Equations(self.compiled.find_system(method.cut), formulation, method.formulation_options)
        self._memory = np.array(assembly.memory, dtype=float)
        self.restart(t_start, assembly.q, assembly.v)

    t0: float
    """Time at which the chart was opened."""
    w0: Array
    """State there, (size,)."""

    @property
    def size(self) -> int:
        """Number of entries of w: two per freedom."""
        return self._equations.size

    @property
    def kinds(self) -> Array:
        """(size,): 0 for entries that are positions (m, rad or Euler parameters), 1 for velocities."""
        return self._equations.kinds

    @property
    def facts(self) -> dict[str, Any]:
        """What was counted so far: evaluations, linearizations, factorizations, repartitions, ..."""
        return self._equations.facts

    def calc_atol(self, atol: float | tuple[float, float]) -> Array:
        """Absolute tolerances (size,) from one number or (position, velocity)."""
        position, velocity = atol if isinstance(atol, tuple) else (atol, atol)
        return self._equations.calc_atol(position, velocity)

    def fun(self, t: float, w: Array) -> Array:
        """w' at (t, w), (size,)."""
        return self._equations.fun(t, self._read(w))

    def jac(self, t: float, w: Array) -> Array:
        """The Jacobian of f at (t, w), (size, size)."""
        return self._equations.jac(t, self._read(w))

    def lift(self, t: float, w: Array) -> State:
        """Bodies, joints and forces by name at (t, w), as event functions see them; .q, .v, .a, .lambda_ are arrays."""
        from .hooks import State

        q, v, a, multipliers = self._equations.lift(t, self._read(w))
        memory = find_memory(self.compiled, float(t), q, self._memory)
        return State(self.compiled, t, q, v, a, multipliers, memory, single=True)

    def correct(self, t: float, w: Array) -> tuple[Array, bool]:
        """To be called with every accepted state: (w, False), or the same state in a new chart and True."""
        corrected, changed = self._equations.correct(t, self._read(w))
        q = self._equations.lift(t, corrected)[0]
        self._memory = find_memory(self.compiled, float(t), q, self._memory)
        if changed:
            self.t0, self.w0 = float(t), corrected.copy()
        return corrected, changed

    def restart(self, t: float, q: Array, v: Array) -> Array:
        """Opens a chart at a state (q, v) that satisfies the constraints, as after an impact; returns its w."""
        q, v = np.array(q, dtype=float), np.array(v, dtype=float)
        self._memory = find_memory(self.compiled, float(t), q, self._memory)
        self.t0, self.w0 = float(t), self._equations.start(float(t), q, v, self._memory).copy()
        return self.w0.copy()

    def _read(self, w: Array) -> Array:
        w = np.asarray(w, dtype=float)
        if w.shape != (self.size,):
            raise ValueError(f"w has the shape {w.shape}; the current chart needs ({self.size},)")
        return w


def build_code(method: Method) -> OdeCode | None:
    """The embedded code of a method; None when its integrator is one of the core."""
    if method.code is not None:
        given = method.code
        code: OdeCode = given() if isinstance(given, type) or not hasattr(given, "start") else given
        return code
    if method.integrator not in EMBEDDED:
        return None
    from importlib import import_module

    module, name = NAMED[method.integrator]
    built: OdeCode = getattr(import_module(f".{module}", __package__), name)()
    return built


__all__ = [
    "EmbedError", "EvaluationError", "OdeCode", "StateSpace", "StepFailed", "build_code", "find_first_step",
    "run_embedded",
]  # fmt: skip
