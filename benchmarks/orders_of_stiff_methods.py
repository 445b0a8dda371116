"""Steps and errors over tolerances on the two stiff machines, method by method, with all variants of coefficients.

    python benchmarks/orders_of_stiff_methods.py

shows where the order of a method falls: the error no longer follows the tolerance, or the steps grow too fast.
"""

from __future__ import annotations

from linkwork import models
from linkwork.bench.runs import RunFailure, find_start, run_timed
from linkwork.bench.table import show_table
from linkwork.bench.work_precision import calc_largest_error
from linkwork.methods import IMPLICIT, STATE_SPACE, VARIANTS, Method

TOLERANCES = tuple(10.0**k for k in range(-3, -10, -1))
MACHINES = (("double pendulum, 2 s", "double_pendulum", {}, 2.0), ("stiff vehicle, 1 s", "hmmwv", {"stiff": True}, 1.0))


def main() -> None:
    for title, name, options, t_end in MACHINES:
        start = find_start(getattr(models, name)(**options))
        reference = run_timed(start, "partitioning/radau5", 1e-10, t_end).states
        rows: list[list[object]] = []
        for formulation in STATE_SPACE:
            for integrator in IMPLICIT:
                for variant in VARIANTS.get(integrator, ("",)):
                    chosen = Method(formulation, integrator, **({"variant": variant} if variant else {}))
                    cells = []
                    for tolerance in TOLERANCES:
                        try:
                            done = run_timed(start, chosen, tolerance, t_end, max_steps=10_000)
                        except RunFailure:
                            cells.append("-")
                            continue
                        error = calc_largest_error(done.states, reference)
                        cells.append(f"{done.statistics['steps']} {error:.0e}")
                    rows.append([f"{chosen} {variant}".strip(), *cells])
        show_table(f"{title}: accepted steps and largest error", ["method", *(f"{t:.0e}" for t in TOLERANCES)], rows)


if __name__ == "__main__":
    main()
