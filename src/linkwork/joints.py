"""Joints between two bodies, each a list of equations made of primitives.

Points and axes are in ground coordinates at the initial configuration. A ``Frame`` given instead of a body fixes the
joint frame on that body: its origin is the joint's point and its z axis the joint's axis; ``point`` and ``axis`` may
then be left out, and the other side takes the frame that coincides with it in the initial configuration. Two Frames
need not coincide: assembly brings them together.

In every record x, y, z are the axes of the joint frame on ``a`` and X, Y, Z those on ``b``; P_a and P_b are their
origins and D = P_b - P_a. The coordinate of a joint is zero in the initial configuration unless two Frames define it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from . import coordinates as co
from .bodies import BodyLike, Vector
from .checks import Check
from .coordinates import Coordinate, Equation, Side, common_point, dot1, dot2, equation
from .errors import ModelError
from .motions import AIM, BALL, CROSS, Path, Shift, X, Y, Z, path, screw, slide, turn
from .rotations import calc_axes, calc_shortest_turn

Named = tuple[str, Coordinate]
FindSides = Callable[..., tuple[Side, Side]]  # SideFinder.find_sides of sides.py


@dataclass(frozen=True)
class Joint:
    """Base of the joints between two bodies."""

    name: str
    a: BodyLike
    b: BodyLike
    engaged: bool = field(default=True, kw_only=True)  # False: switched on by an event, see Switch
    needs_point: ClassVar[bool] = True

    @property
    def kind(self) -> str:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        check.done(**self._read(check))

    def _read(self, check: Check) -> dict[str, Any]:
        """The checked fields of the record; optional vectors by their names."""
        read: dict[str, Any] = {}
        check.choice(self.engaged, (True, False), "engaged")
        for key in ("point", "point_a", "point_b"):
            if hasattr(self, key):
                read[key] = check.optional_vector(getattr(self, key), 3, key)
        for key in ("axis", "axis_a", "axis_b", "reference"):
            if hasattr(self, key):
                read[key] = check.optional_direction(getattr(self, key), key)
        for along in ("axis", "axis_a"):
            pair = read.get(along), read.get("reference")
            if all(pair) and np.linalg.norm(np.cross(pair[0], pair[1])) < 1e-6:  # type: ignore[arg-type]
                check.fail("reference is parallel to the axis; give a direction across it")
        return read

    def find_sides(self, find: FindSides) -> tuple[Side, Side]:
        return find(self.a, self.b, point=getattr(self, "point", None), needs_point=self.needs_point)

    def equations(self, a: Side, b: Side) -> list[Equation]:
        raise NotImplementedError

    def coordinates(self, a: Side, b: Side) -> list[Named]:
        return []

    def motions(self, a: Side, b: Side) -> Path | None:
        """The joint as elementary motions from the frame on a to that on b; None: b hangs on nothing, all rows close.

        They describe the same joint as the equations without those named in ``rest``.
        """
        return None


@dataclass(frozen=True)
class AxisJoint(Joint):
    """Base of the joints with one point and one axis; ``reference`` is the direction of the frame's x axis."""

    point: Vector | None = None
    axis: Vector | None = None
    reference: Vector | None = None

    def find_sides(self, find: FindSides) -> tuple[Side, Side]:
        return find(
            self.a, self.b, point=self.point, axis=self.axis, reference=self.reference, needs_axis=True,
            needs_point=self.needs_point,
        )  # fmt: skip


def _parallel(a: Side, b: Side) -> list[Equation]:
    return [
        equation("axis of b normal to x of a", dot1(a, a.x, b, b.z)),
        equation("axis of b normal to y of a", dot1(a, a.y, b, b.z)),
    ]


def _in_line(a: Side, b: Side) -> list[Equation]:
    return [
        equation("point of b on the line, along x of a", dot2(a, a.x, b)),
        equation("point of b on the line, along y of a", dot2(a, a.y, b)),
    ]


def _no_turn(a: Side, b: Side) -> Equation:
    return equation("no turn about the axis", dot1(a, a.x, b, b.y))


def _angle(a: Side, b: Side) -> Named:
    return "angle", co.turn(a, b)


