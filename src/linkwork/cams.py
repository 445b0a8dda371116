"""The cam: a joint between a point and a plane curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import tables as tb
from .bodies import Vector
from .checks import Check
from .coordinates import Coordinate, Equation, Side, equation, triple
from .errors import FunctionError
from .functions import Table
from .joints import AxisJoint, FindSides


@dataclass(frozen=True)
class PointOnCurve(AxisJoint):
    """A cam: the point of b keeps the distance ``offset`` (a roller's radius) from a plane curve on a.

    ``curve`` are points (n, 2) in the x-y plane of a's frame, whose origin is ``point``, normal ``axis`` (default z)
    and x axis ``reference``; a closed curve is passed through periodically and need not repeat its first point.
    ``follower`` is the point of b in ground coordinates, by default its centre of mass. Positive offsets lie left of
    the curve's direction.
    """

    curve: Any = None
    closed: bool = False
    follower: Vector | None = None
    offset: float = 0.0

    def _read(self, check: Check) -> dict[str, Any]:
        curve, tables = np.asarray(self.curve if self.curve is not None else [], dtype=float), None
        if curve.ndim != 2 or curve.shape[1] != 2 or len(curve) < (3 if self.closed else 2):
            check.fail(f"curve has shape {curve.shape}; give at least 3 points (x, y)")
        else:
            try:
                tables = self.build_curve(curve)
            except FunctionError as error:
                check.fail(f"curve: {error} (neighbouring points must differ)")
        object.__setattr__(self, "_tables", tables)
        read = {**super()._read(check), "follower": check.optional_vector(self.follower, 3, "follower")}
        read["curve"] = tuple(map(tuple, curve.tolist()))
        return {**read, "offset": check.number(self.offset, "offset")}

    def build_curve(self, points: np.ndarray) -> tuple[Table, Table]:
        """Cubic splines x(z), y(z) over the chord length z."""
        if self.closed and np.linalg.norm(points[-1] - points[0]) > 1e-12:
            points = np.vstack([points, points[:1]])
        z = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
        kind = "periodic" if self.closed else "not-a-knot"
        return Table(z, points[:, 0], kind), Table(z, points[:, 1], kind)  # type: ignore[arg-type]

    def find_sides(self, find: FindSides) -> tuple[Side, Side]:
        axis = self.axis if self.axis is not None else (0.0, 0.0, 1.0)
        return find(
            self.a, self.b, point=self.point, point_b=self.follower, axis=axis, reference=self.reference, apart=True
        )

    def equations(self, a: Side, b: Side) -> list[Equation]:
        tables: tuple[Table, Table] = self._tables  # type: ignore[attr-defined]
        curve = Coordinate(
            tb.CURVE, a.body, b.body, triple(a.s), triple(b.s), d_a=triple(a.x), e_a=triple(a.y), curve=tables
        )
        return [equation("distance from the curve", curve, self.offset)]
