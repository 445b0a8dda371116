"""The result of a run: what was computed, how it ended, and what it cost."""

from __future__ import annotations

import csv
import dataclasses
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import LinkworkError
from .methods import AUTO, SOLVERS
from .states import States, calc_body_map, calc_body_rates
from .status import Status
from .tables import BODY_RIGID

if TYPE_CHECKING:
    from .compile import Compiled

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Statistics:
    """What a run cost. Times in s; steps in s of simulated time."""

    steps: int = 0
    rejected: int = 0
    restarts: int = 0
    discontinuities: int = 0  # of forces and motions, met and crossed without being announced
    evaluations: int = 0
    jacobians: int = 0
    decompositions: int = 0  # of the iteration matrices of implicit methods
    iterations: int = 0  # of Newton's method in implicit methods
    convergence_failures: int = 0
    restrictions: int = 0  # steps after which slow simple iteration kept the next one short
    krylov_vectors: int = 0  # products with the Jacobian made by solver "krylov"
    factorizations: int = 0
    linear_solves: int = 0
    repartitions: int = 0
    rank_changes: int = 0
    position_iterations: int = 0
    projections: int = 0  # accepted steps that were brought back onto the constraints
    constraint_jacobians: int = 0  # of half-explicit stages
    difference_sweeps: int = 0  # over all elements, for Jacobians by differences
    condition: float = 0.0
    wall_time: float = 0.0
    smallest_step: float = 0.0
    largest_step: float = 0.0
    closest_pivot: float = 1.0
    closest_pivot_time: float = 0.0


def build_statistics(facts: dict[str, Any]) -> Statistics:
    """Statistics from the counts of the core; a count that a method does not have stays at its default."""
    known = {field.name for field in dataclasses.fields(Statistics)}
    return Statistics(**{name: value for name, value in facts.items() if name in known})


class MethodSpan(NamedTuple):
    """A part of a run that one method took: from when to when [s], which, in how many accepted steps."""

    t_from: float
    t_to: float
    method: str
    steps: int


def build_spans(spans: Sequence[tuple[float, float, str, int]], method: str) -> list[MethodSpan]:
    """The core's spans with whole methods: an explicit integrator does without the solver of the implicit one."""
    formulation, _, *solver = method.split("/")
    return [
        MethodSpan(t_from, t_to, "/".join([formulation, integrator, *(solver if integrator in SOLVERS else [])]), steps)
        for t_from, t_to, integrator, steps in spans
    ]


def show_spans(spans: Sequence[MethodSpan], most: int = 6) -> str:
    """Which integrator went on until when, in one line."""
    parts = [f"{span.method.split('/')[1]} to {span.t_to:.4g} s ({span.steps} steps)" for span in spans[:most]]
    more = len(spans) - most
    return ", ".join(parts) + (f", and {more} further changes" if more > 0 else "")


@dataclass(frozen=True)
class EventHit:
    """One located event: its name, its time and the state there, `hit.state["arm"].position`.

    `after` is the state after what the event did. `impulse` is there when joints or stops acted with impulses: a state
    whose forces are impulses, `hit.impulse["pin"].force` in N s, and whose accelerations are jumps of velocities.
    `kind`: "event", or of a stop "impact", "contact" (it stays closed) or "release".
    """

    name: str
    t: float
    state: States
    after: States
    impulse: States | None = None
    kind: str = "event"


