"""What the machines share: bodies moving in the x-y plane in either form, inertias, and rigid velocity fields.

A machine of the plane is built with ``form="planar"`` (``PlanarBody``, two rows per revolute) or ``form="spatial"``
(``Body``, five rows per revolute, most of them redundant in a loop). Both forms have the same motion.
"""

from __future__ import annotations

import math

import numpy as np

from ..bodies import Body, PlanarBody, Vector
from ..model import Model

Z = (0.0, 0.0, 1.0)


def check_form(machine: str, form: str) -> None:
    """Refuse a form that is neither planar nor spatial."""
    if form not in ("planar", "spatial"):
        raise ValueError(f'{machine}: form={form!r} is unknown; use form="planar" or form="spatial"')


def check_choice(machine: str, keyword: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a keyword value outside its closed list."""
    if value not in choices:
        raise ValueError(f"{machine}: {keyword}={value!r} is unknown; choose one of {', '.join(choices)}")


def check_positive(machine: str, **values: float) -> None:
    """Refuse a size, mass or count that is not positive and finite."""
    for keyword, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{machine}: {keyword}={value!r} must be a positive number")


def add_plane_body(
    model: Model,
    form: str,
    name: str,
    mass: float,
    inertia: float,
    position: Vector,
    angle: float = 0.0,
    velocity: Vector = (0.0, 0.0),
    angular_velocity: float = 0.0,
    slender: bool = False,
) -> Body | PlanarBody:
    """Add a body that moves in the x-y plane; ``inertia`` [kg m2] about z through the centre of mass, ``angle`` [rad].

    The spatial form needs the other two moments, which the motion does not feel: those of a lamina (half of ``inertia``
    each), or of a rod along its x axis when ``slender``.
    """
    if form == "planar":
        return model.add(
            PlanarBody(
                name,
                mass=mass,
                inertia=inertia,
                position=(position[0], position[1]),
                angle=angle,
                velocity=(velocity[0], velocity[1]),
                angular_velocity=angular_velocity,
            )
        )
    moments = (0.01 * inertia, inertia, inertia) if slender else (0.5 * inertia, 0.5 * inertia, inertia)
    return model.add(
        Body(
            name,
            mass=mass,
            inertia=moments,
            position=(position[0], position[1], 0.0),
            orientation=calc_turn(angle),
            velocity=(velocity[0], velocity[1], 0.0),
            angular_velocity=(0.0, 0.0, angular_velocity),
        )
    )


def calc_turn(angle: float) -> tuple[float, float, float, float]:
    """Quaternion of a rotation by ``angle`` [rad] about z."""
    return (math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle))


def calc_rod_inertia(mass: float, length: float) -> float:
    """Moment of inertia m L^2 / 12 of a slender rod about a transverse axis through its centre."""
    return mass * length**2 / 12.0


def calc_cuboid_inertia(mass: float, size: Vector) -> tuple[float, float, float]:
    """Principal moments of a solid cuboid about its centre; ``size`` [m] along x, y and z."""
    x, y, z = (edge**2 for edge in size)
    return (mass * (y + z) / 12.0, mass * (x + z) / 12.0, mass * (x + y) / 12.0)


def calc_field(omega: Vector, point: Vector) -> tuple[float, float, float]:
    """Velocity omega x r of a point that turns about the origin."""
    vx, vy, vz = np.cross(omega, point)
    return (float(vx), float(vy), float(vz))


def calc_direction(angle: float) -> np.ndarray:
    """Unit vector of the plane at ``angle`` from x."""
    return np.array([math.cos(angle), math.sin(angle)])


def calc_normal(angle: float) -> np.ndarray:
    """The unit vector a quarter turn ahead of ``calc_direction(angle)``: its derivative."""
    return np.array([-math.sin(angle), math.cos(angle)])
