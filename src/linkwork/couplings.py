"""Records that act on coordinates of other joints: gears, racks, couplers and drivers.

A coordinate is named "joint" if the joint has only one, else "joint.coordinate" (see the joint's page); "spring" is the
length of a spring or distance, and "body.x", "body.y", "body.z" and "body.angle" (planar bodies) are those of a body's
centre of mass in ground axes. A pair of bodies or Frames means the distance between them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .bodies import Frame
from .checks import Check
from .coordinates import Coordinate, Equation
from .functions import FunctionLike

Find = Callable[[Any], Coordinate]  # from the user's word to a coordinate
Value = Callable[[Coordinate], float]  # its initial value


def read_on(check: Check, on: Any, field: str = "on") -> Any:
    """The name of a coordinate, from a string, a joint or spring record, or a pair of bodies."""
    if isinstance(on, (tuple, list)) and len(on) == 2:
        return tuple(on)
    name = on if isinstance(on, str) else getattr(on, "name", None)
    if isinstance(on, Frame) or not isinstance(name, str) or not name.strip():
        check.fail(f"{field} {on!r} does not name a coordinate; give 'joint', 'joint.coordinate' or 'body.x'")
        return ""
    return name


@dataclass(frozen=True)
class Coupling:
    """Base of the records that constrain coordinates of other joints."""

    name: str
    engaged: bool = field(default=True, kw_only=True)  # False: switched on by an event, see Switch

    @property
    def kind(self) -> str:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()

    def find_equation(self, find: Find, value: Value) -> Equation:
        raise NotImplementedError

    def find_equations(self, find: Find, value: Value) -> list[Equation]:
        return [self.find_equation(find, value)]


@dataclass(frozen=True)
class Gear(Coupling):
    """on_b = ratio * on_a + constant: two angles with ratio = -r_a / r_b for external, + for internal toothing.

    The constant is the one of the initial configuration; so it is in RackAndPinion, and in Coupler unless given.
    """

    on_a: Any = None
    on_b: Any = None
    ratio: float = 0.0

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        ratio = check.number(self.ratio, "ratio")
        if ratio == 0:
            check.fail("ratio 0 couples nothing; give turns of on_b per turn of on_a")
        check.done(on_a=read_on(check, self.on_a, "on_a"), on_b=read_on(check, self.on_b, "on_b"), ratio=ratio)

    def find_equation(self, find: Find, value: Value) -> Equation:
        a, b = find(self.on_a), find(self.on_b)
        return Equation(("gear ratio",), ((1.0, b), (-self.ratio, a)), value(b) - self.ratio * value(a))


@dataclass(frozen=True)
class RackAndPinion(Coupling):
    """rack displacement = radius * pinion angle + constant; a negative radius turns the other way."""

    rack: Any = None
    pinion: Any = None
    radius: float = 0.0

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        radius = check.number(self.radius, "radius")
        if radius == 0:
            check.fail("radius 0 couples nothing; give the pinion's pitch radius in metres")
        check.done(rack=read_on(check, self.rack, "rack"), pinion=read_on(check, self.pinion, "pinion"), radius=radius)

    def find_equation(self, find: Find, value: Value) -> Equation:
        rack, pinion = find(self.rack), find(self.pinion)
        constant = value(rack) - self.radius * value(pinion)
        return Equation(("roll of the pinion",), ((1.0, rack), (-self.radius, pinion)), constant)


@dataclass(frozen=True)
class Coupler(Coupling):
    """sum of coefficient * coordinate = constant over any number of joints."""

    on: Sequence[Any] = ()
    coefficients: Sequence[float] = ()
    constant: float | None = None

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        on = tuple(self.on) if isinstance(self.on, (tuple, list)) else (self.on,)
        coefficients = check.vector(self.coefficients, len(on), "coefficients (one per coordinate of on)")
        if not any(coefficients):
            check.fail("coefficients are all zero; give at least one that is not")
        check.done(
            on=tuple(read_on(check, one) for one in on),
            coefficients=coefficients,
            constant=check.optional_number(self.constant, "constant"),
        )

    def find_equation(self, find: Find, value: Value) -> Equation:
        terms = tuple((c, find(on)) for c, on in zip(self.coefficients, self.on, strict=True) if c != 0)
        constant = sum(c * value(s) for c, s in terms) if self.constant is None else self.constant
        return Equation(("coupled coordinates",), terms, constant)


@dataclass(frozen=True)
class Driver(Coupling):
    """Prescribes a coordinate: coordinate = function(t).

    ``function`` is a number, an expression in t, a table (times, values) or a callable of t. The coordinate counts from
    where its joint counts it: an angle or displacement from the initial configuration, a length or a
    body's x from zero.
    """

    on: Any = None
    function: FunctionLike = 0.0

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        function = check.function(self.function, ("t",), "function")
        check.done(on=read_on(check, self.on), function=function)

    def find_equation(self, find: Find, value: Value) -> Equation:
        return Equation(("prescribed coordinate",), ((1.0, find(self.on)),), 0.0, self.function)