def _displacement(a: Side, b: Side) -> Named:
    return "displacement", dot2(a, a.z, b)


@dataclass(frozen=True)
class Fixed(Joint):
    """No relative motion: D = 0, x.Y = x.Z = y.Z = 0. The point is by default the centre of mass of b."""

    point: Vector | None = None
    needs_point: ClassVar[bool] = False

    def equations(self, a: Side, b: Side) -> list[Equation]:
        return [common_point(a, b), *_parallel(a, b), _no_turn(a, b)]

    def motions(self, a: Side, b: Side) -> Path:
        return path()


@dataclass(frozen=True)
class Revolute(AxisJoint):
    """A hinge: D = 0, x.Z = y.Z = 0. Coordinate ``angle``: turn of b from a about the axis."""

    def equations(self, a: Side, b: Side) -> list[Equation]:
        return [common_point(a, b), *_parallel(a, b)]

    def coordinates(self, a: Side, b: Side) -> list[Named]:
        return [_angle(a, b)]

    def motions(self, a: Side, b: Side) -> Path:
        return path(turn(Z))


@dataclass(frozen=True)
class Spherical(Joint):
    """A ball joint: D = 0."""

    point: Vector | None = None

    def equations(self, a: Side, b: Side) -> list[Equation]:
        return [common_point(a, b)]

    def motions(self, a: Side, b: Side) -> Path:
        return path(BALL)


@dataclass(frozen=True)
class Cylindrical(AxisJoint):
    """Turn about and slide along the axis: x.Z = y.Z = x.D = y.D = 0. Coordinates ``angle``, ``displacement`` = z.D."""

    def equations(self, a: Side, b: Side) -> list[Equation]:
        return [*_parallel(a, b), *_in_line(a, b)]

    def coordinates(self, a: Side, b: Side) -> list[Named]:
        return [_angle(a, b), _displacement(a, b)]

    def motions(self, a: Side, b: Side) -> Path:
        return path(turn(Z), slide(Z))


@dataclass(frozen=True)
class Translational(AxisJoint):
    """Slide along the axis without turning: x.Z = y.Z = x.Y = x.D = y.D = 0. Coordinate ``displacement`` = z.D."""

    def equations(self, a: Side, b: Side) -> list[Equation]:
        return [*_parallel(a, b), _no_turn(a, b), *_in_line(a, b)]

    def coordinates(self, a: Side, b: Side) -> list[Named]:
        return [_displacement(a, b)]

    def motions(self, a: Side, b: Side) -> Path:
        return path(slide(Z))


@dataclass(frozen=True)
class Screw(AxisJoint):
    """Cylindrical with z.D = pitch / (2 pi) angle; ``pitch`` is the advance per turn in metres, < 0: left-handed."""

    pitch: float = 0.0

    def _read(self, check: Check) -> dict[str, Any]:
        pitch = check.number(self.pitch, "pitch")
        if pitch == 0:
            check.fail("pitch 0 does not advance; give metres per turn, or use Revolute")
        return {**super()._read(check), "pitch": pitch}

    def equations(self, a: Side, b: Side) -> list[Equation]:
        terms = ((1.0, dot2(a, a.z, b)), (-self.pitch / (2 * np.pi), co.turn(a, b)))
        return [*_parallel(a, b), *_in_line(a, b), Equation(("advance with the turn",), terms)]

    def coordinates(self, a: Side, b: Side) -> list[Named]:
        return [_angle(a, b), _displacement(a, b)]

    def motions(self, a: Side, b: Side) -> Path:
        return path(screw(Z, self.pitch / (2 * np.pi)))


