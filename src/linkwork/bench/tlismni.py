"""The two-loop implicit method: orders and error constants, simple iteration against Krylov, and against adams."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core, models
from ..methods import LOW_ORDER
from ..results import calc_dense
from .figure import save_figure
from .runs import Start, Timed, find_start, run_in_pieces, run_timed
from .table import show_table

NAME = "tlismni"
DESCRIPTION = (
    "low-order implicit formulas: orders, error constants, krylov against fixed_point and adams on stiff machines"
)
FIGURE = "tlismni.png"

Array = NDArray[np.float64]

TOLERANCE = 1e-4
PIECE = 0.1  # s of simulated time that an explicit run is stored for
NEWMARK = {"hht": {"second_order": 1, "alpha": -0.1}, "generalized_alpha": {"second_order": 1, "rho": 0.8}}
# growth of the error per h^2 x''' and unit of time: constants of one step by the weight of x' in it
THEORY = {"trapezoidal": 1 / 12, "bdf2": 1 / 3, "park": 1 / 6, "hht": (1 + 0.1) ** 2 / 4 - 0.05 - 1 / 6}
# machines with the largest eigenvalue [1/s] of their state space, the simulated time, and that of simple iteration [s]
MACHINES = {
    "double pendulum": (lambda: models.double_pendulum(form="planar"), 9.987e4, 2.0, 0.02),
    "vehicle": (lambda: models.hmmwv(stiff=True), 2.586e5, 1.0, 0.01),
}
ETA = {"trapezoidal": 1 / 2, "bdf2": 2 / 3, "park": 3 / 5}


def run(json: bool = False) -> dict[str, Any]:
    """Print orders and constants, the steps of both outer loops, CPU times beside adams; draw tlismni.png."""
    starts = {name: find_start(build()) for name, (build, *_) in MACHINES.items()}
    figures: dict[str, Any] = {
        "orders": {name: measure_orders(name) for name in LOW_ORDER},
        "constants": {name: measure_constant(name) for name in THEORY},
        "loops": {machine: measure_loops(machine, start) for machine, start in starts.items()},
        "adams": measure_adams(starts["vehicle"]),
    }
    if not json:
        show_orders(figures["orders"], figures["constants"])
        show_loops(figures["loops"])
        show_adams(figures["adams"])
        save_figure(FIGURE, draw_steps, rows=2)
    return figures


# ---------------------------------------------------------------------------------------------------------------
# Orders and constants
# ---------------------------------------------------------------------------------------------------------------
def kepler(t: float, x: Array) -> Array:
    """Motion of a planet around the sun at the origin."""
    cube = math.hypot(x[0], x[1]) ** 3
    return np.array([x[2], x[3], -x[0] / cube, -x[1] / cube])


def build_steps(pattern: str, count: int, span: float) -> Array:
    """Step sizes that fill the span: all equal, every second one twice as long, or between half and twice a mean."""
    sizes = {
        "equal": np.ones(count),
        "alternating": np.where(np.arange(count) % 2, 1.0, 2.0),
        "random": 2.0 ** np.random.default_rng(5).uniform(-1, 1, count),
    }[pattern]
    return span * sizes / sizes.sum()


def measure_orders(name: str, counts: tuple[int, ...] = (400, 800, 1600)) -> dict[str, float]:
    """Observed orders over six units of time of an orbit of eccentricity 0.3, per pattern of steps."""
    begin = np.array([0.7, 0.0, 0.0, math.sqrt(1.3 / 0.7)])
    exact = _core.solve_ode(kepler, 0.0, begin, 6.0, "dop853", 1e-13, 1e-13)["x"][-1]
    orders = {}
    for pattern in ("equal", "alternating", "random"):
        errors = []
        for count in counts:
            steps = list(build_steps(pattern, count, 6.0))
            done = _core.take_steps(kepler, 0.0, begin, steps, name, 1e-9, 1e-9, None, NEWMARK.get(name, {}))
            errors.append(np.abs(done["x"][-1] - exact).max())
        orders[pattern] = math.log(errors[0] / errors[-1]) / math.log(counts[-1] / counts[0])
    return orders


def measure_constant(name: str, h: float = 1 / 64) -> float:
    """Growth of the error of x = t^3 (of y = t^3 in y'' = 6 t for hht) per h^2 x''' and unit of time."""
    if name in NEWMARK:
        done = _core.solve_ode(
            lambda t, x: np.array([x[1], 6 * t]), 0.0, np.zeros(2), 3.0, name, 1e-12, 1e-12, h, options=NEWMARK[name]
        )
        t = done["t"]
        error = done["x"][:, 0] - t**3 - (done["x"][1, 1] - 3 * h * h) * t  # less the drift of the first velocity
    else:
        done = _core.solve_ode(lambda t, x: np.array([3 * t * t]), 0.0, np.zeros(1), 3.0, name, 1e-12, 1e-12, h)
        t = done["t"]
        error = done["x"][:, 0] - t**3
    late = t > 1.5
    return float(np.polyfit(t[late], error[late], 1)[0]) / (6 * h * h)


def show_orders(orders: dict[str, dict[str, float]], constants: dict[str, float]) -> None:
    """Print one row per formula."""
    rows = [[name, *found.values(), constants.get(name, ""), THEORY.get(name, "")] for name, found in orders.items()]
    header = ["formula", "equal steps", "alternating 1:2", "random 1:4", "error / h^2 x''' t", "theory"]
    show_table("Observed order (Kepler), and growth of the error (x = t^3)", header, rows)


