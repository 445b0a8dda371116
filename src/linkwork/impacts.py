"""The impulsive problem: velocities before and after an impact, a latch or a release, and which stops stay closed.

Between the velocities before and after, v- and v+, the joints act with impulses Lambda and the stops with p >= 0,

    M (v+ - v-) + J^T Lambda = n^T p,      J v+ = -Phi_t,

and every stop that is touched obeys u+ + e u- >= 0 where its impulse is zero and = 0 where it is not, with u = n v the
speed of its gap [Newton's law of restitution; Pfeiffer and Glocker 1996, ch. 8]. With x_j the answer of the mechanism
to a unit impulse at stop j (the one linear question, joints kept), W = n x is symmetric and not negative, and p solves
the complementarity problem W p + b >= 0, p >= 0: the smallest velocities in the metric of W that the stops allow, which
non-negative least squares find also when more stops are touched than the mechanism has freedoms.

Friction: along the slip directions w of a stop impulses act with |p_t| <= mu p, against the slip that is left. Normal
and slip impulses are found together by sweeps over the stops.

What stays closed afterwards is the same problem one level up: stops with u+ = 0 are closed where a force is needed to
keep their gaps from closing further.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from .jacobian import JacobianPattern, build_jacobian_pattern, calc_jacobian
from .stops import Stop

if TYPE_CHECKING:
    from .compile import Compiled

Array = NDArray[np.float64]
TOUCHING = 1e-9  # m or rad: stops with a smaller gap are touched
STILL = 1e-10  # of the largest velocity (at least 1): below this a gap does not open
DRIFT = 1e-6  # the same of a closed stop, whose velocities may have drifted (index 1)
SWEEPS = 2000  # of the iteration with friction


@dataclass(frozen=True)
class StopRows:
    """Where a stop is in the tables: the row of its gap, and those of its slips."""

    record: Stop
    row: int
    slips: tuple[int, ...]


@dataclass(frozen=True)
class Jump:
    """What happened to velocities at an instant: M (v - v_before) + J^T impulses = 0, over all rows."""

    v: Array
    engaged: Array
    impulses: Array
    kind: str  # "impact", "contact", "release" or "switch"


class Impacts:
    """The impulsive problem of one compiled model; `height` is the rebound that counts as none."""

    def __init__(self, compiled: Compiled, height: float, linear: str = "topology") -> None:
        self.compiled, self.system, self.linear = compiled, compiled.system, linear
        self.height = height
        self.stops: list[StopRows] = []
        for name, info in compiled.joints.items():
            record = compiled.records.get(name)
            if isinstance(record, Stop):
                first = info.rows.start
                self.stops.append(StopRows(record, first, tuple(range(first + 1, info.rows.stop))))
        self.rows_of_stops = np.array([stop.row for stop in self.stops], dtype=int)

    @cached_property
    def pattern(self) -> JacobianPattern:
        """Needed at the first event only."""
        return build_jacobian_pattern(self.compiled.tables)

    # -- questions ------------------------------------------------------------------------------------------------
    def find_gaps(self, t: float, q: Array, memory: Array) -> Array:
        """The gap of every stop."""
        return np.asarray(self.system.constraints(t, q, memory))[self.rows_of_stops]

    def find_closed(
        self, t: float, q: Array, v: Array, memory: Array, engaged: Array, open_: Iterable[int] = (),
        struck: Iterable[int] = (),
    ) -> Any:  # fmt: skip
        """The rows engaged when every touched stop without speed is closed or open as forces decide; and how hard.

        `open_`: stops (by number) that are to open; `struck`: those that are touched whatever their gap says.
        """
        bilateral = self.find_bilateral(engaged)
        touched = self.find_touched(t, q, memory, engaged, struck)
        jacobian = calc_jacobian(self.system, self.pattern, t, q, memory)
        speed = self.calc_speeds(t, q, v, memory, jacobian)
        still = self.calc_still(v, engaged)
        resting = [i for i in touched if abs(speed[i]) <= still[i] and i not in set(open_)]
        if not resting:
            return bilateral
        system = self.compiled.engage(bilateral).system
        active = np.asarray(system.active_rows(t, q, memory)[1])
        a, _ = system.accelerations(t, q, v, memory, active, self.linear)
        rows = self.rows_of_stops[resting]
        bend = jacobian[rows] @ np.asarray(a) - np.asarray(system.gamma(t, q, v, memory))[rows]
        answers, _ = self.respond(system, t, q, memory, active, jacobian[rows].toarray())
        forces = solve_complementarity(jacobian[rows] @ answers.T, bend)
        scale = float(np.abs(np.asarray(system.forces(t, q, v, memory))).max(initial=0.0))
        closed = rows[forces > 1e-9 * max(scale, float(forces.max(initial=0.0)))]
        bilateral[closed] = 1.0
        return bilateral

    def find_jump(
        self, t: float, q: Array, v: Array, memory: Array, engaged: Array, open_: Iterable[int] = (),
        struck: Iterable[int] = (),
    ) -> Jump:  # fmt: skip
        """The velocities after this instant, given those before and what is switched on from now on."""
        bilateral = self.find_bilateral(engaged)
        touched = self.find_touched(t, q, memory, engaged, struck)
        jacobian = calc_jacobian(self.system, self.pattern, t, q, memory)
        system = self.compiled.engage(bilateral).system
        active = np.asarray(system.active_rows(t, q, memory)[1])

        # what the joints alone ask for, as when one has just been switched on
        residual = bilateral * (np.asarray(self.system.velocity_target(t, q, memory)) - jacobian @ v)
        dv, impulses = self.respond(system, t, q, memory, active, np.zeros((1, len(v))), residual[None])
        dv, impulses = dv[0], impulses[0]
        before = self.calc_speeds(t, q, v, memory, jacobian)
        still = self.calc_still(v, engaged)[touched]
        meant = [self.stops[i] for i in touched]
        after = before[touched] + jacobian[self.rows_of_stops[touched]] @ dv if touched else np.zeros(0)
        impact = bool(np.any(np.minimum(after, before[touched]) < -still)) if touched else False
        if impact:
            e = self.find_restitutions(system, t, q, v, memory, active, jacobian, touched, before)
            rows = [stop.row for stop in meant] + [row for stop in meant for row in stop.slips]
            answers, multipliers = self.respond(system, t, q, memory, active, jacobian[rows].toarray())
            W = jacobian[rows] @ answers.T
            free = jacobian[rows] @ (v + dv) - np.asarray(self.system.velocity_target(t, q, memory))[rows]
            speeds = jacobian[rows] @ v - np.asarray(self.system.velocity_target(t, q, memory))[rows]
            p = self.find_impulses(W, free, speeds, e, meant)
            dv = dv + answers.T @ p
            impulses = impulses + multipliers.T @ p
            impulses[rows] -= p
        v = v + dv
        engaged_after = self.find_closed(t, q, v, memory, engaged, open_, struck)
        return Jump(v, engaged_after, impulses, self.find_kind(engaged, engaged_after, impact))

    # -- parts ----------------------------------------------------------------------------------------------------
    def find_bilateral(self, engaged: Array) -> Array:
        """The engaged rows without those of stops."""
        rows = np.array(engaged, dtype=float)
        for stop in self.stops:
            rows[[stop.row, *stop.slips]] = 0.0
        return rows

    def find_touched(self, t: float, q: Array, memory: Array, engaged: Array, struck: Iterable[int]) -> list[int]:
        """Numbers of the stops that are closed, or whose gap is none, or that have been struck."""
        if not self.stops:
            return []
        gaps = self.find_gaps(t, q, memory)
        touched = (gaps <= TOUCHING) | (engaged[self.rows_of_stops] != 0.0)
        touched[list(struck)] = True
        return [int(i) for i in np.flatnonzero(touched)]

    def calc_still(self, v: Array, engaged: Array) -> Array:
        """Speeds of gaps that are none, per stop."""
        size = max(1.0, float(np.abs(v).max(initial=0.0)))
        return size * np.where(engaged[self.rows_of_stops] != 0.0, DRIFT, STILL)

    def calc_speeds(self, t: float, q: Array, v: Array, memory: Array, jacobian: Any) -> Array:
        """Rates of all gaps."""
        target = np.asarray(self.system.velocity_target(t, q, memory))
        return (jacobian @ v - target)[self.rows_of_stops]

    def respond(
        self, system: Any, t: float, q: Array, memory: Array, active: Any, forces: Array, targets: Any = None
    ) -> tuple[Array, Array]:
        """(x, y) with M x + J^T y = force and J x = target for several right sides, as rows."""
        if targets is None:
            targets = np.zeros((len(forces), len(active)))
        x, y = system.respond(
            t, q, memory, active, np.ascontiguousarray(forces), np.ascontiguousarray(targets), self.linear
        )
        return np.asarray(x), np.asarray(y)

    def find_restitutions(
        self, system: Any, t: float, q: Array, v: Array, memory: Array, active: Any, jacobian: Any,
        touched: list[int], speed: Array,
    ) -> Array:  # fmt: skip
        """Restitution of the touched stops, zero where the rebound would be too low to count.

        A rebound with the speed e u against the acceleration c rises by (e u)^2 / (2 c).
        """
        a, _ = system.accelerations(t, q, v, memory, active, self.linear)
        rows = self.rows_of_stops[touched]
        bend = jacobian[rows] @ np.asarray(a) - np.asarray(self.system.gamma(t, q, v, memory))[rows]
        e = np.array([self.stops[i].record.restitution for i in touched])
        heights = np.array([self.stops[i].record.rest or self.height for i in touched])
        rebound = e * np.minimum(speed[touched], 0.0)
        low = (bend < 0.0) & (rebound * rebound < 2.0 * np.abs(bend) * heights)
        return np.where(low, 0.0, e)

    def find_impulses(self, W: Array, free: Array, before: Array, e: Array, stops: list[StopRows]) -> Array:
        """Impulses with Newton's law; where it and friction together would add energy, restitution is lowered."""
        n = len(stops)
        rebound = np.zeros(len(free))
        rebound[:n] = e * np.minimum(before[:n], 0.0)

        def solve(share: float) -> tuple[Array, float]:
            p = self.solve_impulses(W, free + share * rebound, stops)
            return p, float(p @ (0.5 * (before + free + W @ p)))  # the work of the impulses

        p, work = solve(1.0)
        if len(free) == n or work <= 0.0:
            return p
        low, high = 0.0, 1.0
        for _ in range(50):
            share = 0.5 * (low + high)
            p, work = solve(share)
            low, high = (share, high) if work <= 0.0 else (low, share)
        return solve(low)[0]

    def solve_impulses(self, W: Array, b: Array, stops: list[StopRows]) -> Array:
        """Normal impulses (first), then those along the slips."""
        n = len(stops)
        p = np.zeros(len(b))
        p[:n] = solve_complementarity(W[:n, :n], b[:n])
        if len(b) == n:
            return p
        scale = max(float(np.abs(b).max()), 1e-300)
        for _ in range(SWEEPS):
            largest, first = 0.0, n
            for i, stop in enumerate(stops):
                old = p[i]
                p[i] = max(0.0, old - (W[i] @ p + b[i]) / W[i, i])
                largest = max(largest, abs(p[i] - old) * W[i, i])
                k = slice(first, first + len(stop.slips))
                first = k.stop
                if k.stop > k.start:
                    old_slip = p[k].copy()
                    p[k] = solve_slip(W[k, k], W[k] @ p + b[k] - W[k, k] @ old_slip, stop.record.friction * p[i])
                    largest = max(largest, float(np.abs(W[k, k] @ (p[k] - old_slip)).max()))
            if largest < 1e-15 * scale:
                break
        return p

    def find_kind(self, before: Array, after: Array, impact: bool) -> str:
        rows = self.rows_of_stops
        if len(rows) and np.any(after[rows] > before[rows]):
            return "contact"
        if impact:
            return "impact"
        if len(rows) and np.any(after[rows] < before[rows]):
            return "release"
        return "switch"


