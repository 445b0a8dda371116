"""What a run calls back: event functions and actions, the user's callback, the progress bar and Ctrl-C.

The core calls these between steps with plain arrays; here they become states with names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import AssemblyError, ModelError, suggest
from .events import Switch
from .impacts import Impacts, Jump
from .initial import Projector, refuse_open
from .jacobian import calc_mass, calc_metric, find_owner
from .progress import Progress
from .states import States, find_memory, predict_memory
from .stops import Stop

if TYPE_CHECKING:
    from .compile import Compiled

Array = NDArray[np.float64]
RECORD, STOP, CHANGE = range(3)  # enum class EventAction of src/core/integrators/driver.hpp
HELD = 1e6  # weight of velocities that an action has set against those it has not


class State(States):
    """One state, as event functions, actions and callbacks see it; an action may set positions and velocities."""

    mutable = False
    tolerance = 0.0  # of joints that an action has switched on

    def switch(self, on: Any = (), off: Any = (), tolerance: float = 1e-6) -> None:
        """Switches joints and drivers on and off (in an action); those switched on must be closed to `tolerance`."""
        if not self.mutable:
            raise AttributeError("joints can be switched only inside the action of an Event")
        change = Switch(on, off, tolerance)
        rows = self.engaged[0]
        for names, value in ((change.on, 1.0), (change.off, 0.0)):
            for name in names:
                rows[find_switched(self.compiled, name).rows] = value
        self.tolerance = max(self.tolerance, change.tolerance)
        self._a = self._lambda = None
        self._forget()

    def stop(self) -> None:
        """Ends the run here (in an action or a callback)."""
        self.stopped = True

    stopped = False


def find_switched(compiled: Compiled, name: str) -> Any:
    """The joint that a Switch names."""
    if name not in compiled.joints:
        raise ModelError(f"there is no joint '{name}' to switch; {suggest(name, compiled.joints, 'joints')}")
    if compiled.joints[name].kind == "stop":
        raise ModelError(f"'{name}' is a Stop, which opens and closes by itself; leave it out of the Switch")
    return compiled.joints[name]


def build_state(
    compiled: Compiled, t: float, q: Any, v: Any, memory: Array, mutable: bool = False, engaged: Any = None
) -> State:
    """The state at (t, q, v); a mutable one owns copies of its arrays."""
    fresh = find_memory(compiled, t, np.asarray(q, dtype=float), memory)
    rows = None if engaged is None else np.array(engaged, dtype=float)
    state = State(
        compiled, t, np.array(q, dtype=float), np.array(v, dtype=float), memory=fresh, single=True, engaged=rows
    )
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
        impacts: Impacts,
        engaged: Array,
        start: tuple[float, Array, Array],
        fixed: NDArray[np.bool_],
    ) -> None:
        self._compiled, self._events, self._callback = compiled, list(events), callback
        self._fixed = fixed  # rows that the method cannot switch
        self._impacts, self._engaged = impacts, np.array(engaged, dtype=float)
        self._last = start  # (t, q, v) that the memory belongs to
        self.start_engaged = self._engaged
        self.changes: list[Change] = []  # one per action and impact, in the order of the hits
        self._progress, self._memory, self._name = progress, memory, name
        self.interrupted = False
        self._rows = {stop.record.name: stop.row for stop in impacts.stops}
        self._numbers = {stop.record.name: i for i, stop in enumerate(impacts.stops)}
        self._functions = [self._read_function(event) for event in self._events]
        # an unknown channel or a wrong signature is found before the first step
        if self._events:
            self._probe()

    def _read_function(self, event: Any) -> Callable[[State], Any]:
        """An event function of (t, state), of (state), or a channel, as a function of the state."""
        if isinstance(event, Stop):
            return lambda state: 0.0  # the core knows gap and force of a stop
        function = event.function
        if isinstance(function, str):
            return lambda state: state.channel(function)
        return take_state(function)

    def _probe(self) -> None:
        q, v = np.asarray(self._compiled.q, dtype=float), np.asarray(self._compiled.v, dtype=float)
        state = build_state(self._compiled, 0.0, q, v, self._memory)
        for event in self._events:
            if isinstance(event, Stop):
                continue
            if isinstance(event.action, Switch):
                for name in (*event.action.on, *event.action.off):
                    try:
                        find_switched(self._compiled, name)
                    except ModelError as error:
                        raise ModelError(f"event '{event.name}': {error.problems[0]}", self._name) from None
                self._refuse_fixed(event.name, [*event.action.on, *event.action.off])
            if isinstance(event.function, str) and np.ndim(state.channel(event.function)) != 0:
                raise ModelError(
                    f"event '{event.name}': '{event.function}' is a vector; name a component, such as "
                    f"'{event.function}.x'",
                    self._name,
                )

    def specs(self) -> list[tuple[int, int, int]]:
        """(direction, action, row of a stop or -1) of every event."""
        return [(self._find_direction(event), find_action(event), self._find_row(event)) for event in self._events]

    def _find_direction(self, event: Any) -> int:
        return -1 if isinstance(event, Stop) else int(event.direction)

    def _find_row(self, event: Any) -> int:
        return self._rows[event.name] if isinstance(event, Stop) else -1

    def table(self) -> dict[str, Callable[..., Any]]:
        """The callables by the core's names."""
        hooks: dict[str, Callable[..., Any]] = {"tick": self.tick}
        if self._events:
            if not all(isinstance(event, Stop) for event in self._events):
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

    def _follow(self, t: float, q: Array, v: Array) -> Array:
        """The memory of the last accepted state moved on to this one."""
        if t == self._last[0]:
            return self._memory
        return predict_memory(self._compiled, self._last, (t, np.asarray(q), np.asarray(v)), self._memory)

    def values(self, t: float, q: Array, v: Array) -> list[float]:
        state = build_state(self._compiled, t, q, v, self._follow(t, q, v), engaged=self._engaged)
        try:
            return [float(function(state)) for function in self._functions]
        except KeyboardInterrupt:
            self.interrupted = True
            raise

    def step(self, t: float, q: Array, v: Array) -> bool:
        """After every accepted step: follows the angles, calls the user's callback; true stops the run."""
        self._memory = find_memory(self._compiled, t, q, self._follow(t, q, v))
        self._last = (t, np.array(q), np.array(v))
        if self._callback is None:
            return False
        state = build_state(self._compiled, t, q, v, self._follow(t, q, v), engaged=self._engaged)
        try:
            answer = take_state(self._callback)(state)
        except KeyboardInterrupt:
            self.interrupted = True
            return True
        return bool(answer) or state.stopped

    def change(self, index: int, t: float, q: Array, v: Array) -> tuple[Array, Array, Array, bool]:
        """What an event does: (q, v, engaged rows, whether the run ends).

        A stop is struck or opens. An action runs on a mutable state, and what it left is brought back onto the
        constraints: velocities that it set are held as far as the joints allow; the others follow in the metric of the
        masses, as they do under the impulses of the joints. Joints that it switched on act with impulses.
        """
        event = self._events[index]
        self._memory = find_memory(self._compiled, t, np.asarray(q, dtype=float), self._follow(t, q, v))
        self._last = (t, np.array(q), np.array(v))
        if isinstance(event, Stop):
            number = self._numbers[event.name]
            opening = (number,) if self._engaged[self._rows[event.name]] else ()
            jump = self._impacts.find_jump(t, q, v, self._memory, self._engaged, opening, (number,))
            return *self._take_jump(t, (q, v), q, v, self._memory, jump), False
        state = build_state(self._compiled, t, q, v, self._memory, mutable=True, engaged=self._engaged)
        try:
            answer = take_state(event.action)(state)
        except KeyboardInterrupt:
            self.interrupted = True
            return q, v, self._engaged, True
        stop = state.stopped or answer is True or answer == "stop"
        new_q, new_v, engaged = state.positions[0].copy(), state.velocities[0].copy(), state.engaged[0].copy()
        same = np.array_equal(new_q, q) and np.array_equal(new_v, v)
        if same and np.array_equal(engaged, self._engaged):
            self.changes.append(Change((new_q, new_v), new_q, new_v, None))
            return new_q, new_v, self._engaged, stop
        changed = sorted(state._changed | set(np.flatnonzero(new_v != v).tolist()))
        variant = self._compiled.engage(self._impacts.find_bilateral(engaged))
        moved = not np.array_equal(new_q, q)
        memory = self._memory
        if not np.array_equal(engaged, self._engaged):
            rows = np.flatnonzero(engaged != self._engaged)
            self._refuse_fixed(event.name, sorted({find_owner(self._compiled.joints, int(i))[0] for i in rows}))
            self._refuse_gaps(event.name, t, new_q, memory, engaged, state.tolerance)
            moved = True
        if moved or changed:
            new_q, new_v, memory = self._project(variant, t, new_q, new_v, changed, moved)
        memory = find_memory(self._compiled, t, new_q, memory)
        jump = self._impacts.find_jump(t, new_q, new_v, memory, engaged)
        return *self._take_jump(t, (q, v), new_q, new_v, memory, jump), stop

    def _take_jump(
        self, t: float, before: tuple[Array, Array], q: Array, v: Array, memory: Array, jump: Jump
    ) -> tuple[Array, Array, Array]:
        self._memory, self._engaged = memory, jump.engaged
        self._last = (t, np.array(q), jump.v)
        kept = np.array(before[0], dtype=float), np.array(before[1], dtype=float)
        self.changes.append(Change(kept, np.array(q, dtype=float), jump.v, jump, jump.v - v))
        return q, jump.v, jump.engaged

    def _refuse_fixed(self, event: str, joints: Sequence[str]) -> None:
        """Raises when the method cannot switch one of these joints."""
        for name in joints:
            if np.any(self._fixed[self._compiled.joints[name].rows]):
                raise ModelError(
                    f"event '{event}': joint '{name}' carries a body of the tree of recursive coordinates and cannot "
                    f"be switched; name it in cut=('{name}',), or take another formulation",
                    self._name,
                )

    def _refuse_gaps(self, event: str, t: float, q: Array, memory: Array, engaged: Array, tolerance: float) -> None:
        """Raises when a joint that is switched on is open by more than the tolerance."""
        phi = np.abs(np.asarray(self._compiled.system.constraints(t, q, find_memory(self._compiled, t, q, memory))))
        for name, info in self._compiled.joints.items():
            fresh = (engaged[info.rows] != 0.0) & (self._engaged[info.rows] == 0.0)
            gap = float(phi[info.rows][fresh].max(initial=0.0))
            if not gap <= tolerance:
                raise AssemblyError(
                    f"event '{event}': joint '{name}' cannot be switched on at t = {t:.6g} s, it is open by "
                    f"{gap:.3g} m or rad, more than {tolerance:g}",
                    self._name,
                    {name: gap},
                )

    def _project(
        self, variant: Compiled, t: float, q: Array, v: Array, changed: list[int], moved: bool
    ) -> tuple[Array, Array, Array]:
        metric = calc_metric(self._compiled)
        positions = Projector(variant, metric=metric)
        memory = self._memory
        if moved:
            q, memory, _ = positions.find_positions(t, q, memory)
            gaps = positions.calc_gaps(self._compiled.system.constraints(t, q, memory))
            refuse_open(gaps, "position", self._name, ())
        if changed:
            mass = np.asarray(calc_mass(self._compiled.tables).diagonal())
            mass[changed] *= HELD
            velocities = Projector(variant, metric=mass)
            v = velocities.find_velocities(t, q, v, memory)
            refuse_open(velocities.calc_velocity_gaps(t, q, v, memory), "velocity", self._name, ())
        return q, v, memory


def find_action(event: Any) -> int:
    """The code of what an event does: a stop changes the state."""
    if isinstance(event, Stop) or callable(event.action):
        return CHANGE
    return {"record": RECORD, "stop": STOP}[event.action]


@dataclass(frozen=True)
class Change:
    """The state that an action or an impact left, and the impulses where there were any."""

    before: tuple[Array, Array]  # q and v that it found
    q: Array
    v: Array
    jump: Jump | None
    dv: Array | None = None
