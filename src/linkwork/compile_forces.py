"""Force records to the tables of coordinate forces, loads, bushings, tires and user forces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import coordinates as co
from . import tables as tb
from .bodies import Frame
from .calls import ComponentCall, ScalarCall, WrenchCall
from .coordinates import Coordinate, Side
from .errors import ModelError
from .forces import Bushing, JointFriction, PointForce, PointTorque, Road, RotationalSpring, Spring, Tire, UserForce
from .functions import Expression, FunctionLike, Table
from .rotations import calc_quaternion
from .sides import SideFinder
from .words import FunctionWriter, Word


@dataclass(frozen=True)
class ForceInfo:
    """Where a force is in the tables: ``kind`` is "coordinate", "load", "bushing", "tire" or "user"."""

    name: str
    kind: str
    index: int


class ForceCompiler:
    """Writes force records; ``find`` turns the user's word into a coordinate, ``value`` gives its initial value."""

    def __init__(
        self,
        finder: SideFinder,
        writer: FunctionWriter,
        find: Callable[[Any], Coordinate],
        value: Callable[[Coordinate], float],
        build_primitive: Callable[[Coordinate], np.ndarray],
    ):
        self.finder, self.writer = finder, writer
        self.find, self.value, self.build_primitive = find, value, build_primitive
        self.infos: list[ForceInfo] = []
        self.coordinate_forces: list[tuple] = []
        self.loads: list[tuple] = []
        self.kinks: list[tuple] = []
        self.bushings: list[tuple] = []
        self.tires: list[tuple] = []
        self.user_forces: list[tuple] = []
        self.user_bodies: list[int] = []
        self.writers: dict[type, Callable[[Any], None]] = {
            Spring: self.write_spring, RotationalSpring: self.write_rotational_spring,
            JointFriction: self.write_friction,
            PointForce: self.write_point_force, PointTorque: self.write_point_torque, Bushing: self.write_bushing,
            Tire: self.write_tire, UserForce: self.write_user_force,
        }  # fmt: skip

    def write(self, record: Any) -> None:
        self.writers[type(record)](record)

    def _note(self, name: str, kind: str, table: list, row: tuple) -> None:
        table.append(row)
        self.infos.append(ForceInfo(name, kind, len(table) - 1))

    # --- along a coordinate -----------------------------------------------------------------------------------------

    def write_coordinate_force(
        self, record: Any, c: Coordinate, stiffness: Any = 0.0, damping: Any = 0.0, free: float = 0.0,
        force: FunctionLike | None = None, argument: str = "length", friction: float = 0.0, slip: float = 1.0,
    ) -> None:  # fmt: skip
        k, d = (0.0 if isinstance(x, Table) else x for x in (stiffness, damping))
        function = self.add_law(record, stiffness, damping, free, force, argument)
        row = (self.build_primitive(c), k, d, free, friction, slip, function, 0)
        self._note(record.name, "coordinate", self.coordinate_forces, row)

    def add_law(
        self, record: Any, stiffness: Any, damping: Any, free: float, force: FunctionLike | None, argument: str
    ) -> int:
        """Function of (t, s, s'): tables of stiffness and damping and the user's own, added up in one expression."""
        arguments = ("t", argument, "rate")
        words: list[list[int]] = []
        if isinstance(stiffness, Table):
            elongation = [Word.LOAD, 1, *self.writer.push(free), Word.SUB]
            words.append([*elongation, Word.SPLINE, self.writer.add_table(stiffness)])
        if isinstance(damping, Table):
            words.append([Word.LOAD, 2, Word.SPLINE, self.writer.add_table(damping)])
        if isinstance(force, Table):
            words.append([Word.LOAD, 1, Word.SPLINE, self.writer.add_table(force)])
        elif callable(force) and not isinstance(force, Expression):
            if words:
                raise ModelError("a callable cannot be added to tables; look the tables up inside the callable")
            return self.writer.add_callable(ScalarCall(f"{type(record).__name__} '{record.name}'", force), 3)
        elif force is not None:
            words.append(self.writer.build_words(force, arguments))
        if not words:
            return -1
        total = list(words[0])
        for more in words[1:]:
            total += [*more, Word.ADD]
        return self.writer.add_words(total, 3, str(force))

    def write_spring(self, r: Spring) -> None:
        if r.on is not None:
            c = self.find(r.on)
        else:
            a, b = self.finder.find_ends(r)
            c = co.distance(a, b)
            if self.value(c) < 1e-9:
                raise ModelError(
                    "its two points coincide initially, so its direction is undefined; move one or use Bushing"
                )
        if c.kind == tb.ANGLE:
            raise ModelError(f"'{r.on}' is an angle; use RotationalSpring")
        free = self.value(c) if r.free_length is None else r.free_length
        self.write_coordinate_force(r, c, r.stiffness, r.damping, free, r.force)

    def write_rotational_spring(self, r: RotationalSpring) -> None:
        c = self.find(r.on)
        if c.kind != tb.ANGLE:
            raise ModelError(f"'{r.on}' is not an angle; use Spring(on=...), or name the angle as 'joint.angle'")
        self.write_coordinate_force(r, c, r.stiffness, r.damping, r.free_angle, r.torque, "angle")

    def write_friction(self, r: JointFriction) -> None:
        self.write_coordinate_force(r, self.find(r.on), damping=r.viscous, friction=r.level, slip=r.slip_velocity)

    # --- on one body ------------------------------------------------------------------------------------------------

    def find_side(self, body: Any, point: Any) -> Side:
        if isinstance(body, Frame) and point is not None:
            raise ModelError("a Frame fixes the point; leave point out")
        if self.finder.find_body(body) == 0:
            raise ModelError("it acts on the ground, which cannot move; give a body")
        return self.finder.build_side(body, self.finder.read_point(point), None)

    def write_load(self, record: Any, side: Side, value: Any, torque: int) -> None:
        owner = f"{type(record).__name__} '{record.name}'"
        constant, functions = [0.0] * 3, [-1] * 3
        for i in range(3):
            if callable(value):
                functions[i] = self.writer.add_callable(ComponentCall(owner, value, i), 1)
            elif isinstance(value[i], float):
                constant[i] = value[i]
            elif callable(value[i]) and not isinstance(value[i], (Expression, Table)):
                functions[i] = self.writer.add_callable(ScalarCall(owner, value[i]), 1)
            else:
                functions[i] = self.writer.add(value[i], ("t",))
        s = co.triple(side.s)
        self._note(record.name, "load", self.loads, (side.body, torque, record.frame == "body", functions, constant, s))

    def write_point_force(self, r: PointForce) -> None:
        self.write_load(r, self.find_side(r.body, r.point), r.force, 0)

    def write_point_torque(self, r: PointTorque) -> None:
        side = self.find_side(r.body, None)
        if side.kind == tb.BODY_POINT:
            raise ModelError(f"a torque cannot act on the point mass '{side.name}'; use a Body")
        self.write_load(r, side, r.torque, 1)

    def write_tire(self, r: Tire) -> None:
        side = self.find_side(r.body, r.point)
        if side.kind == tb.BODY_PLANAR:
            raise ModelError(f"its force is along z, which the planar body '{side.name}' cannot feel; use a Body")
        road = -1 if r.road is None else self.add_road(r, r.road)
        row = (side.body, road, r.unilateral, 0, r.stiffness, r.damping, r.radius, co.triple(side.s))
        self._note(r.name, "tire", self.tires, row)
        for at, radius in r.road.bumps if r.road is not None else ():
            reach = _calc_reach(r, radius)
            self.kinks += [(side.body, 0, at - reach, co.triple(side.s)), (side.body, 0, at + reach, co.triple(side.s))]

    def add_road(self, r: Tire, road: Road) -> int:
        """Function of (x, y): profile plus bumps as the tire's wheel rolls over them."""
        profile = road.profile
        if callable(profile) and not isinstance(profile, (Expression, Table)):
            if road.bumps:
                raise ModelError("a callable road cannot be added to bumps; compute the bumps inside the callable")
            return self.writer.add_callable(ScalarCall(f"Tire '{r.name}'", profile), 2)
        total = self.writer.build_words(profile, ("x", "y"))
        for at, radius in road.bumps:
            text = (
                f"sqrt(max((R + r)**2 - (x - at)**2, {r.radius**2!r})) - R "
                f"if abs(x - at) < {_calc_reach(r, radius)!r} else 0"
            )
            bump = Expression(text, R=r.radius, r=radius, at=at)
            total = [*total, *self.writer.build_words(bump, ("x", "y")), Word.ADD]
        return self.writer.add_words(total, 2, "road")

    # --- between bodies ---------------------------------------------------------------------------------------------

    def write_bushing(self, r: Bushing) -> None:
        a, b = self.finder.find_sides(r.a, r.b, point=r.point, axis=r.axis, reference=r.reference)
        turns = any(r.stiffness[3:]) or any(r.damping[3:])
        for side in (a, b):
            if side.kind == tb.BODY_POINT and (turns or side is a):
                cure = "make it the second body and leave the rotational entries zero, or use a Body"
                raise ModelError(f"the point mass '{side.name}' has no orientation; {cure}")
        p_a, p_b = calc_quaternion(a.axes), calc_quaternion(b.axes)
        row = (a.body, b.body, co.triple(a.s), co.triple(b.s), p_a, p_b, r.stiffness, r.damping)
        self._note(r.name, "bushing", self.bushings, row)

    def write_user_force(self, r: UserForce) -> None:
        bodies = [self.finder.find_body(body) for body in r.bodies]
        if len(set(bodies)) < len(bodies):
            raise ModelError("it names a body twice; name each body once")
        names = tuple(self.finder.bodies[i].name for i in bodies)
        self.writer.callables.append(WrenchCall(f"UserForce '{r.name}'", r.function, names))
        row = (len(self.writer.callables) - 1, len(self.user_bodies), len(bodies), 0)
        self.user_bodies.extend(bodies)
        self._note(r.name, "user", self.user_forces, row)

    # --- tables -----------------------------------------------------------------------------------------------------

    def build_tables(self) -> tuple[dict[str, np.ndarray], dict[str, ForceInfo]]:
        """The tables, coordinate forces sorted by the kind of their coordinate, and the infos by name."""
        order = sorted(range(len(self.coordinate_forces)), key=lambda i: int(self.coordinate_forces[i][0]["kind"]))
        place = {old: new for new, old in enumerate(order)}
        infos = {
            i.name: ForceInfo(i.name, i.kind, place[i.index] if i.kind == "coordinate" else i.index) for i in self.infos
        }
        tables = {
            "coordinate_forces": np.array([self.coordinate_forces[i] for i in order], dtype=tb.COORDINATE_FORCE),
            "loads": np.array(self.loads, dtype=tb.LOAD),
            "bushings": np.array(self.bushings, dtype=tb.BUSHING),
            "tires": np.array(self.tires, dtype=tb.TIRE),
            "kinks": np.array(self.kinks, dtype=tb.KINK),
            "user_forces": np.array(self.user_forces, dtype=tb.USER_FORCE),
            "user_bodies": np.array(self.user_bodies, dtype=np.int32),
        }
        return tables, infos


def _calc_reach(tire: Tire, radius: float) -> float:
    """Distance before and behind a half-cylinder bump at which the wheel touches it, m."""
    return float(np.sqrt((tire.radius + radius) ** 2 - tire.radius**2))


__all__ = ["ForceCompiler", "ForceInfo"]
