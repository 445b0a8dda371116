"""Forces: what pushes and pulls. Gravity belongs to the model.

Along a coordinate s (a length, an angle, a displacement) an element holds h = stiffness (s - free) + damping s'
+ friction + its function, positive when it pulls s back: a positive h is tension in a spring. The generalized force
is -h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bodies import BodyLike, Ground, Vector
from .checks import Check
from .couplings import read_on
from .functions import FunctionLike, Table

Law = float | Table


def _read_law(check: Check, value: Any, argument: str, field: str) -> Law:
    """A coefficient, or a table of the force over its argument."""
    if isinstance(value, (Table, tuple, list)):
        table = check.function(value, (argument,), field)
        return table if isinstance(table, Table) else 0.0
    return check.number(value, field)


@dataclass(frozen=True)
class Spring:
    """A spring, damper and actuator between two points, or along a coordinate (``on="slider"``).

    ``stiffness`` in N/m or a table of force over elongation; ``damping`` in N s/m or a table of force over rate;
    ``free_length`` in m, by default the initial length; ``force`` is added: a number, an expression in (t, length,
    rate), a table over the length, or a callable of (t, length, rate). Points default to centres of mass.
    """

    name: str
    a: BodyLike | None = None
    b: BodyLike | None = None
    point_a: Vector | None = None
    point_b: Vector | None = None
    stiffness: Any = 0.0
    damping: Any = 0.0
    free_length: float | None = None
    force: FunctionLike | None = None
    on: Any = None

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        if (self.on is None) == (self.a is None or self.b is None):
            check.fail("give two bodies a and b, or on='joint.coordinate', not both")
        check.done(
            point_a=check.optional_vector(self.point_a, 3, "point_a"),
            point_b=check.optional_vector(self.point_b, 3, "point_b"),
            stiffness=_read_law(check, self.stiffness, "elongation", "stiffness"),
            damping=_read_law(check, self.damping, "rate", "damping"),
            free_length=check.optional_number(self.free_length, "free_length"),
            force=None if self.force is None else check.function(self.force, ("t", "length", "rate"), "force"),
            on=None if self.on is None else read_on(check, self.on),
        )


@dataclass(frozen=True)
class RotationalSpring:
    """A spring, damper and motor on a joint's angle; as Spring, with ``torque`` a function of (t, angle, rate)."""

    name: str
    on: Any
    stiffness: Any = 0.0
    damping: Any = 0.0
    free_angle: float = 0.0
    torque: FunctionLike | None = None

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        check.done(
            on=read_on(check, self.on),
            stiffness=_read_law(check, self.stiffness, "elongation", "stiffness"),
            damping=_read_law(check, self.damping, "rate", "damping"),
            free_angle=check.number(self.free_angle, "free_angle"),
            torque=None if self.torque is None else check.function(self.torque, ("t", "angle", "rate"), "torque"),
        )


@dataclass(frozen=True)
class JointFriction:
    """Friction along a joint's coordinate: level tanh(rate / slip_velocity) + viscous rate (N or N m)."""

    name: str
    on: Any
    level: float = 0.0
    slip_velocity: float = 0.01
    viscous: float = 0.0

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        check.done(
            on=read_on(check, self.on),
            level=check.not_negative(self.level, "level"),
            slip_velocity=check.positive(self.slip_velocity, "slip_velocity"),
            viscous=check.not_negative(self.viscous, "viscous"),
        )


@dataclass(frozen=True)
class Bushing:
    """Six springs and dampers between frames on a and b: three along, three about the axes of the frame on a.

    The frame has its origin at ``point``, z along ``axis`` and x along ``reference`` (default: ground axes), or is
    given by Frames. The rotational part is stiffness times twice the vector part of the relative quaternion.
    """

    name: str
    a: BodyLike
    b: BodyLike
    point: Vector | None = None
    stiffness: Vector = (0.0,) * 6
    damping: Vector = (0.0,) * 6
    axis: Vector | None = None
    reference: Vector | None = None

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        check.done(
            point=check.optional_vector(self.point, 3, "point"),
            stiffness=check.vector(self.stiffness, 6, "stiffness"),
            damping=check.vector(self.damping, 6, "damping"),
            axis=check.optional_direction(self.axis, "axis"),
            reference=check.optional_direction(self.reference, "reference"),
        )


