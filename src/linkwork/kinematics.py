"""Motion of fully driven mechanisms: positions, velocities, accelerations and the driving forces, without integration.

With as many independent equations as velocity coordinates, positions follow from Phi(t, q) = 0 by Newton's method from
the time before (predicted with v and v'), velocities from J v = -Phi_t, accelerations from J v' = gamma, and the
multipliers, the drivers' forces among them, from M v' + J^T lambda = f.
"""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import AssemblyError, ModelError
from .initial import CLOSED, MAX_TURN, Projector, calc_body_sizes, find_assembly
from .jacobian import DENSE_ROWS, calc_jacobian
from .states import States, find_memory
from .status import build_status
from .version import VERSION

if TYPE_CHECKING:
    from .compile import Compiled
    from .results import Result

Array = NDArray[np.float64]
HALVINGS = 10  # how often the way to the next time is halved before the position is called unreachable


class PositionError(AssemblyError):
    """A position cannot be reached; `result` holds the motion up to there."""

    result: Result | None = None


def kinematics(model: Any, times: Sequence[float] | Array) -> Result:
    """The motion of a mechanism whose drivers leave no degree of freedom, at the given times (ascending)."""
    from .compile import compile_model

    wanted = np.asarray(times, dtype=float).ravel()
    if len(wanted) == 0 or not np.all(np.isfinite(wanted)) or np.any(np.diff(wanted) <= 0.0):
        raise ModelError("times must be finite, ascending and at least one", model.name)
    began = clock.perf_counter()
    compiled = compile_model(model)
    start = find_assembly(compiled, velocities=False, t=float(wanted[0]), name=model.name)
    tracker = Tracker(compiled, model.name, float(wanted[0]), start.q, start.memory)
    states = []
    failure: AssemblyError | None = None
    for t in wanted:
        try:
            tracker.advance(float(t))
        except AssemblyError as error:
            failure = error
            break
        states.append((tracker.t, tracker.q, tracker.v, tracker.a, tracker.multipliers, tracker.memory))
    result = build_motion(compiled, states, len(wanted), tracker, clock.perf_counter() - began, failure)
    if failure is not None:
        unreached = PositionError(failure.problems, model.name, failure.gaps)
        unreached.result = result
        raise unreached
    return result