def solve_complementarity(W: Array, b: Array) -> Array:
    """p >= 0 with W p + b >= 0 and p (W p + b) = 0 for symmetric W that is not negative.

    p minimizes p^T W p / 2 + b^T p. With W = F^T F and b = F^T d this is the smallest |F p + d|.
    """
    W = 0.5 * (W + W.T)
    if len(b) == 1:
        return np.maximum(-b / W[0, 0], 0.0) if W[0, 0] > 0.0 else np.zeros(1)
    values, vectors = np.linalg.eigh(W)
    kept = values > 1e-12 * max(float(values[-1]), 1e-300)
    root = np.sqrt(values[kept])
    F = root[:, None] * vectors[:, kept].T
    d = (vectors[:, kept].T @ b) / root
    p = np.asarray(nnls(F, -d)[0])
    # the same once more where impulses act, from W itself
    acting = np.flatnonzero(p > 0.0)
    if len(acting):
        p[acting] = np.maximum(np.linalg.lstsq(W[np.ix_(acting, acting)], -b[acting], rcond=1e-12)[0], 0.0)
    return np.asarray(p, dtype=float)


def solve_slip(W: Array, free: Array, most: float) -> Array:
    """p with W p + free = 0 where |p| <= most allows it, else |p| = most against the slip that is left."""
    p = np.asarray(-np.linalg.solve(W, free), dtype=float)
    if np.linalg.norm(p) <= most:
        return p
    if len(p) == 1:
        return np.asarray(most * np.sign(p))
    # W p + free = -s p with the s > 0 that makes |p| = most
    values, vectors = np.linalg.eigh(W)
    g = vectors.T @ free
    low, high = 0.0, float(np.linalg.norm(g)) / max(most, 1e-300)
    for _ in range(200):
        s = 0.5 * (low + high)
        if np.linalg.norm(g / (values + s)) > most:
            low = s
        else:
            high = s
    return np.asarray(-vectors @ (g / (values + 0.5 * (low + high))))
