"""Recursive coordinates against Cartesian ones: time per evaluation and link on chains, trees and the vehicle.

Both sides are timed in turns in one process, the least of several rounds counts. An evaluation is x' = f(t, x) of the
formulation at two states a small step apart by turns: positions and velocities recovered, forces, accelerations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core, models
from ..bodies import Body
from ..compile import Compiled, compile_model
from ..joints import Revolute
from ..model import Model
from .table import show_table

NAME = "recursive"
DESCRIPTION = "time per evaluation and link of recursive coordinates and of partitioning; a chain of 1000 links for 1 s"

ROUNDS = 5
PARTS = ("kinematics", "forces", "recursion", "total")
HEADER = ["machine", *PARTS, "x' recursive", "x' partitioning", "ratio", "accelerations, Cartesian", "ratio "]


def build_tree(n: int, seed: int = 0) -> Model:
    """A binary tree of n bodies in space, each hinged about an axis at random to the one it branches from."""
    random = np.random.default_rng(seed)
    model = Model("tree", gravity=(0.0, 0.0, -9.81))
    places = np.zeros((n, 3))
    for i in range(n):
        parent = (i - 1) // 2
        start = places[parent] if i else np.zeros(3)
        step = random.normal(size=3)
        places[i] = start + 0.1 * step / np.linalg.norm(step)
        body = Body(f"body{i}", mass=0.1, inertia=(1e-4, 1.2e-4, 1.5e-4), position=places[i])
        model.add(body)
        axis = random.normal(size=3)
        model.add(Revolute(f"joint{i}", f"body{parent}" if i else model.ground, body, point=start, axis=axis))
    return model


def measure(
    compiled: Compiled, links: int, cartesian: bool = True, rounds: int = ROUNDS, work: int = 20_000
) -> dict[str, float]:
    """Seconds per link: the recursion by its parts, and whole evaluations of both formulations."""
    system, q, v, memory = compiled.system, compiled.q, compiled.v, compiled.memory
    repeats = max(3, work // len(compiled.bodies))
    best: dict[str, float] = {}

    def note(key: str, seconds: float) -> None:
        best[key] = min(best.get(key, np.inf), seconds / links)

    for _ in range(rounds):
        for key, value in _core.time_tree(system, 0.0, q, v, memory, repeats).items():
            note(key, value)
        for formulation in ("recursive", "partitioning"):
            if cartesian or formulation == "recursive":
                note(formulation, _core.time_rate(system, formulation, {}, 0.0, q, v, memory, 1e-4, repeats))
        note("cartesian", _core.time_linear(system, 0.0, q, v, memory, "topology", repeats)["total"])
    return best


def list_machines(lengths: tuple[int, ...]) -> list[tuple[str, Model, int, bool]]:
    """Name, model, what its time is divided by, and whether partitioning is timed as well."""
    machines = []
    for n in lengths:
        machines.append((f"chain, planar, {n}", models.chain(n=n), n, n <= 1000))
        machines.append((f"chain, spatial, {n}", models.chain(n=n, form="spatial"), n, n <= 1000))
        machines.append((f"tree, {n}", build_tree(n), n, n <= 1000))
    for stiff in (False, True):
        machines.append((f"vehicle, {'stiff' if stiff else 'soft'} (whole)", models.hmmwv(stiff=stiff), 1, True))
    return machines


def run_long_chain(n: int = 1000, t_end: float = 1.0) -> dict[str, float]:
    """A chain falls from the horizontal: wall time at 1e-6 and its largest error of positions against 1e-11."""
    model = models.chain(n=n)
    ends = []
    for tolerance in (1e-6, 1e-11):
        result = model.simulate(
            t_end, method="recursive/dop853", rtol=tolerance, atol=tolerance, output=[t_end], progress=False
        )
        ends.append((result.statistics, np.array([result[name].position[-1] for name in result.bodies])))
    (statistics, found), (_, exact) = ends
    return {
        "links": float(n), "wall_time": statistics.wall_time, "evaluations": float(statistics.evaluations),
        "error": float(np.abs(found - exact).max()),
    }  # fmt: skip


def run(
    json: bool = False,
    lengths: tuple[int, ...] = (100, 1000, 10_000),
    rounds: int = ROUNDS,
    work: int = 20_000,
    long_chain: int = 1000,
) -> dict[str, Any]:
    """Print microseconds per evaluation and link, and the long chain."""
    figures: dict[str, Any] = {}
    for name, model, links, cartesian in list_machines(lengths):
        figures[name] = measure(compile_model(model), links, cartesian, rounds, work)
    if not json:
        rows = []
        for name, f in figures.items():
            whole, times = f.get("partitioning", np.nan), [1e6 * f[part] for part in PARTS]
            rows.append([
                name, *times, 1e6 * f["recursive"], 1e6 * whole, whole / f["recursive"], 1e6 * f["cartesian"],
                f["cartesian"] / f["total"],
            ])  # fmt: skip
        show_table("Time per evaluation and link [us]", HEADER, rows)
    figures["long chain"] = run_long_chain(long_chain)
    if not json:
        show_table(f"Chain of {long_chain} links, 1 s, recursive/dop853 at 1e-6", list(figures["long chain"]),
                   [list(figures["long chain"].values())])  # fmt: skip
    return figures
