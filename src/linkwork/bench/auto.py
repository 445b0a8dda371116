"""`auto` against every fixed integrator on every machine of the gallery, at equal tolerance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..methods import EXPLICIT, IMPLICIT, LOW_ORDER
from ..models import machines
from .runs import RunFailure, Timed, find_start, run_timed
from .table import show_table
from .work_precision import calc_largest_error

NAME = "auto"
DESCRIPTION = "CPU time of auto against every fixed integrator on all machines of the gallery, at equal tolerance"

FORMULATION = "partitioning"
FIXED = (*EXPLICIT, *IMPLICIT, *LOW_ORDER)
TOLERANCES = (1e-4, 1e-6)
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in machines},
    "hmmwv, soft bushings": ("hmmwv", {"stiff": True, "bushing_factor": 0.01}),
    "hmmwv, stiff bushings": ("hmmwv", {"stiff": True}),
}
AS_ACCURATE = 10.0  # a choice with at most this many times the error of auto counts as accurate
HOPELESS = 10.0  # a choice that takes this many times as long as auto is stopped


Cost = dict[str, float]  # of one choice at one tolerance: "cpu" in s and "error", the largest of any coordinate


def run(json: bool = False) -> dict[str, Any]:
    """Print the table: auto, the best choice that is as accurate, the fastest whatever its error."""
    figures = {name: measure_machine(machine, options, TOLERANCES) for name, (machine, options) in VARIANTS.items()}
    if not json:
        rows = [[name, *show_row(row)] for name, rows in figures.items() for row in rows]
        header = ["machine", "tolerance", "auto [ms]", "error", "went with", "best [ms]", "error", "by", "ratio",
                  "fastest [ms]", "error", "by", "ratio"]  # fmt: skip
        show_table(f"CPU time; 'best' has at most {AS_ACCURATE:g} times the error of auto", header, rows)
        print(f"largest ratio: {max(row['ratio'] for rows in figures.values() for row in rows):.2f}")
    return figures


def measure_machine(
    name: str, options: dict[str, Any], tolerances: tuple[float, ...], repeats: int = 7, t_end: float | None = None
) -> list[dict[str, Any]]:
    """One machine of the gallery at each tolerance."""
    model, t_end = machines[name].build(**options), t_end or machines[name].t_end
    start = find_start(model)

    def run_one(integrator: str, tolerance: float, seconds: float) -> Timed:
        method = f"{FORMULATION}/{integrator}"
        if model.events or model.stops:
            return run_with_events(model, method, tolerance, t_end)
        return run_timed(start, method, tolerance, t_end, seconds=seconds)

    reference = run_one("radau5", 1e-10, np.inf)
    return [measure_choices(run_one, tolerance, reference, repeats) for tolerance in tolerances]


def run_with_events(model: Any, method: str, tolerance: float, t_end: float) -> Timed:
    """A run of a machine whose stops and events belong to it; its time is the wall time of the core."""
    result = model.simulate(t_end, method=method, rtol=tolerance, atol=tolerance, progress=False)
    if not result.status.success:
        raise RunFailure(f"{method} at {tolerance:g}: {result.status.message}")
    spans = [(span.t_from, span.t_to, span.method.split("/")[1], span.steps) for span in result.methods]
    wall = result.statistics.wall_time
    return Timed(result.steps, None, {}, wall, wall, spans)


def measure_choices(
    run_one: Callable[[str, float, float], Timed], tolerance: float, reference: Timed, repeats: int
) -> dict[str, Any]:
    """All choices in turn, again and again, so that what else the machine does disturbs them alike."""
    costs: dict[str, Cost] = {}
    running = ["auto", *FIXED]
    for _ in range(repeats):
        for integrator in tuple(running):
            limit = max(HOPELESS * costs["auto"]["cpu"], 0.1) if "auto" in costs else np.inf
            try:
                done = run_one(integrator, tolerance, limit)
            except RunFailure:
                running.remove(integrator)
                continue
            if integrator == "auto":
                spans = done.methods
            cpu = min(done.cpu, costs[integrator]["cpu"]) if integrator in costs else done.cpu
            costs[integrator] = {"cpu": cpu, "error": calc_largest_error(done.states, reference.states)}
        # what is far behind after the first round stays there
        running = [integrator for integrator in running if costs[integrator]["cpu"] < 3 * costs["auto"]["cpu"]]
    chosen = costs.pop("auto")
    accurate = {name: cost for name, cost in costs.items() if cost["error"] <= AS_ACCURATE * chosen["error"]}
    best = min(accurate, key=lambda name: accurate[name]["cpu"], default="")
    fastest = min(costs, key=lambda name: costs[name]["cpu"])
    return {
        "tolerance": tolerance, "auto": chosen, "spans": [[span[2], span[3]] for span in spans], "costs": costs,
        "best": best, "ratio": chosen["cpu"] / costs[best]["cpu"] if best else 0.0,
        "fastest": fastest, "ratio_to_fastest": chosen["cpu"] / costs[fastest]["cpu"],
    }  # fmt: skip


def show_row(row: dict[str, Any]) -> list[object]:
    """The cells of one machine at one tolerance."""

    def show_cost(cost: Cost) -> list[str]:
        return [f"{1e3 * cost['cpu']:.2f}", f"{cost['error']:.0e}"]

    spans = ", ".join(f"{name} {steps}" for name, steps in row["spans"])
    best = [*show_cost(row["costs"][row["best"]]), row["best"]] if row["best"] else ["", "", ""]
    fastest = [*show_cost(row["costs"][row["fastest"]]), row["fastest"]]
    return [
        f"{row['tolerance']:.0e}", *show_cost(row["auto"]), spans, *best, f"{row['ratio']:.2f}", *fastest,
        f"{row['ratio_to_fastest']:.2f}",
    ]  # fmt: skip
