"""Primitives before they have a place in the tables: scalar coordinates between two sides, and equations of them.

A side is a frame fixed on a body: its origin and axes in body coordinates. A coordinate is one primitive of
``src/core/kernels/primitives.hpp``; an equation is a sum of coordinates equal to a constant or a function of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from . import tables as tb
from .errors import ModelError
from .functions import FunctionLike, Table

Triple = tuple[float, float, float]
ZERO: Triple = (0.0, 0.0, 0.0)


def triple(v: Sequence[float] | np.ndarray) -> Triple:
    """Three plain floats, round-off about zero removed."""
    x, y, z = (0.0 if abs(x) < 1e-15 else float(x) for x in v)
    return x, y, z


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a joint: a frame on a body, and where that body is in the initial configuration."""

    body: int
    kind: int  # BODY_* of tables.py
    name: str
    s: np.ndarray  # origin, body coordinates
    axes: np.ndarray  # columns x, y, z in body coordinates
    pose: tuple[np.ndarray, np.ndarray] = field(repr=False)  # centre of mass and rotation matrix, initial configuration

    @property
    def x(self) -> np.ndarray:
        return self.axes[:, 0]

    @property
    def y(self) -> np.ndarray:
        return self.axes[:, 1]

    @property
    def z(self) -> np.ndarray:
        return self.axes[:, 2]

    @property
    def origin(self) -> np.ndarray:
        """The origin in ground coordinates, initial configuration."""
        return self.pose[0] + self.pose[1] @ self.s

    @property
    def ground_axes(self) -> np.ndarray:
        """The axes in ground coordinates, initial configuration."""
        return self.pose[1] @ self.axes


@dataclass(frozen=True)
class Coordinate:
    """A primitive between bodies ``a`` and ``b`` (indices); fields as in struct Primitive of tables.hpp."""

    kind: int
    a: int
    b: int
    s_a: Triple = ZERO
    s_b: Triple = ZERO
    d_a: Triple = ZERO
    e_a: Triple = ZERO
    d_b: Triple = ZERO
    curve: tuple[Table, Table] | None = None

    @property
    def has_memory(self) -> bool:
        return self.kind in (tb.ANGLE, tb.CURVE)


def coincident(a: Side, b: Side) -> Coordinate:
    return Coordinate(tb.COINCIDENT, a.body, b.body, triple(a.s), triple(b.s))


def dot1(a: Side, d_a: np.ndarray, b: Side, d_b: np.ndarray) -> Coordinate:
    return Coordinate(tb.DOT1, a.body, b.body, d_a=triple(d_a), d_b=triple(d_b))


def dot2(a: Side, d_a: np.ndarray, b: Side) -> Coordinate:
    return Coordinate(tb.DOT2, a.body, b.body, triple(a.s), triple(b.s), d_a=triple(d_a))


def distance(a: Side, b: Side) -> Coordinate:
    return Coordinate(tb.DISTANCE, a.body, b.body, triple(a.s), triple(b.s))


def angle(a: Side, b: Side, d_a: np.ndarray, e_a: np.ndarray, d_b: np.ndarray) -> Coordinate:
    return Coordinate(tb.ANGLE, a.body, b.body, d_a=triple(d_a), e_a=triple(e_a), d_b=triple(d_b))


def turn(a: Side, b: Side) -> Coordinate:
    """The angle of b's x axis from a's x axis about the common z axis."""
    return angle(a, b, a.x, a.y, b.x)


@dataclass(frozen=True)
class Equation:
    """sum of factor * coordinate = constant + function(t); ``labels`` name its rows (three for a coincident point)."""

    labels: tuple[str, ...]
    terms: tuple[tuple[float, Coordinate], ...]
    constant: float = 0.0
    function: FunctionLike | None = None


def equation(label: str, coordinate: Coordinate, constant: float = 0.0) -> Equation:
    return Equation((label,), ((1.0, coordinate),), constant)


def common_point(a: Side, b: Side) -> Equation:
    labels = tuple(f"{axis} of the common point" for axis in "xyz")
    return Equation(labels, ((1.0, coincident(a, b)),))


Pose = tuple[np.ndarray, np.ndarray]


