"""Runs of embedded codes: the loop of src/core/integrators/driver.cpp around a code that takes its own steps.

The code accepts its steps by itself; here each is looked at for events and outputs, corrected and stored. A step that
turns out to be of no use, and a failure inside the code, are met with a new start from the last stored state and a
shorter first step. `run_embedded` takes and returns what `_core.run` does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .embed_contract import Array, EmbedError, EvaluationError, OdeCode, Rate, StepFailed, calc_norm
from .embed_equations import Equations
from .embed_events import EventWatch, StopWatch
from .embed_kinks import KinkWatch
from .hooks import CHANGE, RECORD, STOP
from .status import STATUS_NAMES

TICK = 0.05  # s of wall time between two ticks
Row = tuple[float, Array, Array, Array, Array]  # t, q, v, a, lambda


class Idle:
    """The code of a mechanism without freedom: nothing to integrate, steps of max_step."""

    one_step = True

    def start(self, fun: Any, jac: Any, t: float, w: Array, t_end: float, rtol: float, atol: Array,
              first_step: float | None, max_step: float | None) -> None:  # fmt: skip
        self.t, self.t_end, self.w = t, t_end, w
        self.h = min(max_step or (t_end - t) / 100.0, first_step or t_end - t)

    def step(self) -> tuple[float, float]:
        t, self.t = self.t, self.t_end if self.t_end - self.t <= 1.01 * self.h else self.t + self.h
        return t, self.t

    def interpolate(self, t: float) -> Array:
        return self.w


class EmbeddedRun:
    """One run: equations, code, events and what is stored so far."""

    def __init__(self, equations: Equations, code: OdeCode, options: dict[str, Any], rtol: float,
                 atol: tuple[float, float], hooks: dict[str, Callable[..., Any]]) -> None:  # fmt: skip
        self.equations, self.chosen, self.code, self.hooks = equations, code, code, hooks
        self.rtol, self.atol = rtol, atol
        self.t, self.t_end = float(options["t_start"]), float(options["t_end"])
        self.span = self.t_end - self.t
        self.first_step: float | None = options.get("first_step") or None
        self.max_step: float | None = options.get("max_step") or None
        self.max_steps = int(options.get("max_steps", 10_000_000))
        self.wanted = [float(t) for t in options.get("output", ())]
        self.events = [(int(direction), int(action)) for direction, action, _ in options.get("events", ())]
        self.stops = StopWatch([int(row) for _, _, row in options.get("events", ())], rtol, atol[0])
        self.switchings: list[tuple[int, Array]] = []
        if len(options.get("engaged", ())):
            equations.engage(np.array(options["engaged"], dtype=float))
        self.kinks = KinkWatch(equations.calc_kinks)
        self.bound = self.t_end  # where the code has to stop: the end, or a kink before it
        self.watch = EventWatch([direction for direction, _ in self.events], self.stops.rows.tolist())
        self.watched = bool(self.events)
        self.fired = np.zeros(len(self.events), dtype=bool)
        self.stored: list[Row] = []
        self.outputs: list[Row] = []
        self.hits: list[tuple[int, float, Array, Array]] = []
        self.ended = False
        self.steps = self.rejected = self.restarts = 0
        self.smallest = self.largest = 0.0
        self.h = self.span  # length of the last step
        self.tried = self.span  # the shortest step since that could not be used
        self.trouble: EvaluationError | None = None  # the last failure of an evaluation
        self.since_start = 0  # steps since the code was started
        self.last_tick = time.perf_counter()

    # -- the run ----------------------------------------------------------------------------------------------------
    def run(self, q: Array, v: Array, memory: Array) -> dict[str, Any]:
        """Runs to the end, or to what ends it; returns the dictionary of `_core.run`."""
        begin, exception = time.perf_counter(), None
        try:
            self.w = self.equations.start(self.t, q, v, memory)
            self.store_start(self.t)
            self.start_code(self.first_step)
            while not (self.ended or self.t_end - self.t <= self.floor):
                self.advance()
            status = "stopped" if self.ended else "success"
        except EmbedError as failure:
            status = self.explain(failure)
        except KeyboardInterrupt:
            status = "interrupted"
        except Exception as error:
            status, exception = "user_error", error
        return self.build_answer(STATUS_NAMES.index(status), exception, time.perf_counter() - begin)

    @property
    def floor(self) -> float:
        """Below this a step is lost in the round-off of t."""
        return 16.0 * sys.float_info.epsilon * max(abs(self.t), 1e-6 * self.span)

    def start_code(self, first_step: float | None) -> None:
        """Hands the current state to the code, which forgets all history."""
        self.code = self.chosen if len(self.w) else Idle()
        if hasattr(self.code, "mass"):
            code: Any = self.code
            code.mass, code.algebraic = self.equations.mass, self.equations.kinds > 1
        self.since_start = 0
        self.code.start(
            self.note(self.equations.fun), self.note(self.equations.jac), self.t, self.w.copy(), self.bound, self.rtol,
            self.equations.calc_atol(*self.atol), first_step, self.max_step,
        )  # fmt: skip

    def note(self, function: Rate) -> Rate:
        """The function with its failures noted, as codes may keep them to themselves."""

        def evaluate(t: float, w: Array) -> Array:
            try:
                return function(t, w)
            except EvaluationError as failure:
                self.trouble = failure
                raise

        return evaluate

    def explain(self, failure: EmbedError) -> str:
        """The status of a failed run: a code that gives up right before the equations end does so because of that."""
        near = self.trouble is not None and abs(self.trouble.t - self.t) <= 1e-6 * self.span
        if isinstance(failure, StepFailed) and failure.status != "too_many_steps" and near and self.trouble:
            return self.trouble.status
        return failure.status

    def restart_code(self, first_step: float | None) -> None:
        """The same where the equations may fail while the code looks for its first step."""
        self.restarts += 1
        while True:
            try:
                return self.start_code(first_step)
            except EvaluationError as failure:
                first_step = self.shorten(failure)

    # -- steps ------------------------------------------------------------------------------------------------------
    def shorten(self, failure: EmbedError) -> float:
        """A first step that may do after this failure; raises it when there is none."""
        self.rejected += 1
        reached = failure.t - self.t
        self.tried = 0.25 * (min(self.tried, reached) if reached > 0.0 else self.tried)
        if self.tried < self.floor:
            raise failure
        if self.steps + self.rejected >= self.max_steps:
            raise StepFailed("too_many_steps", self.t)
        return self.tried

    def take_step(self) -> float:
        """Lets the code take a step, started anew as often as that may help; returns where it ends."""
        while True:
            if self.steps + self.rejected >= self.max_steps:
                raise StepFailed("too_many_steps", self.t)
            try:
                _, t_new = self.code.step()
                if 0.0 < t_new - self.t < min(self.floor, 0.5 * (self.t_end - self.t)):
                    raise StepFailed("step_too_small", self.t)
            except EvaluationError as failure:
                self.restart_code(self.shorten(failure))
                continue
            except StepFailed as failure:
                # a history may mislead: once more without, in small steps, unless that is what failed
                if self.since_start == 0:
                    raise
                self.tried = min(self.tried, 1e-2 * self.h)
                self.restart_code(self.shorten(failure))
                continue
            w = np.asarray(self.code.w, dtype=float)
            if not self.t < t_new <= self.t_end + self.floor or w.shape != self.w.shape:
                raise ValueError(
                    f"{type(self.code).__name__}.step went from t = {self.t:.17g} to {t_new:.17g} with {w.shape[0]} "
                    f"entries in w; it must go forward, not past t_end = {self.t_end:.17g}, with {len(self.w)} entries"
                )
            if np.all(np.isfinite(w)):
                return float(t_new)
            self.restart_code(self.shorten(EvaluationError("not_finite", float(t_new))))

    def advance(self) -> None:
        """One step with everything that belongs to it, repeated with shorter ones while that may help."""
        while True:
            t_new = self.take_step()
            if self.aim_at_kink(t_new):
                continue
            marks = len(self.outputs), len(self.hits)
            self.final = False
            try:
                t_cut = self.store_events(t_new) if self.watched else None
                self.store_outputs(self.label(t_new) if t_cut is None else t_cut)
                if t_cut is None:
                    self.finish_step(t_new)
                else:
                    self.finish_cut_step(t_cut)
                self.leave_kink()
                return self.call_hooks()
            except EvaluationError as failure:
                if self.final:
                    raise
                del self.outputs[marks[0] :], self.hits[marks[1] :]
                self.tried = min(self.tried, t_new - self.t)
                self.restart_code(self.shorten(failure))

    def aim_at_kink(self, t_new: float) -> bool:
        """Gives up a step over a kink and lets the code begin again, bound for the kink; True when it did."""
        t_kink = self.kinks.find(self.t, t_new, lambda t: self.equations.lift(t, self.interpolate(t))[0])
        if t_kink is None or t_kink - self.t > 0.999 * (t_new - self.t) or t_kink - self.t < self.floor:
            return False
        self.bound = t_kink
        self.rejected += 1
        self.restart_code(0.5 * (t_kink - self.t))
        return True

    def leave_kink(self) -> None:
        """Sees where the kinks are; at the end of a stretch the code starts anew, bound for the end."""
        self.kinks.settle(self.stored[-1][1])
        if self.bound < self.t_end and self.t >= self.bound - self.floor and not self.ended:
            self.bound = self.t_end
            self.restart_code(self.h)

    def label(self, t: float) -> float:
        """The time as it is stored: exactly t_end at the end."""
        return self.t_end if self.t_end - t <= self.floor else t

    def move_on(self, t: float, w: Array, full: bool) -> None:
        """Makes (t, w) the current state."""
        h = t - self.t
        self.steps += 1
        self.since_start += 1
        if full or self.steps == 1:
            self.smallest = h if self.steps == 1 else min(self.smallest, h)
            self.largest = max(self.largest, h)
        self.t, self.w, self.h, self.tried = t, w, h, self.span

    def finish_step(self, t: float) -> None:
        """Corrects the state at the end of the step, stores it, and starts the code anew in a new chart."""
        label, h = self.label(t), t - self.t
        w, changed = self.correct(t, np.array(self.code.w, dtype=float))
        row = (label, *self.equations.lift(t, w))
        self.final = True
        self.move_on(label, w, label < self.t_end)
        if self.watched:
            self.watch.commit()
        if len(self.stops):
            self.stops.commit(self.values, self.equations.engaged)
        self.store_row(row)
        if changed and label < self.t_end:
            self.restart_code(h if getattr(self.code, "one_step", False) else None)

    def correct(self, t: float, w: Array) -> tuple[Array, bool]:
        """The corrected state, and whether the code has to begin anew there: in a new chart, or a tolerance away."""
        try:
            corrected, changed = self.equations.correct(t, w)
            if changed and not self.equations.changed_chart and not getattr(self.code, "one_step", False):
                weights = self.equations.calc_atol(*self.atol) + self.rtol * np.abs(w)
                changed = calc_norm(corrected - w, weights) > 1.0
            return corrected, changed
        finally:
            self.final = self.equations.changed_chart  # the old w means nothing any more

    def finish_cut_step(self, t: float) -> None:
        """Ends the step at an event: stores the state there and does what the event asks for."""
        w, _ = self.correct(t, self.interpolate(t))
        row = (t, *self.equations.lift(t, w))
        self.final = True
        self.move_on(t, w, False)
        self.store_row(row)
        # all that happens at this instant, in the order of the events
        q, v = row[1], row[2]
        actions = [(i, self.events[i][1]) for i in np.flatnonzero(self.fired).tolist()]
        for i in [i for i, action in actions if action == CHANGE]:
            q, v, engaged, stop = self.hooks["change"](i, t, q, v)
            self.engage(np.asarray(engaged, dtype=float))
            self.ended = self.ended or bool(stop)
        self.ended = self.ended or any(action == STOP for _, action in actions)
        if not any(action == CHANGE for _, action in actions):
            return
        # the state after the jump is stored at the same time as the one before
        self.w = self.equations.start(t, np.asarray(q, dtype=float), np.asarray(v, dtype=float), self.equations.memory)
        self.store_start(t)
        if not self.ended and self.t_end - t > self.floor:
            self.restart_code(None)

    def engage(self, engaged: Array) -> None:
        """Switches rows on and off: the states from here on are those of these rows."""
        if not np.array_equal(engaged, self.equations.engaged):
            self.equations.engage(engaged)
            self.switchings.append((len(self.stored), engaged))

    # -- events, outputs and hooks ------------------------------------------------------------------------------------
    def interpolate(self, t: float) -> Array:
        return np.asarray(self.code.interpolate(t), dtype=float)

    def calc_values(self, t: float, w: Array) -> Array:
        return self.calc_values_of(t, *self.equations.lift(t, w))

    def calc_values_of(self, t: float, q: Array, v: Array, a: Array, multipliers: Array) -> Array:
        """The user's event functions, and those of stops."""
        values = np.zeros(len(self.events))
        if "events" in self.hooks:
            values = np.array(self.hooks["events"](t, q, v), dtype=float)
        if len(self.stops):
            self.stops.fill(values, self.equations.calc_gaps(t, q), multipliers, self.equations.engaged)
        return values

    def store_events(self, t_new: float) -> float | None:
        """Records the crossings of the step up to the first that ends it, and returns the time of that one."""
        self.values = self.calc_values(t_new, np.asarray(self.code.w, dtype=float))
        crossings = self.watch.find_crossings(
            lambda t: self.calc_values(t, self.interpolate(t)), self.t, t_new, self.values
        )
        self.fired[:] = False
        cut: float | None = None
        # crossings no further apart than the root finder can tell happen together
        together = 1e-14 * max(abs(t_new), t_new - self.t)
        for t, event in crossings:
            if cut is not None and t - cut > together:
                break
            if cut is None and self.events[event][1] != RECORD:
                cut = t
            self.fired[event] = True
            at = t if cut is None else cut
            q, v, _, _ = self.equations.lift(at, self.interpolate(at))
            self.hits.append((event, at, q, v))
        return cut

    def store_outputs(self, t: float) -> None:
        """Outputs wanted before t, from the continuous extension of the step."""
        while len(self.outputs) < len(self.wanted) and self.wanted[len(self.outputs)] < t:
            wanted = self.wanted[len(self.outputs)]
            self.outputs.append((wanted, *self.equations.lift(wanted, self.interpolate(wanted))))

    def store_row(self, row: Row) -> None:
        """A state between two steps; outputs wanted at exactly this time get the same row."""
        self.stored.append(row)
        while len(self.outputs) < len(self.wanted) and self.wanted[len(self.outputs)] <= row[0]:
            self.outputs.append((self.wanted[len(self.outputs)], *row[1:]))

    def store_start(self, t: float) -> None:
        """Stores the current state as the beginning of a stretch of the motion; sees where the event functions are."""
        row = (t, *self.equations.lift(t, self.w))
        self.store_row(row)
        self.kinks.settle(row[1])
        if len(self.stops):
            gaps, rates, bends, force = self.equations.calc_gaps_and_force(*row[:4])
            speed = float(np.abs(row[2]).max(initial=0.0))
            self.stops.begin(gaps, rates, bends, row[4], self.equations.engaged, force, speed)
        if self.watched:
            self.watch.reset(self.calc_values_of(*row), self.fired)

    def call_hooks(self) -> None:
        """After a step: the callback, and at most every 50 ms the clock's tick."""
        if "step" in self.hooks:
            t, q, v = self.stored[-1][:3]
            self.ended = bool(self.hooks["step"](t, q, v)) or self.ended
        now = time.perf_counter()
        if "tick" in self.hooks and now - self.last_tick >= TICK:
            self.last_tick = now
            if not self.hooks["tick"](self.t):
                raise KeyboardInterrupt

    # -- the answer ---------------------------------------------------------------------------------------------------
    def build_answer(self, status: int, exception: BaseException | None, wall_time: float) -> dict[str, Any]:
        facts = self.equations.facts
        counted = dict(getattr(self.chosen, "counters", {}))
        rejected = self.rejected + counted.pop("rejected", 0)
        statistics = {
            "steps": self.steps, "rejected": rejected, "restarts": self.restarts, "wall_time": wall_time,
            "smallest_step": self.smallest, "largest_step": self.largest, **facts,
            "jacobians": facts["linearizations"], **counted,
        }  # fmt: skip
        return {
            "status": status, "t_reached": self.t, "events": self.hits, "exception": exception,
            "statistics": statistics, "switchings": self.switchings,
            **stack_rows("", self.stored), **stack_rows("output_", self.outputs),
        }  # fmt: skip


def stack_rows(prefix: str, rows: list[Row]) -> dict[str, Array]:
    """One array per column of the rows."""
    names = ("t", "q", "v", "a", "lambda_")
    columns = zip(*rows, strict=True) if rows else [[] for _ in names]
    return {prefix + name: np.array(column, dtype=float) for name, column in zip(names, columns, strict=True)}


def run_embedded(
    system: Any,
    formulation: str,
    code: OdeCode,
    formulation_options: dict[str, Any],
    driver_options: dict[str, Any],
    rtol: float,
    atol_position: float,
    atol_velocity: float,
    q: Array,
    v: Array,
    memory: Array,
    hooks: dict[str, Callable[..., Any]],
) -> dict[str, Any]:
    """`_core.run` with a code of others in the place of an integrator."""
    equations = Equations(system, formulation, formulation_options)
    run = EmbeddedRun(equations, code, driver_options, rtol, (atol_position, atol_velocity), hooks)
    return run.run(q, v, memory)
