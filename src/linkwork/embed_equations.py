"""The equations of motion in the coordinates of the current chart, w' = f(t, w); failures are exceptions here."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import StateSpace
from .embed_contract import Array, EvaluationError
from .status import STATUS_NAMES

CHART = 2  # enum class Change of src/core/formulations/contract.hpp: none, small, chart


class Equations:
    """A formulation of the core; `start` opens a chart, to which w belongs until `correct` reports another."""

    def __init__(self, system: Any, formulation: str, options: dict[str, Any]):
        self._core = StateSpace(system, formulation, options)
        self._system = system
        self.engaged = np.array(self._core.engaged, dtype=float)

    def start(self, t: float, q: Array, v: Array, memory: Array) -> Array:
        """Opens a chart at a state that satisfies the constraints; returns w."""
        status, w = self._core.start(t, q, v, memory)
        self._check(status, t)
        return self._take(w)

    def engage(self, engaged: Array) -> None:
        """From the next start on these rows hold (1) and those do not (0)."""
        self.engaged = np.ascontiguousarray(engaged, dtype=float)
        self._core.engage(self.engaged)

    def calc_gaps(self, t: float, q: Array) -> Array:
        """All constraint rows at q, those of open stops among them."""
        return self._take(self._system.constraints(t, np.ascontiguousarray(q, dtype=float), self.memory))

    def fun(self, t: float, w: Array) -> Array:
        """w' at (t, w)."""
        status, rate = self._core.rate(float(t), np.ascontiguousarray(w, dtype=float))
        self._check(status, t)
        return self._take(rate)

    def jac(self, t: float, w: Array) -> Array:
        """The Jacobian of f at (t, w), (n, n)."""
        status, matrix = self._core.jacobian(float(t), np.ascontiguousarray(w, dtype=float))
        self._check(status, t)
        return self._take(matrix)

    def lift(self, t: float, w: Array) -> tuple[Array, Array, Array, Array]:
        """q, v, a and the multipliers at (t, w)."""
        status, *motion = self._core.lift(float(t), np.ascontiguousarray(w, dtype=float))
        self._check(status, t)
        q, v, a, multipliers = motion
        return q, v, a, multipliers

    def correct(self, t: float, w: Array) -> tuple[Array, bool]:
        """After an accepted step: follows angles, watches the chart; (w, True) when w has changed its meaning."""
        self.changed_chart = False
        status, corrected, change = self._core.correct(float(t), np.ascontiguousarray(w, dtype=float))
        self.changed_chart = change == CHART
        self._check(status, t)
        return self._take(corrected), change != 0

    changed_chart = False  # whether the last correct opened another chart, also when it failed afterwards

    def calc_gaps_and_force(self, t: float, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array, float]:
        """All constraint rows at (q, v, a), their first and second rates, and the largest generalized force."""
        q, v = np.ascontiguousarray(q, dtype=float), np.ascontiguousarray(v, dtype=float)
        jacobian = self._take(self._system.jacobian(t, q, self.memory))
        rates = jacobian @ v - self._take(self._system.velocity_target(t, q, self.memory))
        force = np.abs(self._take(self._system.forces(t, q, v, self.memory))).max(initial=0.0)
        bends = jacobian @ a - self._take(self._system.gamma(t, q, v, self.memory))
        return self.calc_gaps(t, q), rates, bends, float(force)

    def calc_kinks(self, q: Array) -> Array:
        """Signed distances from the kinks of forces at q."""
        return self._take(self._system.kinks(np.ascontiguousarray(q, dtype=float)))

    @property
    def size(self) -> int:
        return int(self._core.size)

    @property
    def mass(self) -> Array | None:
        """B of B w' = f, (n, n); None for the identity."""
        return self._take(self._core.mass) if self._core.has_mass else None

    @property
    def kinds(self) -> Array:
        """Per entry of w: 0 for positions, 1 for velocities, 2 and 3 for multipliers of velocities, of positions."""
        return np.array(self._core.kinds, dtype=int)

    @property
    def memory(self) -> Array:
        """Accepted angles and curve parameters."""
        return np.array(self._core.memory, dtype=float)

    @property
    def facts(self) -> dict[str, Any]:
        """What was counted, by the names of the core."""
        return dict(self._core.facts)

    def calc_atol(self, position: float, velocity: float) -> Array:
        """One absolute tolerance per entry of w from one per kind; a multiplier has that of what it forces."""
        return np.where((self.kinds == 0) | (self.kinds == 3), float(position), float(velocity))

    def _check(self, status: int, t: float) -> None:
        if status:
            raise EvaluationError(STATUS_NAMES[status], float(t))

    def _take(self, x: Any) -> Array:
        return np.asarray(x, dtype=float)
