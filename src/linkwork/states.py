"""One or many states of a compiled model, read by the names the user gave.

`Result` is the states of a run, `result.at(t)` the states at chosen times, and an event's action sees one state. All
arrays have one row per state; with a single state the leading axis is dropped at the surface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .jacobian import JacobianPattern, build_jacobian_pattern
from .tables import ANGLE, BODY_GROUND, BODY_PLANAR, BODY_POINT, COLUMNS, PRIMITIVE

if TYPE_CHECKING:
    from .channels import View
    from .compile import Compiled

Array = NDArray[np.float64]


def calc_rotations(p: Array) -> Array:
    """Rotation matrices body -> ground (n, 3, 3) of Euler parameters (n, 4), scalar first, of any length."""
    p = p / np.linalg.norm(p, axis=-1, keepdims=True)
    e0, e = p[..., 0], p[..., 1:]
    A = 2.0 * e[..., :, None] * e[..., None, :]
    A += (2.0 * e0 * e0 - 1.0)[..., None, None] * np.eye(3)
    # 2 e0 [e x]
    for i, j, k, sign in ((0, 1, 2, -1), (0, 2, 1, 1), (1, 2, 0, -1)):
        A[..., i, j] += sign * 2.0 * e0 * e[..., k]
        A[..., j, i] -= sign * 2.0 * e0 * e[..., k]
    return A


def calc_body_map(p: Array, w: Array) -> Array:
    """G(p)^T w (n, 4), so that p' = 1/2 G^T w for w in body axes; the inverse relation is w = 2 G p'."""
    e0, e = p[..., :1], p[..., 1:]
    return np.concatenate([-np.sum(e * w, axis=-1, keepdims=True), e0 * w + np.cross(e, w)], axis=-1)


def calc_body_rates(p: Array, rate: Array) -> Array:
    """w = 2 G(p) p' in body axes (n, 3) for unit p."""
    e0, e = p[..., :1], p[..., 1:]
    return 2.0 * (e0 * rate[..., 1:] - e * rate[..., :1] - np.cross(e, rate[..., 1:]))


def find_angles(compiled: Compiled) -> NDArray[np.void]:
    """The angles among the free coordinates of joints that are followed over turns, as PRIMITIVE records."""
    if "angles" not in compiled._kept:
        records = [record for info in compiled.joints.values() for _, record in info.coordinates]
        angles = [record for record in records if record["kind"] == ANGLE and record["memory"] >= 0]
        compiled._kept["angles"] = np.array(angles, dtype=PRIMITIVE)
    kept: NDArray[np.void] = compiled._kept["angles"]
    return kept


def find_memory(compiled: Compiled, t: float, q: Array, memory: Array) -> Array:
    """The memory after a move to q: what the equations and forces use, and the angles that only outputs use."""
    angles = find_angles(compiled)
    fresh = np.array(compiled.system.update_memory(t, q, memory), dtype=float)
    if len(angles):
        fresh[angles["memory"]] = compiled.system.coordinates(angles, q, np.zeros(len(compiled.v)), memory)[0]
    return fresh


def predict_memory(compiled: Compiled, first: Any, second: Any, memory: Array) -> Array:
    """The memory of state `first` moved on to `second` by the mean of the rates, so that a step may exceed half a turn.

    States are (t, q, v).
    """
    angles = find_angles(compiled)
    if not len(angles):
        return memory
    rates = [compiled.system.coordinates(angles, q, v, memory)[1] for _, q, v in (first, second)]
    guess = memory.copy()
    guess[angles["memory"]] += 0.5 * (second[0] - first[0]) * (rates[0] + rates[1])
    return guess


