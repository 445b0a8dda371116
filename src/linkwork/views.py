"""What `result["name"]` is: a body, a joint or a force, with its motion and its loads as arrays."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .states import States, calc_rotations
from .tables import BODY_PLANAR, BODY_RIGID, PRIMITIVE

Array = NDArray[np.float64]


def turn(A: Array, s: Array) -> Array:
    """A s for stacks of matrices (n, 3, 3) and one or many vectors."""
    return np.einsum("nij,nj->ni", A, np.broadcast_to(s, (len(A), 3)))


def read_point(s: Any) -> Array:
    """Three numbers in body axes."""
    point = np.asarray(s, dtype=float)
    if point.shape != (3,):
        raise ValueError(f"the point {s!r} needs three coordinates in body axes, from the centre of mass")
    return point


class BodyView:
    """Motion of one body: centre of mass and ground axes unless said otherwise; planar bodies have z = 0."""

    def __init__(self, states: States, name: str, index: int) -> None:
        self._states, self.name, self._index = states, name, index
        self._kind = int(states.body_record(index)["kind"])

    @property
    def position(self) -> Array:
        """Centre of mass (n, 3), m."""
        return self._states.trim(self._states.calc_positions(self._index))

    @position.setter
    def position(self, value: Any) -> None:
        self._write_position(0, np.asarray(value, dtype=float))

    @property
    def velocity(self) -> Array:
        """Velocity of the centre of mass (n, 3), m/s."""
        return self._states.trim(self._twist[:, :3])

    @velocity.setter
    def velocity(self, value: Any) -> None:
        self._write_velocity(0, np.asarray(value, dtype=float))

    @property
    def acceleration(self) -> Array:
        """Acceleration of the centre of mass (n, 3), m/s^2."""
        spread = self._states.spread(self._index, self._states.accelerations)
        return self._states.trim(spread[:, :3])

    @property
    def orientation(self) -> Array:
        """Unit quaternion body -> ground, scalar first, (n, 4)."""
        return self._states.trim(self._states.calc_orientations(self._index))

    @orientation.setter
    def orientation(self, value: Any) -> None:
        self._write_position(3, np.asarray(value, dtype=float))

    @property
    def rotation(self) -> Array:
        """Rotation matrix body -> ground (n, 3, 3)."""
        return self._states.trim(self._states.find_rotations(self._index))

    @property
    def angular_velocity(self) -> Array:
        """Angular velocity in ground axes (n, 3), rad/s."""
        return self._states.trim(turn(self._rotations, self._twist[:, 3:]))

    @angular_velocity.setter
    def angular_velocity(self, value: Any) -> None:
        w = np.asarray(value, dtype=float)
        spatial = w if w.shape == (3,) else np.array([0.0, 0.0, float(w)])
        self._write_velocity(3, self._rotations[0].T @ spatial)

    @property
    def angular_acceleration(self) -> Array:
        """Angular acceleration in ground axes (n, 3), rad/s^2: A w' (the part A (w x w) is zero)."""
        own = self._states.spread(self._index, self._states.accelerations)[:, 3:]
        return self._states.trim(turn(self._rotations, own))

    @property
    def angle(self) -> Array:
        """Angle of a planar body (n,), rad, counted over turns."""
        body = self._states.body_record(self._index)
        if self._kind != BODY_PLANAR:
            raise AttributeError(f"body {self.name!r} is not planar: use .orientation, or the .angle of a joint on it")
        return self._states.trim(self._states.positions[:, body["q"] + 2])

    def point(self, s: Any) -> Array:
        """Ground path (n, 3) of the body-fixed point `s`, given in body axes from the centre of mass."""
        path = self._states.calc_positions(self._index) + turn(self._rotations, read_point(s))
        return self._states.trim(path)

    def point_velocity(self, s: Any) -> Array:
        """Velocity (n, 3) of the body-fixed point `s`, ground axes."""
        turned = turn(self._rotations, np.cross(self._twist[:, 3:], read_point(s)))
        return self._states.trim(self._twist[:, :3] + turned)

    def point_acceleration(self, s: Any) -> Array:
        """Acceleration (n, 3) of the body-fixed point `s`, ground axes: r'' + A (w' x s + w x (w x s))."""
        arm, w = read_point(s), self._twist[:, 3:]
        rates = self._states.spread(self._index, self._states.accelerations)
        turned = np.cross(rates[:, 3:], arm) + np.cross(w, np.cross(w, arm))
        return self._states.trim(rates[:, :3] + turn(self._rotations, turned))

    @property
    def _rotations(self) -> Array:
        return self._states.find_rotations(self._index)

    @property
    def _twist(self) -> Array:
        return self._states.spread(self._index, self._states.velocities)

    def _require_mutable(self) -> Any:
        if not getattr(self._states, "mutable", False):
            raise AttributeError(f"the state of body {self.name!r} can be set only inside the action of an Event")
        return self._states.body_record(self._index)

    def _write_position(self, first: int, value: Array) -> None:
        body = self._require_mutable()
        size = len(value) if first else {BODY_PLANAR: 2}.get(self._kind, 3)
        if first and self._kind != BODY_RIGID:
            raise AttributeError(f"body {self.name!r} has no Euler parameters to set")
        self._states.positions[0, body["q"] + first : body["q"] + first + size] = value[:size]
        self._states._forget()

    def _write_velocity(self, first: int, value: Array) -> None:
        body = self._require_mutable()
        for k, column in enumerate(body["columns"][: body["nv"]]):
            if first <= column < first + 3:
                self._states.velocities[0, body["v"] + k] = value[column - first]
                self._states._changed.add(int(body["v"]) + k)


