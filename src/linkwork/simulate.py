"""Runs a model: checks what was asked, finds a consistent start, calls the core, returns a Result whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .departure import Departure, add_start, find_departure
from .errors import AssemblyError, LinkworkError, SimulationError
from .events import Event
from .hooks import RunHooks, State
from .impacts import Impacts
from .initial import Assembly, Projector, calc_body_sizes, find_assembly
from .methods import Method, read_method
from .progress import Progress
from .report import OPEN
from .run_warnings import find_accumulations, find_warnings, find_weakest
from .states import States, find_memory
from .status import STATUS_NAMES, build_status
from .switching import build_hits, find_engaged, find_engaged_before, find_fixed, spread_engaged
from .version import VERSION

if TYPE_CHECKING:
    from .compile import Compiled
    from .results import Result

Array = NDArray[np.float64]
NAMING = ("singular_position", "position_lost", "step_too_small")


class InputError(LinkworkError, ValueError):
    """An argument of simulate that cannot be used: which, its value, and what to give instead."""


@dataclass(frozen=True)
class Settings:
    """The checked arguments of a run."""

    t_start: float
    t_end: float
    rtol: float
    atol: tuple[float, float]  # positions, velocities
    output: Array
    driver: dict[str, Any]


def simulate(
    model: Any,
    t_end: float,
    *,
    t_start: float = 0.0,
    method: Any = "auto",
    rtol: float = 1e-6,
    atol: Any = 1e-6,
    step: float | None = None,
    output: Any = None,
    events: Sequence[Any] = (),
    initial: str = "project",
    start: Assembly | None = None,
    progress: bool | None = None,
    callback: Callable[[State], Any] | None = None,
    raise_on_failure: bool = False,
    linear: str | None = None,
    max_step: float | None = None,
    first_step: float | None = None,
    max_steps: int | None = None,
    discontinuities: bool = True,
) -> Result:
    """Computes the motion from t_start to t_end and returns it, also when the run ends early.

    atol: one number, (position, velocity) or {"position": ..., "velocity": ...}. step: a fixed step instead of adaptive
    ones. output: times to store (a number is their spacing); accepted steps otherwise. initial: "project" moves the
    start onto the constraints and says by how much, "refuse" raises when it is off them. start: what `model.assemble`
    returned; it is also taken by itself as long as the model is unchanged. callback(state) after every accepted step;
    a true answer ends the run. discontinuities: jumps of forces that nobody announced are looked for where steps fail,
    and the integrator begins anew behind them.
    """
    from .compile import compile_model

    if not isinstance(discontinuities, bool):
        raise InputError(f"simulate: discontinuities = {discontinuities!r} must be True or False")
    settings = read_settings(t_start, t_end, rtol, atol, output, step, max_step, first_step, max_steps)
    chosen = replace_linear(read_method(method), linear)
    formulation_options = chosen.formulation_options
    run, integrator = find_runner(chosen, step)
    compiled = compile_model(model)
    system = compiled.find_system(chosen.cut)
    assembly = find_start(model, compiled, initial, start, settings.t_start)
    bar = Progress(settings.t_start, settings.t_end, model.name, progress)
    watched = [*(model[name] for name in model.events), *read_events(events), *(model[name] for name in model.stops)]
    impacts = Impacts(compiled, settings.atol[0], chosen.linear)
    engaged = find_engaged(impacts, assembly, settings.t_start, model.name)
    try:
        hooks = RunHooks(
            compiled, watched, callback, bar, assembly.memory, model.name, impacts, engaged,
            (settings.t_start, assembly.q, assembly.v), find_fixed(compiled, chosen),
        )  # fmt: skip
        driver = {**settings.driver, **chosen.integrator_options, "events": hooks.specs(), "engaged": engaged.tolist()}
        driver["discontinuities"] = discontinuities
        limit_driven_steps(compiled, assembly, driver)
        departure = depart(compiled.engage(engaged), assembly, settings, driver)
        begin = departure or assembly
        raw = run(
            system, chosen.formulation, integrator, formulation_options, driver, settings.rtol,
            *settings.atol, begin.q, begin.v, begin.memory, hooks.table(),
        )  # fmt: skip
        if departure is not None and len(raw["t"]):
            add_start(raw, settings.t_start, assembly, departure, settings.output)
    finally:
        bar.close()
    options = {
        "rtol": settings.rtol, "atol": settings.atol, "t_start": settings.t_start, "t_end": settings.t_end,
        "step": step, "initial": initial, "discontinuities": discontinuities, **formulation_options,
        **chosen.integrator_options, **({"cut": chosen.cut} if chosen.cut else {}),
    }  # fmt: skip
    result = build_result(compiled, raw, assembly, watched, hooks, str(chosen), options, settings)
    if raise_on_failure and not result.status.success:
        raise SimulationError(str(result.status), result) from result.status.exception
    return result


# ---------------------------------------------------------------------------------------------------------------
# Before the run
# ---------------------------------------------------------------------------------------------------------------
def find_runner(method: Method, step: float | None) -> tuple[Any, Any]:
    """(run, integrator): the core's driver with a name, or the driver of embedded codes with the code."""
    from .embed import build_code, run_embedded

    code = build_code(method)
    if code is None:
        from ._core import run

        return run, method.integrator
    if step is not None:
        raise InputError(
            f"simulate: step = {step!r} needs an integrator of linkwork, '{method.integrator}' chooses its own steps; "
            "set max_step, or the tolerances"
        )
    return run_embedded, code


