"""Leaving a singular position from which a run is to begin.

There rows of J depend on each other that do not elsewhere (a parallelogram that lies flat). At that very position the
equations of motion with the dependent rows left out answer for a mechanism with more freedoms, and their accelerations
are not those of the motion: these follow only as a limit along it. So the run begins a hair further on, at a regular
position of the branch to which the velocities point, and takes its accelerations from there. Rows that depend on each
other everywhere (four parallel axes in space) do so at that position too, and are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .initial import Assembly, Projector
from .states import find_memory

if TYPE_CHECKING:
    from .compile import Compiled

Array = NDArray[np.float64]
# Largest turn of the first hop, rad, or displacement in sizes of the bodies. Singular values of J are about as large
# there, far above the 1e-9 that tells dependence from independence. Round-off e enters the velocities as e / REACH^2,
# the hop's own error as REACH^3: this is where they meet, at about 1e-10.
REACH = 1e-3


@dataclass(frozen=True)
class Departure:
    """A regular state shortly after a singular start; a, lambda_: their limits at the start."""

    t: float
    q: Array
    v: Array
    memory: Array
    a: Array
    lambda_: Array


def find_departure(compiled: Compiled, assembly: Assembly, t: float, longest: float) -> Departure | None:
    """The state at most `longest` seconds after t, or None where the start is regular or the branch is not found."""
    system, q, v, memory = compiled.system, assembly.q, assembly.v, assembly.memory
    rank, active = system.active_rows(t, q, memory)
    if rank == int(np.sum(compiled.engaged)):
        return None
    try:
        a, lambda_ = system.accelerations(t, q, v, memory, active)
        projector = Projector(compiled)
        hop = min(find_hop(projector, v, a), longest)
        if not hop > 0.0:
            return None
        # midpoint rule: accelerations halfway, first with those of the singular position, then with their own
        for share in (0.5, 0.5, 1.0):
            s = share * hop
            near = np.asarray(system.move(q, s * v + 0.5 * s * s * a))
            q_near, v_near, memory_near = place(projector, t + s, near, v + s * a, memory)
            rank_near, active = system.active_rows(t + s, q_near, memory_near)
            if rank_near <= rank:
                return None
            before = a, lambda_
            a, lambda_ = system.accelerations(t + s, q_near, v_near, memory_near, active)
    except ValueError:  # the accelerations are not determined, here or there
        return None
    if not all(np.all(np.isfinite(x)) for x in (q_near, v_near, a)):
        return None
    # back to the start along a line
    return Departure(t + hop, q_near, v_near, memory_near, 2.0 * before[0] - a, 2.0 * before[1] - lambda_)


def find_hop(projector: Projector, v: Array, a: Array) -> float:
    """The time in which nothing moves by more than REACH."""
    metric = projector.metric  # 1 for metres, size^2 for radians
    size = float(np.sqrt(metric[metric != 1.0].max(initial=0.0))) or 1.0
    scale = np.sqrt(metric) / size
    speed, acceleration = (float((scale * np.abs(x)).max(initial=0.0)) for x in (v, a))
    times = [REACH / speed] if speed > 0.0 else []
    times += [float(np.sqrt(2.0 * REACH / acceleration))] if acceleration > 0.0 else []
    return min(times, default=0.0)


def place(projector: Projector, t: float, q: Array, v: Array, memory: Array) -> tuple[Array, Array, Array]:
    """The state on all constraints nearest to (q, v), to round-off: small singular values magnify what is left."""
    system = projector.system
    q, memory, _ = projector.find_positions(t, q, find_memory(projector.compiled, t, q, memory))
    q = np.asarray(
        system.move(q, projector.calc_correction(t, q, memory, -np.asarray(system.constraints(t, q, memory))))
    )
    memory = find_memory(projector.compiled, t, q, memory)
    return q, projector.find_velocities(t, q, v, memory), memory


def add_start(raw: dict[str, Any], t: float, assembly: Assembly, departure: Departure, wanted: Array) -> None:
    """Puts the singular start itself before the states of a run that began at the departure."""
    row = {"t": t, "q": assembly.q, "v": assembly.v, "a": departure.a, "lambda_": departure.lambda_}
    for name, value in row.items():
        raw[name] = np.concatenate([np.asarray(value, dtype=float)[None], raw[name]])
        if len(wanted) and wanted[0] <= t:
            first, rest = np.asarray(value, dtype=float)[None], raw[f"output_{name}"]
            raw[f"output_{name}"] = np.concatenate([first, rest]) if len(rest) else first
    raw["statistics"]["rank_changes"] += 1