def _read_load(check: Check, value: Any, field: str) -> Any:
    """Three numbers or expressions of t, or one callable of t that returns three numbers."""
    if callable(value):
        return value
    if isinstance(value, str) or np.ndim(np.asarray(value, dtype=object)) == 0 or len(value) != 3:
        check.fail(f"{field} {value!r} needs three components (numbers or expressions in t), or a callable of t")
        return (0.0, 0.0, 0.0)
    return tuple(check.function(one, ("t",), f"{field}[{i}]") for i, one in enumerate(value))


def _check_target(check: Check, body: Any) -> None:
    if isinstance(body, Ground) or body == "ground":
        check.fail("it acts on the ground, which cannot move; give a body")


@dataclass(frozen=True)
class PointForce:
    """A force (N) at a point of a body: three numbers or expressions of t, or a callable of t; in ground or body axes.

    ``point`` is in ground coordinates at the initial configuration, by default the centre of mass.
    """

    name: str
    body: BodyLike
    force: Any
    point: Vector | None = None
    frame: str = "ground"

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        _check_target(check, self.body)
        check.choice(self.frame, ("ground", "body"), "frame")
        check.done(force=_read_load(check, self.force, "force"), point=check.optional_vector(self.point, 3, "point"))


@dataclass(frozen=True)
class PointTorque:
    """A torque (N m) on a body: three numbers or expressions of t, or a callable of t; in ground or body axes."""

    name: str
    body: BodyLike
    torque: Any
    frame: str = "ground"

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        _check_target(check, self.body)
        check.choice(self.frame, ("ground", "body"), "frame")
        check.done(torque=_read_load(check, self.torque, "torque"))


@dataclass(frozen=True)
class Road:
    """A road z(x, y): a height, plus half-cylinder bumps (x, radius) lying across it, as a tire rolls over them.

    ``profile`` is a number, an expression in x and y, a table over x, or a callable of (x, y). A wheel of radius R
    feels a bump of radius r as the envelope sqrt((R + r)^2 - (x - x_bump)^2) - R, which is where its lowest
    point can be.
    """

    profile: FunctionLike = 0.0
    bumps: Sequence[tuple[float, float]] = ()

    def __post_init__(self) -> None:
        check = Check(self, "road")
        check.what = "Road"
        bumps = tuple(check.vector(bump, 2, "bump (x, radius)") for bump in self.bumps)
        for bump in bumps:
            check.positive(bump[1], "bump radius")
        check.done(profile=check.function(self.profile, ("x", "y"), "profile"), bumps=bumps)


@dataclass(frozen=True)
class Tire:
    """A vertical spring and damper between a wheel's centre and the road below it; ``unilateral`` tires never pull.

    ``point`` is the wheel centre (default: centre of mass); ``radius`` the free radius; ``road`` a Road, or what its
    profile may be; by default flat at z = 0.
    """

    name: str
    body: BodyLike
    point: Vector | None = None
    stiffness: float = 0.0
    damping: float = 0.0
    radius: float = 0.0
    road: Any = None
    unilateral: bool = False

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        _check_target(check, self.body)
        road = self.road
        if road is not None and not isinstance(road, Road):
            road = Road(check.function(road, ("x", "y"), "road"))
        check.done(
            point=check.optional_vector(self.point, 3, "point"),
            stiffness=check.not_negative(self.stiffness, "stiffness"),
            damping=check.not_negative(self.damping, "damping"),
            radius=check.positive(self.radius, "radius"),
            road=road,
            unilateral=bool(self.unilateral),
        )


@dataclass(frozen=True)
class UserForce:
    """Wrenches from a Python function of (t, state).

    ``state["arm"]`` (or ``state[0]``, in the order of ``bodies``) has position, orientation (quaternion), rotation
    (matrix), velocity and angular_velocity in ground axes. The function returns per body (force at the centre of mass,
    torque), both in ground axes: a list in the order of ``bodies``, a dict by name, or for one body the pair itself.
    """

    name: str
    bodies: Any
    function: Callable[..., Any]

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        bodies = tuple(self.bodies) if isinstance(self.bodies, (tuple, list)) else (self.bodies,)
        if not 1 <= len(bodies) <= 16:
            check.fail(f"it acts on {len(bodies)} bodies; give 1 to 16")
        for body in bodies:
            _check_target(check, body)
        if not callable(self.function):
            check.fail(f"function {self.function!r} is not callable; give function(t, state)")
        check.done(bodies=bodies)