def replace_linear(method: Method, linear: str | None) -> Method:
    """The method with another linear solver, if one is given."""
    if linear is None:
        return method
    kept = {key: value for key, value in method.options if key != "linear"}
    return Method(method.formulation, method.code or method.integrator, method.solver, linear, **kept)


def read_settings(
    t_start: Any,
    t_end: Any,
    rtol: Any,
    atol: Any,
    output: Any,
    step: Any,
    max_step: Any,
    first_step: Any,
    max_steps: Any,
) -> Settings:
    """Checks the numbers of a run; raises InputError with all that is wrong in one line."""
    problems: list[str] = []

    def read(value: Any, name: str, positive: bool = True) -> float:
        try:
            x = float(value)
        except (TypeError, ValueError):
            x = float("nan")
        if not np.isfinite(x) or (positive and x <= 0.0):
            problems.append(f"{name} = {value!r} must be a finite{' positive' if positive else ''} number")
            return 1.0
        return x

    begin, end = read(t_start, "t_start", False), read(t_end, "t_end", False)
    if not problems and end <= begin:
        problems.append(f"t_end = {end:g} must be later than t_start = {begin:g}")
    pair: Any = atol
    if isinstance(atol, Mapping):
        if set(atol) != {"position", "velocity"}:
            problems.append(f"atol = {dict(atol)!r} needs the keys 'position' and 'velocity'")
        pair = (atol.get("position", 1.0), atol.get("velocity", 1.0))
    elif np.ndim(atol) == 0:
        pair = (atol, atol)
    if len(pair) != 2:
        problems.append(f"atol = {atol!r} must be one number or (position, velocity)")
        pair = (1.0, 1.0)
    tolerances = (read(pair[0], "atol of positions"), read(pair[1], "atol of velocities"))
    driver: dict[str, Any] = {"t_start": begin, "t_end": end}
    for name, key, value in (
        ("step", "fixed_step", step), ("max_step", "max_step", max_step), ("first_step", "first_step", first_step),
    ):  # fmt: skip
        if value is not None:
            driver[key] = read(value, name)
    if max_steps is not None:
        driver["max_steps"] = int(read(max_steps, "max_steps"))
    times = read_output(output, begin, end, problems)
    driver["output"] = times.tolist()
    relative = read(rtol, "rtol")
    if problems:
        raise InputError("simulate: " + "; ".join(problems))
    return Settings(begin, end, relative, tolerances, times, driver)


