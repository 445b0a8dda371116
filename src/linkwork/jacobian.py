"""The constraint Jacobian as a sparse matrix, its rank, and which rows depend on which.

The core stores J as blocks (joint x body). Here they become one scipy matrix, so that initial conditions, checks and
reactions cost what the mechanism's graph costs, not rows x columns. Small systems are then treated densely, because
an orthogonal factorization is the safer judge of rank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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

MAX_WORK = 1e9  # nv^3 x steps up to which runs are searched for singular positions between steps (about a second)


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


def calc_jacobian(system: Any, pattern: JacobianPattern, t: float, q: Array, memory: Array) -> sparse.csr_matrix:
    """J = Phi_q N at one state, rows x nv."""
    values = np.asarray(system.jacobian_parts(t, q, memory))[pattern.source]
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


def find_weak_joints(
    compiled: Compiled, jacobian: sparse.spmatrix, active: NDArray[np.int32], share: float = 0.1
) -> list[str]:
    """The joints whose rows are nearest to dependence: the left singular vector of the smallest singular value."""
    kept = np.flatnonzero(active)
    if len(kept) == 0 or len(kept) > DENSE_ROWS:
        return []
    left, _, _ = np.linalg.svd(jacobian[kept].toarray(), full_matrices=False)
    weakest = np.abs(left[:, -1])
    names: list[str] = []
    for k in np.argsort(-weakest):
        name, _ = find_owner(compiled.joints, int(kept[k]))
        if weakest[k] > share and name not in names:
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
def find_crossings(compiled: Compiled, steps: States) -> list[tuple[float, list[str]]]:
    """Times at which a run passed through a position where J loses rank, with the joints concerned.

    A run may step over such a position without noticing. Along a path through a simple bifurcation the determinant of
    [J; N^T], with N the null space of J at the step before, changes sign [Keller, Numerical Solution of Bifurcation and
    Nonlinear Eigenvalue Problems, 1977]. Where it does, the smallest singular value of J is followed through the step,
    which tells a bifurcation from a null space that has merely turned by more than a right angle.
    """
    pattern, count = build_jacobian_pattern(compiled.tables), steps.count
    rows, n = pattern.shape
    if rows > DENSE_ROWS or count < 2 or float(n) ** 3 * count > MAX_WORK or not has_loops(compiled.tables):
        return []
    active = np.flatnonzero(compiled.system.active_rows(steps._t[0], steps.positions[0], steps.memory[0])[1])

    def calc(t: float, q: Array, memory: Array) -> Array:
        dense: Array = calc_jacobian(compiled.system, pattern, t, q, memory)[active].toarray()
        return dense

    found = []
    before = calc(steps._t[0], steps.positions[0], steps.memory[0])
    for k in range(1, count):
        after = calc(steps._t[k], steps.positions[k], steps.memory[k])
        null = np.linalg.qr(before.T, mode="complete")[0][:, len(active) :].T
        signs = [np.linalg.slogdet(np.vstack([matrix, null]))[0] for matrix in (before, after)]
        if signs[0] * signs[1] < 0.0:
            t = find_rank_loss(steps, k, calc)
            if t is not None:
                weakest = np.ones(rows, np.int32)
                found.append((t, find_weak_joints(compiled, build_at(compiled, steps, pattern, k, t), weakest)))
        before = after
    return found


def has_loops(tables: dict[str, Any]) -> bool:
    """Whether some joint connects bodies that others connect already; trees of joints keep their rank."""
    root = list(range(len(tables["bodies"])))

    def find_root(body: int) -> int:
        while root[body] != body:
            root[body] = body = root[root[body]]
        return body

    members: dict[int, list[int]] = {}
    for part in tables["parts"]:
        members.setdefault(int(part["block"]), []).append(int(part["body"]))
    for bodies in members.values():
        first = find_root(bodies[0])
        for other in map(find_root, bodies[1:]):
            if other == first:
                return True
            root[other] = first
    return False


def build_at(compiled: Compiled, steps: States, pattern: JacobianPattern, k: int, t: float) -> sparse.csr_matrix:
    """J at time t of step k, on the dense output."""
    from .results import calc_dense

    q, _ = calc_dense(steps, np.array([t]))
    return calc_jacobian(compiled.system, pattern, t, q[0], steps.memory[k - 1])


def find_rank_loss(steps: States, k: int, calc: Callable[[float, Array, Array], Array]) -> float | None:
    """Where in step k the smallest singular value of J nearly vanishes; None if it does not."""
    from .results import calc_dense

    def smallest(t: Array) -> Array:
        q, _ = calc_dense(steps, t)
        values = [
            np.linalg.svd(calc(x, y, steps.memory[k - 1]), compute_uv=False)[-1] for x, y in zip(t, q, strict=True)
        ]
        return np.array(values)

    times = np.linspace(steps._t[k - 1], steps._t[k], 17)
    values = smallest(times)
    ends = min(values[0], values[-1])
    for _ in range(3):
        i = int(np.argmin(values))
        times = np.linspace(times[max(i - 1, 0)], times[min(i + 1, len(times) - 1)], 17)
        values = smallest(times)
    i = int(np.argmin(values))
    return float(times[i]) if values[i] < 0.05 * ends or values[i] < 1e-8 else None
