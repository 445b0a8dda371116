"""Tables V and VI of the negrut paper in full: the explicit integrator over 1, 2, 3 and 4 s at four tolerances.

    python benchmarks/hmmwv_tables.py

takes about two minutes; `linkwork bench hmmwv` prints the first second at two tolerances.
"""

from __future__ import annotations

from linkwork import models
from linkwork.bench import hmmwv
from linkwork.bench.runs import find_start, run_in_pieces


def main() -> None:
    start = find_start(models.hmmwv(stiff=True))
    implicit, explicit = {}, {}
    for tolerance in hmmwv.TOLERANCES:
        implicit[tolerance] = hmmwv.measure_implicit(start, tolerance, hmmwv.TIMES)
        explicit[tolerance] = run_in_pieces(start, "partitioning/adams", tolerance, hmmwv.TIMES, hmmwv.PIECE)
    hmmwv.show_times(implicit, explicit)


if __name__ == "__main__":
    main()