def read_output(output: Any, begin: float, end: float, problems: list[str]) -> Array:
    """The requested times: none, a spacing, or ascending times within the run."""
    if output is None:
        return np.zeros(0)
    try:
        times = np.asarray(output, dtype=float)
    except (TypeError, ValueError):
        problems.append(f"output = {output!r} must be times or a spacing in seconds")
        return np.zeros(0)
    if times.ndim == 0:
        if not (np.isfinite(times) and times > 0.0):
            problems.append(f"output = {output!r} must be a positive spacing in seconds, or a list of times")
            return np.zeros(0)
        count = int(np.floor((end - begin) / float(times) * (1.0 + 1e-12)))
        return np.minimum(begin + float(times) * np.arange(count + 1), end)
    slack = 1e-12 * max(abs(begin), abs(end))
    if times.ndim != 1 or not np.all(np.isfinite(times)) or np.any(np.diff(times) <= 0.0):
        problems.append("output times must be finite and ascending")
    elif times.size and (times[0] < begin - slack or times[-1] > end + slack):
        problems.append(f"output times {times[0]:g} to {times[-1]:g} must lie within [{begin:g}, {end:g}]")
    return np.clip(times, begin, end)


def read_events(events: Any) -> list[Event]:
    """The events of one run; a single one may come without a list."""
    given: list[Any] = [events] if isinstance(events, (Event, str)) else list(events)
    for event in given:
        if not isinstance(event, Event):
            raise InputError(f"simulate: events has {event!r}; give records such as Event('top', 'arm.position.y')")
    return given


def find_start(model: Any, compiled: Compiled, initial: str, start: Assembly | None, t: float) -> Assembly:
    """The state to start from: the given or remembered assembly, the guess projected, or a refusal."""
    if initial not in ("project", "refuse"):
        raise InputError(f"simulate: initial = {initial!r} is not known; use 'project' or 'refuse'")
    if start is not None:
        if len(start.q) != len(compiled.q):
            raise InputError("simulate: start belongs to another model; call model.assemble() again")
        return start
    remembered = getattr(model, "assembled", None)
    if remembered is not None:
        digest, q, v, assembly = remembered
        if digest == compiled.hash and np.array_equal(q, compiled.q) and np.array_equal(v, compiled.v) and t == 0.0:
            return assembly  # type: ignore[no-any-return]
    if initial == "refuse":
        refuse_inconsistent(compiled, model.name, t)
    return find_assembly(compiled, t=t, name=model.name)


def limit_driven_steps(compiled: Compiled, assembly: Assembly, driver: dict[str, Any]) -> None:
    """Bounds the steps of a fully driven mechanism: without a degree of freedom there is no error that would."""
    if "max_step" in driver or "fixed_step" in driver:
        return
    rank, _ = compiled.system.active_rows(driver["t_start"], assembly.q, assembly.memory)
    if rank == len(assembly.v):
        turning = max((pair[1] for pair in calc_body_sizes(compiled, assembly.v).values()), default=0.0)
        driver["max_step"] = min((driver["t_end"] - driver["t_start"]) / 100.0, 0.2 / max(turning, 1e-300))


def depart(compiled: Compiled, assembly: Assembly, settings: Settings, driver: dict[str, Any]) -> Departure | None:
    """Moves the beginning of a run out of a singular position, before the first output asked for."""
    t, later = settings.t_start, settings.output[settings.output > settings.t_start]
    longest = min([1e-3 * (settings.t_end - t), *(0.5 * (later[:1] - t))])
    departure = find_departure(compiled, assembly, t, longest)
    if departure is not None:
        driver["t_start"], driver["output"] = departure.t, later.tolist()
    return departure