# ---------------------------------------------------------------------------------------------------------------
# Simple iteration against Krylov
# ---------------------------------------------------------------------------------------------------------------
def measure_loops(machine: str, start: Start) -> dict[str, dict[str, float]]:
    """Steps and work per simulated second of every formula with both outer loops, at a tolerance of 1e-4."""
    _, largest, t_end, t_bound = MACHINES[machine]
    figures = {}
    for name in LOW_ORDER:
        for solver, span in (("fixed_point", t_bound), ("krylov", t_end), ("newton", t_end)):
            done = run_timed(start, f"partitioning/{name}/{solver}", TOLERANCE, span)
            figures[f"{name}/{solver}"] = count_work(done, span, largest * ETA.get(name, 0.5))
    return figures


def count_work(done: Timed, span: float, rate: float) -> dict[str, float]:
    """What one run did, per simulated second and per step; `rate` is eta times the largest eigenvalue."""
    counts = done.statistics
    steps = counts["steps"] + counts["rejected"]
    large = float(np.quantile(np.diff(done.states._t), 0.95))  # a first step taken at rest does not show its bound
    return {
        "steps": counts["steps"] / span,
        "large step": large,
        "h eta rho": large * rate,
        "iterations": counts["iterations"] / steps,
        "vectors": counts["krylov_vectors"] / steps,
        "restrictions": counts["restrictions"] / counts["steps"],
        "evaluations": counts["evaluations"] / span,
        "cpu": done.cpu / span,
    }


def show_loops(loops: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print one table per machine."""
    header = ["method", "steps/s", "95 % of steps below [s]", "h eta rho", "iterations/step", "vectors/step",
              "bound by convergence", "evaluations/s", "CPU s/s"]  # fmt: skip
    for machine, figures in loops.items():
        rows = [[f"partitioning/{name}", *found.values()] for name, found in figures.items()]
        show_table(f"Stiff {machine}, tolerance {TOLERANCE:g}", header, rows)


# ---------------------------------------------------------------------------------------------------------------
# Against adams
# ---------------------------------------------------------------------------------------------------------------
RIVALS = (
    *(f"partitioning/{name}/krylov" for name in LOW_ORDER),
    "partitioning/park/newton",
    "index3/hht",
    "ggl/park",
    "partitioning/sdirk4",
)


def measure_adams(start: Start) -> dict[str, dict[str, float]]:
    """CPU time of one second of the stiff vehicle at 1e-4, and the largest error of any coordinate."""
    exact = run_timed(start, "partitioning/radau5", 1e-9, 1.0).states
    figures = {"partitioning/adams": {"cpu": run_in_pieces(start, "partitioning/adams", TOLERANCE, (1.0,), PIECE)[0]}}
    for method in RIVALS:
        done = run_timed(start, method, TOLERANCE, 1.0, repeats=3)
        error = np.abs(done.states._q - calc_dense(exact, done.states._t)[0]).max()
        figures[method] = {"cpu": done.cpu, "steps": done.statistics["steps"], "error": float(error)}
    return figures


def show_adams(figures: dict[str, dict[str, float]]) -> None:
    """Print CPU times and their ratios to that of adams."""
    slow = figures["partitioning/adams"]["cpu"]
    rows = [
        [name, 1e3 * f["cpu"], slow / f["cpu"], f.get("steps", ""), f.get("error", "")] for name, f in figures.items()
    ]
    header = ["method", "CPU [ms]", "times faster than adams", "steps", "largest error"]
    show_table(f"Stiff vehicle, 1 s, tolerance {TOLERANCE:g}", header, rows)


# ---------------------------------------------------------------------------------------------------------------
# Figure
# ---------------------------------------------------------------------------------------------------------------
def draw_steps(panels: Any) -> None:
    """Size of the steps over time with simple iteration and with Krylov, on both machines."""
    for panel, (machine, (build, largest, t_end, _)) in zip(panels[:, 0], MACHINES.items(), strict=True):
        start = find_start(build())
        for solver, span in (("fixed_point", 0.05), ("krylov", t_end)):
            t = run_timed(start, f"partitioning/park/{solver}", TOLERANCE, span).states._t
            size = np.diff(t)
            panel.step(t[1:][size > 0], size[size > 0], where="pre", linewidth=1, label=f"park/{solver}")
        panel.axhline(1 / (ETA["park"] * largest), color="k", linewidth=0.8, linestyle="--", label="h eta rho = 1")
        panel.set(yscale="log", xscale="log", xlim=(1e-5, t_end), xlabel="time [s]", ylabel="step [s]")
        panel.set_title(f"stiff {machine}, tolerance {TOLERANCE:g}")
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