class Violations:
    """Largest constraint violation per joint over the stored states, at position and at velocity level."""

    def __init__(self, names: list[str], position: Array, velocity: Array) -> None:
        self.names, self.position, self.velocity = names, position, velocity

    def __getitem__(self, joint: str) -> tuple[float, float]:
        k = self.names.index(joint)
        return float(self.position[k]), float(self.velocity[k])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def largest(self) -> tuple[str, float]:
        """The joint with the largest position violation, and that violation."""
        if not self.names:
            return "", 0.0
        k = int(np.argmax(self.position))
        return self.names[k], float(self.position[k])

    @property
    def largest_velocity(self) -> tuple[str, float]:
        """The joint with the largest velocity violation, and that violation."""
        if not self.names:
            return "", 0.0
        k = int(np.argmax(self.velocity))
        return self.names[k], float(self.velocity[k])

    def __str__(self) -> str:
        width = max([len(name) for name in self.names] + [5])
        lines = [f"{'joint':<{width}}  {'position':>10}  {'velocity':>10}"]
        rows = zip(self.names, self.position, self.velocity, strict=True)
        return "\n".join(lines + [f"{name:<{width}}  {p:10.2e}  {v:10.2e}" for name, p, v in rows])


class _Lost:
    """Stands where a function of the user was that could not be pickled."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, *arguments: Any) -> Any:
        raise LinkworkError(f"the function {self.text} was not saved with the result; define it in a module to keep it")


def keep_picklable(function: Callable[..., Any]) -> Any:
    """The function itself, or a stand-in that explains its absence (lambdas and local functions)."""
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return _Lost(getattr(function, "__qualname__", repr(function)))
    return function


class Result(States):
    """States of a run at its accepted steps, or at the requested output times, with everything about the run."""

    def __init__(
        self,
        compiled: Compiled,
        steps: States,
        output: States | None,
        *,
        status: Status,
        method: str,
        options: dict[str, Any],
        statistics: Statistics,
        methods: Sequence[MethodSpan] = (),
        discontinuities: Sequence[float] = (),
        events: Sequence[EventHit] = (),
        warnings: Sequence[str] = (),
        initial_correction: Any = None,
        version: str = "",
    ) -> None:
        shown = output if output is not None else steps
        super().__init__(
            compiled, shown._t, shown._q, shown._v, shown._a, shown._lambda,
            reference=None if output is None else steps, engaged=shown._engaged,
        )  # fmt: skip
        self.steps = steps if output is not None else self
        self.status = status
        self.method = method
        self.options = options
        self.statistics = statistics
        self.methods = list(methods)
        self.discontinuities = [float(t) for t in discontinuities]
        self.events = tuple(events)
        self.warnings = list(warnings)
        self.initial_correction = initial_correction
        self.version = version
        self.model_hash = compiled.hash

    # -- dense output ---------------------------------------------------------------------------------------------
    def at(self, t: Any) -> States:
        """States at any times of the run: one state for a number, an array of states for a sequence.

        Positions are quintic Hermite polynomials through the accepted steps' q, q' and q''; velocities are their
        derivatives; accelerations and multipliers are solved anew at those states when they are asked for.
        """
        times = np.atleast_1d(np.asarray(t, dtype=float))
        first, last = float(self.steps._t[0]), float(self.steps._t[-1])
        slack = 1e-12 * max(abs(first), abs(last), 1.0)
        if times.size and (times.min() < first - slack or times.max() > last + slack):
            outside = times.min() if times.min() < first - slack else times.max()
            raise ValueError(f"t = {outside:g} s is outside the run; choose a time in [{first:g}, {last:g}] s")
        q, v = calc_dense(self.steps, np.clip(times, first, last))
        return States(self._compiled, times, q, v, single=np.ndim(t) == 0, reference=self.steps)

    # -- checks of the run ----------------------------------------------------------------------------------------
    @cached_property
    def violations(self) -> Violations:
        """Largest violation per joint over the stored states."""
        largest = np.zeros((2, len(self._compiled.tables["rows"])))
        for gaps in self.iterate_violations():
            np.maximum(largest, np.abs(gaps), out=largest)
        names = list(self._compiled.joints)
        parts = [largest[:, self._compiled.joints[name].rows].max(axis=1, initial=0.0) for name in names]
        both = np.array(parts).reshape(len(names), 2)
        return Violations(names, both[:, 0], both[:, 1])

    def __str__(self) -> str:
        s, simulated = self.statistics, float(self.steps._t[-1] - self.steps._t[0])
        joint, gap = self.violations.largest
        _, gap_rate = self.violations.largest_velocity
        pace = f"{s.wall_time / simulated:.3g}" if simulated > 0 else "-"
        lines = [
            f"status          {self.status.name}: {self.status.message}",
            f"method          {self.method}",
            *([f"went with       {show_spans(self.methods)}"] if self.method.split("/")[1:2] == [AUTO] else []),
            f"time            {self.steps._t[0]:g} to {self.steps._t[-1]:g} s, {self.count} states stored",
            f"steps           {s.steps} accepted, {s.rejected} rejected, of {s.smallest_step:.3g} to "
            f"{s.largest_step:.3g} s",
            f"evaluations     {s.evaluations}",
            f"factorizations  {s.factorizations}",
            f"repartitions    {s.repartitions}",
            f"wall time       {s.wall_time:.4g} s, real-time factor {pace} (below 1: faster than the motion itself)",
        ]
        if joint:
            lines.append(f"violation       {gap:.2e} at most (joint '{joint}'), of velocities {gap_rate:.2e}")
        if self.discontinuities:
            shown = ", ".join(f"{t:.6g}" for t in self.discontinuities[:6])
            more = len(self.discontinuities) - 6
            lines.append(f"discontinuities at t = {shown} s" + (f", and {more} more" if more > 0 else ""))
        lines += [f"{hit.kind:<15} '{hit.name}' at t = {hit.t:.9g} s" for hit in self.events[:10]]
        if len(self.events) > 10:
            lines.append(f"                and {len(self.events) - 10} further events")
        lines += [f"warning         {text}" for text in self.warnings]
        return "\n".join(lines)

    def __repr__(self) -> str:
        span = f"{self._t[0]:g} to {self._t[-1]:g} s" if self.count else "nothing"
        return f"<Result {self.status.name}, {self.method}, {self.count} states, {span}>"

    # -- export ---------------------------------------------------------------------------------------------------
    def to_csv(self, path: str | Path, channels: Sequence[str] = ()) -> None:
        """Writes time and channels as columns; vectors become one column per component. Default: all positions."""
        wanted = list(channels) or [f"{name}.position" for name in self.bodies]
        header, columns = ["t"], [self._t]
        for text in wanted:
            value = np.asarray(self.channel(text)).reshape(self.count, -1)
            header += [text] if value.shape[1] == 1 else [f"{text}.{c}" for c in name_components(value.shape[1])]
            columns += list(value.T)
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows([repr(float(x)) for x in row] for row in np.array(columns).T)

    def plot(self, *channels: str, **settings: Any) -> Any:
        """Draws channels over time with matplotlib; returns the figure. Settings: title, show, path."""
        from .plotting import plot_channels

        return plot_channels(self, channels, **settings)

    # -- pickling -------------------------------------------------------------------------------------------------
    def __getstate__(self) -> dict[str, Any]:
        """Everything but the core's live object, the views and functions that cannot be pickled."""
        return strip_states(self, {})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def strip_states(states: States, kept: dict[int, Any]) -> dict[str, Any]:
    """The dictionary of a Result with one light copy of the compiled model shared by all its states."""
    compiled = states._compiled
    callables = [keep_picklable(f) for f in compiled.callables]
    light = dataclasses.replace(compiled, callables=callables, records={}, _kept={})

    def copy(other: States) -> States:
        if other is states:
            return states
        if id(other) not in kept:
            new = States.__new__(States)
            kept[id(other)] = new
            new.__dict__.update(other.__dict__)
            new._compiled = light
            new._forget()
            new._reference = None if other._reference is None else copy(other._reference)
        return kept[id(other)]  # type: ignore[no-any-return]

    state = dict(states.__dict__)
    state.update(_compiled=light, _views={}, _pattern=None, _rotations={})
    state["_reference"] = None if states._reference is None else copy(states._reference)
    state["steps"] = copy(state["steps"])
    state["events"] = tuple(
        dataclasses.replace(
            hit, state=copy(hit.state), after=copy(hit.after), impulse=hit.impulse and copy(hit.impulse)
        )
        for hit in state["events"]
    )
    return state


