"""The constraint Jacobian as a sparse matrix, its rank, and which rows depend on which.

The core stores J as blocks (joint x body). Here they become one scipy matrix, so that initial conditions, checks and
reactions cost what the mechanism's graph costs, not rows x columns. Small systems are then treated densely, because
an orthogonal factorization is the safer judge of rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from .tables import COLUMNS

if TYPE_CHECKING:
    from .compile import Compiled, JointInfo
    from .states import States

Array = NDArray[np.float64]
DENSE_ROWS = 500  # above this many rows nothing dense of size rows x columns is formed (a dense solve: 0.1 s)

MOST_SEARCHES = 50  # steps of a run that are searched for singular positions inside


@dataclass(frozen=True)
class JacobianPattern:
    """Where the entries of the block Jacobian sit: entry `source[k]` of the flat array is J[row[k], column[k]]."""

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    source: NDArray[np.int64]
    shape: tuple[int, int]


def build_jacobian_pattern(tables: dict[str, Any]) -> JacobianPattern:
    """The pattern of a compiled model; parts of the ground have no columns and are left out."""
    bodies, blocks = tables["bodies"], tables["blocks"]
    rows, columns, sources = [], [], []
    for part in tables["parts"]:
        body, block = bodies[part["body"]], blocks[part["block"]]
        m, n = int(block["rows"]), int(body["nv"])
        if n:
            i, j = np.divmod(np.arange(m * n), n)
            rows.append(block["row"] + i)
            columns.append(body["v"] + j)
            sources.append(part["offset"] + i * n + j)
    shape = (len(tables["rows"]), int(bodies["nv"].sum()))
    if not rows:
        nothing = np.zeros(0, np.int64)
        return JacobianPattern(nothing, nothing, nothing, shape)
    return JacobianPattern(
        np.concatenate(rows).astype(np.int64),
        np.concatenate(columns).astype(np.int64),
        np.concatenate(sources).astype(np.int64),
        shape,
    )


def calc_jacobian(
    system: Any, pattern: JacobianPattern, t: float, q: Array, memory: Array, engaged: Array | None = None
) -> sparse.csr_matrix:
    """J = Phi_q N at one state, rows x nv; rows that are not engaged are zero where `engaged` is given."""
    values = np.asarray(system.jacobian_parts(t, q, memory))[pattern.source]
    if engaged is not None:
        values = values * engaged[pattern.row]
    return sparse.csr_matrix((values, (pattern.row, pattern.column)), shape=pattern.shape)


def solve_smallest(
    jacobian: sparse.spmatrix, residual: Array, weights: Array, active: NDArray[np.int32], tolerance: float = 1e-10
) -> Array:
    """x of least sum(weights x^2) with J x = residual, in the least-squares sense where rows contradict each other.

    Small systems: the pseudo-inverse of J W^-1/2. Large ones: [W J^T; J 0] with the dependent rows taken out.
    """
    if jacobian.shape[0] == 0 or not np.any(residual):
        return np.zeros(jacobian.shape[1])
    scale = 1.0 / np.sqrt(weights)
    if jacobian.shape[0] <= DENSE_ROWS:
        scaled = jacobian.toarray() * scale
        return scale * np.linalg.lstsq(scaled, residual, rcond=tolerance)[0]
    kept = jacobian[np.flatnonzero(active)]
    n, m = kept.shape[1], kept.shape[0]
    scaled = kept @ sparse.diags(scale)
    matrix = sparse.bmat([[sparse.identity(n), scaled.T], [scaled, None]], format="csc")
    right = np.concatenate([np.zeros(n), residual[np.flatnonzero(active)]])
    solution: Array = splu(matrix).solve(right)
    assert solution.shape == (n + m,)
    return scale * solution[:n]


def find_dependencies(
    jacobian: sparse.spmatrix, active: NDArray[np.int32], tolerance: float = 1e-6
) -> dict[int, list[int]]:
    """For every dependent row the independent rows of which it is a combination.

    The combination c solves J_active^T c = J_row^T and is unique, because the active rows are independent.
    """
    dependent, kept = np.flatnonzero(np.asarray(active) == 0), np.flatnonzero(active)
    if len(dependent) == 0:
        return {}
    basis, targets = jacobian[kept], jacobian[dependent]
    if jacobian.shape[0] <= DENSE_ROWS:
        coefficients = np.linalg.lstsq(basis.toarray().T, targets.toarray().T, rcond=1e-12)[0]
    else:
        normal = splu((basis @ basis.T).tocsc())
        coefficients = normal.solve((basis @ targets.T).toarray())
    found = {}
    for k, row in enumerate(dependent):
        size = np.abs(coefficients[:, k])
        found[int(row)] = [int(i) for i in kept[size > tolerance * max(float(size.max(initial=0.0)), 1e-300)]]
    return found


def find_owner(joints: dict[str, JointInfo], row: int) -> tuple[str, str]:
    """Name of the joint and label of the equation behind a constraint row."""
    for name, info in joints.items():
        if info.rows.start <= row < info.rows.stop:
            return name, info.labels[row - info.rows.start]
    raise KeyError(f"row {row} belongs to no joint")


def find_weak_direction(jacobian: sparse.spmatrix, active: NDArray[np.int32]) -> tuple[float, Array]:
    """Smallest singular value that J has by its rank, and the shares of the rows in its left vector.

    Where several values are about as small, the shares of all of them are added up. Large systems: inverse iteration on
    the active rows.
    """
    rank, rows = int(np.sum(active)), jacobian.shape[0]
    if rank == 0:
        return 0.0, np.zeros(rows)
    if rows <= DENSE_ROWS:
        left, values, _ = np.linalg.svd(jacobian.toarray(), full_matrices=False)
        smallest = values[min(rank, len(values)) - 1]
        weak = np.flatnonzero(values[:rank] <= 10.0 * smallest)
        return float(smallest), np.sqrt(np.sum(left[:, weak] ** 2, axis=1))
    kept = np.flatnonzero(active)
    matrix = jacobian[kept]
    system = sparse.bmat([[sparse.identity(matrix.shape[1]), matrix.T], [matrix, None]], format="csc")
    try:
        factors = splu(system)
    except RuntimeError:  # exactly singular
        return 0.0, np.zeros(rows)
    y = np.sin(1.0 + 2.3 * np.arange(len(kept)))
    length = float(np.linalg.norm(y))
    for _ in range(8):
        y = factors.solve(np.concatenate([np.zeros(matrix.shape[1]), y / length]))[matrix.shape[1] :]
        length = float(np.linalg.norm(y))
    shares = np.zeros(rows)
    shares[kept] = np.abs(y) / length
    return 1.0 / np.sqrt(length), shares


def find_smallest_value(jacobian: sparse.spmatrix, active: NDArray[np.int32]) -> float:
    """The first of what `find_weak_direction` finds; without the vectors a small system costs a fifth."""
    rank = int(np.sum(active))
    if rank == 0 or jacobian.shape[0] > DENSE_ROWS:
        return find_weak_direction(jacobian, active)[0]
    values = np.linalg.svd(jacobian.toarray(), compute_uv=False)
    return float(values[min(rank, len(values)) - 1])


def find_weak_joints(
    compiled: Compiled, jacobian: sparse.spmatrix, active: NDArray[np.int32], share: float = 0.1
) -> list[str]:
    """The joints whose rows are nearest to dependence, those with the largest shares first."""
    _, shares = find_weak_direction(jacobian, active)
    names: list[str] = []
    for row in np.argsort(-shares):
        if shares[row] > share:
            name, _ = find_owner(compiled.joints, int(row))
            if name not in names:
                names.append(name)
    return names


def calc_metric(compiled: Compiled, weights: dict[str, float] | None = None) -> Array:
    """Weights of velocity coordinates when a state is moved: 1 for metres, size^2 for radians, times the body's own.

    `size` is the root mean square distance of the joint points from the centres of mass, so that turning a body by one
    radian costs as much as moving its joints by what that turn moves them.
    """
    arms = [float(np.dot(s, s)) for info in compiled.joints.values() for s in (info.frame_a[0], info.frame_b[0])]
    size2 = float(np.mean([a for a in arms if a > 0.0])) if any(a > 0.0 for a in arms) else 1.0
    bodies = compiled.tables["bodies"]
    metric = np.ones(int(bodies["nv"].sum()))
    for name, index in compiled.bodies.items():
        body = bodies[index]
        for k, column in enumerate(COLUMNS[int(body["kind"])]):
            metric[body["v"] + k] = (size2 if column >= 3 else 1.0) * (weights or {}).get(name, 1.0)
    return metric


def calc_mass(tables: dict[str, Any]) -> sparse.csr_matrix:
    """The mass matrix diag(m I, inertia) of all bodies, sparse."""
    blocks = []
    for body in tables["bodies"]:
        if body["nv"]:
            full = np.zeros((6, 6))
            full[:3, :3] = body["mass"] * np.eye(3)
            full[3:, 3:] = body["inertia"]
            columns = list(COLUMNS[int(body["kind"])])
            blocks.append(full[np.ix_(columns, columns)])
    return sparse.csr_matrix(sparse.block_diag(blocks)) if blocks else sparse.csr_matrix((0, 0))


# ---------------------------------------------------------------------------------------------------------------
# Singular positions between the steps of a run
# ---------------------------------------------------------------------------------------------------------------
def find_crossings(compiled: Compiled, steps: States, suspects: Array) -> list[tuple[float, list[str]]]:
    """Times at which a run passed through a position where J loses rank, with the joints concerned.

    `suspects` are the ends of the steps that may have led past such a position (src/core/formulations/rank_watch.hpp).
    In each, the smallest singular value that J has by its rank is followed on the dense output: this tells a
    bifurcation from rows that have merely turned.
    """
    if steps.count < 2 or not len(suspects):
        return []
    pattern = build_jacobian_pattern(compiled.tables)
    found: list[tuple[float, list[str]]] = []
    for k in choose_steps(compiled, steps, pattern, suspects):
        active = find_regular_rows(compiled, steps, k)
        t = find_rank_loss(compiled, steps, pattern, active, k)
        if t is not None and not (found and t - found[-1][0] < 1e-3 * (steps._t[k] - steps._t[k - 1])):
            found.append((t, find_weak_joints(compiled, build_at(compiled, steps, pattern, k, t), active)))
    return found


def choose_steps(compiled: Compiled, steps: States, pattern: JacobianPattern, suspects: Array) -> list[int]:
    """Of many steps in a row near a singular position, those around the smallest singular values at their ends."""
    numbers = sorted({int(np.argmin(np.abs(steps._t - end))) for end in suspects} - {0})

    @cache
    def calc_smallest(k: int) -> float:
        at = float(steps._t[k]), steps._q[k], steps.memory[k]
        jacobian = calc_jacobian(compiled.system, pattern, *at, steps.engaged[k])
        return find_smallest_value(jacobian, find_regular_rows(compiled, steps, k))

    def is_valley(k: int) -> bool:
        others = [calc_smallest(n) for n in (k - 1, k + 1) if n in numbers or n + 1 in numbers]
        return all(calc_smallest(k) <= other for other in others)

    chosen = numbers if len(numbers) < 10 else [k for k in numbers if is_valley(k) or is_valley(k - 1)]
    return chosen[:MOST_SEARCHES]


def find_regular_rows(compiled: Compiled, steps: States, k: int) -> NDArray[np.int32]:
    """The active rows where most are independent, of those engaged at state k: at the first state, or at one later.

    A run may begin in a singular place.
    """
    kept: dict[bytes, NDArray[np.int32]] = steps.regular_rows
    engaged = steps.engaged[k]
    if engaged.tobytes() not in kept:
        same = np.arange(steps.count)
        if steps._engaged is not None:
            same = np.flatnonzero(np.all(steps.engaged == engaged, axis=1))
        system = compiled.engage(engaged).system
        places = {int(same[0]), int(same[len(same) // 2])}
        choices = [system.active_rows(steps._t[n], steps._q[n], steps.memory[n]) for n in places]
        kept[engaged.tobytes()] = np.asarray(max(choices, key=lambda choice: int(choice[0]))[1])
    return kept[engaged.tobytes()]


def build_at(compiled: Compiled, steps: States, pattern: JacobianPattern, k: int, t: float) -> sparse.csr_matrix:
    """J at time t of step k, on the dense output."""
    from .results import calc_dense

    q, _ = calc_dense(steps, np.array([t]))
    return calc_jacobian(compiled.system, pattern, t, q[0], steps.memory[k - 1], steps.engaged[k])


def find_rank_loss(
    compiled: Compiled, steps: States, pattern: JacobianPattern, active: NDArray[np.int32], k: int
) -> float | None:
    """Where in step k the smallest singular value of J nearly vanishes; None if it does not."""
    from .results import calc_dense

    def calc_smallest(t: Array) -> Array:
        q, _ = calc_dense(steps, t)
        states = zip(t, q, strict=True)
        before, engaged = steps.memory[k - 1], steps.engaged[k]
        matrices = [calc_jacobian(compiled.system, pattern, x, y, before, engaged) for x, y in states]
        return np.array([find_smallest_value(matrix, active) for matrix in matrices])

    times = np.linspace(steps._t[k - 1], steps._t[k], 17)
    values = calc_smallest(times)
    ends = min(values[0], values[-1])
    for sweep in range(3):
        i = int(np.argmin(values))
        # an end may lie so near that only the second look tells
        if sweep > 0 and values[i] > 0.5 * ends and 0 < i < len(times) - 1:
            return None
        times = np.linspace(times[max(i - 1, 0)], times[min(i + 1, len(times) - 1)], 17)
        values = calc_smallest(times)
    i = int(np.argmin(values))
    return float(times[i]) if values[i] < 0.05 * ends or values[i] < 1e-8 else None
