"""Kinks on the way of an embedded code: places where a force loses smoothness, such as the foot of a bump.

A code that steps over one has seen too much of what lies behind it, or nothing of what lies between two. Its step is
given up and taken again with the kink as the end of the stretch; from there the code starts anew.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from .embed_contract import Array

NEAR = 1e-6  # m: a kink so near at the end of a stretch is the one the stretch ends at


class KinkWatch:
    """On which side of each kink the motion is; `calc` gives the signed distances at q."""

    def __init__(self, calc: Callable[[Array], Array]):
        self.calc = calc
        self.sides: Array = np.zeros(0)

    def settle(self, q: Array) -> None:
        """The accepted state: kinks that are just being crossed have no side until they are left behind."""
        values = self.calc(q)
        self.sides = np.where(np.abs(values) < NEAR, 0.0, np.sign(values))

    def find(self, t_0: float, t_1: float, position: Callable[[float], Array]) -> float | None:
        """Time of the first kink crossed from t_0 to t_1, on the positions of the step; None without one."""
        values = self.calc(position(t_1))
        crossed = np.flatnonzero((self.sides != 0.0) & (np.sign(values) == -self.sides))
        times = []
        for k in crossed.tolist():
            start = self.sides[k] * max(abs(float(self.calc(position(t_0))[k])), 1e-300)

            def distance(t: float, k: int = k, start: float = start) -> float:
                return start if t == t_0 else float(self.calc(position(t))[k])

            times.append(float(brentq(distance, t_0, t_1, xtol=1e-14 * max(1.0, abs(t_1)), rtol=1e-14)))
        return min(times) if times else None