def refuse_inconsistent(compiled: Compiled, name: str, t: float) -> None:
    """Raises AssemblyError listing every joint that the initial positions or velocities violate."""
    projector, q, v = Projector(compiled), np.asarray(compiled.q, dtype=float), np.asarray(compiled.v, dtype=float)
    memory = find_memory(compiled, t, q, np.asarray(compiled.memory, dtype=float))
    positions = projector.calc_gaps(compiled.system.constraints(t, q, memory))
    velocities = projector.calc_velocity_gaps(t, q, v, memory)
    problems = [
        f"joint '{joint}' is violated by {positions[joint]:.3g} (m or rad) and {velocities[joint]:.3g} (per second)"
        for joint in positions
        if not (positions[joint] <= OPEN and velocities[joint] <= OPEN)
    ]
    if problems:
        cure = "correct the start, call model.assemble(), or use initial='project'"
        raise AssemblyError([*problems[:-1], f"{problems[-1]}; {cure}"], name, positions)


# ---------------------------------------------------------------------------------------------------------------
# After the run
# ---------------------------------------------------------------------------------------------------------------
def build_result(
    compiled: Compiled,
    raw: dict[str, Any],
    assembly: Assembly,
    events: list[Any],
    hooks: RunHooks,
    method: str,
    options: dict[str, Any],
    settings: Settings,
) -> Result:
    """The Result of a run from the core's arrays."""
    from .results import MethodSpan, Result, build_spans, build_statistics

    if len(raw["t"]):
        engaged = spread_engaged(compiled, hooks.start_engaged, raw["switchings"], len(raw["t"]))
        steps = States(compiled, raw["t"], raw["q"], raw["v"], raw["a"], raw["lambda_"], engaged=engaged)
    else:  # the run did not even begin: the start is all there is
        nothing = np.full((1, len(compiled.tables["rows"])), np.nan)
        steps = States(
            compiled, settings.t_start, assembly.q, assembly.v, np.full((1, len(assembly.v)), np.nan), nothing
        )
    output = None
    if len(settings.output) and len(raw["output_t"]):
        output = States(
            compiled, raw["output_t"], raw["output_q"], raw["output_v"], raw["output_a"], raw["output_lambda_"],
            reference=steps, engaged=find_engaged_before(steps, raw["output_t"]),
        )  # fmt: skip
    hits = build_hits(compiled, steps, raw["events"], events, hooks)
    statistics = build_statistics(raw["statistics"])
    spans = build_spans(raw.get("methods", []), method) or [
        MethodSpan(float(steps._t[0]), float(steps._t[-1]), method, statistics.steps)
    ]
    return Result(
        compiled,
        steps,
        output,
        status=find_status(compiled, raw, steps, hooks),
        method=method,
        options=options,
        statistics=statistics,
        methods=spans,
        discontinuities=raw.get("discontinuities", ()),
        events=hits,
        warnings=[
            *find_warnings(compiled, steps, assembly, raw["statistics"]),
            *find_accumulations([(hit.name, hit.t) for hit in hits if hit.kind == "event"], settings.t_end),
        ],
        initial_correction=assembly,
        version=VERSION,
    )


def find_status(compiled: Compiled, raw: dict[str, Any], steps: States, hooks: RunHooks) -> Any:
    """The core's status with the joints or the exception it does not know about."""
    name, exception = STATUS_NAMES[raw["status"]], raw["exception"]
    t = float(raw["t_reached"]) if len(raw["t"]) else float(steps._t[0])
    if hooks.interrupted or isinstance(exception, KeyboardInterrupt):
        return build_status("interrupted", t)
    if isinstance(exception, AssemblyError) and "switched on" in str(exception):
        return build_status("open_joint", t, str(exception), exception)
    if exception is not None:
        return build_status("user_error", t, f"{type(exception).__name__}: {exception}", exception)
    detail = ""
    if name in NAMING:
        joints = find_weakest(compiled, steps, -1)
        detail = f"nearest to dependence: {', '.join(repr(joint) for joint in joints)}" if joints else ""
    return build_status(name, t, detail)
