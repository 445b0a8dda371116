"""Planar linkages: four-bar, N four-bar (IFToMM A02), slider-crank. Closed loops, one degree of freedom each."""

from __future__ import annotations

import math

import numpy as np

from ..bodies import Frame
from ..couplings import Driver
from ..joints import Revolute, Spherical, Translational, Universal
from ..model import Model
from .shapes import Z, add_plane_body, calc_direction, calc_normal, calc_rod_inertia, check_form, check_positive


def four_bar(
    form: str = "planar",
    crank_angle: float = 0.5 * math.pi,
    angular_velocity: float = -1.0,
    lengths: tuple[float, float, float, float] = (1.0, 3.0, 2.5, 3.5),
    mass_per_length: float = 1.0,
    gravity: float = 9.81,
) -> Model:
    """Build a conservative crank-rocker of slender rods whose crank keeps turning.

    ``lengths`` [m] of crank, coupler, rocker and ground; with the default ones (Grashof: 1 + 3.5 < 3 + 2.5) and speed
    the crank goes round for ever. ``crank_angle`` [rad] and ``angular_velocity`` [rad/s] of the crank at the start; the
    rates of the others follow from the closed loop. ``form="spatial"`` takes four 3D revolutes: 20 rows of rank 17.
    """
    check_form("four_bar", form)
    crank, coupler, rocker, ground = lengths
    check_positive(
        "four_bar", crank=crank, coupler=coupler, rocker=rocker, ground=ground, mass_per_length=mass_per_length
    )
    model = Model("four_bar", gravity=(0.0, -gravity, 0.0))

    A, D = np.zeros(2), np.array([ground, 0.0])
    B = crank * calc_direction(crank_angle)
    C, coupler_angle, rocker_angle = _find_closure(B, D, coupler, rocker, crank_angle)

    # rates of coupler and rocker from the derivative of the loop equation A B + B C = A D + D C
    loop = np.column_stack([coupler * calc_normal(coupler_angle), -rocker * calc_normal(rocker_angle)])
    crank_rate = angular_velocity * crank * calc_normal(crank_angle)
    coupler_rate, rocker_rate = np.linalg.solve(loop, -crank_rate)

    bodies = {}
    for name, length, start, angle, rate, carried in (
        ("crank", crank, A, crank_angle, angular_velocity, np.zeros(2)),
        ("coupler", coupler, B, coupler_angle, float(coupler_rate), crank_rate),
        ("rocker", rocker, D, rocker_angle, float(rocker_rate), np.zeros(2)),
    ):
        mass = mass_per_length * length
        bodies[name] = add_plane_body(
            model,
            form,
            name,
            mass,
            calc_rod_inertia(mass, length),
            start + 0.5 * length * calc_direction(angle),
            angle,
            carried + 0.5 * length * rate * calc_normal(angle),
            rate,
            slender=True,
        )
    for name, a, b, point in (
        ("A", model.ground, bodies["crank"], A),
        ("B", bodies["crank"], bodies["coupler"], B),
        ("C", bodies["coupler"], bodies["rocker"], C),
        ("D", model.ground, bodies["rocker"], D),
    ):
        model.add(Revolute(name, a, b, point=(point[0], point[1], 0.0), axis=Z))
    return model


def _find_closure(
    B: np.ndarray, D: np.ndarray, coupler: float, rocker: float, crank_angle: float
) -> tuple[np.ndarray, float, float]:
    """Pin C, where the circles of the coupler around B and of the rocker around D meet (upper branch); both angles."""
    diagonal = float(np.hypot(*(D - B)))
    if not abs(coupler - rocker) < diagonal < coupler + rocker:
        raise ValueError(
            f"four_bar: lengths do not close at crank_angle={crank_angle:.6g}: coupler {coupler:.6g} and rocker "
            f"{rocker:.6g} would have to span {diagonal:.6g} m; change the angle or the lengths"
        )
    slope = math.atan2(D[1] - B[1], D[0] - B[0])
    coupler_angle = slope + math.acos((coupler**2 + diagonal**2 - rocker**2) / (2.0 * coupler * diagonal))
    C = B + coupler * calc_direction(coupler_angle)
    return C, coupler_angle, math.atan2(C[1] - D[1], C[0] - D[0])


