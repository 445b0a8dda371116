"""The 14-body HMMWV with double-wishbone suspensions of the serban and negrut papers."""

from __future__ import annotations

import json
import math
from importlib.resources import files

import numpy as np

from ..bodies import Body
from ..couplings import Driver
from ..forces import Road, Spring, Tire
from ..joints import Distance, Revolute, Spherical, Translational
from ..model import Model
from .shapes import check_positive

CORNERS = ("FL", "FR", "RL", "RR")
# the serban paper's numbering B1 .. B14, with the misprinted sides of B4 and B11 put right
BODIES = (
    "chassis",
    "LCA_FL", "UCA_FL", "WHEEL_FL", "LCA_FR", "UCA_FR", "WHEEL_FR", "rack",
    "LCA_RL", "UCA_RL", "WHEEL_RL", "LCA_RR", "UCA_RR", "WHEEL_RR",
)  # fmt: skip


def hmmwv(
    stiff: bool = False,
    bump: bool = True,
    speed: float | None = None,
    bushing_factor: float = 1.0,
    steering_lock: bool | None = None,
    spin_stabilizer: bool = True,
    spin_inertia: bool = False,
    unilateral_tires: bool = False,
) -> Model:
    """Build the HMMWV, at rest on its springs, driving along x at ``speed`` [m/s] (16 km/h by default).

    ``stiff=False``: the serban paper's model. Both arms of each corner on revolutes: 8 revolute, 8 spherical, 4
    distance and 1 translational joint; 98 coordinates, 73 rows and 14 normalizations, 11 degrees of freedom; not stiff.
    ``stiff=True``: the negrut paper's. Each upper arm on a spherical joint and a stiff bushing spring (2e7 N/m, 2e6 N
    s/m), steering locked: 66 rows, 18 degrees of freedom, dominant eigenvalue about -2.6e5 1/s. ``bushing_factor``
    multiplies these bushings: 0.01 is the same machine on soft bushings, which explicit methods can run.
    ``spin_stabilizer`` adds a soft spring that keeps each upper arm from spinning about its two ball joints when the
    bushing load reverses. ``bump``: a half cylinder of 0.1 m diameter across the road, met by the front wheels after
    0.5 s at 16 km/h. ``spin_inertia`` keeps the spin inertia of the locked wheels, ``unilateral_tires`` lets them leave
    the road. The file ``data/hmmwv.json`` names the source of every figure and what is assumed.
    """
    check_positive("hmmwv", bushing_factor=bushing_factor)
    data = json.loads(files(__package__).joinpath("data/hmmwv.json").read_text(encoding="utf-8"))
    speed = data["scenario"]["speed"] if speed is None else speed
    model = Model("hmmwv", gravity=(0.0, 0.0, -9.81))
    bodies = {name: _add_body(model, name, data["bodies"][name], speed, spin_inertia) for name in BODIES}
    points = {c: _calc_points(data, c) for c in CORNERS}

    for corner in CORNERS:
        _add_corner(model, data, corner, bodies, points[corner], stiff)
    model.add(
        Translational(
            "rack_guide",
            bodies["chassis"],
            bodies["rack"],
            point=tuple(data["bodies"]["rack"]["start_position"]),
            axis=(0.0, 1.0, 0.0),
        )
    )
    if stiff if steering_lock is None else steering_lock:
        model.add(Driver("steering_lock", on="rack_guide", function=0.0))

    road = _find_road(data, points) if bump else None
    for corner in CORNERS:
        _add_springs(model, data, corner, bodies, points[corner], road, unilateral_tires)
        if stiff:
            _add_bushings(model, data, corner, bodies, points[corner], bushing_factor, spin_stabilizer)
    return model


def _add_body(model: Model, name: str, entry: dict, speed: float, spin_inertia: bool) -> Body:
    """Add one body in the equilibrium position, moving forward."""
    key = "inertia_spin_locked" if spin_inertia and "inertia_spin_locked" in entry else "inertia"
    return model.add(
        Body(
            name,
            mass=entry["mass"],
            inertia=tuple(entry[key]),
            position=tuple(entry["start_position"]),
            orientation=tuple(entry["start_orientation"]),
            velocity=(speed, 0.0, 0.0),
        )
    )


def _calc_world(entry: dict, point: list[float]) -> np.ndarray:
    """Ground position, at the start, of a point that is given in the design configuration."""
    s = np.array(entry["axes"]).T @ np.subtract(point, entry["com"])
    w, x, y, z = entry["start_orientation"]
    u = np.array([x, y, z])
    return np.array(entry["start_position"]) + s + 2.0 * np.cross(u, np.cross(u, s) + w * s)


def _calc_points(data: dict, corner: str) -> dict[str, np.ndarray]:
    """Ground positions of the hardpoints of one corner at the start, each carried by the body it belongs to."""
    bodies, hardpoints = data["bodies"], data["hardpoints"][corner]
    inner = "rack" if corner[0] == "F" else "chassis"
    owner = {
        "UCA_F": "chassis", "UCA_B": "chassis", "LCA_F": "chassis", "LCA_B": "chassis",
        "SPRING_C": "chassis", "SHOCK_C": "chassis", "TIEROD_C": inner,
        "UCA_U": f"UCA_{corner}", "LCA_U": f"LCA_{corner}", "SPRING_A": f"LCA_{corner}", "SHOCK_A": f"LCA_{corner}",
        "SPINDLE": f"WHEEL_{corner}", "TIEROD_U": f"WHEEL_{corner}",
    }  # fmt: skip
    points = {name: _calc_world(bodies[body], hardpoints[name]) for name, body in owner.items()}

    # ends of the bushing spring: on the line of the upper arm's pivots, and on the chassis
    axle = "front" if corner[0] == "F" else "rear"
    lever = data["bushing"]["lever"][axle]
    points["BUSHING_A"] = points["UCA_F"] + lever * (points["UCA_B"] - points["UCA_F"])
    points["BUSHING_C"] = _calc_world(bodies["chassis"], data["bushing"]["chassis_point"][corner])
    return points


