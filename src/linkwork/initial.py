"""Consistent initial conditions: positions and velocities that satisfy every joint, as near as possible to a guess.

Positions: Gauss-Newton on Phi(q) = 0, each correction d the smallest one in the metric W that satisfies J d = -Phi
damped by a line search. Velocities: the smallest correction in
the same metric with J v = -Phi_t. Locked coordinates are taken out of d, or held by a row of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .errors import AssemblyError, ModelError, suggest
from .jacobian import DENSE_ROWS, build_jacobian_pattern, calc_jacobian, calc_metric, solve_smallest
from .states import find_memory
from .tables import BODY_PLANAR, COLUMNS, PRIMITIVE

if TYPE_CHECKING:
    from .compile import Compiled

Array = NDArray[np.float64]
CLOSED = 1e-9  # m or rad (and m/s, rad/s): below this a joint counts as closed
ROUND_OFF = 1e-13
MAX_TURN = 0.5  # rad, largest rotation of a body in one correction


@dataclass(frozen=True)
class Assembly:
    """A consistent start. Per joint: `gaps` before, `remaining` after. Per body: (m, rad) and (m/s, rad/s) moved."""

    q: Array
    v: Array
    memory: Array
    gaps: dict[str, float]
    remaining: dict[str, float]
    iterations: int
    displacement: dict[str, tuple[float, float]]
    velocity_gaps: dict[str, float] = field(default_factory=dict)
    velocity_correction: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def largest(self) -> float:
        """Largest correction of any body, positions and velocities together, m or rad (per s)."""
        moves = [*self.displacement.values(), *self.velocity_correction.values()]
        return max((max(pair) for pair in moves), default=0.0)

    def __str__(self) -> str:
        moved = {name: pair for name, pair in self.displacement.items() if max(pair) > ROUND_OFF}
        turned = {name: pair for name, pair in self.velocity_correction.items() if max(pair) > ROUND_OFF}
        gap = max(self.remaining.values(), default=0.0)
        lines = [f"assembled in {self.iterations} iterations; largest gap {gap:.2e}"]
        lines += [f"  body '{name}' moved by {a:.3g} m, turned by {b:.3g} rad" for name, (a, b) in moved.items()]
        lines += [f"  body '{name}': velocity changed by {a:.3g} m/s, {b:.3g} rad/s" for name, (a, b) in turned.items()]
        return "\n".join(lines)


def assemble(
    model: Any, keep: Sequence[str] = (), weights: Mapping[str, float] | None = None, velocities: bool = True
) -> Assembly:
    """Closes the joints of a model from its guess; the next `simulate` of the model starts from what is returned.

    keep: bodies ("crank"), body coordinates ("slider.x", "crank.orientation", planar "crank.angle") and joint
    coordinates ("pin.angle") that stay as given. weights: bodies that shall move less (> 1) or more (< 1) than others.
    """
    from .compile import compile_model

    compiled = compile_model(model)
    assembly = find_assembly(compiled, keep, dict(weights or {}), velocities, name=model.name)
    model.assembled = (compiled.hash, compiled.q.copy(), compiled.v.copy(), assembly)
    return assembly


def find_assembly(
    compiled: Compiled,
    keep: Sequence[str] = (),
    weights: dict[str, float] | None = None,
    velocities: bool = True,
    t: float = 0.0,
    name: str | None = None,
) -> Assembly:
    """The same on a compiled model at time `t`; raises AssemblyError when joints stay open."""
    projector = Projector(compiled, keep, weights)
    q, v = np.array(compiled.q, dtype=float), np.array(compiled.v, dtype=float)
    memory = find_memory(compiled, t, q, np.asarray(compiled.memory, dtype=float))
    gaps = projector.calc_gaps(compiled.system.constraints(t, q, memory))
    start = q.copy()
    q, memory, iterations = projector.find_positions(t, q, memory)
    remaining = projector.calc_gaps(compiled.system.constraints(t, q, memory))
    refuse_open(remaining, "position", name, keep)
    assembly = Assembly(q, v, memory, gaps, remaining, iterations, calc_displacement(compiled, start, q), {}, {})
    if not velocities:
        return assembly
    before = projector.calc_velocity_gaps(t, q, v, memory)
    new = projector.find_velocities(t, q, v, memory)
    refuse_open(projector.calc_velocity_gaps(t, q, new, memory), "velocity", name, keep)
    correction = calc_body_sizes(compiled, new - v)
    return Assembly(q, new, memory, gaps, remaining, iterations, assembly.displacement, before, correction)


def refuse_open(gaps: dict[str, float], level: str, name: str | None, keep: Sequence[str]) -> None:
    """Raises AssemblyError naming every joint whose residual is above CLOSED."""
    wide = {joint: gap for joint, gap in gaps.items() if not gap <= CLOSED}
    if not wide:
        return
    listed = ", ".join(f"'{joint}' by {gap:.3g}" for joint, gap in sorted(wide.items(), key=lambda pair: -pair[1]))
    held = f"; held fixed: {', '.join(keep)}" if keep else ""
    if level == "position":
        text = (
            f"the joints cannot be closed, open stay {listed} (m or rad){held}; check lengths and joint points, "
            "bring the bodies nearer to the assembled configuration, or keep fewer coordinates"
        )
    else:
        text = (
            f"no velocities satisfy all joints, in conflict are {listed} (m/s or rad/s){held}; "
            "check drivers that prescribe the same motion, or keep fewer coordinates"
        )
    raise AssemblyError(text, name, wide)


class Projector:
    """Smallest corrections of positions and velocities in a metric, with locked coordinates."""

    def __init__(
        self, compiled: Compiled, keep: Sequence[str] = (), weights: dict[str, float] | None = None, metric: Any = None
    ) -> None:
        for name, weight in (weights or {}).items():
            if name not in compiled.bodies or name == "ground":
                raise ModelError(f"weights: there is no body '{name}'; {suggest(name, compiled.bodies, 'bodies')}")
            if not weight > 0.0:
                raise ModelError(f"weights: the weight {weight} of body '{name}' must be positive")
        self.compiled, self.system = compiled, compiled.system
        self.pattern = build_jacobian_pattern(compiled.tables)
        self.engaged: Array = compiled.engaged
        self.metric: Array = calc_metric(compiled, weights) if metric is None else metric
        self.free = np.ones(self.pattern.shape[1], dtype=bool)
        held: list[Any] = []
        for text in (keep,) if isinstance(keep, str) else keep:
            self._lock(text, held)
        self.held = np.array(held, dtype=PRIMITIVE)

    # -- what is locked -------------------------------------------------------------------------------------------
    def _lock(self, text: str, held: list[Any]) -> None:
        compiled = self.compiled
        name, _, coordinate = text.partition(".")
        if name in compiled.bodies and name != "ground":
            body = compiled.tables["bodies"][compiled.bodies[name]]
            known = {"": tuple(range(6)), "x": (0,), "y": (1,), "z": (2,)}
            known |= {"position": (0, 1, 2), "orientation": (3, 4, 5)}
            if body["kind"] == BODY_PLANAR:
                known["angle"] = (5,)
            own = COLUMNS[int(body["kind"])]
            if coordinate in known:
                for k, column in enumerate(own):
                    if column in known[coordinate]:
                        self.free[body["v"] + k] = False
                return
            listed = ", ".join(word for word in known if word)
            raise ModelError(f"keep: body '{name}' has no coordinate '{coordinate}'; known: {listed}")
        if name in compiled.joints:
            records = dict(compiled.joints[name].coordinates)
            chosen = list(records) if not coordinate else [coordinate]
            if not set(chosen) <= set(records):
                labels = ", ".join(records) or "none"
                raise ModelError(f"keep: joint '{name}' has no coordinate '{coordinate}'; its coordinates: {labels}")
            held.extend(records[label] for label in chosen)
            return
        known_names = [name for name in (*compiled.bodies, *compiled.joints) if name != "ground"]
        raise ModelError(f"keep: there is no body or joint '{name}'; {suggest(name, known_names)}")

    def _held_rows(self, q: Array, memory: Array) -> sparse.csr_matrix:
        """Gradient rows of the held joint coordinates: their rates are linear in v, so unit velocities give them."""
        rows = np.zeros((len(self.held), self.pattern.shape[1]))
        bodies = self.compiled.tables["bodies"]
        for i, primitive in enumerate(self.held):
            for index in {int(primitive["body_a"]), int(primitive["body_b"])}:
                first = int(bodies[index]["v"])
                for column in range(first, first + int(bodies[index]["nv"])):
                    unit = np.zeros(rows.shape[1])
                    unit[column] = 1.0
                    rows[i, column] = self.system.coordinates(self.held[i : i + 1], q, unit, memory)[1][0]
        return sparse.csr_matrix(rows)

    # -- residuals ------------------------------------------------------------------------------------------------
    def calc_gaps(self, residual: Any) -> dict[str, float]:
        """Largest residual per joint; NaN stays NaN."""
        r = np.abs(self.engaged * np.asarray(residual))
        return {name: float(r[info.rows].max(initial=0.0)) for name, info in self.compiled.joints.items()}

    def calc_velocity_gaps(self, t: float, q: Array, v: Array, memory: Array) -> dict[str, float]:
        jacobian = calc_jacobian(self.system, self.pattern, t, q, memory)
        return self.calc_gaps(jacobian @ v - self.system.velocity_target(t, q, memory))

    # -- corrections ----------------------------------------------------------------------------------------------
    def calc_correction(self, t: float, q: Array, memory: Array, residual: Array) -> Array:
        """Smallest d with J d = residual, locked coordinates at rest."""
        jacobian = calc_jacobian(self.system, self.pattern, t, q, memory)
        active = np.ones(jacobian.shape[0], np.int32)
        if jacobian.shape[0] > DENSE_ROWS:
            active = np.asarray(self.system.active_rows(t, q, memory)[1])
        if not np.all(self.engaged):
            rows = np.flatnonzero(self.engaged)
            jacobian, residual, active = jacobian[rows], residual[rows], active[rows]
        if len(self.held):
            jacobian = sparse.vstack([jacobian, self._held_rows(q, memory)]).tocsr()
            residual = np.concatenate([residual, np.zeros(len(self.held))])
            active = np.concatenate([active, np.ones(len(self.held), np.int32)])
        d = np.zeros(len(self.free))
        d[self.free] = solve_smallest(jacobian[:, self.free], residual, self.metric[self.free], active)
        return d

    def find_positions(self, t: float, q: Array, memory: Array, limit: int = 100) -> tuple[Array, Array, int]:
        """Damped Gauss-Newton; returns the best positions found, also when joints stay open."""
        system = self.system
        phi = self.engaged * np.asarray(system.constraints(t, q, memory))
        for iteration in range(limit):
            size = float(np.abs(phi).max(initial=0.0))
            if not size > ROUND_OFF:
                return q, memory, iteration
            d = self.calc_correction(t, q, memory, -phi)
            factor = min(1.0, MAX_TURN / max(self._largest_turn(d), 1e-300))
            merit, accepted = float(np.linalg.norm(phi)), False
            while factor > 1e-8:
                trial = np.asarray(system.move(q, factor * d))
                trial_phi = self.engaged * np.asarray(system.constraints(t, trial, memory))
                if np.linalg.norm(trial_phi) <= (1.0 - 1e-4 * factor) * merit:
                    accepted = True
                    break
                factor *= 0.5
            if not accepted:  # at round-off, at a smallest gap, or at a point where the rows are not finite
                return q, memory, iteration
            q, phi = trial, trial_phi
            memory = find_memory(self.compiled, t, q, memory)
        return q, memory, limit

    def find_velocities(self, t: float, q: Array, v: Array, memory: Array) -> Array:
        """The velocities nearest to v that satisfy J v = -Phi_t; two sweeps bring the residual to round-off."""
        for _ in range(2):
            jacobian = calc_jacobian(self.system, self.pattern, t, q, memory)
            residual = self.engaged * (np.asarray(self.system.velocity_target(t, q, memory)) - jacobian @ v)
            if not np.abs(residual).max(initial=0.0) > ROUND_OFF:
                break
            v = v + self.calc_correction(t, q, memory, residual)
        return v

    def _largest_turn(self, d: Array) -> float:
        return max((pair[1] for pair in calc_body_sizes(self.compiled, d).values()), default=0.0)


def calc_body_sizes(compiled: Compiled, d: Array) -> dict[str, tuple[float, float]]:
    """Lengths of the translation and rotation parts per body of a vector in velocity coordinates."""
    sizes = {}
    for name, index in compiled.bodies.items():
        body = compiled.tables["bodies"][index]
        if body["nv"]:
            full = np.zeros(6)
            full[list(COLUMNS[int(body["kind"])])] = d[body["v"] : body["v"] + body["nv"]]
            sizes[name] = (float(np.linalg.norm(full[:3])), float(np.linalg.norm(full[3:])))
    return sizes


def calc_displacement(compiled: Compiled, before: Array, after: Array) -> dict[str, tuple[float, float]]:
    """How far every body moved (m) and turned (rad) between two configurations."""
    moved = {}
    for name, index in compiled.bodies.items():
        body = compiled.tables["bodies"][index]
        first, count = int(body["q"]), int(body["nq"])
        x, y = before[first : first + count], after[first : first + count]
        size = 2 if body["kind"] == BODY_PLANAR else 3
        turn = 0.0
        if body["kind"] == BODY_PLANAR:
            turn = abs(float(y[2] - x[2]))
        elif count == 7:
            p, r = x[3:] / np.linalg.norm(x[3:]), y[3:] / np.linalg.norm(y[3:])
            chord = min(float(np.linalg.norm(p - r)), float(np.linalg.norm(p + r)))
            turn = float(4.0 * np.arcsin(min(1.0, 0.5 * chord)))
        if count:
            moved[name] = (float(np.linalg.norm(y[:size] - x[:size])), turn)
    return moved
