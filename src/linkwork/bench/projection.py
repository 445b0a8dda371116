"""Accepted steps projected always, or only where their violations ask for it: CPU time, error and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import models
from ..methods import Method
from .runs import find_start, run_timed
from .table import show_table

NAME = "projection"
DESCRIPTION = "projection of every step, of steps beyond a constraint tolerance, and errors along the constraints"

MACHINES = {
    "andrews, planar, 0.05 s": (lambda: models.andrews(form="planar"), 0.05),
    "andrews, spatial, 0.05 s": (lambda: models.andrews(form="spatial"), 0.05),
    "chain of 20, 1 s": (lambda: models.chain(20), 1.0),
}
METHODS = ("projection/dopri5", "projection/dop853", "projection/adams", "index2/phem56", "index2/mexx")
TOLERANCE = 1e-6
RULES: dict[str, dict[str, Any]] = {
    "always": {},
    "beyond 0.1 tol": {"constraint_tolerance": 0.1 * TOLERANCE},
    "beyond 1 tol": {"constraint_tolerance": TOLERANCE},
    "beyond 0.1 tol, errors along": {"constraint_tolerance": 0.1 * TOLERANCE, "project_error": True},
}


def run(json: bool = False) -> dict[str, Any]:
    """Print the table of each machine; the error is the largest of a coordinate at the end."""
    figures = {title: measure_machine(*machine) for title, machine in MACHINES.items()}
    if not json:
        for title, rows in figures.items():
            header = ["method", "projected", "CPU [ms]", "error", "steps", "projections", "evaluations"]
            show_table(f"{title}, tolerance {TOLERANCE:g}", header, [list(row.values()) for row in rows])
    return figures


def measure_machine(build: Any, t_end: float, methods: tuple[str, ...] = METHODS) -> list[dict[str, Any]]:
    """A row per method and rule; all rules of a method one after the other."""
    start = find_start(build())
    reference = run_timed(start, "partitioning/dop853", 1e-12, t_end).states
    rows = []
    for method in methods:
        formulation, integrator = method.split("/")
        for rule, options in RULES.items():
            if "project_error" in options and formulation != "projection":
                continue
            done = run_timed(start, Method(formulation, integrator, **options), TOLERANCE, t_end, repeats=7)
            facts = done.statistics
            row = {
                "method": method, "projected": rule, "cpu": 1e3 * done.cpu,
                "error": f"{np.abs(done.states._q[-1] - reference._q[-1]).max():.1e}", "steps": facts["steps"],
                "projections": facts["projections"], "evaluations": facts["evaluations"],
            }  # fmt: skip
            rows.append(row)
    return rows
