"""Pictures of the benchmarks, written to the current folder where matplotlib is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def save_figure(path: str, draw: Callable[[Any], None], rows: int = 1, columns: int = 1) -> bool:
    """Draw into `rows` x `columns` panels and save; says what was written, or that matplotlib is missing."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        print(f"\n{path} is not drawn: it needs matplotlib (the extra 'plot')")
        return False
    width, height = {1: (7.5, 1.2 + 2.8 * rows), 2: (11.0, 4.5 * rows)}.get(columns, (4.8 * columns, 4.2 * rows))
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    draw(figure.subplots(rows, columns, squeeze=False))
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print(f"\nwrote {path}")
    return True