class JointView:
    """Reaction and coordinates of one joint or driver, loop joints included.

    `force` and `torque` are what the joint exerts on body b at b's joint point, in the axes of the joint frame on a.
    """

    def __init__(self, states: States, name: str) -> None:
        self._states, self.name = states, name
        self._info = states.compiled.joints[name]

    @property
    def force(self) -> Array:
        """Reaction force on body b (n, 3), N, axes of the joint frame on a."""
        return self._states.trim(self._into_frame(self._wrench[0]))

    @property
    def torque(self) -> Array:
        """Reaction torque on body b about b's joint point (n, 3), N m, axes of the joint frame on a."""
        return self._states.trim(self._into_frame(self._wrench[1]))

    @property
    def effort(self) -> Array:
        """Generalized constraint forces -lambda, one per equation (n, rows): the driving force of a driver."""
        return self._states.trim(-self._states.multipliers[:, self._info.rows])

    @property
    def labels(self) -> list[str]:
        """Names of the free coordinates, in the order of `coordinates`."""
        return [label for label, _ in self._info.coordinates]

    @property
    def coordinates(self) -> Array:
        """Free coordinates of the joint (n, k): angles counted over turns, displacements."""
        return self._states.trim(self._motion[0])

    @property
    def rates(self) -> Array:
        """Rates of the free coordinates (n, k)."""
        return self._states.trim(self._motion[1])

    @property
    def coordinate(self) -> Array:
        """The free coordinate of a joint that has one (n,)."""
        return self._states.trim(self._motion[0][:, self._only()])

    @property
    def rate(self) -> Array:
        """Its rate (n,)."""
        return self._states.trim(self._motion[1][:, self._only()])

    @property
    def violation(self) -> Array:
        """Largest |Phi| over the joint's equations (n,)."""
        return self._states.trim(self._gap(0))

    @property
    def velocity_violation(self) -> Array:
        """Largest |J v + Phi_t| over the joint's equations (n,)."""
        return self._states.trim(self._gap(1))

    @property
    def gap(self) -> Array:
        """Of a stop: the distance from its limit (n,), positive while it is open."""
        self._require_stop()
        states, row = self._states, self._info.rows.start
        values = states.evaluate(
            lambda k: np.asarray(states.system.constraints(states._t[k], states.positions[k], states.memory[k]))[row]
        )
        return states.trim(values)

    @property
    def closed(self) -> Array:
        """Of a stop: whether it is in contact (n,). Of others: whether they are switched on."""
        rows = self._info.rows
        return self._states.trim(np.all(self._states.engaged[:, rows.start : rows.start + 1] != 0.0, axis=1))

    @property
    def contact_force(self) -> Array:
        """Of a stop: the force with which it pushes (n,), N (N m where it limits an angle); 0 while it is open."""
        self._require_stop()
        return self._states.trim(-self._states.multipliers[:, self._info.rows.start])

    def _require_stop(self) -> None:
        if self._info.kind != "stop":
            raise AttributeError

    def __getattr__(self, label: str) -> Array:
        if label in ("gap", "contact_force"):  # the properties themselves have refused
            raise AttributeError(f"joint {self.__dict__.get('name')!r} is no Stop: it has no {label}")
        if not label.startswith("_") and label in self.labels:
            return self._states.trim(self._motion[0][:, self.labels.index(label)])
        known = ", ".join(self.labels) if not label.startswith("_") and self.labels else "none"
        raise AttributeError(f"joint {self.__dict__.get('name')!r} has no {label!r}; its coordinates: {known}")

    def _only(self) -> int:
        if len(self._info.coordinates) != 1:
            known = ", ".join(self.labels) or "none"
            raise AttributeError(f"joint {self.name!r} has not exactly one coordinate ({known}): use .coordinates")
        return 0

    def _gap(self, level: int) -> Array:
        parts = [gaps[level][self._info.rows] for gaps in self._states.iterate_violations()]
        return np.max(np.abs(np.array(parts)), axis=1, initial=0.0)

    @cached_property
    def _motion(self) -> tuple[Array, Array]:
        return calc_joint_motion(self._states, self.name)

    def _into_frame(self, x: Array) -> Array:
        axes = self._states.find_rotations(self._info.body_a) @ calc_rotations(np.asarray(self._info.frame_a[1], float))
        return np.einsum("nij,ni->nj", axes, x)

    @cached_property
    def _wrench(self) -> tuple[Array, Array]:
        """Force and torque on b about b's joint point, ground axes.

        The equations of motion read M v' + J^T lambda = f, so the joint exerts -J_b^T lambda on b: a force in ground
        axes and a torque in body axes about the centre of mass. The ground has no columns: there it is minus what the
        joint exerts on a.
        """
        states, info = self._states, self._info
        on_b = info.body_b != 0
        body, sign = (info.body_b, 1.0) if on_b else (info.body_a, -1.0)
        force, moment = calc_joint_wrench(states, self.name, body)
        force, moment = sign * force, sign * turn(states.find_rotations(body), moment)
        point = states.calc_positions(info.body_b) + turn(
            states.find_rotations(info.body_b), np.asarray(info.frame_b[0], float)
        )
        return force, moment - np.cross(point - states.calc_positions(body), force)


