"""Machines that spin in space: the heavy top and the stiff flyball governor (IFToMM A05)."""

from __future__ import annotations

import math

import numpy as np

from ..bodies import Body, PointMass
from ..forces import Spring
from ..joints import Revolute, Spherical, Translational
from ..model import Model
from .shapes import Z, calc_cuboid_inertia, calc_field, check_positive


def spinning_top(
    tilt: float = 0.3,
    spin: float = 150.0,
    precession: float | None = 0.0,
    mass: float = 0.5,
    height: float = 0.05,
    inertia: tuple[float, float] = (4e-4, 6e-4),
    gravity: float = 9.81,
) -> Model:
    """Build a symmetric heavy top with its tip on the origin; z is up.

    ``tilt`` [rad] of its axis from z; ``spin`` [rad/s] is the angular velocity about its axis, ``precession`` [rad/s]
    that of the axis about z at the start: 0 releases the axis at rest (it nutates with cusps), None starts the slow
    steady precession, root of I1 cos(tilt) W^2 - I3 spin W + m g h = 0 with I1 about the tip. ``height`` [m] of the
    centre of mass, ``inertia`` [kg m2] (transverse, axial) about it.
    """
    check_positive("spinning_top", mass=mass, height=height, transverse=inertia[0], axial=inertia[1])
    if precession is None:
        precession = calc_steady_precession(tilt, spin, mass, height, inertia, gravity)
    model = Model("spinning_top", gravity=(0.0, 0.0, -gravity))
    axis = np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    omega = precession * np.array(Z) + (spin - precession * math.cos(tilt)) * axis
    top = model.add(
        Body(
            "top",
            mass=mass,
            inertia=(inertia[0], inertia[0], inertia[1]),
            position=tuple(height * axis),
            orientation=(math.cos(0.5 * tilt), 0.0, math.sin(0.5 * tilt), 0.0),
            velocity=calc_field(tuple(omega), tuple(height * axis)),
            angular_velocity=tuple(omega),
        )
    )
    model.add(Spherical("tip", model.ground, top, point=(0.0, 0.0, 0.0)))
    return model


def calc_steady_precession(
    tilt: float, spin: float, mass: float, height: float, inertia: tuple[float, float], gravity: float
) -> float:
    """Slow steady precession rate [rad/s] of the top (Goldstein, Classical Mechanics, heavy symmetric top)."""
    a = (inertia[0] + mass * height**2) * math.cos(tilt)
    b, c = inertia[1] * spin, mass * gravity * height
    discriminant = b**2 - 4.0 * a * c
    if discriminant < 0.0:
        raise ValueError(
            f"spinning_top: no steady precession at spin={spin:.6g} rad/s; the slowest spin is "
            f"{2.0 * math.sqrt(a * c) / inertia[1]:.6g} rad/s"
        )
    # the small root without cancellation
    return 2.0 * c / (b + math.copysign(math.sqrt(discriminant), b))


def flyball_governor(angular_velocity: float = 2.0 * math.pi, stiffness: float = 8e5, damping: float = 4e4) -> Model:
    """Build IFToMM benchmark A05: a spinning shaft, two rods with 5 kg balls, a slider held by two stiff springs.

    ``guide.coordinate`` measures the slider from its start at s = 0.5 m above the base. ``angular_velocity`` [rad/s] of
    the whole machine about z at the start; ``stiffness`` [N/m] and ``damping`` [N s/m] of each spring, free length 0.5
    m. The fast damped modes have eigenvalues near -3e4 1/s. Source: MBS benchmark library, problem A05; k = 8e5, c =
    4e4 and 2 pi rad/s are the values that reproduce its published curve s(t).
    """
    model = Model("flyball_governor", gravity=(0.0, 0.0, -9.81))
    omega = (0.0, 0.0, angular_velocity)
    shaft = model.add(
        Body("shaft", mass=0.3, inertia=calc_cuboid_inertia(0.3, (0.01, 0.01, 1.0)), position=(0.0, 0.0, 0.5),
             angular_velocity=omega)
    )  # fmt: skip
    slider = model.add(
        Body("slider", mass=3.0, inertia=calc_cuboid_inertia(3.0, (0.1, 0.1, 0.1)), position=(0.0, 0.0, 0.5),
             angular_velocity=omega)
    )  # fmt: skip
    model.add(Revolute("base", model.ground, shaft, point=(0.0, 0.0, 0.0), axis=Z))
    model.add(Translational("guide", shaft, slider, point=(0.0, 0.0, 0.5), axis=Z))

    # rods 30 degrees below the horizontal; x of a rod runs from its pin to its ball
    slope = math.radians(30.0)
    for side, sign in (("right", 1.0), ("left", -1.0)):
        along = np.array([sign * math.cos(slope), 0.0, -math.sin(slope)])
        across = np.array([0.0, sign, 0.0])
        pin = np.array([sign * 0.05, 0.0, 1.0])
        middle, end = pin + 0.5 * along, pin + along
        rod = model.add(
            Body(f"rod_{side}", mass=0.3, inertia=calc_cuboid_inertia(0.3, (1.0, 0.01, 0.01)), position=tuple(middle),
                 orientation=np.column_stack([along, across, np.cross(along, across)]),
                 velocity=calc_field(omega, tuple(middle)), angular_velocity=omega)
        )  # fmt: skip
        ball = model.add(
            PointMass(f"ball_{side}", mass=5.0, position=tuple(end), velocity=calc_field(omega, tuple(end)))
        )
        model.add(Revolute(f"pin_{side}", shaft, rod, point=tuple(pin), axis=(0.0, 1.0, 0.0)))
        model.add(Spherical(f"weld_{side}", rod, ball, point=tuple(end)))
        model.add(
            Spring(f"spring_{side}", rod, slider, point_a=tuple(middle), point_b=(sign * 0.05, 0.0, 0.5),
                   stiffness=stiffness, damping=damping, free_length=0.5)
        )  # fmt: skip
    return model
