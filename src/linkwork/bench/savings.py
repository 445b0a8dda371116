"""What implicit codes save on constrained mechanisms (arnold): grouped differences, kept Jacobians, residuals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core, models
from ..methods import Method
from .runs import Start, Timed, find_start, run_timed
from .table import show_table

NAME = "savings"
DESCRIPTION = "grouped differences, Jacobians kept when the step changes, residual against explicit formalism (arnold)"

MACHINES: dict[str, Callable[[], Any]] = {
    "chain(100)": lambda: models.chain(n=100),
    "stiff vehicle": lambda: models.hmmwv(stiff=True),
    "andrews, spatial": lambda: models.andrews(form="spatial"),
}
FORMULATIONS = ("ggl", "index2", "partitioning")
INTEGRATORS = ("bdf", "radau5", "sdirk4")
TOLERANCE = 1e-5
SHIFT = 1e4  # c of c B - J, 1/s
REPEATS = 3


def run(json: bool = False) -> dict[str, Any]:
    """Print the three comparisons."""
    starts = {name: find_start(build()) for name, build in MACHINES.items()}
    figures: dict[str, Any] = {
        "differences": {name: measure_differences(start) for name, start in starts.items()},
        "kept": {
            f"{formulation}/{integrator}": measure_kept(starts["stiff vehicle"], formulation, integrator)
            for formulation in FORMULATIONS
            for integrator in INTEGRATORS
        },
        "formalisms": {name: measure_formalisms(start) for name, start in starts.items()},
        "iterations": {
            integrator: measure_iterations(starts["stiff vehicle"], integrator) for integrator in INTEGRATORS
        },
    }
    if not json:
        show_differences(figures["differences"])
        show_kept(figures["kept"])
        show_formalisms(figures["formalisms"], figures["iterations"])
    return figures


def time_parts(start: Start, formulation: str, repeats: int = 50, **options: Any) -> dict[str, float]:
    """Seconds per evaluation, linearization, factorization and solution at the beginning of a run."""
    return dict(
        _core.time_newton(
            start.compiled.system, formulation, options, 0.0, start.q, start.v, start.memory, SHIFT, repeats
        )
    )


# ---------------------------------------------------------------------------------------------------------------
# Differences: bodies that share no element are moved together
# ---------------------------------------------------------------------------------------------------------------
def measure_differences(start: Start, t_end: float = 2e-3) -> dict[str, dict[str, float]]:
    """Sweeps over all elements per Jacobian and its time in s, one body at a time and grouped; and by derivatives."""
    figures: dict[str, dict[str, float]] = {}
    for formulation in ("ggl", "partitioning"):
        ways: dict[str, dict[str, Any]] = {
            "one by one": {"solver": "newton_fd", "grouped": False},
            "grouped": {"solver": "newton_fd"},
            "derivatives": {"solver": "newton"},
        }
        for way, options in ways.items():
            timed = run_timed(start, Method(formulation, "bdf", **options), TOLERANCE, t_end).statistics
            figures[f"{formulation}, {way}"] = {
                "sweeps": timed["difference_sweeps"] / timed["jacobians"],
                "time": time_parts(start, formulation, 10, **options)["linearization"],
            }
    return figures


def show_differences(figures: dict[str, Any]) -> None:
    """Print sweeps and times per Jacobian."""
    rows = []
    for machine, ways in figures.items():
        for way, f in ways.items():
            all_columns = ways[way.split(",")[0] + ", one by one"]["sweeps"]
            share = f"{100 * f['sweeps'] / all_columns:.0f} %" if f["sweeps"] else ""
            rows.append([machine, way, f"{f['sweeps']:.0f}" if f["sweeps"] else "", share, 1e6 * f["time"]])
    show_table("Jacobians by differences", ["machine", "way", "evaluations", "of N + 1", "time [us]"], rows)


# ---------------------------------------------------------------------------------------------------------------
# What of the iteration matrix does not depend on the step is kept when the step changes
# ---------------------------------------------------------------------------------------------------------------
def measure_kept(start: Start, formulation: str, integrator: str, t_end: float = 1.0) -> dict[str, float]:
    """Jacobians, their time and that of the whole run in s, kept and not, in turns."""
    runs: dict[bool, list[Timed]] = {True: [], False: []}
    for _ in range(REPEATS):
        for keep in runs:
            method = Method(formulation, integrator, keep_jacobian=keep)
            runs[keep].append(run_timed(start, method, TOLERANCE, t_end))
    own = min(time_parts(start, formulation)["linearization"] for _ in range(REPEATS))
    kept, renewed = (runs[keep][0].statistics for keep in (True, False))
    return {
        "jacobians": kept["jacobians"],
        "jacobians renewed": renewed["jacobians"],
        "steps": kept["steps"],
        "steps renewed": renewed["steps"],
        "jacobian time": own * kept["jacobians"],
        "jacobian time renewed": own * renewed["jacobians"],
        "saved": 1 - kept["jacobians"] / renewed["jacobians"],
        "cpu": min(run.cpu for run in runs[True]),
        "cpu renewed": min(run.cpu for run in runs[False]),
    }


def show_kept(figures: dict[str, dict[str, float]]) -> None:
    """Print what keeping saves."""
    rows = [
        [
            method, f["steps"], f["jacobians"], f["jacobians renewed"], 1e3 * f["jacobian time"],
            1e3 * f["jacobian time renewed"], f"{100 * f['saved']:.0f} %", 1e3 * f["cpu"], 1e3 * f["cpu renewed"],
        ]
        for method, f in figures.items()
    ]  # fmt: skip
    header = ["method", "steps", "kept", "renewed", "kept [ms]", "renewed [ms]", "saved", "run [ms]", "renewed [ms]"]
    show_table("Stiff vehicle, 1 s: Jacobians kept when the step changes, or renewed with every new step", header, rows)


# ---------------------------------------------------------------------------------------------------------------
# Residual formalism: nothing solved for
# ---------------------------------------------------------------------------------------------------------------
def measure_formalisms(start: Start, repeats: int = 200) -> dict[str, float]:
    """Seconds per evaluation: residual; M^-1 in front; accelerations and multipliers solved for; state space."""
    return {
        "residual": time_parts(start, "index2", repeats)["evaluation"],
        "explicit, by masses": time_parts(start, "index2", repeats, formalism="explicit")["evaluation"],
        "explicit, by all joints": time_parts(start, "index1", repeats)["evaluation"],
        "state space": time_parts(start, "partitioning", max(2, repeats // 10))["evaluation"],
    }


def measure_iterations(start: Start, integrator: str, t_end: float = 1.0) -> dict[str, float]:
    """Newton iterations per step in residual and explicit form, and on the state space."""
    figures = {}
    for name, method in (
        ("residual", Method("index2", integrator)),
        ("explicit, by masses", Method("index2", integrator, formalism="explicit")),
        ("state space", Method("partitioning", integrator)),
    ):
        s = run_timed(start, method, TOLERANCE, t_end).statistics
        figures[name] = s["iterations"] / (s["steps"] + s["rejected"])
    return figures


def show_formalisms(costs: dict[str, dict[str, float]], iterations: dict[str, dict[str, float]]) -> None:
    """Print evaluations in microseconds and in residuals, and iterations per attempted step."""
    rows = [
        [machine, form, 1e6 * seconds, seconds / forms["residual"]]
        for machine, forms in costs.items()
        for form, seconds in forms.items()
    ]
    show_table("One evaluation", ["machine", "formalism", "time [us]", "residuals"], rows)
    header = ["integrator", *next(iter(iterations.values()))]
    rows = [[integrator, *(float(n) for n in forms.values())] for integrator, forms in iterations.items()]
    show_table("Stiff vehicle: Newton iterations per attempted step", header, rows)
