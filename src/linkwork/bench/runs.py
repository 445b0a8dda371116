"""Runs without compilation and results, timed: CPU seconds, which other work on the machine disturbs least."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compile import Compiled, compile_model
from ..errors import LinkworkError
from ..initial import find_assembly
from ..methods import read_method
from ..simulate import find_runner
from ..states import States
from ..status import STATUS_NAMES


class RunFailure(LinkworkError):
    """A timed run that did not reach its end."""


@dataclass(frozen=True)
class Timed:
    """One run: its accepted steps, counts, and the CPU and wall time of the core in s, the least of all repeats.

    `output` holds the states at the times asked for, by the continuous extension of the integrator.
    """

    states: States
    output: States | None
    statistics: dict[str, Any]
    cpu: float
    wall: float
    methods: list[tuple[float, float, str, int]]  # from, to, integrator, steps


@dataclass(frozen=True)
class Start:
    """A compiled model and the consistent state that its runs begin from."""

    compiled: Compiled
    q: np.ndarray
    v: np.ndarray
    memory: np.ndarray


@dataclass(frozen=True)
class Deadline:
    """The CPU time of this process at which a run has taken too long."""

    cpu: float

    def is_ahead(self, t: float) -> bool:
        """The clock's tick of a run at time t."""
        return time.process_time() < self.cpu


def find_start(model: Any) -> Start:
    """Compile and assemble a model."""
    compiled = compile_model(model)
    assembly = find_assembly(compiled)
    return Start(compiled, assembly.q, assembly.v, assembly.memory)


def run_timed(
    start: Start,
    method: Any,
    tolerance: float,
    t_end: float,
    *,
    t_start: float = 0.0,
    repeats: int = 1,
    first_step: float = 0.0,
    step: float | None = None,
    output: Sequence[float] | np.ndarray = (),
    max_steps: int = 10_000_000,
    seconds: float = np.inf,
) -> Timed:
    """One run with rtol = atol = tolerance, repeated for its least times; one that fails raises RunFailure.

    It also fails when it takes more than `seconds` of CPU time.
    """
    chosen = read_method(method)
    driver = {
        "t_start": t_start, "t_end": t_end, "first_step": first_step, "max_steps": max_steps,
        "output": [float(t) for t in output], **({"fixed_step": step} if step else {}), **chosen.integrator_options,
    }  # fmt: skip
    best_cpu = best_wall = np.inf
    for _ in range(repeats):
        run, integrator = find_runner(chosen, step)
        cpu, wall = time.process_time(), time.perf_counter()
        hooks = {} if np.isinf(seconds) else {"tick": Deadline(cpu + seconds).is_ahead}
        raw = run(
            start.compiled.system, chosen.formulation, integrator, chosen.formulation_options, driver,
            tolerance, tolerance, tolerance, start.q, start.v, start.memory, hooks,
        )  # fmt: skip
        best_cpu = min(best_cpu, time.process_time() - cpu)
        best_wall = min(best_wall, time.perf_counter() - wall)
        status = STATUS_NAMES[raw["status"]]
        if status == "interrupted" and hooks and time.process_time() - cpu >= seconds:
            raise RunFailure(f"{method} at {tolerance:g}: more than {seconds:g} s at t = {raw['t_reached']:g} s")
        if status != "success":
            raise RunFailure(f"{method} at {tolerance:g}: {status} at t = {raw['t_reached']:g} s; loosen the tolerance")
    states = {
        prefix: States(start.compiled, *(raw[prefix + name] for name in ("t", "q", "v", "a", "lambda_")))
        for prefix in ("", "output_")
        if len(raw[prefix + "t"])
    }
    return Timed(states[""], states.get("output_"), raw["statistics"], best_cpu, best_wall, raw.get("methods", []))


def run_in_pieces(start: Start, method: str, tolerance: float, times: Sequence[float], piece: float) -> list[float]:
    """CPU time from 0 to each of `times`; short pieces keep the store of an explicit method's many steps small.

    The integrator begins anew at each piece, which costs a few of its thousands of steps.
    """
    spent, t, taken = 0.0, 0.0, []
    for wanted in times:
        while t < wanted - 1e-12:
            end = min(t + piece, wanted)
            run = run_timed(start, method, tolerance, end, t_start=t)
            q, v = run.states._q[-1], run.states._v[-1]
            memory = np.asarray(start.compiled.system.update_memory(end, q, start.memory))
            start = Start(start.compiled, q, v, memory)
            spent, t = spent + run.cpu, end
        taken.append(spent)
    return taken
