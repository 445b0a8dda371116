"""Elementary motions: what a joint lets its second frame do from its first, one turn or slide after the other.

A path leads from the joint frame on a to that on b. Its steps act in the axes carried so far: a motion turns or slides
them along one of their own directions, a shift moves their origin, a rotation turns them for good. All coordinates
zero, the carried axes differ from those of a by the rotations alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .coordinates import Triple

X: Triple = (1.0, 0.0, 0.0)
Y: Triple = (0.0, 1.0, 0.0)
Z: Triple = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Motion:
    """One coordinate: turns by ``turn`` times it about the axis and slides by ``slide`` times it along it."""

    axis: Triple
    turn: float = 0.0
    slide: float = 0.0

    def reversed(self) -> Motion:
        return Motion((-self.axis[0], -self.axis[1], -self.axis[2]), self.turn, self.slide)


@dataclass(frozen=True)
class Turns:
    """Two or three turns, each axis normal to the next, that may be counted from any rotation."""

    axes: tuple[Triple, ...]

    def reversed(self) -> Turns:
        return self  # any three axes at right angles do


@dataclass(frozen=True)
class Shift:
    """The origin moves, in carried axes."""

    by: Triple

    def reversed(self) -> Shift:
        return Shift((-self.by[0], -self.by[1], -self.by[2]))


@dataclass(frozen=True)
class Rotation:
    """The carried axes turn for good; columns are the new axes in the old ones."""

    columns: tuple[Triple, Triple, Triple]

    @property
    def matrix(self) -> np.ndarray:
        return np.array(self.columns).T

    def reversed(self) -> Rotation:
        rows = self.matrix.tolist()
        return Rotation((tuple(rows[0]), tuple(rows[1]), tuple(rows[2])))


Step = Motion | Turns | Shift | Rotation


@dataclass(frozen=True)
class Path:
    """The motions of a joint; ``rest``: the equations, by place, that they do not satisfy by themselves.

    ``symmetric``: from b to a the path reads the same.
    """

    steps: tuple[Step, ...]
    rest: tuple[int, ...] = ()
    symmetric: bool = False

    def reversed(self) -> Path:
        if self.symmetric:
            return self
        return Path(tuple(step.reversed() for step in reversed(self.steps)), self.rest)


def path(*steps: Step, rest: Sequence[int] = (), symmetric: bool = False) -> Path:
    return Path(steps, tuple(rest), symmetric)


def turn(axis: Triple) -> Motion:
    return Motion(axis, turn=1.0)


def slide(axis: Triple) -> Motion:
    return Motion(axis, slide=1.0)


def screw(axis: Triple, lead: float) -> Motion:
    """A turn that advances by ``lead`` metres per radian."""
    return Motion(axis, turn=1.0, slide=lead)


BALL = Turns((X, Y, Z))
AIM = Turns((Y, Z))  # turns the carried x axis anywhere
FREE = (slide(X), slide(Y), slide(Z), BALL)
CROSS = Rotation((Z, (0.0, -1.0, 0.0), X))  # after a turn about z and one about x: the axis of b is x, its x that of a