@dataclass(frozen=True)
class Universal(Joint):
    """A cross between ``axis_a`` fixed on a and ``axis_b`` fixed on b: D = 0, z.Z = 0.

    Coordinates ``angle_a`` (turn of the cross about axis_a) and ``angle_b`` (turn of b on the cross about axis_b).
    """

    point: Vector | None = None
    axis_a: Vector | None = None
    axis_b: Vector | None = None

    def find_sides(self, find: FindSides) -> tuple[Side, Side]:
        if self.axis_a is not None and self.axis_b is not None:
            cosine = float(np.dot(np.asarray(self.axis_a), np.asarray(self.axis_b)))
            if abs(cosine) > 1e-6:
                raise ModelError(
                    f"axis_a and axis_b make {np.degrees(np.arccos(cosine)):.6g} deg; they must make 90 deg"
                )
        return find(
            self.a, self.b, point=self.point, axis=self.axis_a, reference=self.axis_b,
            axis_b=self.axis_b, reference_b=self.axis_a, needs_axis=True, own_axes=True,
        )  # fmt: skip

    def equations(self, a: Side, b: Side) -> list[Equation]:
        return [common_point(a, b), equation("axis_a normal to axis_b", dot1(a, a.z, b, b.z))]

    def coordinates(self, a: Side, b: Side) -> list[Named]:
        return [("angle_a", co.angle(a, b, a.x, a.y, b.z)), ("angle_b", co.angle(b, a, b.x, -b.y, a.z))]

    def motions(self, a: Side, b: Side) -> Path:
        return path(turn(Z), turn(X), CROSS)


@dataclass(frozen=True)
class ConstantVelocity(Joint):
    """A homokinetic coupling of two shafts along ``axis_a`` and ``axis_b`` (default: the same): D = 0, x.Y - y.X = 0.

    x.Y - y.X is the z part of the rotation axis of b from a, so b never turns about its shaft relative to a.
    """

    point: Vector | None = None
    axis_a: Vector | None = None
    axis_b: Vector | None = None

    def find_sides(self, find: FindSides) -> tuple[Side, Side]:
        turned = None
        if self.axis_a is not None and self.axis_b is not None:
            turned = calc_shortest_turn(self.axis_a, self.axis_b) @ calc_axes(self.axis_a)
        return find(self.a, self.b, point=self.point, axis=self.axis_a, axes_b=turned, needs_axis=True)

    def equations(self, a: Side, b: Side) -> list[Equation]:
        terms = ((1.0, dot1(a, a.x, b, b.y)), (-1.0, dot1(a, a.y, b, b.x)))
        return [common_point(a, b), Equation(("equal turn of both shafts",), terms)]

    def motions(self, a: Side, b: Side) -> Path:
        return path(BALL, rest=(1,))


@dataclass(frozen=True)
class Planar(AxisJoint):
    """Face on face with normal ``axis``: x.Z = y.Z = z.D = 0. Coordinates ``x`` = x.D, ``y`` = y.D, ``angle``."""

    def equations(self, a: Side, b: Side) -> list[Equation]:
        return [*_parallel(a, b), equation("point of b in the plane", dot2(a, a.z, b))]

    def coordinates(self, a: Side, b: Side) -> list[Named]:
        return [("x", dot2(a, a.x, b)), ("y", dot2(a, a.y, b)), _angle(a, b)]

    def motions(self, a: Side, b: Side) -> Path:
        return path(slide(X), slide(Y), turn(Z))


@dataclass(frozen=True)
class InLine(AxisJoint):
    """A point of b on a line of a: x.D = y.D = 0. Coordinate ``displacement`` = z.D."""

    def equations(self, a: Side, b: Side) -> list[Equation]:
        return _in_line(a, b)

    def coordinates(self, a: Side, b: Side) -> list[Named]:
        return [_displacement(a, b)]

    def motions(self, a: Side, b: Side) -> Path:
        return path(slide(Z), BALL)


@dataclass(frozen=True)
class InPlane(AxisJoint):
    """A point of b in a plane of a with normal ``axis``: z.D = 0. Coordinates ``x`` = x.D, ``y`` = y.D."""

    def equations(self, a: Side, b: Side) -> list[Equation]:
        return [equation("point of b in the plane", dot2(a, a.z, b))]

    def coordinates(self, a: Side, b: Side) -> list[Named]:
        return [("x", dot2(a, a.x, b)), ("y", dot2(a, a.y, b))]

    def motions(self, a: Side, b: Side) -> Path:
        return path(slide(X), slide(Y), BALL)


