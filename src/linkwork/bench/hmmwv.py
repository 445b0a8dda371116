"""The stiff vehicle of the negrut paper: implicit against explicit CPU time, spectrum, the run over the bump."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core, models
from .figure import save_figure
from .runs import Start, find_start, run_in_pieces, run_timed
from .table import show_table

NAME = "hmmwv"
DESCRIPTION = "CPU times of sdirk4 and adams on the stiff vehicle (negrut, tables V and VI); draws figure 5"
FIGURE = "hmmwv.png"

TIMES = (1.0, 2.0, 3.0, 4.0)
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5)
PIECE = 0.1  # s of simulated time that an explicit run is stored for
# tables V and VI: CPU seconds on an R10000 for 1, 2, 3, 4 s of motion
PAPER_IMPLICIT = {
    1e-2: (10.1, 25.3, 29.5, 30.0), 1e-3: (21.0, 49.0, 58.0, 61.0), 1e-4: (33.0, 78.0, 92.0, 94.0),
    1e-5: (57.0, 139.0, 166.0, 184.0),
}  # fmt: skip
PAPER_EXPLICIT = {
    1e-2: (3618, 7276, 10865, 14480), 1e-3: (3641, 7348, 11122, 14771), 1e-4: (3667, 7287, 10949, 14630),
    1e-5: (3663, 7276, 10965, 14592),
}  # fmt: skip


def run(json: bool = False) -> dict[str, Any]:
    """Print tables V and VI (explicit over 1 s at 1e-3 and 1e-5), spectrum and Jacobian times; draw hmmwv.png."""
    start = find_start(models.hmmwv(stiff=True))
    figures: dict[str, Any] = {
        "size": measure_size(start),
        "jacobian": measure_jacobians(start),
        "implicit": {tol: measure_implicit(start, tol, TIMES) for tol in TOLERANCES},
        "explicit": {tol: run_in_pieces(start, "partitioning/adams", tol, TIMES[:1], PIECE) for tol in (1e-3, 1e-5)},
    }
    if not json:
        show_size(figures["size"], figures["jacobian"])
        show_times(figures["implicit"], figures["explicit"])
        save_figure(FIGURE, draw_run, rows=1)
    return figures


# ---------------------------------------------------------------------------------------------------------------
# Size, spectrum, Jacobians
# ---------------------------------------------------------------------------------------------------------------
def measure_size(start: Start) -> dict[str, Any]:
    """Coordinates, constraint equations with the normalizations, degrees of freedom, eigenvalues of the state space."""
    compiled = start.compiled
    space = _core.StateSpace(compiled.system, "partitioning")
    _, x = space.start(0.0, start.q, start.v, start.memory)
    eigenvalues = np.linalg.eigvals(space.jacobian(0.0, x)[1])
    dominant = eigenvalues[np.argmax(np.abs(eigenvalues))]
    bodies = len(compiled.bodies) - 1
    return {
        "coordinates": compiled.system.nq,
        "equations": compiled.system.rows + bodies,
        "normalizations": bodies,
        "degrees of freedom": space.size // 2,
        "dominant eigenvalue": float(dominant.real),
        "its imaginary part": float(abs(dominant.imag)),
    }


def measure_jacobians(start: Start, repeats: int = 200) -> dict[str, float]:
    """Time of one reduced Jacobian at an evaluated state in s, analytic and by differences of the whole f."""
    figures = {}
    for name, solver in (("analytic", "newton"), ("differences", "newton_fd")):
        figures[name] = _core.time_newton(
            start.compiled.system,
            "partitioning",
            {"solver": solver, "grouped": False},
            0.0,
            start.q,
            start.v,
            start.memory,
            1e4,
            repeats,
        )["linearization"]
    return figures


def show_size(size: dict[str, Any], jacobian: dict[str, float]) -> None:
    """Print the sizes and the dominant eigenvalue beside the paper's, then the Jacobian times."""
    paper = {
        "coordinates": 98, "equations": "79 + 1", "degrees of freedom": 18, "dominant eigenvalue": -2.6e5,
        "its imaginary part": "< 1e-4",
    }  # fmt: skip
    show_table("The stiff vehicle", ["", "ours", "paper"], [[k, v, paper.get(k, "")] for k, v in size.items()])
    rows = [[name, 1e6 * t] for name, t in jacobian.items()]
    show_table("Reduced Jacobian at an evaluated state [us]", ["", "time"], rows)
    print(f"differences / analytic: {jacobian['differences'] / jacobian['analytic']:.3g}")