def n_four_bar(n: int = 2, form: str = "planar") -> Model:
    """Build IFToMM benchmark A02: ``n`` four-bars in a row, 2 n + 1 links of 1 m and 1 kg, vx = 1 m/s on top.

    ``link0`` .. ``link{n}`` stand upright on the pins A_k = (k, 0), ``coupler1`` .. ``coupler{n}`` join their tops. At
    the horizontal position the mechanism has n + 1 instantaneous freedoms instead of one; the published solution stays
    on the parallelogram branch. Source: MBS benchmark library, problem A02 (n = 40 there; n = 2 in the IFToMM set).
    """
    check_form("n_four_bar", form)
    check_positive("n_four_bar", n=n)
    model = Model("n_four_bar", gravity=(0.0, -9.81, 0.0))
    inertia, upright = calc_rod_inertia(1.0, 1.0), 0.5 * math.pi
    links = [
        add_plane_body(model, form, f"link{k}", 1.0, inertia, (k, 0.5), upright, (0.5, 0.0), -1.0, slender=True)
        for k in range(n + 1)
    ]
    for k in range(n + 1):
        model.add(Revolute(f"A{k}", model.ground, links[k], point=(k, 0.0, 0.0), axis=Z))
    for k in range(1, n + 1):
        coupler = add_plane_body(
            model, form, f"coupler{k}", 1.0, inertia, (k - 0.5, 1.0), 0.0, (1.0, 0.0), slender=True
        )
        model.add(Revolute(f"left{k}", links[k - 1], coupler, point=(k - 1.0, 1.0, 0.0), axis=Z))
        model.add(Revolute(f"right{k}", coupler, links[k], point=(float(k), 1.0, 0.0), axis=Z))
    return model


def slider_crank(
    form: str = "planar",
    crank_angle: float = 0.25 * math.pi,
    angular_velocity: float = 10.0,
    crank: float = 0.15,
    rod: float = 0.4,
    driven: bool = False,
) -> Model:
    """Build a slider-crank: crank and rod (slender, 2 kg/m), slider of 0.5 kg along x, gravity along -y.

    ``crank`` and ``rod`` [m]; ``crank_angle`` [rad] and ``angular_velocity`` [rad/s] at the start;
    ``crank_pin.coordinate`` is the absolute crank angle. ``form="spatial"`` joins the rod by a spherical and a
    universal joint, so that nothing is redundant. ``driven`` turns the crank at constant speed, which leaves no
    freedom: a model for ``model.kinematics``.
    """
    check_form("slider_crank", form)
    check_positive("slider_crank", crank=crank, rod=rod)
    if rod <= crank:
        raise ValueError(f"slider_crank: rod={rod:.6g} must be longer than crank={crank:.6g}, or the crank cannot turn")
    model = Model("slider_crank", gravity=(0.0, -9.81, 0.0))

    # rod angle from the height of the crank tip, slider on the x axis; rates from the derivative of the loop
    rod_angle = -math.asin(crank * math.sin(crank_angle) / rod)
    tip = crank * calc_direction(crank_angle)
    tip_velocity = crank * angular_velocity * calc_normal(crank_angle)
    rod_rate = -tip_velocity[1] / (rod * math.cos(rod_angle))
    end = tip + rod * calc_direction(rod_angle)
    end_velocity = tip_velocity + rod * rod_rate * calc_normal(rod_angle)

    masses = (2.0 * crank, 2.0 * rod)
    arm = add_plane_body(
        model, form, "crank", masses[0], calc_rod_inertia(masses[0], crank), 0.5 * tip, crank_angle,
        0.5 * tip_velocity, angular_velocity, slender=True,
    )  # fmt: skip
    bar = add_plane_body(
        model, form, "rod", masses[1], calc_rod_inertia(masses[1], rod), 0.5 * (tip + end), rod_angle,
        0.5 * (tip_velocity + end_velocity), rod_rate, slender=True,
    )  # fmt: skip
    block = add_plane_body(model, form, "slider", 0.5, 1e-3, (end[0], 0.0), 0.0, (end_velocity[0], 0.0))

    tip_point, end_point = (tip[0], tip[1], 0.0), (end[0], 0.0, 0.0)
    model.add(Revolute("crank_pin", Frame(model.ground), Frame(arm, position=(-0.5 * crank, 0.0, 0.0))))
    if form == "planar":
        model.add(Revolute("rod_pin", arm, bar, point=tip_point, axis=Z))
        model.add(Revolute("slider_pin", bar, block, point=end_point, axis=Z))
    else:
        # the rod's spin about itself is held by the universal joint
        model.add(Spherical("rod_pin", arm, bar, point=tip_point))
        model.add(Universal("slider_pin", bar, block, point=end_point, axis_a=(*calc_normal(rod_angle), 0.0), axis_b=Z))
    model.add(Translational("guide", model.ground, block, point=end_point, axis=(1.0, 0.0, 0.0)))
    if driven:
        model.add(Driver("motor", on="crank_pin", function=f"{float(crank_angle)!r} + {float(angular_velocity)!r}*t"))
    return model
