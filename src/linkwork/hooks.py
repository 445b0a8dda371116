"""What a run calls back: event functions and actions, the user's callback, the progress bar and Ctrl-C.

The core calls these between steps with plain arrays; here they become states with names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import ModelError
from .initial import Projector, refuse_open
from .jacobian import calc_mass, calc_metric
from .progress import Progress
from .states import States, find_memory

if TYPE_CHECKING:
    from .compile import Compiled

Array = NDArray[np.float64]
RECORD, STOP, CHANGE = range(3)  # enum class EventAction of src/core/integrators/driver.hpp
HELD = 1e6  # weight of velocities that an action has set against those it has not


class State(States):
    """One state, as event functions, actions and callbacks see it; an action may set positions and velocities."""

    mutable = False

    def stop(self) -> None:
        """Ends the run here (in an action or a callback)."""
        self.stopped = True

    stopped = False


def build_state(compiled: Compiled, t: float, q: Any, v: Any, memory: Array, mutable: bool = False) -> State:
    """The state at (t, q, v); a mutable one owns copies of its arrays."""
    fresh = find_memory(compiled, t, np.asarray(q, dtype=float), memory)
    state = State(compiled, t, np.array(q, dtype=float), np.array(v, dtype=float), memory=fresh, single=True)
    state.mutable = mutable
    return state


def take_state(function: Callable[..., Any]) -> Callable[[State], Any]:
    """A user's function(t, state) or function(state) as a function of the state."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return lambda state: function(state.t, state)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if sum(p.kind in kinds and p.default is p.empty for p in parameters) == 1:
        return function
    return lambda state: function(state.t, state)


class RunHooks:
    """The callables given to the core for one run. Interruptions by Ctrl-C are noted, not raised."""

    def __init__(
        self,
        compiled: Compiled,
        events: Sequence[Any],
        callback: Callable[[State], Any] | None,
        progress: Progress,
        memory: Array,
        name: str,
    ) -> None:
        self._compiled, self._events, self._callback = compiled, list(events), callback
        self._progress, self._memory, self._name = progress, memory, name
        self.interrupted = False
        self._functions = [self._read_function(event) for event in self._events]
        # an unknown channel or a wrong signature is found before the first step
        if self._events:
            self._probe()

    def _read_function(self, event: Any) -> Callable[[State], Any]:
        """An event function of (t, state), of (state), or a channel, as a function of the state."""
        function = event.function
        if isinstance(function, str):
            return lambda state: state.channel(function)
        return take_state(function)

    def _probe(self) -> None:
        q, v = np.asarray(self._compiled.q, dtype=float), np.asarray(self._compiled.v, dtype=float)
        state = build_state(self._compiled, 0.0, q, v, self._memory)
        for event in self._events:
            if isinstance(event.function, str) and np.ndim(state.channel(event.function)) != 0:
                raise ModelError(
                    f"event '{event.name}': '{event.function}' is a vector; name a component, such as "
                    f"'{event.function}.x'",
                    self._name,
                )

    def specs(self) -> list[tuple[int, int]]:
        """(direction, action) of every event."""
        codes = {"record": RECORD, "stop": STOP}
        return [(int(event.direction), codes.get(event.action, CHANGE)) for event in self._events]

    def table(self) -> dict[str, Callable[..., Any]]:
        """The callables by the core's names."""
        hooks: dict[str, Callable[..., Any]] = {"tick": self.tick}
        if self._events:
            hooks["events"] = self.values
            hooks["change"] = self.change
        if self._events or self._callback is not None:
            hooks["step"] = self.step
        return hooks

    def tick(self, t: float) -> bool:
        try:
            self._progress.update(t)
        except KeyboardInterrupt:
            self.interrupted = True
        return not self.interrupted

    def values(self, t: float, q: Array, v: Array) -> list[float]:
        state = build_state(self._compiled, t, q, v, self._memory)
        try:
            return [float(function(state)) for function in self._functions]
        except KeyboardInterrupt:
            self.interrupted = True
            raise

    def step(self, t: float, q: Array, v: Array) -> bool:
        """After every accepted step: follows the angles, calls the user's callback; true stops the run."""
        self._memory = find_memory(self._compiled, t, q, self._memory)
        if self._callback is None:
            return False
        state = build_state(self._compiled, t, q, v, self._memory)
        try:
            answer = take_state(self._callback)(state)
        except KeyboardInterrupt:
            self.interrupted = True
            return True
        return bool(answer) or state.stopped

    def change(self, index: int, t: float, q: Array, v: Array) -> tuple[Array, Array, bool]:
        """Runs an action on a mutable state and brings what it left back onto the constraints.

        Velocities that the action set are held as far as the joints allow; the others follow in the metric of the
        masses, as they do under the impulses of the joints.
        """
        state = build_state(self._compiled, t, q, v, self._memory, mutable=True)
        try:
            answer = take_state(self._events[index].action)(state)
        except KeyboardInterrupt:
            self.interrupted = True
            return q, v, True
        stop = state.stopped or answer is True or answer == "stop"
        new_q, new_v = state.positions[0].copy(), state.velocities[0].copy()
        if np.array_equal(new_q, q) and np.array_equal(new_v, v):
            return new_q, new_v, stop
        changed = sorted(state._changed | set(np.flatnonzero(new_v != v).tolist()))
        return *self._project(t, new_q, new_v, changed, not np.array_equal(new_q, q)), stop

    def _project(self, t: float, q: Array, v: Array, changed: list[int], moved: bool) -> tuple[Array, Array]:
        metric = calc_metric(self._compiled)
        positions = Projector(self._compiled, metric=metric)
        memory = self._memory
        if moved:
            q, memory, _ = positions.find_positions(t, q, memory)
            gaps = positions.calc_gaps(self._compiled.system.constraints(t, q, memory))
            refuse_open(gaps, "position", self._name, ())
        mass = np.asarray(calc_mass(self._compiled.tables).diagonal())
        mass[changed] *= HELD
        velocities = Projector(self._compiled, metric=mass)
        v = velocities.find_velocities(t, q, v, memory)
        refuse_open(velocities.calc_velocity_gaps(t, q, v, memory), "velocity", self._name, ())
        self._memory = find_memory(self._compiled, t, q, memory)
        return q, v