def calc_value(c: Coordinate, poses: Sequence[Pose], memory: float = 0.0) -> float:
    """Value of a scalar coordinate at these poses (one per body); of an angle the one nearest to ``memory``."""
    (r_a, A_a), (r_b, A_b) = poses[c.a], poses[c.b]
    D = r_b + A_b @ c.s_b - r_a - A_a @ c.s_a
    if c.kind == tb.DOT1:
        return float((A_a @ c.d_a) @ (A_b @ c.d_b))
    if c.kind == tb.DOT2:
        return float((A_a @ c.d_a) @ D)
    if c.kind == tb.DISTANCE:
        return float(np.linalg.norm(D))
    if c.kind == tb.ANGLE:
        d_b = A_b @ c.d_b
        raw = float(np.arctan2((A_a @ c.e_a) @ d_b, (A_a @ c.d_a) @ d_b))
        return raw + 2 * np.pi * round((memory - raw) / (2 * np.pi))
    z, u = memory, A_a.T @ D  # the signed distance from the curve at its foot point
    assert c.kind == tb.CURVE and c.curve is not None
    at, ahead = (np.array([table(x) for table in c.curve]) for x in (z, z + 1e-7))
    t = (ahead - at) / np.linalg.norm(ahead - at)
    e = np.array([np.dot(c.d_a, u), np.dot(c.e_a, u)]) - at
    return float(-t[1] * e[0] + t[0] * e[1])


def find_curve_parameter(c: Coordinate, poses: Sequence[Pose]) -> float:
    """Parameter of the curve's point nearest to the follower, by sampling; the core refines it."""
    assert c.curve is not None
    (r_a, A_a), (r_b, A_b) = poses[c.a], poses[c.b]
    D = A_a.T @ (r_b + A_b @ c.s_b - r_a - A_a @ c.s_a)
    u = np.array([np.dot(c.d_a, D), np.dot(c.e_a, D)])
    parameter = np.linspace(c.curve[0].x[0], c.curve[0].x[-1], 40 * len(c.curve[0].x), endpoint=False)
    points = np.column_stack([[table(z) for z in parameter] for table in c.curve])
    return float(parameter[np.argmin(np.linalg.norm(points - u, axis=1))])


# --- planar pairs ---------------------------------------------------------------------------------------------------

PLANAR = (tb.BODY_GROUND, tb.BODY_PLANAR)
FLAT = 1e-12  # a direction with a smaller part in the plane is taken to be normal to it


def _normal(d: Triple) -> bool:
    return bool(np.hypot(d[0], d[1]) < FLAT)


def find_planar_constant(c: Coordinate, kinds: Sequence[int]) -> float | None:
    """The value of a coordinate that no planar motion of its bodies can change; None if it can change."""
    if kinds[c.a] not in PLANAR or kinds[c.b] not in PLANAR:
        return None
    if c.kind == tb.DOT1 and (_normal(c.d_a) or _normal(c.d_b)):
        return c.d_a[2] * c.d_b[2]
    if c.kind == tb.DOT2 and _normal(c.d_a):
        return c.d_a[2] * (c.s_b[2] - c.s_a[2])
    if c.kind == tb.ANGLE and not _normal(triple(np.cross(c.d_a, c.e_a))):
        return 0.0
    return None


def prune_planar(e: Equation, kinds: Sequence[int]) -> Equation | None:
    """The equation as planar motion leaves it: a common point loses z, a row that cannot change goes (None).

    A row that goes must hold already, else the joint cannot be closed and a ModelError says so.
    """
    first = e.terms[0][1]
    if first.kind == tb.COINCIDENT and kinds[first.a] in PLANAR and kinds[first.b] in PLANAR:
        gap = first.s_b[2] - first.s_a[2]
        if abs(gap) > 1e-9:
            raise ModelError(
                f"its points on the two planar bodies differ by {gap:g} m in z; give them one z, such as 0"
            )
        flat = Coordinate(tb.COINCIDENT2, first.a, first.b, first.s_a, first.s_b)
        return Equation(e.labels[:2], ((e.terms[0][0], flat),))
    values = [find_planar_constant(c, kinds) for _, c in e.terms]
    if any(value is None for value in values):
        return e
    rest = sum(factor * value for (factor, _), value in zip(e.terms, values, strict=True) if value is not None)
    if e.function is not None:
        raise ModelError(
            f"'{e.labels[0]}' cannot change in the x-y plane, so it cannot be driven; drive another coordinate"
        )
    if abs(rest - e.constant) > 1e-9:
        raise ModelError(
            f"'{e.labels[0]}' is off by {rest - e.constant:g} and no motion in the x-y plane changes it; "
            "use an axis along z or in the plane, or a spatial Body"
        )
    return None
