"""Events of embedded runs: the same search as in src/core/integrators/events.cpp, on the code's continuous extension.

What is carried from step to step is the side of zero on which each function is, not its value: a correction of the
state between two steps that moves a function over zero is then found as a crossing at the start of the next step. Side
0 (exactly at zero, or just fired) waits for the function to leave zero, which is no crossing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from .embed_contract import Array, EvaluationError

NORMAL = (0.5, 1.0)  # where a step is looked at
CLOSE = (1.0 / 256.0, 1.0 / 16.0, 0.5, 1.0)  # the same after an event, when the function is about to leave zero
Sampler = Callable[[float], Array]  # values of all event functions at a time inside the step
TINY = sys.float_info.min


class EventWatch:
    """Remembers the side of every event function and finds the crossings of one step after the other."""

    def __init__(self, directions: Sequence[int], rows: Sequence[int] = ()) -> None:
        self._directions = np.array(directions, dtype=int)
        self._stops = np.array([row >= 0 for row in rows] or [False] * len(directions), dtype=bool)
        self._sides = self._values = np.zeros(len(directions))
        self._trial = (self._sides, self._values)
        self._after_event = False

    def __len__(self) -> int:
        return len(self._directions)

    def reset(self, values: Array, fired: Array) -> None:
        """Sets the sides from the values at a start; events that just fired begin without a side."""
        self._after_event = bool(np.any(fired))
        self._values = values
        # a stop is never on the other side: what falls below zero right away is found
        self._sides = np.where(self._stops, 1.0, np.where(fired, 0.0, np.sign(values)))

    def commit(self) -> None:
        """The step was accepted: its end is the next start."""
        self._sides, self._values = self._trial
        self._after_event = False

    def find_crossings(self, sample: Sampler, t_0: float, t_1: float, values_1: Array) -> list[tuple[float, int]]:
        """(t, event) of the crossings in (t_0, t_1], sorted; values_1 are the function values at t_1."""
        crossings = []
        sides, values, t_before = self._sides, self._values, t_0
        for fraction in CLOSE if self._after_event else NORMAL:
            t = t_1 if fraction == 1.0 else t_0 + fraction * (t_1 - t_0)
            now = values_1 if fraction == 1.0 else sample(t)
            if not np.all(np.isfinite(now)):
                raise EvaluationError("not_finite", t)
            signs = np.sign(now)
            crossed = (sides != 0.0) & (signs != sides)
            wanted = crossed & ((self._directions == 0) | (self._directions * sides < 0.0))
            for i in np.flatnonzero(wanted).tolist():
                # the value carried along may have the wrong sign after a correction: the side is what counts
                before = sides[i] * max(sides[i] * values[i], TINY)
                crossings.append((find_root(sample, i, t_before, before, t, now[i]), i))
            sides, values, t_before = signs, now, t
        self._trial = (sides, values)
        return sorted(crossings)


ROUND_OFF = 1e-11  # m or rad


class StopWatch:
    """The event functions of stops, as in src/core/integrators/stops.cpp: gaps of open ones, forces of closed ones."""

    def __init__(self, rows: Sequence[int], rtol: float, atol: float) -> None:
        self.rows = np.array(rows, dtype=int)
        self._force_part, self._least_gap = max(rtol, 1e-10), max(atol, ROUND_OFF)
        self.places = np.flatnonzero(self.rows >= 0)
        self.own = self.rows[self.places]
        self._shift = np.zeros(len(self.own))

    def __len__(self) -> int:
        return len(self.own)

    def fill(self, values: Array, gaps: Array, multipliers: Array, engaged: Array) -> None:
        """Writes the values of the stops among those of all events."""
        closed = engaged[self.own] != 0.0
        values[self.places] = np.where(closed, -multipliers[self.own], gaps[self.own]) - self._shift

    def begin(
        self, gaps: Array, rates: Array, bends: Array, multipliers: Array, engaged: Array, force: float, speed: float
    ) -> None:
        """A start: what counts as a crossing lies a little below zero where gap or force is about zero."""
        self._shift = np.zeros(len(self.own))
        values = np.zeros(len(self.rows))
        self.fill(values, gaps, multipliers, engaged)
        # one that is left fast enough to get well off is left: round-off is all there is
        u, c = rates[self.own], bends[self.own]
        leaves = (u > 1e-6 * max(speed, 1.0)) & ((c >= 0.0) | (u * u > -20.0 * c * self._least_gap))
        gap = np.where(leaves, ROUND_OFF, self._least_gap)
        margin = np.where(engaged[self.own] != 0.0, self._force_part * force, gap)
        own = values[self.places]
        self._shift = np.where(own < margin, np.minimum(own, 0.0) - margin, 0.0)

    def commit(self, values: Array, engaged: Array) -> None:
        """An accepted step ends with these values."""
        self._shift[(engaged[self.own] == 0.0) & (values[self.places] > 10.0 * self._least_gap)] = 0.0


def find_root(sample: Sampler, event: int, t_a: float, value_a: float, t_b: float, value_b: float) -> float:
    """Root in a bracket by inverse quadratic interpolation where three points allow it, else bisection.

    T. R. Chandrupatla, Adv. Eng. Software 28 (1997) 145-149.
    """
    if value_b == 0.0:
        return t_b
    round_off = 2.0 * sys.float_info.epsilon * max(abs(t_a), abs(t_b))
    a, fa, b, fb = t_b, value_b, t_a, value_a  # [a, b] is the bracket, a the newest point
    root, fraction = t_b, 0.5
    for _ in range(100):
        t = a + fraction * (b - a)
        value = float(sample(t)[event])
        if not np.isfinite(value):
            raise EvaluationError("not_finite", t)
        if (value > 0.0) == (fa > 0.0):
            c, fc = a, fa  # the point that left the bracket
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = t, value
        root = a if abs(fa) < abs(fb) else b
        tolerance = (round_off + TINY) / abs(b - a) if b != a else 1.0
        if fa == 0.0 or tolerance >= 0.5:
            return root
        # inverse quadratic interpolation when it is monotone between the points
        xi, ratio = (a - b) / (c - b), (fa - fb) / (fc - fb)
        fraction = 0.5
        if ratio * ratio < xi and (1.0 - ratio) ** 2 < 1.0 - xi:
            fraction = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        fraction = min(max(fraction, tolerance), 1.0 - tolerance)
    return root
