"""Constraint violations over a thousand seconds of a four-bar linkage, a thousand turns of its crank and more.

    python benchmarks/drift_long.py

takes about half a minute and prints the table of docs/formulations.md.
"""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.bench.table import show_table

T_END, TOLERANCE = 1000.0, 1e-5
METHODS = (
    "partitioning/dopri5",
    "projection/dopri5",
    "index2/phem56",
    "ggl/bdf",
    "projected_invariants/bdf",
    "odae/bdf",
    "odae/park",
    "index3/hht",
    "baumgarte/dopri5",
    "index1/dopri5",
)


def main() -> None:
    model = lw.models.four_bar()
    rows = []
    for method in METHODS:
        run = model.simulate(T_END, method=method, rtol=TOLERANCE, atol=TOLERANCE, progress=False)
        early = max(np.abs(run[joint].violation[run.t <= 10.0]).max() for joint in run.joints)
        position, velocity = run.violations.largest[1], run.violations.largest_velocity[1]
        counts = run.statistics
        rows.append([method, run.status.name, counts.steps, early, position, velocity, counts.wall_time])
    header = ["method", "status", "steps", "largest |Phi|, first 10 s", "all 1000 s", "largest |J v|", "wall time [s]"]
    show_table(f"Four-bar linkage, {T_END:g} s, tolerance {TOLERANCE:g}", header, rows)


if __name__ == "__main__":
    main()
