"""Pendulums: one arm, a point mass on a massless rod (IFToMM A01), the double pendulum of the negrut paper, chains."""

from __future__ import annotations

import math

from ..bodies import AnyBody, Frame, PointMass
from ..forces import RotationalSpring
from ..joints import Distance, Revolute, Spherical
from ..model import Model
from .shapes import (
    Z,
    add_plane_body,
    calc_direction,
    calc_normal,
    calc_rod_inertia,
    check_choice,
    check_form,
    check_positive,
)


def pendulum(
    form: str = "spatial",
    mass: float = 3.0,
    length: float = 2.0,
    angle: float = 0.0,
    angular_velocity: float = 0.0,
    stiffness: float = 0.0,
    damping: float = 0.0,
    free_angle: float = 0.0,
) -> Model:
    """Build a slender rod on a pin at the origin, under gravity along -y.

    ``angle`` [rad] from the x axis and ``angular_velocity`` [rad/s] at the start; ``pin.coordinate`` is the absolute
    angle. ``stiffness`` [N m/rad], ``damping`` [N m s/rad] and ``free_angle`` describe a rotational spring in the pin,
    which is left out when both are zero; the pendulum then conserves energy.
    """
    check_form("pendulum", form)
    check_positive("pendulum", mass=mass, length=length)
    model = Model("pendulum", gravity=(0.0, -9.81, 0.0))
    centre = 0.5 * length * calc_direction(angle)
    speed = 0.5 * length * angular_velocity * calc_normal(angle)
    inertia = calc_rod_inertia(mass, length)
    arm = add_plane_body(model, form, "arm", mass, inertia, centre, angle, speed, angular_velocity, slender=True)
    model.add(Revolute("pin", Frame(model.ground), Frame(arm, position=(-0.5 * length, 0.0, 0.0))))
    if stiffness or damping:
        model.add(RotationalSpring("coil", on="pin", stiffness=stiffness, damping=damping, free_angle=free_angle))
    return model


def simple_pendulum(mass: float = 1.0, length: float = 1.0, angle: float = math.pi) -> Model:
    """Build IFToMM benchmark A01: a point mass on a massless rod, at rest at ``angle`` [rad] from the x axis.

    The defaults are the published ones: 1 kg, 1 m, at rest at (-1, 0). Source: MBS benchmark library (Gonzalez, Dopico,
    Lugris, Cuadrado), problem A01. A point keeps its out-of-plane freedom, which the motion never uses: 2 degrees of
    freedom.
    """
    check_positive("simple_pendulum", mass=mass, length=length)
    model = Model("simple_pendulum", gravity=(0.0, -9.81, 0.0))
    x, y = length * calc_direction(angle)
    bob = model.add(PointMass("bob", mass=mass, position=(x, y, 0.0)))
    model.add(Distance("rod", model.ground, bob, point_a=(0.0, 0.0, 0.0), point_b=(x, y, 0.0), length=length))
    return model


def double_pendulum(
    form: str = "spatial",
    angular_velocity: float = 10.0,
    stiffness: tuple[float, float] = (400.0, 3e5),
    damping: tuple[float, float] = (15.0, 5e4),
) -> Model:
    """Build the stiff double pendulum of the negrut paper, section 5.1: dominant eigenvalue about -1e5 1/s.

    Two slender rods of 3 kg and 0.3 kg with half lengths 1 m and 1.5 m, one rotational spring-damper in each pin.
    ``pin1.coordinate`` is the absolute angle of the first rod, counted from 0 at the start where the paper counts from
    2 pi; ``pin2.coordinate`` is the relative angle theta2 - theta1 (-pi/12 at the start). The planar form's body angles
    are the paper's theta1 and theta2. ``angular_velocity`` [rad/s] is theta2-dot at the start; the first rod is at
    rest. Inertias are those of slender rods, m L^2 / 3 with the half length L: with them the step counts of the paper's
    Table III come out. ``stiffness=(0, 0), damping=(0, 0)`` gives the classical conservative one.
    """
    check_form("double_pendulum", form)
    model = Model("double_pendulum", gravity=(0.0, -9.81, 0.0))
    masses, halves = (3.0, 0.3), (1.0, 1.5)
    theta1, theta2 = 2.0 * math.pi, 23.0 * math.pi / 12.0

    # the first rod lies along x at rest, so its far end is the fixed point about which the second one starts to turn
    knee = 2.0 * halves[0] * calc_direction(theta1)
    arm1 = add_plane_body(
        model, form, "arm1", masses[0], masses[0] * halves[0] ** 2 / 3.0, 0.5 * knee, theta1, slender=True
    )
    arm2 = add_plane_body(
        model,
        form,
        "arm2",
        masses[1],
        masses[1] * halves[1] ** 2 / 3.0,
        knee + halves[1] * calc_direction(theta2),
        theta2,
        halves[1] * angular_velocity * calc_normal(theta2),
        angular_velocity,
        slender=True,
    )
    model.add(Revolute("pin1", Frame(model.ground), Frame(arm1, position=(-halves[0], 0.0, 0.0))))
    model.add(
        Revolute("pin2", Frame(arm1, position=(halves[0], 0.0, 0.0)), Frame(arm2, position=(-halves[1], 0.0, 0.0)))
    )

    # free angles hanging down (3 pi / 2 in the paper's count of theta1) and stretched
    for number, free in ((0, -0.5 * math.pi), (1, 0.0)):
        if stiffness[number] or damping[number]:
            model.add(
                RotationalSpring(
                    f"spring{number + 1}",
                    on=f"pin{number + 1}",
                    stiffness=stiffness[number],
                    damping=damping[number],
                    free_angle=free,
                )
            )
    return model


def chain(
    n: int = 10,
    form: str = "planar",
    length: float = 0.1,
    mass: float = 0.1,
    joint: str = "revolute",
    angle: float = 0.0,
) -> Model:
    """Build ``n`` equal rods hung from the origin one after the other, straight and at rest at ``angle`` from x.

    ``length`` [m] and ``mass`` [kg] of one rod; gravity along -y. ``joint="spherical"`` (spatial form only) lets the
    chain swing in all directions: 3 n degrees of freedom instead of n.
    """
    check_form("chain", form)
    check_choice("chain", "joint", joint, ("revolute", "spherical"))
    check_positive("chain", n=n, length=length, mass=mass)
    if joint == "spherical" and form == "planar":
        raise ValueError('chain: joint="spherical" needs form="spatial"; planar bodies meet in revolute joints')
    model = Model("chain", gravity=(0.0, -9.81, 0.0))
    inertia = calc_rod_inertia(mass, length)
    step = length * calc_direction(angle)
    previous: AnyBody = model.ground
    for number in range(n):
        start = number * step
        link = add_plane_body(model, form, f"link{number + 1}", mass, inertia, start + 0.5 * step, angle, slender=True)
        point = (start[0], start[1], 0.0)
        if joint == "revolute":
            model.add(Revolute(f"joint{number + 1}", previous, link, point=point, axis=Z))
        else:
            model.add(Spherical(f"joint{number + 1}", previous, link, point=point))
        previous = link
    return model
