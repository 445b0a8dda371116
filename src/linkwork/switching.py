"""What a run makes of stops and switched joints: the rows that hold at its start and along it, its located events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import ModelError
from .hooks import CHANGE, RunHooks, build_state, find_action
from .impacts import Impacts
from .initial import Assembly
from .methods import Method
from .report import OPEN
from .states import States
from .stops import Stop

if TYPE_CHECKING:
    from .compile import Compiled
    from .results import EventHit

Array = NDArray[np.float64]


def find_fixed(compiled: Compiled, method: Method) -> NDArray[np.bool_]:
    """The rows that a method cannot switch: those that the motions of the tree of recursive coordinates satisfy."""
    fixed = np.zeros(len(compiled.tables["rows"]), dtype=bool)
    if method.formulation == "recursive":
        fixed[:] = True
        fixed[compiled.find_closures(method.cut)] = False
    return fixed


def find_engaged(impacts: Impacts, assembly: Assembly, t: float, name: str) -> Array:
    """The rows that hold at the start: stops that are touched at rest and pressed upon are closed."""
    engaged = np.array(impacts.compiled.engaged)
    if not impacts.stops:
        return engaged
    q, v, memory = assembly.q, assembly.v, assembly.memory
    problems = [
        f"Stop '{stop.record.name}': its coordinate is {-gap:.3g} m or rad beyond the limit at the start; move the "
        "bodies, or the limit"
        for stop, gap in zip(impacts.stops, impacts.find_gaps(t, q, memory), strict=True)
        if not gap >= -OPEN
    ]
    if problems:
        raise ModelError(problems, name)
    return np.asarray(impacts.find_closed(t, q, v, memory, engaged))


def spread_engaged(compiled: Compiled, start: Array, switchings: list[tuple[int, Array]], count: int) -> Array | None:
    """The engaged rows of every stored state, (count, rows), from those at the start and the changes.

    None: those of the model hold all along.
    """
    if not switchings and np.array_equal(start, compiled.engaged):
        return None
    rows = np.repeat(np.asarray(start, dtype=float)[None], count, 0)
    for first, engaged in switchings:
        rows[first:] = engaged
    return rows


def find_engaged_before(steps: States, times: Any) -> Array | None:
    """The engaged rows at output times; at the instant of a change those before it. None: those of the model."""
    if steps._engaged is None:
        return None
    places = np.searchsorted(steps._t, np.asarray(times, dtype=float), side="left")
    return steps.engaged[np.minimum(places, steps.count - 1)]


def build_hits(
    compiled: Compiled, steps: States, raw: Sequence[Any], events: list[Any], hooks: RunHooks
) -> list[EventHit]:
    """The events with the states before and after them, and the impulses."""
    from .results import EventHit

    changes, hits = iter(hooks.changes), []
    for index, t, q, v in raw:
        before = max(int(np.searchsorted(steps._t, t, side="left")) - 1, 0)
        memory, engaged = steps.memory[before], steps.engaged[before]
        change = next(changes, None) if find_action(events[index]) == CHANGE else None
        # of several actions at one instant each finds what the one before has left
        found = (q, v) if change is None else change.before
        state = build_state(compiled, float(t), found[0], found[1], memory, engaged=engaged)
        kind, after, impulse = "event", state, None
        if change is not None:
            jump = change.jump
            rows = engaged if jump is None else jump.engaged
            after = build_state(compiled, float(t), change.q, change.v, memory, engaged=rows)
            if jump is not None and change.dv is not None:
                kind = jump.kind if isinstance(events[index], Stop) else "event"
                impulse = States(
                    compiled, t, change.q, change.v, change.dv, jump.impulses, after.memory, single=True, engaged=rows
                )
        hits.append(EventHit(events[index].name, float(t), state, after, impulse, kind))
    return hits
