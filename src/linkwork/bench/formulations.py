"""Error against CPU time of every legal pair of formulation and integrator, on five machines."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from .. import models
from ..errors import LinkworkError
from ..methods import AUTO, EMBEDDED, FORMULATIONS, HIGHEST_ORDER, INTEGRATORS, LEGAL, MULTIPLIERS
from ..states import States
from .figure import save_figure
from .runs import Start, find_start, run_timed
from .table import show_table
from .work_precision import calc_largest_error, find_cost

NAME = "formulations"
DESCRIPTION = "error against CPU time of every formulation with every integrator; draws formulations.png"
FIGURE = "formulations.png"

TOLERANCES = (1e-3, 1e-5, 1e-7)
LEVELS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)  # errors that the table compares at
SECONDS = 2.0  # of CPU time, after which a run is given up
SHORT = 0.02  # s; shorter runs are repeated for their least time
SPAN = 1.0  # s, of the runs at fixed steps
COUNTS = (2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512)  # steps
ROUNDOFF, COARSE = 1e-11, 0.1  # errors between which orders show
MOST_ERROR = 10.0  # m; a run with a larger error has lost the motion


@dataclass(frozen=True)
class Machine:
    """What is run: a model, to which end, and the method and tolerance of the reference."""

    title: str
    build: Callable[[], Any]
    t_end: float
    reference: str = "partitioning/radau5"
    tight: float = 1e-11


MACHINES = (
    Machine("pendulum, 2 s", lambda: models.pendulum(angular_velocity=2.0, stiffness=40.0, damping=2.0), 2.0,
            "partitioning/dop853", 1e-13),
    Machine("slider-crank, 1 s", models.slider_crank, 1.0, "partitioning/dop853", 1e-13),
    Machine("andrews, 0.03 s", models.andrews, 0.03, "partitioning/dop853", 1e-12),
    Machine("soft vehicle, 1 s", lambda: models.hmmwv(stiff=True, bushing_factor=0.01), 1.0, tight=1e-10),
    Machine("stiff vehicle, 1 s", lambda: models.hmmwv(stiff=True), 1.0, tight=1e-10),
)  # fmt: skip


@dataclass
class Curve:
    """What one pair needs on one machine: a point per tolerance, and why some are missing."""

    points: list[dict[str, float]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def slope(self) -> float:
        """By which power of the mean step the error falls, fitted over all points; nan where there is no such fall."""
        steps = np.log([point["steps"] for point in self.points])
        if len(steps) < 2 or np.ptp(steps) < 0.5:
            return float("nan")
        return -float(np.polyfit(steps, np.log([max(point["error"], 1e-300) for point in self.points]), 1)[0])


def list_pairs(formulations: Sequence[str] = tuple(FORMULATIONS)) -> list[str]:
    """Every legal pair, formulation by formulation."""
    return [f"{formulation}/{integrator}" for formulation in formulations for integrator in LEGAL[formulation]]


def run(json: bool = False) -> dict[str, Any]:
    """Print for each machine what an error costs with each pair, and draw formulations.png."""
    orders = measure_orders()
    figures = {machine.title: measure_machine(machine) for machine in MACHINES}
    if not json:
        rows = [[pair, order, find_nominal_order(*pair.split("/"))] for pair, order in orders.items()]
        show_table(f"{MACHINES[0].title}: order observed at fixed steps", ["pair", "observed", "of method"], rows)
        for title, curves in figures.items():
            show_machine(title, curves)
        save_figure(FIGURE, lambda panels: draw_machines(panels, figures), rows=2, columns=3)
    plain: dict[str, Any] = {
        title: {pair: vars(curve) for pair, curve in curves.items()} for title, curves in figures.items()
    }
    return {"orders": orders, "curves": plain}


def measure_orders(pairs: Sequence[str] | None = None) -> dict[str, float]:
    """The order of each pair whose method has one, by halving fixed steps on the first machine: the median slope.

    Methods of variable order and embedded codes choose their own; they are left out.
    """
    machine = MACHINES[0]
    start = find_start(machine.build())
    reference = run_timed(start, machine.reference, machine.tight, SPAN).states
    orders = {}
    for pair in list_pairs() if pairs is None else pairs:
        integrator = pair.split("/")[1]
        if integrator in HIGHEST_ORDER or integrator in (*EMBEDDED, AUTO):
            continue
        errors = []
        for count in COUNTS:
            try:
                done = run_timed(start, pair, 1e-12, SPAN, step=SPAN / count, seconds=SECONDS)
            except (LinkworkError, ValueError):
                continue
            error = float(np.abs(done.states._q[-1] - reference._q[-1]).max())
            if ROUNDOFF < error < COARSE:
                errors.append((count, error))
        slopes = [np.log(e / f) / np.log(n / m) for (m, e), (n, f) in pairwise(errors)]
        orders[pair] = float(np.median(slopes)) if slopes else float("nan")
    return orders


def measure_machine(
    machine: Machine,
    pairs: Sequence[str] | None = None,
    tolerances: Sequence[float] = TOLERANCES,
    seconds: float = SECONDS,
) -> dict[str, Curve]:
    """A curve for each pair; all pairs when none are named."""
    start = find_start(machine.build())
    reference = run_timed(start, machine.reference, machine.tight, machine.t_end).states
    return {
        pair: measure_pair(start, pair, machine.t_end, reference, tolerances, seconds)
        for pair in (list_pairs() if pairs is None else pairs)
    }


def measure_pair(
    start: Start, pair: str, t_end: float, reference: States, tolerances: Sequence[float], seconds: float
) -> Curve:
    """Largest error of a coordinate at the accepted steps, CPU time and steps, from loose to tight.

    A run that takes too long ends the curve, as tighter ones would take longer.
    """
    curve = Curve()
    for tolerance in tolerances:
        try:
            done = run_timed(start, pair, tolerance, t_end, seconds=seconds)
            if done.cpu < SHORT:
                done = run_timed(start, pair, tolerance, t_end, seconds=seconds, repeats=3)
        except (LinkworkError, ValueError) as failure:
            reason = str(failure).removeprefix(f"{pair} at {tolerance:g}: ")
            curve.missing.append(f"{tolerance:.0e}: {reason}")
            if reason.startswith("more than"):
                break
            continue
        error = calc_largest_error(done.states, reference)
        if not error < MOST_ERROR:
            curve.missing.append(f"{tolerance:.0e}: the motion is lost, error {error:.1g}")
            continue
        point = {"tolerance": tolerance, "error": error, "cpu": done.cpu, "steps": float(done.statistics["steps"])}
        curve.points.append(point)
    return curve


def find_nominal_order(formulation: str, integrator: str) -> str:
    """The order that the integrator's description promises; less for sdirk4 with multipliers among the unknowns."""
    if formulation in MULTIPLIERS and integrator == "sdirk4":
        return "2"
    found = re.search(r"orders? (\d+ to \d+|\d+)", INTEGRATORS.get(integrator, ""))
    return found.group(1).replace(" to ", "-") if found else ""