class Tracker:
    """Follows the one solution branch through time."""

    def __init__(self, compiled: Compiled, name: str, t: float, q: Array, memory: Array) -> None:
        self.compiled, self.system, self.name = compiled, compiled.system, name
        self.projector = Projector(compiled)
        self.t, self.q, self.memory = t, q, memory
        self.iterations = self.solves = 0
        self.gaps: dict[str, float] = {}
        self._require_driven()
        self._solve_rates()

    def _require_driven(self) -> None:
        """Raises unless rank equals the number of velocity coordinates, naming what is free."""
        rank, active = self.system.active_rows(self.t, self.q, self.memory)
        self.active = np.asarray(active)
        free = len(self.projector.free) - int(rank)
        if free:
            candidates = find_free_coordinates(self.projector, self.t, self.q, self.memory)
            names = ", ".join(f"'{text}'" for text in candidates)
            raise ModelError(
                f"kinematics needs a fully driven mechanism, but {free} degree(s) of freedom are free"
                f"{f', which move {names}' if names else ''}; add a Driver for each, or use simulate",
                self.name,
            )

    def advance(self, t: float) -> None:
        """Goes to time t, halving the way when Newton's method does not arrive."""
        halvings = 0
        while self.t < t:
            way = min(t - self.t, self._calc_reach()) * 0.5**halvings
            target = t if self.t + way >= t - 1e-14 * max(abs(t), 1.0) else self.t + way
            if self._try(target):
                continue
            halvings += 1
            if halvings > HALVINGS:
                self._refuse(target)

    def _calc_reach(self) -> float:
        """The time in which no body turns by more than MAX_TURN: longer steps may land on another branch."""
        speed = max((pair[1] for pair in calc_body_sizes(self.compiled, self.v).values()), default=0.0)
        change = max((pair[1] for pair in calc_body_sizes(self.compiled, self.a).values()), default=0.0)
        return min(MAX_TURN / max(speed, 1e-300), float(np.sqrt(2.0 * MAX_TURN / max(change, 1e-300))))

    def _try(self, t: float) -> bool:
        """One Newton iteration from the prediction; false when joints stay open."""
        h = t - self.t
        predicted = np.asarray(self.system.move(self.q, h * self.v + 0.5 * h * h * self.a))
        memory = find_memory(self.compiled, t, predicted, self.memory)
        q, memory, iterations = self.projector.find_positions(t, predicted, memory, limit=20)
        self.iterations += iterations
        gaps = self.projector.calc_gaps(self.system.constraints(t, q, memory))
        if not max(gaps.values(), default=0.0) <= CLOSED:
            self.gaps = gaps
            return False
        self.t, self.q, self.memory = t, q, memory
        self._solve_rates()
        return bool(np.all(np.isfinite(self.a)))

    def _solve_rates(self) -> None:
        t, q, memory = self.t, self.q, self.memory
        self.v = self.projector.find_velocities(t, q, np.zeros(len(self.projector.free)), memory)
        a, multipliers = self.system.accelerations(t, q, self.v, memory, self.active)
        self.a, self.multipliers = np.asarray(a), np.asarray(multipliers)
        self.solves += 1

    def _refuse(self, t: float) -> None:
        wide = {joint: gap for joint, gap in self.gaps.items() if not gap <= CLOSED}
        listed = ", ".join(f"'{joint}' by {gap:.3g}" for joint, gap in sorted(wide.items(), key=lambda pair: -pair[1]))
        raise AssemblyError(
            f"the position at t = {t:.9g} s cannot be reached, open stay {listed or 'none'} (m or rad); the mechanism "
            "is at the end of its range or at a dead centre there: check the drivers' functions and the lengths",
            self.name,
            wide,
        )


def find_free_coordinates(projector: Projector, t: float, q: Array, memory: Array) -> list[str]:
    """Joint coordinates, else bodies, that move in the motions the joints leave free: candidates for drivers."""
    compiled, system = projector.compiled, projector.system
    jacobian = calc_jacobian(system, projector.pattern, t, q, memory)
    if jacobian.shape[0] > DENSE_ROWS:
        return []
    _, sigma, right = np.linalg.svd(jacobian.toarray(), full_matrices=True)
    rank = int(np.sum(sigma > 1e-9 * sigma.max(initial=1.0)))
    found: list[str] = []
    for motion in right[rank:]:
        for joint, info in compiled.joints.items():
            for label, primitive in info.coordinates:
                one = np.array([primitive], dtype=primitive.dtype)
                rate = float(system.coordinates(one, q, np.ascontiguousarray(motion), memory)[1][0])
                if abs(rate) > 1e-6 and f"{joint}.{label}" not in found:
                    found.append(f"{joint}.{label}")
    if not found:
        share = np.abs(right[rank:]).max(axis=0, initial=0.0)
        for body, index in compiled.bodies.items():
            record = compiled.tables["bodies"][index]
            if np.any(share[record["v"] : record["v"] + record["nv"]] > 1e-6):
                found.append(body)
    return found


def build_motion(
    compiled: Compiled, states: list[Any], count: int, tracker: Tracker, seconds: float, failure: AssemblyError | None
) -> Result:
    """The Result of what was reached; its dense output interpolates between the times asked for."""
    from .results import Result, Statistics

    t, q, v, a, multipliers, memory = (np.array(x) for x in zip(*states, strict=True)) if states else [np.zeros(0)] * 6
    steps = States(compiled, t, q, v, a, multipliers, memory)
    reached = float(t[-1]) if len(t) else tracker.t
    name = "success" if failure is None else "position_lost"
    return Result(
        compiled,
        steps,
        None,
        status=build_status(name, reached, failure.problems[0] if failure else ""),
        method="kinematics",
        options={"times": count},
        statistics=Statistics(
            steps=len(t), position_iterations=tracker.iterations, linear_solves=tracker.solves, wall_time=seconds
        ),
        version=VERSION,
    )