@dataclass(frozen=True)
class Parallel(AxisJoint):
    """Axes stay parallel, points are free: x.Z = y.Z = 0. Coordinate ``angle``."""

    needs_point: ClassVar[bool] = False

    def equations(self, a: Side, b: Side) -> list[Equation]:
        return _parallel(a, b)

    def coordinates(self, a: Side, b: Side) -> list[Named]:
        return [_angle(a, b)]

    def motions(self, a: Side, b: Side) -> Path:
        return path(slide(X), slide(Y), slide(Z), turn(Z))


@dataclass(frozen=True)
class Perpendicular(Joint):
    """``axis_a`` of a stays normal to ``axis_b`` of b, points are free: z.Z = 0."""

    axis_a: Vector | None = None
    axis_b: Vector | None = None

    def find_sides(self, find: FindSides) -> tuple[Side, Side]:
        return find(
            self.a, self.b, axis=self.axis_a, axis_b=self.axis_b, needs_axis=True, own_axes=True, needs_point=False
        )

    def equations(self, a: Side, b: Side) -> list[Equation]:
        return [equation("axis_a normal to axis_b", dot1(a, a.z, b, b.z))]

    def motions(self, a: Side, b: Side) -> Path:
        return path(slide(X), slide(Y), slide(Z), turn(Z), turn(X), CROSS)


@dataclass(frozen=True)
class Distance(Joint):
    """A massless rod with ball joints: |D| = length. Points default to centres of mass, length to the initial one."""

    point_a: Vector | None = None
    point_b: Vector | None = None
    length: float | None = None

    def _read(self, check: Check) -> dict[str, Any]:
        length = None if self.length is None else check.positive(self.length, "length")
        return {**super()._read(check), "length": length}

    def find_sides(self, find: FindSides) -> tuple[Side, Side]:
        return find(self.a, self.b, point=self.point_a, point_b=self.point_b, apart=True)

    def equations(self, a: Side, b: Side) -> list[Equation]:
        if np.linalg.norm(b.origin - a.origin) < 1e-9:
            raise ModelError("its two points coincide initially, so the direction of the rod is undefined; move one")
        return [equation("length", co.distance(a, b), self._find_length(a, b))]

    def _find_length(self, a: Side, b: Side) -> float:
        return float(np.linalg.norm(b.origin - a.origin)) if self.length is None else self.length

    def coordinates(self, a: Side, b: Side) -> list[Named]:
        return [("length", co.distance(a, b))]

    def motions(self, a: Side, b: Side) -> Path:
        return path(AIM, Shift((self._find_length(a, b), 0.0, 0.0)), BALL, symmetric=True)


@dataclass(frozen=True)
class RevoluteSpherical(Joint):
    """A massless link, hinged on a about ``axis`` through ``point_a``, with a ball joint at ``point_b`` on b.

    z.D = 0 and |D| = length, with P_a moved along the axis to the foot of P_b when it is not fixed by a Frame; the
    length, counted from there, defaults to the initial one.
    """

    point_a: Vector | None = None
    axis: Vector | None = None
    point_b: Vector | None = None
    length: float | None = None

    def _read(self, check: Check) -> dict[str, Any]:
        length = None if self.length is None else check.positive(self.length, "length")
        return {**super()._read(check), "length": length}

    def find_sides(self, find: FindSides) -> tuple[Side, Side]:
        a, b = find(
            self.a, self.b, point=self.point_a, point_b=self.point_b, axis=self.axis, apart=True, needs_axis=True
        )
        if self.point_a is not None:
            offset = a.ground_axes[:, 2] @ (b.origin - a.origin)
            a = Side(a.body, a.kind, a.name, a.s + offset * a.z, a.axes, a.pose)
        return a, b

    def equations(self, a: Side, b: Side) -> list[Equation]:
        if np.linalg.norm(b.origin - a.origin) < 1e-9:
            raise ModelError("point_b lies on the axis initially, so the link has no length; move it")
        return [
            equation("link normal to the axis", dot2(a, a.z, b)),
            equation("length", co.distance(a, b), self._find_length(a, b)),
        ]

    def _find_length(self, a: Side, b: Side) -> float:
        return float(np.linalg.norm(b.origin - a.origin)) if self.length is None else self.length

    def motions(self, a: Side, b: Side) -> Path:
        return path(turn(Z), Shift((self._find_length(a, b), 0.0, 0.0)), BALL)
