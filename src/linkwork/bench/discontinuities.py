"""What jumps of a force cost that nobody announced, with and without the search for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..forces import RotationalSpring
from ..functions import Expression
from ..model import Model
from ..models import pendulum
from ..results import Result
from .table import show_table

NAME = "discontinuities"
DESCRIPTION = "evaluations and errors on a pendulum whose torque jumps, with and without the search for jumps"

JUMPS: dict[str, tuple[str, dict[str, float]]] = {  # of the torque on the pin: law, its parameters
    "time": ("-A*sign(sin(6*t))", {"A": 10.0}),
    "angle": ("-A*where(angle < -0.3, 1, 0)", {"A": 10.0}),
    "rate": ("A*sign(rate)", {"A": 5.0}),
}
INTEGRATORS = ("dopri5", "dop853", "adams", "radau5", "bdf", "rodas", "sdirk4")
T_END, TOLERANCE = 5.0, 1e-6


def run(json: bool = False) -> dict[str, Any]:
    """Print evaluations, rejected steps and largest errors of the angle for each kind of jump and integrator."""
    figures = {kind: measure_jumps(kind) for kind in JUMPS}
    if not json:
        header = ["integrator", "evaluations", "rejected", "error", "with search", "rejected", "error", "found"]
        for kind, rows in figures.items():
            cells = [[name, *(row["without"] + row["with"])] for name, row in rows.items()]
            show_table(f"torque that jumps with {kind}, rtol = atol = {TOLERANCE:g}, {T_END:g} s", header, cells)
    return figures


def build_jumping(kind: str) -> Model:
    """The planar pendulum of the gallery with a torque that jumps."""
    law, parameters = JUMPS[kind]
    model = pendulum(form="planar", angular_velocity=2.0)
    model.add(RotationalSpring("jump", on="pin", torque=Expression(law, **parameters)))
    return model


def find_exact(model: Model) -> Result:
    """A tight run to compare with."""
    exact: Result = model.simulate(
        T_END, method="partitioning/dop853", rtol=1e-12, atol=1e-12, max_step=0.05, progress=False
    )
    return exact


def calc_error(result: Result, exact: Result) -> float:
    """Largest error of the pin's angle [rad] at the accepted steps."""
    return float(np.abs(result["pin"].angle - exact.at(result.t)["pin"].angle).max())


def measure_jumps(kind: str) -> dict[str, dict[str, list[Any]]]:
    """Counts and errors of every integrator on one model."""
    model, rows = build_jumping(kind), {}
    exact = find_exact(model)
    for integrator in INTEGRATORS:
        cells = {}
        for wanted in (False, True):
            result = model.simulate(
                T_END, method=f"partitioning/{integrator}", rtol=TOLERANCE, atol=TOLERANCE, discontinuities=wanted,
                progress=False,
            )  # fmt: skip
            counts = result.statistics
            cells["with" if wanted else "without"] = [
                counts.evaluations, counts.rejected, f"{calc_error(result, exact):.0e}",
                *([counts.discontinuities] if wanted else []),
            ]  # fmt: skip
        rows[integrator] = cells
    return rows