# ---------------------------------------------------------------------------------------------------------------
# Tables V and VI
# ---------------------------------------------------------------------------------------------------------------
def measure_implicit(start: Start, tolerance: float, times: Any, repeats: int = 5) -> dict[str, Any]:
    """CPU time of sdirk4 over each of `times`, wall time and counts of the last one."""
    runs = [run_timed(start, "partitioning/sdirk4", tolerance, t, repeats=repeats) for t in times]
    counts = {key: runs[-1].statistics[key] for key in ("steps", "rejected", "evaluations", "jacobians")}
    return {"cpu": [done.cpu for done in runs], "wall": runs[-1].wall, **counts}


def show_times(implicit: dict[float, dict[str, Any]], explicit: dict[float, list[float]]) -> None:
    """Print tables V and VI and the ratios, ours and the paper's."""
    rows: list[list[object]] = []
    for tol, f in implicit.items():
        rows.append([f"{tol:.0e}", *(1e3 * t for t in f["cpu"]), 1e3 * f["wall"], f["steps"], f["rejected"]])
        rows.append(["paper [s]", *PAPER_IMPLICIT[tol]])
    header = ["tolerance", *(f"{t:g} s" for t in TIMES), "wall of the last", "steps", "rejected"]
    show_table("Table V: CPU time of partitioning/sdirk4 [ms]", header, [row + [""] * (8 - len(row)) for row in rows])

    rows = []
    for tol, taken in explicit.items():
        ratios = [e / i for e, i in zip(taken, implicit[tol]["cpu"], strict=False)]
        pairs = zip(PAPER_EXPLICIT[tol], PAPER_IMPLICIT[tol], strict=True)
        paper = [e / i for e, i in pairs][: len(taken)]
        for t, e, ours, theirs in zip(TIMES, taken, ratios, paper, strict=False):
            rows.append([f"{tol:.0e}", f"{t:g} s", e, ours, theirs])
    header = ["tolerance", "motion", "CPU [s]", "times sdirk4's", "paper"]
    show_table("Table VI: CPU time of partitioning/adams", header, rows)


# ---------------------------------------------------------------------------------------------------------------
# Figure 5
# ---------------------------------------------------------------------------------------------------------------
def draw_run(panels: Any) -> None:
    """Height of the chassis on the left axis, size of the steps on a logarithmic right axis, at 1e-3."""
    done = run_timed(find_start(models.hmmwv(stiff=True)), "partitioning/sdirk4", 1e-3, 5.0)
    t, height = done.states._t, done.states["chassis"].position[:, 2]
    panel = panels[0, 0]
    panel.plot(t, height, ".-", color="C0", markersize=3, linewidth=1)
    panel.set_xlabel("time [s]")
    panel.set_ylabel("height of the chassis [m]", color="C0")
    panel.grid(alpha=0.3)
    low, high = float(height.min()), float(height.max())
    panel.set_ylim(low - 0.1 * (high - low), high + 1.3 * (high - low))
    steps = panel.twinx()
    size = np.diff(t)
    steps.step(t[1:][size > 0], size[size > 0], where="pre", color="C1", linewidth=1)
    steps.set_yscale("log")
    steps.set_ylim(1e-16, 10.0)  # the upper half of the panel
    steps.set_ylabel("step [s]", color="C1")
    panel.set_title("stiff vehicle over the bump, partitioning/sdirk4, tolerance 1e-3")
