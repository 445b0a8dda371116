"""Error against CPU time of every implicit method, and the best explicit one, on two stiff machines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import models
from ..methods import IMPLICIT, STATE_SPACE
from ..results import calc_dense
from ..states import States
from .figure import save_figure
from .runs import RunFailure, Start, find_start, run_in_pieces, run_timed
from .table import show_table

NAME = "work-precision"
DESCRIPTION = "error against CPU time of the implicit methods on both stiff machines; draws work_precision.png"
FIGURE = "work_precision.png"

Array = NDArray[np.float64]

METHODS = tuple(f"{formulation}/{integrator}" for formulation in STATE_SPACE for integrator in IMPLICIT)
TOLERANCES = tuple(10.0**k for k in range(-2, -10, -1))
LEVELS = tuple(10.0**k for k in range(-3, -9, -1))  # errors that the table compares at
MOST_STEPS = 10_000  # a run that needs more has lost to round-off and is left out


def run(json: bool = False) -> dict[str, Any]:
    """Print what each error costs with each method, and draw work_precision.png."""
    figures = {"double pendulum, 2 s": measure_pendulum(), "stiff vehicle, 1 s": measure_vehicle()}
    if not json:
        for title, machine in figures.items():
            show_machine(title, machine)
        save_figure(FIGURE, lambda panels: draw_machines(panels, figures), columns=2)
    return figures


def measure_pendulum() -> dict[str, Any]:
    """The spatial double pendulum over 2 s; adams takes 70 000 steps at any tolerance."""
    start = find_start(models.double_pendulum(form="spatial"))
    curves = measure_curves(start, 2.0, METHODS, TOLERANCES, 1e-12, repeats=5)
    return {"explicit": measure_explicit(start, 2.0), "curves": curves}


def measure_vehicle() -> dict[str, Any]:
    """The stiff vehicle over the first second, in which the front wheels cross the bump."""
    start = find_start(models.hmmwv(stiff=True))
    curves = measure_curves(start, 1.0, METHODS, TOLERANCES, 1e-10, repeats=3)
    return {"explicit": measure_explicit(start, 1.0), "curves": curves}


def measure_explicit(start: Start, t_end: float) -> float:
    """CPU time of adams at 1e-3: stability sets the step, so tighter tolerances cost the same."""
    return run_in_pieces(start, "partitioning/adams", 1e-3, (t_end,), 0.1)[0]


def measure_curves(
    start: Start, t_end: float, methods: Any, tolerances: Any, tight: float, repeats: int
) -> dict[str, list[dict[str, float]]]:
    """For each method and tolerance the largest error of any coordinate over the accepted steps, CPU time and steps."""
    reference = run_timed(start, "partitioning/radau5", tight, t_end).states
    curves: dict[str, list[dict[str, float]]] = {}
    for method in methods:
        curves[method] = []
        for tolerance in tolerances:
            try:
                done = run_timed(start, method, tolerance, t_end, repeats=repeats, max_steps=MOST_STEPS)
            except RunFailure:
                break
            error = calc_largest_error(done.states, reference)
            steps = done.statistics["steps"]
            curves[method].append({"tolerance": tolerance, "error": error, "cpu": done.cpu, "steps": steps})
    return curves


def calc_largest_error(states: States, reference: States) -> float:
    """Largest difference of a coordinate [m, or of an Euler parameter] from the tight run at the accepted steps."""
    return float(np.abs(states._q - calc_dense(reference, states._t)[0]).max())


def find_cost(curve: list[dict[str, float]], level: float) -> float:
    """CPU time at which a method reaches an error: between its runs, linear in logarithms; nan outside of them."""
    error = np.array([point["error"] for point in curve])
    cpu = np.array([point["cpu"] for point in curve])
    # from loose to tight; a tighter run with a larger error adds nothing
    best = np.minimum.accumulate(error)
    kept = np.concatenate([[True], error[1:] < best[:-1]])
    error, cpu = error[kept], cpu[kept]
    if not error[-1] <= level <= error[0]:
        return float("nan") if level < error[-1] else float(cpu[0])
    return float(np.exp(np.interp(-np.log(level), -np.log(error), np.log(cpu))))


def show_machine(title: str, machine: dict[str, Any]) -> None:
    """Print the cost of each error with each method, the winners, and the runs themselves."""
    curves = machine["curves"]
    costs = {method: [find_cost(curve, level) for level in LEVELS] for method, curve in curves.items()}
    rows: list[list[object]] = [
        [method, *("" if np.isnan(cost) else 1e3 * cost for cost in row)] for method, row in costs.items()
    ]
    show_table(f"{title}: CPU time [ms] for a largest error of", ["method", *(f"{e:.0e}" for e in LEVELS)], rows)
    for k, level in enumerate(LEVELS):
        reached = {method: row[k] for method, row in costs.items() if not np.isnan(row[k])}
        print(f"least for {level:.0e}: {min(reached, key=reached.__getitem__, default='none')}")

    longest = max(curves.values(), key=len)
    header = ["tolerance", *(f"{point['tolerance']:.0e}" for point in longest)]
    lines: list[list[object]] = []
    for method, curve in curves.items():
        gaps = [""] * (len(longest) - len(curve))
        lines.append([method, *(1e3 * point["cpu"] for point in curve), *gaps])
        lines.append(["  error", *(f"{point['error']:.1e}" for point in curve), *gaps])
    show_table(f"{title}: CPU time [ms] at tolerance", header, lines)
    print(f"partitioning/adams takes {1e3 * machine['explicit']:.4g} ms at any of them")


def draw_machines(panels: Any, figures: dict[str, Any]) -> None:
    """One panel per machine: error to the right, CPU time upwards; partitioning in full lines."""
    for panel, (title, machine) in zip(panels[0], figures.items(), strict=True):
        for method, curve in machine["curves"].items():
            formulation, integrator = method.split("/")
            full = formulation == STATE_SPACE[0]
            panel.loglog(
                [point["error"] for point in curve], [1e3 * point["cpu"] for point in curve],
                "o-" if full else "s--", markersize=3, linewidth=1.2 if full else 0.8,
                color=f"C{IMPLICIT.index(integrator)}", label=method,
            )  # fmt: skip
        panel.axhline(1e3 * machine["explicit"], color="k", linewidth=1, label="partitioning/adams")
        panel.invert_xaxis()
        panel.set_title(title)
        panel.set_xlabel("largest error of a coordinate")
        panel.set_ylabel("CPU time [ms]")
        panel.grid(alpha=0.3)
    panels[0, 0].legend(fontsize="small")