def calc_joint_motion(states: States, name: str) -> tuple[Array, Array]:
    """Values and rates (n, k) of a joint's free coordinates (angles on the turn of the memory)."""
    records = [record for _, record in states.compiled.joints[name].coordinates]
    if not records:
        return np.zeros((states.count, 0)), np.zeros((states.count, 0))
    primitives = np.array(records, dtype=PRIMITIVE)
    both = states.evaluate(
        lambda k: states.system.coordinates(primitives, states.positions[k], states.velocities[k], states.memory[k])
    )
    return both[:, 0], both[:, 1]


def calc_joint_wrench(states: States, name: str, body: int) -> tuple[Array, Array]:
    """-J^T lambda of a joint's rows on one body: force in ground axes, torque about the centre of mass in body axes."""
    info, pattern = states.compiled.joints[name], states.pattern
    record = states.body_record(body)
    first, count = int(record["v"]), int(record["nv"])
    inside = (pattern.row >= info.rows.start) & (pattern.row < info.rows.stop)
    inside &= (pattern.column >= first) & (pattern.column < first + count)
    row, column, source = pattern.row[inside], pattern.column[inside] - first, pattern.source[inside]
    own = np.zeros((states.count, count))
    for k in range(states.count):
        values = np.asarray(states.system.jacobian_parts(states._t[k], states.positions[k], states.memory[k]))[source]
        own[k] = -np.bincount(column, weights=values * states.multipliers[k][row], minlength=count)[:count]
    full = np.zeros((states.count, 6))
    full[:, record["columns"][:count]] = own
    return full[:, :3], full[:, 3:]


