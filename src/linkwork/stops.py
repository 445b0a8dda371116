"""Gaps between bodies, and stops: coordinates that may not pass a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .bodies import Vector
from .checks import Check
from .coordinates import Coordinate, Equation, Side, dot2
from .couplings import Coupling, Find, Value, read_on
from .errors import ModelError
from .joints import AxisJoint, FindSides, Named

SIDES = ("lower", "upper")


@dataclass(frozen=True)
class Gap(AxisJoint):
    """Measures, and constrains nothing: where the point of b is before a plane on a, whose normal is the axis z.

    The plane on a goes through ``plane`` (default: through ``point``, the point of b). Coordinates: gap = z.D,
    slide_x = x.D and slide_y = y.D.
    """

    plane: Vector | None = None

    def _read(self, check: Check) -> dict[str, Any]:
        return {**super()._read(check), "plane": check.optional_vector(self.plane, 3, "plane")}

    def find_sides(self, find: FindSides) -> tuple[Side, Side]:
        plane = self.point if self.plane is None else self.plane
        return find(
            self.a, self.b, point=plane, point_b=self.point, axis=self.axis, reference=self.reference, apart=True,
            needs_axis=True,
        )  # fmt: skip

    def equations(self, a: Side, b: Side) -> list[Equation]:
        return []

    def coordinates(self, a: Side, b: Side) -> list[Named]:
        return [("gap", dot2(a, a.z, b)), ("slide_x", dot2(a, a.x, b)), ("slide_y", dot2(a, a.y, b))]


@dataclass(frozen=True)
class Stop(Coupling):
    """A limit: the coordinate ``on`` stays above ``at`` (side "lower") or below it (side "upper").

    What reaches it with the speed u leaves it with ``restitution`` times u, all joints being kept; bounces lower than
    ``rest`` (m or rad; default: the run's absolute tolerance of positions) end in contact, which lasts until its force
    would pull. ``friction`` is Coulomb's coefficient for the impulses of impacts along the coordinates ``along``
    (default: the slides of a Gap).
    """

    on: Any = None
    at: float = 0.0
    side: str = "lower"
    restitution: float = 0.0
    friction: float = 0.0
    along: Sequence[Any] | None = None
    rest: float | None = None

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        restitution = check.number(self.restitution, "restitution")
        if not 0.0 <= restitution <= 1.0:
            check.fail(f"restitution {restitution:g} must lie between 0 (no rebound) and 1 (no loss)")
        rest = self.rest if self.rest is None else check.positive(self.rest, "rest")
        along = self.along
        if along is not None:
            if isinstance(along, str) or not isinstance(along, (tuple, list)):
                along = (along,)
            along = tuple(read_on(check, one, "along") for one in along)
            if len(along) > 2:
                check.fail(f"along has {len(along)} coordinates; a plane has two directions at most")
        check.choice(self.side, SIDES, "side")
        if not self.engaged:
            check.fail("engaged=False means nothing for a stop, which acts where it is reached; leave it out")
        check.done(
            on=read_on(check, self.on), at=check.number(self.at, "at"), restitution=restitution,
            friction=check.not_negative(self.friction, "friction"), along=along, rest=rest,
        )  # fmt: skip

    def find_equations(self, find: Find, value: Value) -> list[Equation]:
        """The gap, which is not negative, and where there is friction the slips along the plane."""
        sign = 1.0 if self.side == "lower" else -1.0
        gap = Equation(("no penetration",), ((sign, self.find_coordinate(find)),), sign * self.at)
        slips = self.find_slips(find) if self.friction > 0.0 else []
        return [gap, *(Equation((f"no slip along {label}",), ((1.0, c),), value(c)) for label, c in slips)]

    def find_coordinate(self, find: Find) -> Coordinate:
        if isinstance(self.on, str) and "." not in self.on:
            try:
                return find(f"{self.on}.gap")
            except ModelError:
                pass
        return find(self.on)

    def find_slips(self, find: Find) -> list[Named]:
        if self.along is not None:
            return [(str(one), find(one)) for one in self.along]
        owner = self.on.partition(".")[0] if isinstance(self.on, str) else ""
        slips = []
        for label in ("slide_x", "slide_y"):
            try:
                slips.append((label, find(f"{owner}.{label}")))
            except ModelError:  # not a Gap, or a direction that planar motion does not have
                continue
        if not slips:
            raise ModelError("friction needs the coordinates of the slip: give along=..., or a Gap as on")
        return slips
