"""Newton corrections: dense reduced Jacobians against descriptor form, over the degrees of freedom of a chain."""

from __future__ import annotations

from typing import Any

from .. import _core, models
from ..compile import compile_model
from ..forces import RotationalSpring
from .table import show_table

NAME = "newton"
DESCRIPTION = "iteration matrices of implicit methods: dense and reduced against descriptor form, where they cross"

LENGTHS = (5, 10, 20, 40, 80, 160)


def build_chain(n: int) -> Any:
    """A planar chain of n links with a stiff spring in every pin but the first."""
    model = models.chain(n=n)
    for name in list(model.joints)[1:]:
        model.add(RotationalSpring(f"spring_{name}", on=name, stiffness=2e3, damping=20.0))
    return model


def run(json: bool = False, lengths: tuple[int, ...] = LENGTHS) -> dict[str, Any]:
    """Print microseconds per linearization, factorization and solution in both forms."""
    figures: dict[str, Any] = {}
    for n in lengths:
        compiled = compile_model(build_chain(n))
        for form, limit in (("dense", 10**6), ("descriptor", 0)):
            times = _core.time_newton(
                compiled.system, "partitioning", {"dense_limit": limit}, 0.0, compiled.q, compiled.v, compiled.memory,
                1e3, max(2, 4000 // n**2 + 2),
            )  # fmt: skip
            figures[f"{form} {n}"] = {name: times[name] for name in ("linearization", "factor", "solve")}
    if not json:
        rows = []
        for label, f in figures.items():
            form, links = label.split()
            rows.append([links, form, *(1e6 * value for value in f.values()), 1e6 * sum(f.values())])
        header = ["n", "form", "linearization", "factor", "solve", "sum"]
        show_table("Newton corrections of chain(n) [us]", header, rows)
    return figures