def show_machine(title: str, curves: dict[str, Curve]) -> None:
    """Print the cost of each error with each pair, the winners, and what was left out."""
    costs = {
        pair: [find_cost(curve.points, level) if curve.points else np.nan for level in LEVELS]
        for pair, curve in curves.items()
    }
    rows: list[list[object]] = []
    for pair, curve in curves.items():
        least = min((point["error"] for point in curve.points), default=np.nan)
        cells = ["" if np.isnan(cost) else 1e3 * cost for cost in costs[pair]]
        rows.append([pair, *cells, f"{least:.0e}", "" if np.isnan(curve.slope) else f"{curve.slope:.1f}"])
    header = ["pair", *(f"{e:.0e}" for e in LEVELS), "least error", "slope"]
    show_table(f"{title}: CPU time [ms] for a largest error of", header, rows)
    for k, level in enumerate(LEVELS):
        reached = {pair: row[k] for pair, row in costs.items() if not np.isnan(row[k])}
        print(f"least for {level:.0e}: {min(reached, key=reached.__getitem__, default='none')}")
    for pair, curve in curves.items():
        if curve.missing:
            print(f"left out  {pair} at {'; '.join(curve.missing)}")


# ---------------------------------------------------------------------------------------------------------------
# The picture: colour tells the integrator, the line the formulation
# ---------------------------------------------------------------------------------------------------------------
LINES = ("-", "--", ":", "-.", (0, (1, 4)), (0, (6, 1, 1, 1)), (0, (3, 1)), (0, (1, 1)), (0, (8, 3)), (0, (4, 2, 1, 2)))
MARKS = "osv^D<>pPXdh*"


def draw_machines(panels: Any, figures: dict[str, dict[str, Curve]]) -> None:
    """One panel per machine, error falling to the right; the legend in the last one."""
    shown = {pair for curves in figures.values() for pair, curve in curves.items() if curve.points}
    formulations = [name for name in FORMULATIONS if any(pair.startswith(f"{name}/") for pair in shown)]
    integrators = [name for name in INTEGRATORS if any(pair.endswith(f"/{name}") for pair in shown)]

    def find_style(formulation: str, integrator: str) -> dict[str, Any]:
        k = formulations.index(formulation)
        colour = integrators.index(integrator)
        return {
            "linestyle": LINES[k % len(LINES)], "marker": MARKS[k % len(MARKS)], "markersize": 3, "linewidth": 1.0,
            "color": f"C{colour}" if len(integrators) <= 10 else _find_colour(colour, len(integrators)),
        }  # fmt: skip

    for panel, (title, curves) in zip(panels.flat, figures.items(), strict=False):
        for pair, curve in curves.items():
            if curve.points:
                style = find_style(*pair.split("/"))
                errors, cpu = [p["error"] for p in curve.points], [1e3 * p["cpu"] for p in curve.points]
                panel.loglog(errors, cpu, **style)
        panel.invert_xaxis()
        panel.set_title(title)
        panel.set_xlabel("largest error of a coordinate")
        panel.set_ylabel("CPU time [ms]")
        panel.grid(alpha=0.3)
    key = panels.flat[-1]
    key.axis("off")
    if not shown:
        return
    for name in integrators:
        key.plot([], [], color=find_style(formulations[0], name)["color"], linewidth=3, label=name)
    for name in formulations:
        style = find_style(name, integrators[0])
        key.plot([], [], color="k", linestyle=style["linestyle"], marker=style["marker"], markersize=4, label=name)
    key.legend(loc="center", ncol=2, fontsize="small", frameon=False)


def _find_colour(k: int, count: int) -> tuple[float, float, float]:
    """The k-th of `count` colours from red to purple, every other one darker."""
    from colorsys import hsv_to_rgb

    return hsv_to_rgb(0.9 * k / count, 0.9, 0.9 if k % 2 == 0 else 0.6)
