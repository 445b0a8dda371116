"""The compiled model's tables: NumPy mirrors of the records in ``src/core/system/tables.hpp``.

Meaning, shape and units of every field are annotated there, once. The core refuses a table whose item size differs from
its own record, so the two files cannot drift apart unnoticed.
"""

from __future__ import annotations

import numpy as np

_i, _d = np.int32, np.float64


def _record(*fields: tuple) -> np.dtype:
    return np.dtype(list(fields), align=True)


BODY = _record(
    ("kind", _i), ("q", _i), ("nq", _i), ("v", _i), ("nv", _i), ("columns", _i, 6), ("spare", _i),
    ("mass", _d), ("inertia", _d, (3, 3)), ("inertia_inverse", _d, (3, 3)),
)  # fmt: skip
PRIMITIVE = _record(
    ("kind", _i), ("row", _i), ("part_a", _i), ("part_b", _i), ("body_a", _i), ("body_b", _i), ("memory", _i),
    ("function", _i), ("coefficient", _d), ("s_a", _d, 3), ("s_b", _d, 3),
    ("d_a", _d, 3), ("e_a", _d, 3), ("d_b", _d, 3),
)  # fmt: skip
ROW = _record(("block", _i), ("function", _i), ("engaged", _i), ("spare", _i), ("constant", _d))
BLOCK = _record(("row", _i), ("rows", _i), ("part", _i), ("parts", _i))
PART = _record(("block", _i), ("body", _i), ("offset", _i), ("spare", _i))
FUNCTION = _record(("kind", _i), ("first", _i), ("count", _i), ("arguments", _i))
COORDINATE_FORCE = _record(
    ("coordinate", PRIMITIVE), ("stiffness", _d), ("damping", _d), ("free", _d), ("friction", _d), ("slip", _d),
    ("function", _i), ("spare", _i),
)  # fmt: skip
LOAD = _record(("body", _i), ("torque", _i), ("body_axes", _i), ("function", _i, 3), ("constant", _d, 3), ("s", _d, 3))
BUSHING = _record(
    ("body_a", _i), ("body_b", _i), ("s_a", _d, 3), ("s_b", _d, 3), ("p_a", _d, 4), ("p_b", _d, 4),
    ("stiffness", _d, 6), ("damping", _d, 6),
)  # fmt: skip
TIRE = _record(
    ("body", _i), ("road", _i), ("unilateral", _i), ("spare", _i),
    ("stiffness", _d), ("damping", _d), ("radius", _d), ("s", _d, 3),
)  # fmt: skip
KINK = _record(("body", _i), ("spare", _i), ("at", _d), ("s", _d, 3))
USER_FORCE = _record(("callback", _i), ("first", _i), ("count", _i), ("spare", _i))
TREE_LINK = _record(
    ("body", _i), ("parent", _i), ("motion", _i), ("motions", _i), ("block", _i), ("spare", _i),
    ("E", _d, (3, 3)), ("s", _d, 3),
)  # fmt: skip
TREE_MOTION = _record(
    ("R", _d, (3, 3)), ("s", _d, 3), ("turn", _d), ("slide", _d), ("group", _i), ("spare", _i),
)  # fmt: skip

BODY_GROUND, BODY_RIGID, BODY_PLANAR, BODY_POINT = range(4)
COINCIDENT, COINCIDENT2, DOT1, DOT2, DISTANCE, ANGLE, CURVE = range(7)
FUNCTION_EXPRESSION, FUNCTION_SPLINE, FUNCTION_CALLBACK, FUNCTION_PERIODIC = range(4)

COLUMNS = {  # spatial velocity index of each own velocity coordinate
    BODY_GROUND: (),
    BODY_RIGID: (0, 1, 2, 3, 4, 5),
    BODY_PLANAR: (0, 1, 5),
    BODY_POINT: (0, 1, 2),
}