class States:
    """States of a compiled model: `t, q, v, a, lambda_`, and `states["name"]` for a body, joint or force."""

    def __init__(
        self,
        compiled: Compiled,
        t: Any,
        q: Any,
        v: Any,
        a: Any = None,
        lambda_: Any = None,
        memory: Any = None,
        *,
        single: bool = False,
        reference: States | None = None,
        engaged: Any = None,
    ) -> None:
        self._compiled = compiled
        self._single = single
        self._reference = reference
        self._t = np.atleast_1d(np.asarray(t, dtype=float))
        n = len(self._t)
        rows = len(compiled.tables["rows"])
        self._q = np.asarray(q, dtype=float).reshape(n, -1)
        self._v = np.asarray(v, dtype=float).reshape(n, -1)
        self._a = None if a is None else np.asarray(a, dtype=float).reshape(n, -1)
        self._lambda = None if lambda_ is None else np.asarray(lambda_, dtype=float).reshape(n, rows)
        self._memory = None if memory is None else np.asarray(memory, dtype=float).reshape(n, -1)
        self._engaged = None if engaged is None else np.asarray(engaged, dtype=float).reshape(n, rows)
        self.regular_rows: dict[bytes, NDArray[np.int32]] = {}  # kept by jacobian.py
        self._changed: set[int] = set()  # velocity coordinates an event's action has set
        self._forget()

    def _forget(self) -> None:
        """Drops everything that was computed from the arrays."""
        self._views: dict[str, View] = {}
        self._pattern: JacobianPattern | None = None
        self._rotations: dict[int, Array] = {}

    # -- arrays ---------------------------------------------------------------------------------------------------
    def trim(self, x: Array) -> Array:
        """Drops the leading axis when there is one state only."""
        first: Array = x[0] if self._single else x
        return first

    @property
    def t(self) -> Any:
        return float(self._t[0]) if self._single else self._t

    @property
    def q(self) -> Array:
        """Position coordinates, (n, nq)."""
        return self.trim(self._q)

    @property
    def v(self) -> Array:
        """Velocity coordinates, (n, nv): ground axes for points, body axes for angular velocities."""
        return self.trim(self._v)

    @property
    def a(self) -> Array:
        """Rates of the velocity coordinates, (n, nv)."""
        return self.trim(self.accelerations)

    @property
    def lambda_(self) -> Array:
        """Multipliers, (n, rows), in M v' + J^T lambda = f."""
        return self.trim(self.multipliers)

    @property
    def count(self) -> int:
        return len(self._t)

    @property
    def compiled(self) -> Compiled:
        return self._compiled

    @property
    def system(self) -> Any:
        """The core's evaluator of this model, built on first use."""
        return self._compiled.system

    @property
    def positions(self) -> Array:
        return self._q

    @property
    def velocities(self) -> Array:
        return self._v

    @property
    def accelerations(self) -> Array:
        if self._a is None:
            self._solve_accelerations()
        assert self._a is not None
        return self._a

    @property
    def multipliers(self) -> Array:
        if self._lambda is None:
            self._solve_accelerations()
        assert self._lambda is not None
        return self._lambda

    @property
    def engaged(self) -> Array:
        """1 for the constraint rows that hold at each state, 0 for those that are switched off, (n, rows)."""
        if self._engaged is None:
            if self._reference is not None and self._reference._engaged is not None:
                before = np.searchsorted(self._reference._t, self._t, side="right") - 1
                self._engaged = self._reference._engaged[np.maximum(before, 0)]
            else:
                return np.broadcast_to(self._compiled.engaged, (self.count, len(self._compiled.engaged)))
        return self._engaged

    @property
    def memory(self) -> Array:
        """Last accepted angles and curve parameters, (n, memory_size), followed through the states in order."""
        if self._memory is None:
            size = int(self._compiled.tables["memory_size"])
            self._memory = np.zeros((self.count, size))
            if size and self._reference is not None:
                before = np.searchsorted(self._reference._t, self._t, side="right") - 1
                self._memory = self._reference.memory[np.maximum(before, 0)]
            elif size:
                last = np.asarray(self._compiled.memory, dtype=float)
                for k in range(self.count):
                    last = self._predict_memory(k, last) if k else last
                    last = find_memory(self._compiled, self._t[k], self._q[k], last)
                    self._memory[k] = last
        return self._memory

    def _predict_memory(self, k: int, memory: Array) -> Array:
        """Angles at state k from those before."""
        first, second = ((self._t[i], self._q[i], self._v[i]) for i in (k - 1, k))
        return predict_memory(self._compiled, first, second, memory)

    @property
    def pattern(self) -> JacobianPattern:
        if self._pattern is None:
            self._pattern = build_jacobian_pattern(self._compiled.tables)
        return self._pattern

    @property
    def single(self) -> bool:
        return self._single

    # -- evaluation -----------------------------------------------------------------------------------------------
    def evaluate(self, function: Callable[[int], Any]) -> Array:
        """function(k) of every state, stacked."""
        return np.array([function(k) for k in range(self.count)], dtype=float)

    def _solve_accelerations(self) -> None:
        """Accelerations and multipliers of every state; the dependent rows are those of the first one.

        Of the first one with the same joints switched on, that is.
        """
        a, lambda_ = [], []
        chosen: dict[bytes, Any] = {}
        for k in range(self.count):
            system, key = self._compiled.engage(self.engaged[k]).system, self.engaged[k].tobytes()
            if key not in chosen:
                chosen[key] = system.active_rows(self._t[k], self._q[k], self.memory[k])[1]
            x, y = system.accelerations(self._t[k], self._q[k], self._v[k], self.memory[k], chosen[key])
            a.append(x)
            lambda_.append(y)
        self._a = np.array(a).reshape(self.count, -1)
        self._lambda = np.array(lambda_).reshape(self.count, -1)

    def iterate_violations(self) -> Iterator[tuple[Array, Array]]:
        """Phi (rows,) and J v + Phi_t (rows,) of one state after the other."""
        pattern, rows = self.pattern, self.pattern.shape[0]
        for k in range(self.count):
            at = (self._t[k], self._q[k], self.memory[k])
            values = np.asarray(self.system.jacobian_parts(*at))[pattern.source] * self._v[k][pattern.column]
            rate = np.bincount(pattern.row, weights=values, minlength=rows) - self.system.velocity_target(*at)
            engaged = self.engaged[k]
            yield engaged * np.asarray(self.system.constraints(*at)), engaged * rate

    # -- bodies ---------------------------------------------------------------------------------------------------
    def body_record(self, index: int) -> Any:
        return self._compiled.tables["bodies"][index]

    def find_rotations(self, index: int) -> Array:
        """Rotation matrices body -> ground of a body, (n, 3, 3), kept."""
        if index not in self._rotations:
            self._rotations[index] = calc_rotations(self.calc_orientations(index))
        return self._rotations[index]

    def calc_orientations(self, index: int) -> Array:
        """Euler parameters of a body, (n, 4)."""
        body = self.body_record(index)
        q = self._q[:, body["q"] : body["q"] + body["nq"]]
        p = np.zeros((self.count, 4))
        p[:, 0] = 1.0
        if body["kind"] == BODY_PLANAR:
            p[:, 0], p[:, 3] = np.cos(0.5 * q[:, 2]), np.sin(0.5 * q[:, 2])
        elif body["kind"] not in (BODY_GROUND, BODY_POINT):
            p = q[:, 3:7] / np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
        return p

    def calc_positions(self, index: int) -> Array:
        """Centre of mass, ground axes, (n, 3)."""
        body = self.body_record(index)
        r = np.zeros((self.count, 3))
        size = {BODY_GROUND: 0, BODY_PLANAR: 2}.get(int(body["kind"]), 3)
        r[:, :size] = self._q[:, body["q"] : body["q"] + size]
        return r

    def spread(self, index: int, own: Array) -> Array:
        """The body's columns of an (n, nv) array as spatial six-vectors (n, 6): ground axes, then body axes."""
        body = self.body_record(index)
        full = np.zeros((self.count, 6))
        full[:, list(COLUMNS[int(body["kind"])])] = own[:, body["v"] : body["v"] + body["nv"]]
        return full

    # -- names ----------------------------------------------------------------------------------------------------
    @property
    def bodies(self) -> list[str]:
        return [name for name in self._compiled.bodies if name != "ground"]

    @property
    def joints(self) -> list[str]:
        return list(self._compiled.joints)

    @property
    def forces(self) -> list[str]:
        return list(self._compiled.forces)

    def __getitem__(self, name: str) -> Any:
        from .channels import build_view

        if name not in self._views:
            self._views[name] = build_view(self, name)
        return self._views[name]

    def channel(self, text: str) -> Any:
        """The array behind a dotted text: "arm.position.y", "pin.angle", "spring.force", "energy.total", "t"."""
        from .channels import find_channel

        return find_channel(self, text)

    # -- whole-model quantities -----------------------------------------------------------------------------------
    @property
    def energy(self) -> Any:
        """`.kinetic`, `.potential` (gravity, linear springs, bushings, tires) and `.total`, each (n,), in J."""
        from .channels import build_energy

        return build_energy(self)

    @property
    def momentum(self) -> Any:
        """`.linear` (n, 3) in N s and `.angular` (n, 3) about the ground's origin in N m s."""
        from .channels import build_momentum

        return build_momentum(self)
