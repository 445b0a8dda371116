"""Bodies: what has mass. SI units; positions and velocities are those of the centre of mass in ground axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .checks import Check
from .rotations import calc_matrix, calc_rotation_about

Vector = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Ground:
    """The inertial frame of a model, ``model.ground``."""

    name: str = "ground"


@dataclass(frozen=True)
class Body:
    """A rigid body with six freedoms.

    ``inertia`` is about the centre of mass in body axes (3 diagonal entries or 3x3, kg m^2); ``orientation`` is a unit
    quaternion, scalar first, or a 3x3 matrix that takes body axes to ground axes; ``velocity`` (m/s) and
    ``angular_velocity`` (rad/s) are in ground axes.
    """

    name: str
    mass: float
    inertia: Any
    position: Vector = (0.0, 0.0, 0.0)
    orientation: Any = (1.0, 0.0, 0.0, 0.0)
    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        check.done(
            mass=check.positive(self.mass, "mass"),
            inertia=check.inertia(self.inertia),
            position=check.vector(self.position, 3, "position"),
            orientation=check.orientation(self.orientation, "orientation"),
            velocity=check.vector(self.velocity, 3, "velocity"),
            angular_velocity=check.vector(self.angular_velocity, 3, "angular_velocity"),
        )


@dataclass(frozen=True)
class PlanarBody:
    """A rigid body that moves in the ground's x-y plane (z = 0); ``inertia`` is about z through the centre of mass."""

    name: str
    mass: float
    inertia: float
    position: Vector = (0.0, 0.0)
    angle: float = 0.0
    velocity: Vector = (0.0, 0.0)
    angular_velocity: float = 0.0

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        check.done(
            mass=check.positive(self.mass, "mass"),
            inertia=check.positive(self.inertia, "inertia"),
            position=check.vector(self.position, 2, "position"),
            angle=check.number(self.angle, "angle"),
            velocity=check.vector(self.velocity, 2, "velocity"),
            angular_velocity=check.number(self.angular_velocity, "angular_velocity"),
        )


@dataclass(frozen=True)
class PointMass:
    """A particle: three freedoms, no orientation, so joints and forces act on it at its position only."""

    name: str
    mass: float
    position: Vector = (0.0, 0.0, 0.0)
    velocity: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        check = Check(self, self.name)
        check.done(
            mass=check.positive(self.mass, "mass"),
            position=check.vector(self.position, 3, "position"),
            velocity=check.vector(self.velocity, 3, "velocity"),
        )


AnyBody = Ground | Body | PlanarBody | PointMass


@dataclass(frozen=True)
class Frame:
    """A frame fixed on a body, in body coordinates. As a side of a joint its z axis is the joint's axis."""

    body: AnyBody | str
    position: Vector = (0.0, 0.0, 0.0)
    orientation: Any = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        name = self.body if isinstance(self.body, str) else getattr(self.body, "name", None)
        check = Check(self, "frame")
        check.what = f"Frame on '{name}'"
        if not isinstance(self.body, (str, Ground, Body, PlanarBody, PointMass)):
            check.what = "Frame"
            check.fail(f"body {self.body!r} is not a body; give a body record, its name or model.ground")
        check.done(
            position=check.vector(self.position, 3, "position"),
            orientation=check.orientation(self.orientation, "orientation"),
        )


BodyLike = AnyBody | Frame | str


def calc_initial_pose(body: AnyBody) -> tuple[np.ndarray, np.ndarray]:
    """Centre of mass and rotation matrix in the initial configuration."""
    if isinstance(body, Body):
        return np.array(body.position), calc_matrix(body.orientation)
    if isinstance(body, PlanarBody):
        return np.array([*body.position, 0.0]), calc_rotation_about((0, 0, 1), body.angle)
    return (np.array(body.position) if isinstance(body, PointMass) else np.zeros(3)), np.eye(3)


def calc_initial_state(body: AnyBody) -> tuple[np.ndarray, np.ndarray]:
    """The body's own q and v, as laid out in src/core/system/tables.hpp."""
    if isinstance(body, Body):
        r, A = calc_initial_pose(body)
        w = A.T @ np.array(body.angular_velocity)
        return np.concatenate([r, body.orientation]), np.concatenate([body.velocity, w])
    if isinstance(body, PlanarBody):
        return np.array([*body.position, body.angle]), np.array([*body.velocity, body.angular_velocity])
    if isinstance(body, PointMass):
        return np.array(body.position), np.array(body.velocity)
    return np.zeros(0), np.zeros(0)


__all__ = [
    "AnyBody", "Body", "BodyLike", "Frame", "Ground", "PlanarBody", "PointMass", "Vector", "calc_initial_pose",
    "calc_initial_state",
]  # fmt: skip
