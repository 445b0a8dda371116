"""Accelerations and multipliers of one state: the tables of the serban paper, and ours beside them."""

from __future__ import annotations

from typing import Any

from .. import _core, models
from ..compile import compile_model
from .table import show_table

NAME = "linear"
DESCRIPTION = "accelerations and multipliers of one state by every linear solver (serban, tables 1 to 3)"

SOLVERS = ("augmented_dense", "augmented_sparse", "reduced_band", "topology")
# serban 1998, on an HP 9000 J210, in milliseconds
PAPER_1 = {"dense_lu": 0.794, "dense_cholesky": 0.467, "sparse_lu": 0.880, "band_cholesky": 0.227}
PAPER_1_BAD = 0.410
PAPER_2 = {"augmented_sparse": 1.2933, "reduced_band": 0.2313}
PAPER_3 = {"augmented_dense": 22.88, "augmented_sparse": 12.62, "reduced_band": 3.07}


def run(json: bool = False) -> dict[str, Any]:
    """Print tables 1, 2 and 3, times in microseconds."""
    figures = {
        "seven_body_reduced": measure_reduced(),
        "seven_body": measure_solvers(models.andrews(form="planar"), repeats=20000),
        "hmmwv": measure_solvers(models.hmmwv(), repeats=3000),
    }
    if not json:
        show_reduced(figures["seven_body_reduced"])
        show_solvers("Table 2: seven-body mechanism, planar (21 coordinates, 20 rows)", figures["seven_body"], PAPER_2)
        show_solvers("Table 3: 14-body vehicle (98 coordinates, 73 + 14 rows)", figures["hmmwv"], PAPER_3)
    return figures


def measure_reduced() -> dict[str, Any]:
    """The reduced system of the seven-body mechanism with bad, good and our own numbering of the joints."""
    figures = {}
    for label, numbering, renumber in (("bad", "bad", False), ("good", "good", False), ("renumbered", "bad", True)):
        compiled = compile_model(models.andrews(form="planar", numbering=numbering))
        figures[label] = _core.time_reduced(compiled.system, 0.0, compiled.q, compiled.memory, renumber, 2000)
    return figures


def measure_solvers(model: Any, repeats: int) -> dict[str, Any]:
    """Times in seconds of assembly, factorization, solution and all together, for every solver."""
    compiled = compile_model(model)
    s = compiled.system
    return {name: _core.time_linear(s, 0.0, compiled.q, compiled.v, compiled.memory, name, repeats) for name in SOLVERS}


def show_reduced(figures: dict[str, Any]) -> None:
    """Print table 1: four methods on the reduced system, and what the numbering of the joints is worth."""
    rows = []
    for label, f in figures.items():
        rows.append([label, *(1e6 * f[key] for key in PAPER_1), f["bandwidth"], f["profile"], f["work"]])
    rows.append(["paper, bad [ms]", "", "", "", PAPER_1_BAD, "", "", ""])
    rows.append(["paper, good [ms]", *PAPER_1.values(), "", "", ""])
    header = ["numbering", "dense LU", "dense Cholesky", "sparse LU", "band Cholesky", "bandwidth", "profile", "work"]
    show_table("Table 1: seven-body mechanism, the reduced system alone [us]", header, rows)


def show_solvers(title: str, figures: dict[str, Any], paper: dict[str, float]) -> None:
    """Print one row per solver: times in microseconds, ratio to augmented_sparse, flop count, the paper's figures."""
    base = figures["augmented_sparse"]["total"]
    rows = []
    for name, f in figures.items():
        rows.append(
            [
                name,
                *(1e6 * f[key] for key in ("assembly", "factor", "solve", "total")),
                base / f["total"],
                int(f["multiply_adds"]),
                f"{f['residual']:.0e}",
                paper.get(name, ""),
                paper["augmented_sparse"] / paper[name] if name in paper else "",
            ]
        )
    header = ["solver", "assembly", "factor", "solve", "total", "ratio", "multiply-adds", "residual"]
    show_table(f"{title} [us]", [*header, "paper [ms]", "paper ratio"], rows)
