"""Overconstrained loops in space: the Bricard mechanism (IFToMM A04)."""

from __future__ import annotations

import numpy as np

from ..bodies import AnyBody, Body
from ..joints import Revolute
from ..model import Model
from .shapes import calc_cuboid_inertia

# joints in order round the loop: point [m], axis; rod k runs from point k - 1 to point k
BRICARD_JOINTS = (
    ((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    ((1.0, -1.0, 0.0), (1.0, 0.0, 0.0)),
    ((1.0, -1.0, 1.0), (0.0, 1.0, 0.0)),
    ((0.0, -1.0, 1.0), (0.0, 0.0, 1.0)),
    ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
)


def bricard(length: float = 1.0, mass: float = 1.0, thickness: float = 0.1) -> Model:
    """Build IFToMM benchmark A04: five rods and six revolutes in a loop, 30 rows of rank 29, one freedom, from rest.

    By counting, the loop should not move; it does because of its symmetry. The point to watch is P3, the joint between
    ``rod2`` and ``rod3``. Body frames are parallel to the ground at the start. Source: MBS benchmark library, problem
    A04; ``length`` [m], ``mass`` [kg] and ``thickness`` [m] of the square rods are the published ones by default.
    """
    model = Model("bricard", gravity=(0.0, -9.81, 0.0))
    previous: AnyBody = model.ground
    points = [length * np.array(point) for point, _ in BRICARD_JOINTS]
    for number in range(1, 6):
        start, end = points[number - 1], points[number]
        along = np.abs(end - start) > 0.5 * length
        size = tuple(length if long else thickness for long in along)
        rod = model.add(
            Body(
                f"rod{number}", mass=mass, inertia=calc_cuboid_inertia(mass, size), position=tuple(0.5 * (start + end))
            )
        )
        model.add(Revolute(f"joint{number}", previous, rod, point=tuple(start), axis=BRICARD_JOINTS[number - 1][1]))
        previous = rod
    model.add(Revolute("joint6", previous, model.ground, point=tuple(points[5]), axis=BRICARD_JOINTS[5][1]))
    return model