def _add_corner(model: Model, data: dict, corner: str, bodies: dict[str, Body], at: dict, stiff: bool) -> None:
    """Add the joints of one corner: arms to chassis, wheel to arms, tie rod."""
    chassis, wheel = bodies["chassis"], bodies[f"WHEEL_{corner}"]
    lower, upper = bodies[f"LCA_{corner}"], bodies[f"UCA_{corner}"]
    for arm, body in (("LCA", lower), ("UCA", upper)):
        front, back = at[f"{arm}_F"], at[f"{arm}_B"]
        if stiff and arm == "UCA":
            pivot = at[data["bushing"]["pivot"][corner]]
            model.add(Spherical(f"{arm}_pivot_{corner}", chassis, body, point=tuple(pivot)))
        else:
            axis = (front - back) / np.linalg.norm(front - back)
            middle = 0.5 * (front + back)
            model.add(Revolute(f"{arm}_pivot_{corner}", chassis, body, point=tuple(middle), axis=tuple(axis)))
        model.add(Spherical(f"{arm}_ball_{corner}", body, wheel, point=tuple(at[f"{arm}_U"])))
    model.add(
        Distance(
            f"tie_rod_{corner}",
            bodies["rack"] if corner[0] == "F" else chassis,
            wheel,
            point_a=tuple(at["TIEROD_C"]),
            point_b=tuple(at["TIEROD_U"]),
            length=data["tie_rod_length"][corner],
        )
    )


def _add_springs(
    model: Model, data: dict, corner: str, bodies: dict[str, Body], at: dict, road: Road | None, unilateral: bool
) -> None:
    """Add spring, shock absorber (each on its own points) and tire of one corner."""
    chassis, lower = bodies["chassis"], bodies[f"LCA_{corner}"]
    rates = data["suspension"]["front" if corner[0] == "F" else "rear"]
    model.add(
        Spring(
            f"spring_{corner}",
            chassis,
            lower,
            point_a=tuple(at["SPRING_C"]),
            point_b=tuple(at["SPRING_A"]),
            stiffness=rates["stiffness"],
            free_length=rates["free_length"],
        )
    )
    model.add(
        Spring(
            f"shock_{corner}",
            chassis,
            lower,
            point_a=tuple(at["SHOCK_C"]),
            point_b=tuple(at["SHOCK_A"]),
            stiffness=0.0,
            damping=rates["damping"],
        )
    )
    model.add(
        Tire(
            f"tire_{corner}",
            bodies[f"WHEEL_{corner}"],
            point=tuple(at["SPINDLE"]),
            stiffness=data["tire"]["stiffness"],
            damping=data["tire"]["damping"],
            radius=data["tire"]["radius"],
            road=road,
            unilateral=unilateral,
        )
    )


def _add_bushings(
    model: Model, data: dict, corner: str, bodies: dict[str, Body], at: dict, factor: float, spin_stabilizer: bool
) -> None:
    """Add the bushing spring of one upper arm; its free length keeps the equilibrium whatever the factor."""
    chassis, upper = bodies["chassis"], bodies[f"UCA_{corner}"]
    bushing, stabilizer = data["bushing"], data["stabilizer"]
    stiffness = factor * bushing["stiffness"]
    model.add(
        Spring(
            f"bushing_{corner}",
            chassis,
            upper,
            point_a=tuple(at["BUSHING_C"]),
            point_b=tuple(at["BUSHING_A"]),
            stiffness=stiffness,
            damping=factor * bushing["damping"],
            free_length=bushing["length"] - bushing["static_tension"][corner] / stiffness,
        )
    )
    if not spin_stabilizer:
        return
    # upwards along the normal of the arm's plane, unloaded at the start
    normal = np.cross(at["UCA_F"] - at["UCA_B"], at["UCA_U"] - at["UCA_B"])
    normal *= math.copysign(stabilizer["length"], normal[2]) / np.linalg.norm(normal)
    model.add(
        Spring(
            f"stabilizer_{corner}",
            chassis,
            upper,
            point_a=tuple(at["BUSHING_A"] + normal),
            point_b=tuple(at["BUSHING_A"]),
            stiffness=stabilizer["stiffness"],
            damping=stabilizer["damping"],
            free_length=stabilizer["length"],
        )
    )


def _find_road(data: dict, points: dict[str, dict[str, np.ndarray]]) -> Road:
    """Flat road with the bump where the front wheels, as they roll, first touch it after 0.5 s at 16 km/h.

    A wheel of radius R meets a half cylinder of radius r at the distance sqrt((R + r)^2 - R^2) between the centres.
    """
    R, r = data["tire"]["radius"], data["scenario"]["bump_radius"]
    front = 0.5 * (points["FL"]["SPINDLE"][0] + points["FR"]["SPINDLE"][0])
    way = data["scenario"]["speed"] * data["scenario"]["bump_time"]
    return Road(bumps=((float(front + way + math.sqrt((R + r) ** 2 - R**2)), r),))
