"""Rotations: unit quaternions (Euler parameters, scalar first) and matrices that take body axes to ground axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def normalized(vector: ArrayLike) -> Array:
    """The vector divided by its length."""
    v = np.asarray(vector, dtype=float)
    return v / np.linalg.norm(v)


def calc_matrix(p: ArrayLike) -> Array:
    """Rotation matrix of a quaternion of any length but zero [Haug 1989, 9.3]."""
    e0, e1, e2, e3 = normalized(p)
    return np.array(
        [
            [e0 * e0 + e1 * e1 - e2 * e2 - e3 * e3, 2 * (e1 * e2 - e0 * e3), 2 * (e1 * e3 + e0 * e2)],
            [2 * (e1 * e2 + e0 * e3), e0 * e0 - e1 * e1 + e2 * e2 - e3 * e3, 2 * (e2 * e3 - e0 * e1)],
            [2 * (e1 * e3 - e0 * e2), 2 * (e2 * e3 + e0 * e1), e0 * e0 - e1 * e1 - e2 * e2 + e3 * e3],
        ]
    )


def calc_quaternion(matrix: ArrayLike) -> Array:
    """Unit quaternion of a rotation matrix by its largest parameter (Shepperd 1978), leading entry positive."""
    A = np.asarray(matrix, dtype=float)
    trace = np.trace(A)
    square = np.array([1 + trace, *(1 + 2 * np.diag(A) - trace)]) / 4  # squares of the four parameters
    k = int(np.argmax(square))
    e = np.sqrt(square[k])
    skew = np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]]) / (4 * e)
    if k == 0:
        p = np.array([e, *skew])
    else:
        i = k - 1
        p = np.empty(4)
        p[0] = skew[i]
        p[1:] = (A[i] + A[:, i]) / (4 * e)
        p[k] = e
    leading = next(x for x in p if abs(x) > 1e-12)
    return normalized(p if leading > 0 else -p)


def calc_rotation_about(axis: ArrayLike, angle: float) -> Array:
    """Rotation matrix of a turn by ``angle`` about ``axis``."""
    x, y, z = np.sin(angle / 2) * normalized(axis)
    return calc_matrix((np.cos(angle / 2), x, y, z))


def calc_axes(axis: ArrayLike, reference: ArrayLike | None = None) -> Array:
    """Right-handed axes (columns x, y, z) with z along ``axis`` and x along the part of ``reference`` normal to it.

    Without a reference x is (1, 0, 0) for an axis along the ground's z, else horizontal: planar mechanisms then have
    one of x and y in their plane and the other along its normal.
    """
    z = normalized(axis)
    if reference is not None:
        x = np.asarray(reference, dtype=float)
    elif np.hypot(z[0], z[1]) < 1e-6:
        x = np.array([1.0, 0.0, 0.0])
    else:
        x = np.array([-z[1], z[0], 0.0])
    x = normalized(x - (x @ z) * z)
    return np.column_stack([x, np.cross(z, x), z])


def calc_shortest_turn(start: ArrayLike, end: ArrayLike) -> Array:
    """Rotation matrix of the shortest turn that takes the direction ``start`` to ``end``."""
    a, b = normalized(start), normalized(end)
    normal = np.cross(a, b)
    if np.linalg.norm(normal) < 1e-12:
        return np.eye(3) if a @ b > 0 else calc_rotation_about(calc_axes(a)[:, 0], np.pi)
    return calc_rotation_about(normal, float(np.arctan2(np.linalg.norm(normal), a @ b)))