class ForceView:
    """Length, rate and force of a spring; force, torque and wrench of any other applied force."""

    def __init__(self, states: States, name: str) -> None:
        self._states, self.name = states, name
        self._info = states.compiled.forces[name]

    @property
    def length(self) -> Array:
        """Coordinate the force acts along (n,): a length in m or an angle in rad."""
        return self._states.trim(self._law[:, 0])

    angle = coordinate = length

    @property
    def rate(self) -> Array:
        """Rate of that coordinate (n,)."""
        return self._states.trim(self._law[:, 1])

    @property
    def force(self) -> Array:
        """Springs: h (n,), positive when it pulls the ends together. Others: force (n, 3) on the body, ground axes."""
        if self._info.kind == "coordinate":
            return self._states.trim(self._law[:, 2])
        return self.wrench(self._body())[..., :3]

    @property
    def torque(self) -> Array:
        """Rotational springs: h (n,), positive when it turns b back. Others: torque (n, 3) about the centre of mass."""
        if self._info.kind == "coordinate":
            return self._states.trim(self._law[:, 2])
        return self.wrench(self._body())[..., 3:]

    def wrench(self, body: str) -> Array:
        """Force and torque about the centre of mass that this element alone exerts on `body`, ground axes, (n, 6)."""
        states = self._states
        if body not in states.compiled.bodies:
            raise KeyError(f"no body {body!r}; bodies: {', '.join(states.bodies)}")
        index = states.compiled.bodies[body]
        full = self._wrenches[:, index].copy()
        full[:, 3:] = turn(states.find_rotations(index), full[:, 3:])
        return states.trim(full)

    def _body(self) -> str:
        """The body whose wrench `.force` and `.torque` show: the loaded one, or the second of a pair."""
        tables, i = self._states.compiled.tables, self._info.index
        column = {"load": ("loads", "body"), "bushing": ("bushings", "body_b"), "tire": ("tires", "body")}
        if self._info.kind not in column:
            raise AttributeError(f"force {self.name!r} acts on several bodies: use .wrench('body')")
        table, field = column[self._info.kind]
        index = int(tables[table][i][field])
        return next(name for name, k in self._states.compiled.bodies.items() if k == index)

    @cached_property
    def _law(self) -> Array:
        if self._info.kind != "coordinate":
            raise AttributeError(f"force {self.name!r} does not act along a coordinate: use .wrench('body')")
        s = self._states
        place = self._info.index
        rows = s.evaluate(
            lambda k: s.system.coordinate_forces(s._t[k], s.positions[k], s.velocities[k], s.memory[k])[place]
        )
        return rows.reshape(s.count, 3)

    @cached_property
    def _wrenches(self) -> Array:
        """The applied wrenches of a copy of the model that has this force only, (n, bodies, 6)."""
        s, tables = self._states, dict(self._states.compiled.tables)
        kinds = {
            "coordinate": "coordinate_forces", "load": "loads", "bushing": "bushings", "tire": "tires",
            "user": "user_forces",
        }  # fmt: skip
        for kind, table in kinds.items():
            keep = slice(self._info.index, self._info.index + 1) if kind == self._info.kind else slice(0)
            tables[table] = tables[table][keep]
        tables["gravity"] = np.zeros(3)
        alone = dataclasses.replace(s.compiled, tables=tables, _kept={}).system
        return s.evaluate(lambda k: alone.wrenches(s._t[k], s.positions[k], s.velocities[k], s.memory[k]))
