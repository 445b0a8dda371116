"""Events: moments at which a function of the state passes through zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .checks import Check

ACTIONS = ("record", "stop")


def read_names(check: Check, names: Any, field: str) -> tuple[str, ...]:
    """Names of joints from names or records, one or several."""
    several = names if isinstance(names, (tuple, list)) else (names,)
    read = tuple(one if isinstance(one, str) else getattr(one, "name", "") for one in several)
    if not all(isinstance(one, str) and one for one in read):
        check.fail(f"{field} {names!r} does not name joints; give names or records of joints")
    return read


@dataclass(frozen=True)
class Switch:
    """An action of an Event: joints and drivers switched on and off.

    Those switched on must be closed there but for ``tolerance`` (m or rad); velocities change as under the impulses of
    all joints. A joint that begins switched off has ``engaged=False``. The same in a function: ``state.switch(...)``.
    """

    on: Any = ()
    off: Any = ()
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        check = Check(self, "of an Event")
        on, off = read_names(check, self.on, "on"), read_names(check, self.off, "off")
        if not on and not off:
            check.fail("it switches nothing; give on=... or off=...")
        both = sorted(set(on) & set(off))
        if both:
            check.fail(f"'{both[0]}' is switched on and off at once; leave one out")
        check.done(on=on, off=off, tolerance=check.positive(self.tolerance, "tolerance"))

    def __call__(self, t: float, state: Any) -> None:
        state.switch(on=self.on, off=self.off, tolerance=self.tolerance)


@dataclass(frozen=True)
class Event:
    """A zero of ``function(t, state)``, or of a channel such as "arm.position.y", found on the dense output.

    ``state["arm"].position`` and the like give the state by name. ``direction`` +1: rising through zero, -1: falling,
    0: both. ``action``: "record" keeps time and state, "stop" ends the run there, a `Switch` switches joints, and a
    callable ``action(t, state)`` may change the state.
    """

    name: str
    function: Callable[..., Any] | str
    direction: int = 0
    action: Any = "record"

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        if not callable(self.function) and not isinstance(self.function, str):
            check.fail(f"function {self.function!r} is not callable; give function(t, state) -> number, or a channel")
        check.choice(self.direction, (-1, 0, 1), "direction")
        if not callable(self.action) and self.action not in ACTIONS:
            check.fail(f"action {self.action!r} is not 'record', 'stop', a Switch or a callable action(t, state)")
        check.done()
