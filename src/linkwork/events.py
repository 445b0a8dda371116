"""Events: moments at which a function of the state passes through zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .checks import Check

ACTIONS = ("record", "stop")


@dataclass(frozen=True)
class Event:
    """A zero of ``function(t, state)``, or of a channel such as "arm.position.y", found on the dense output.

    ``state["arm"].position`` and the like give the state by name. ``direction`` +1: rising through zero, -1: falling,
    0: both. ``action``: "record" keeps time and state, "stop" ends the run there, and a callable ``action(t, state)``
    may change the state.
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
            check.fail(f"action {self.action!r} is not 'record', 'stop' or a callable action(t, state)")
        check.done()
