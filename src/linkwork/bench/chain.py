"""Cost per link of long chains: constant when the block solver and its memory are of order n."""

from __future__ import annotations

from typing import Any

from .. import _core, models
from ..compile import compile_model
from .table import show_table

NAME = "chain"
DESCRIPTION = "time per acceleration and link of chain(n), n = 100 to 10 000"


def run(json: bool = False) -> dict[str, Any]:
    """Print microseconds per acceleration and link."""
    figures: dict[str, Any] = {}
    for form in ("planar", "spatial"):
        for n in (100, 1000, 10_000):
            compiled = compile_model(models.chain(n=n, form=form))
            f = _core.time_linear(
                compiled.system, 0.0, compiled.q, compiled.v, compiled.memory, "topology", max(3, 60_000 // n)
            )
            figures[f"{form} {n}"] = {key: f[key] / n for key in ("assembly", "factor", "solve", "total")}
    if not json:
        rows = [[label, *(1e6 * value for value in f.values())] for label, f in figures.items()]
        show_table("Time per link [us]", ["chain", "assembly", "factor", "solve", "total"], rows)
    return figures