def name_components(count: int) -> list[str]:
    return {3: ["x", "y", "z"], 4: ["w", "x", "y", "z"]}.get(count, [str(k) for k in range(count)])


# ---------------------------------------------------------------------------------------------------------------
# Dense output
# ---------------------------------------------------------------------------------------------------------------
def calc_position_rates(compiled: Compiled, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
    """q' and q'' of stored states: p' = 1/2 G^T w and p'' = 1/2 G^T w' - 1/4 |w|^2 p for Euler parameters."""
    first, second = np.zeros_like(q), np.zeros_like(q)
    for body in compiled.tables["bodies"]:
        x, u, n = int(body["q"]), int(body["v"]), min(int(body["nv"]), 3)
        first[:, x : x + n], second[:, x : x + n] = v[:, u : u + n], a[:, u : u + n]
        if body["kind"] == BODY_RIGID:
            p, w = q[:, x + 3 : x + 7], v[:, u + 3 : u + 6]
            first[:, x + 3 : x + 7] = 0.5 * calc_body_map(p, w)
            spin = np.sum(w * w, axis=1, keepdims=True)
            second[:, x + 3 : x + 7] = 0.5 * calc_body_map(p, a[:, u + 3 : u + 6]) - 0.25 * spin * p
    return first, second


def calc_dense(steps: States, times: Array) -> tuple[Array, Array]:
    """q and v at `times` by quintic Hermite interpolation between the accepted steps."""
    t = steps._t
    if len(t) == 1:
        return np.repeat(steps._q, len(times), 0), np.repeat(steps._v, len(times), 0)
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    span = t[k + 1] - t[k]
    h = np.where(span > 0.0, span, 1.0)[:, None]
    s = np.where(span > 0.0, (times - t[k]) / h[:, 0], 1.0)[:, None]
    ends = []
    for i in (k, k + 1):
        first, second = calc_position_rates(steps.compiled, steps._q[i], steps._v[i], steps.accelerations[i])
        ends.append((steps._q[i], h * first, h * h * second))
    # the six polynomials of degree five that are 1 in one of value, slope and curvature at one end, and 0 in the others
    basis = (
        np.array([1, 0, 0, -10, 15, -6.0]), np.array([0, 1, 0, -6, 8, -3.0]), np.array([0, 0, 0.5, -1.5, 1.5, -0.5]),
        np.array([0, 0, 0, 10, -15, 6.0]), np.array([0, 0, 0, -4, 7, -3.0]), np.array([0, 0, 0, 0.5, -1, 0.5]),
    )  # fmt: skip
    q, rate = np.zeros_like(ends[0][0]), np.zeros_like(ends[0][0])
    for polynomial, data in zip(basis, (*ends[0], *ends[1]), strict=True):
        p = np.polynomial.Polynomial(polynomial)
        q += p(s) * data
        rate += p.deriv()(s) / h * data
    return normalize(steps.compiled, q, rate, np.where(span[:, None] > 0.0, 1.0, 0.0), steps._v[k + 1])


def normalize(compiled: Compiled, q: Array, rate: Array, regular: Array, after: Array) -> tuple[Array, Array]:
    """Euler parameters brought to unit length, and v from q'; where the step has no length, v is that of its end."""
    v = np.zeros((len(q), after.shape[1]))
    for body in compiled.tables["bodies"]:
        x, u, n = int(body["q"]), int(body["v"]), min(int(body["nv"]), 3)
        v[:, u : u + n] = rate[:, x : x + n]
        if body["kind"] == BODY_RIGID:
            p = q[:, x + 3 : x + 7]
            length = np.linalg.norm(p, axis=1, keepdims=True)
            q[:, x + 3 : x + 7] = p / length
            v[:, u + 3 : u + 6] = calc_body_rates(p / length, rate[:, x + 3 : x + 7] / length)
    return q, np.where(regular > 0.0, v, after)
