"""Error against CPU time of every formulation with every integrator, with more tolerances and more patience.

    python benchmarks/formulations_long.py

takes about ten minutes; `linkwork bench formulations` compares three tolerances and gives a run two seconds.
"""

from __future__ import annotations

from linkwork.bench import formulations
from linkwork.bench.figure import save_figure

TOLERANCES = tuple(10.0**k for k in range(-2, -10, -1))
SECONDS = 10.0


def main() -> None:
    figures = {}
    for machine in formulations.MACHINES:
        curves = formulations.measure_machine(machine, tolerances=TOLERANCES, seconds=SECONDS)
        figures[machine.title] = curves
        formulations.show_machine(machine.title, curves)
    save_figure(formulations.FIGURE, lambda panels: formulations.draw_machines(panels, figures), rows=2, columns=3)


if __name__ == "__main__":
    main()
