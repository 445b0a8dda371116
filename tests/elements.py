"""The elements of the catalogue: a small model per kind of joint, coupling, driver and force, and one with all of them.

An element is added between two bodies in general position (turned, apart, none at the origin), so that no entry of a
Jacobian is zero by luck. ``at`` is a ground point near both; every element is assembled where it is put. Tags:

joint, coupling, driver, force   what it is
time                             it depends on time
python                           it calls a Python function, which is differenced
kink                             its force has a kink
dissipative                      it takes energy away
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw

Add = Callable[[lw.Model, str, Any, Any, np.ndarray], None]

# skew directions, and pairs of them at right angles
AXIS = (0.36, -0.48, 0.8)
ACROSS = (0.8, 0.6, 0.0)
CURVE = tuple((0.3 * np.cos(z), 0.2 * np.sin(z)) for z in np.linspace(0.0, 2.0 * np.pi, 13)[:-1])


@dataclass(frozen=True)
class Element:
    """One kind of element: how to add it between bodies a and b, and the constraint rows it brings."""

    name: str
    add: Add
    rows: int
    tags: frozenset[str]
    bodies: int = 0  # bodies it adds of its own

    def build(self) -> lw.Model:
        """A model of two free bodies and this element between them."""
        model = lw.Model(self.name, gravity=(0.3, -0.4, -9.7))
        a, b = add_body(model, "a", 1), add_body(model, "b", 2)
        self.add(model, self.name, a, b, np.array([0.15, 0.1, 0.45]))
        return model

    @property
    def nv(self) -> int:
        return 12 + 6 * self.bodies


def add_body(model: lw.Model, name: str, seed: int, kind: str = "rigid") -> Any:
    """Add a body made by :func:`build_body`."""
    return model.add(build_body(name, seed, kind))


def build_body(name: str, seed: int, kind: str = "rigid", **motion: Any) -> Any:
    """A body whose pose, mass and inertia depend on ``seed``; neighbouring seeds lie about 0.4 m apart."""
    random = np.random.default_rng(seed)
    place = np.array([0.3 * seed, 0.2 * np.sin(seed), 0.5]) + random.uniform(-0.05, 0.05, 3)
    mass = random.uniform(0.5, 2.0)
    if kind == "point":
        return lw.PointMass(name, mass=mass, position=place, **motion)
    if kind == "planar":
        turn = random.uniform(-1.0, 1.0)
        return lw.PlanarBody(name, mass=mass, inertia=0.02 * mass, position=place[:2], angle=turn, **motion)
    p = random.normal(size=4)
    axes = np.linalg.qr(random.normal(size=(3, 3)))[0]
    moments = random.uniform(0.015, 0.02, 3) * mass
    inertia = axes @ np.diag(moments) @ axes.T
    return lw.Body(name, mass=mass, inertia=inertia, position=place, orientation=p / np.linalg.norm(p), **motion)


# --- joints -----------------------------------------------------------------------------------------------------------
def _joint(kind: str, **fixed: Any) -> Add:
    """Adds a joint with its point at ``at`` (or two points around it)."""

    def add(model: lw.Model, name: str, a: Any, b: Any, at: np.ndarray) -> None:
        keys = dict(fixed)
        for key in ("point", "point_a", "point_b", "follower"):
            if key in keys:
                keys[key] = at + np.array(keys[key])
        model.add(getattr(lw, kind)(name, a, b, **keys))

    return add


HERE, THERE = (0.0, 0.0, 0.0), (0.1, -0.2, 0.3)

JOINTS: tuple[tuple[str, int, Add], ...] = (
    ("fixed", 6, _joint("Fixed")),
    ("revolute", 5, _joint("Revolute", point=HERE, axis=AXIS)),
    ("spherical", 3, _joint("Spherical", point=HERE)),
    ("cylindrical", 4, _joint("Cylindrical", point=HERE, axis=AXIS)),
    ("translational", 5, _joint("Translational", point=HERE, axis=AXIS)),
    ("screw", 5, _joint("Screw", point=HERE, axis=AXIS, pitch=0.05)),
    ("universal", 4, _joint("Universal", point=HERE, axis_a=AXIS, axis_b=ACROSS)),
    ("constant_velocity", 4, _joint("ConstantVelocity", point=HERE, axis_a=AXIS)),
    ("planar", 3, _joint("Planar", point=HERE, axis=AXIS)),
    ("in_line", 2, _joint("InLine", point=HERE, axis=AXIS)),
    ("in_plane", 1, _joint("InPlane", point=HERE, axis=AXIS)),
    ("gap", 0, _joint("Gap", point=HERE, axis=AXIS)),
    ("parallel", 2, _joint("Parallel", axis=AXIS)),
    ("perpendicular", 1, _joint("Perpendicular", axis_a=AXIS, axis_b=ACROSS)),
    ("distance", 1, _joint("Distance", point_a=HERE, point_b=THERE)),
    ("revolute_spherical", 2, _joint("RevoluteSpherical", point_a=HERE, axis=AXIS, point_b=THERE)),
    (
        "point_on_curve", 1,
        _joint("PointOnCurve", point=HERE, axis=(0, 0, 1), reference=(1, 0, 0), curve=CURVE, closed=True,
               follower=(0.3, 0.0, 0.0)),
    ),
)  # fmt: skip


# --- couplings and drivers: they act on the coordinates of joints that they bring along -------------------------------
def _add_gear(model: lw.Model, name: str, a: Any, b: Any, at: np.ndarray) -> None:
    third = add_body(model, f"{name}_wheel", 3)
    model.add(lw.Revolute(f"{name}_pin_b", a, b, point=at, axis=AXIS))
    model.add(lw.Revolute(f"{name}_pin_c", a, third, point=at + 0.1, axis=AXIS))
    model.add(lw.Gear(name, on_a=f"{name}_pin_b", on_b=f"{name}_pin_c", ratio=-1.5))


def _add_rack(model: lw.Model, name: str, a: Any, b: Any, at: np.ndarray) -> None:
    third = add_body(model, f"{name}_bar", 4)
    model.add(lw.Revolute(f"{name}_pin", a, b, point=at, axis=AXIS))
    model.add(lw.Translational(f"{name}_guide", a, third, point=at + 0.1, axis=ACROSS))
    model.add(lw.RackAndPinion(name, rack=f"{name}_guide", pinion=f"{name}_pin", radius=0.06))


def _add_coupler(model: lw.Model, name: str, a: Any, b: Any, at: np.ndarray) -> None:
    model.add(lw.Cylindrical(f"{name}_guide", a, b, point=at, axis=AXIS))
    on = (f"{name}_guide.angle", f"{name}_guide.displacement")
    model.add(lw.Coupler(name, on=on, coefficients=(0.2, -1.0)))


def _drive_angle(model: lw.Model, name: str, a: Any, b: Any, at: np.ndarray) -> None:
    model.add(lw.Revolute(f"{name}_pin", a, b, point=at, axis=AXIS))
    model.add(lw.Driver(name, on=f"{name}_pin", function="0.4*(1 - cos(3*t))"))


def _drive_displacement(model: lw.Model, name: str, a: Any, b: Any, at: np.ndarray) -> None:
    model.add(lw.Translational(f"{name}_guide", a, b, point=at, axis=AXIS))
    time = np.linspace(0.0, 1.0, 9)
    model.add(lw.Driver(name, on=f"{name}_guide", function=lw.Table(time, 0.1 * time**2 * (1.0 - time))))


def _drive_distance(model: lw.Model, name: str, a: Any, b: Any, at: np.ndarray) -> None:
    start = float(np.linalg.norm(np.subtract(b.position, a.position)))
    model.add(lw.Driver(name, on=(a, b), function=f"{start!r} + 0.05*t**2"))


def _drive_body(model: lw.Model, name: str, a: Any, b: Any, at: np.ndarray) -> None:
    start = float(b.position[1])
    model.add(lw.Driver(name, on=f"{b.name}.y", function=lambda t: start + 0.05 * (1.0 - np.cos(2.0 * t))))


COUPLINGS: tuple[tuple[str, int, int, Add], ...] = (  # rows and own bodies
    ("gear", 11, 1, _add_gear),
    ("rack_and_pinion", 11, 1, _add_rack),
    ("coupler", 5, 0, _add_coupler),
)
DRIVERS: tuple[tuple[str, int, str, Add], ...] = (
    ("driver_angle", 6, "", _drive_angle),
    ("driver_displacement", 6, "", _drive_displacement),
    ("driver_distance", 1, "", _drive_distance),
    ("driver_body", 1, "python", _drive_body),
)


# --- forces -----------------------------------------------------------------------------------------------------------
def _between(kind: str, **keys: Any) -> Add:
    """Adds a spring or bushing between a and b, with its ends around ``at``."""

    def add(model: lw.Model, name: str, a: Any, b: Any, at: np.ndarray) -> None:
        if kind == "Bushing":
            ends = {"point": at}
        else:
            ends = {"point_a": at + np.array(HERE), "point_b": at + np.array(THERE)}
        model.add(getattr(lw, kind)(name, a, b, **ends, **keys))

    return add


def _on_pin(kind: str, **keys: Any) -> Add:
    """Adds a force on the angle of a revolute that it brings along."""

    def add(model: lw.Model, name: str, a: Any, b: Any, at: np.ndarray) -> None:
        model.add(lw.Revolute(f"{name}_pin", a, b, point=at, axis=AXIS))
        model.add(getattr(lw, kind)(name, on=f"{name}_pin", **keys))

    return add


def _on_guide(kind: str, **keys: Any) -> Add:
    """Adds a force on the displacement of a translational joint that it brings along."""

    def add(model: lw.Model, name: str, a: Any, b: Any, at: np.ndarray) -> None:
        model.add(lw.Translational(f"{name}_guide", a, b, point=at, axis=AXIS))
        model.add(getattr(lw, kind)(name, on=f"{name}_guide", **keys))

    return add


def _on_body(kind: str, pointed: bool = True, **keys: Any) -> Add:
    """Adds a load or a tire on b."""

    def add(model: lw.Model, name: str, a: Any, b: Any, at: np.ndarray) -> None:
        point = {"point": at} if pointed else {}
        model.add(getattr(lw, kind)(name, b, **point, **keys))

    return add


def _drag(t: float, state: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two bodies that repel each other and turn in a viscous bath."""
    apart = state[1].position - state[0].position
    push = 3.0 * apart / (0.1 + apart @ apart)
    return [(-push, -0.2 * state[0].angular_velocity), (push, -0.1 * state[1].angular_velocity)]


def _add_user(model: lw.Model, name: str, a: Any, b: Any, at: np.ndarray) -> None:
    model.add(lw.UserForce(name, (a, b), _drag))


_SOFT = tuple((x, 800.0 * x + 3e4 * x**3) for x in np.linspace(-0.2, 0.2, 9))
_SPRING_TABLE = lw.Table(*zip(*_SOFT, strict=True))
_TIRE = {"stiffness": 3000.0, "damping": 40.0, "radius": 0.7}

FORCES: tuple[tuple[str, int, str, Add], ...] = (
    ("spring", 0, "dissipative", _between("Spring", stiffness=900.0, damping=12.0, free_length=0.3)),
    ("spring_table", 0, "", _between("Spring", stiffness=_SPRING_TABLE, free_length=0.35)),
    ("spring_expression", 0, "time dissipative", _between("Spring", force="50*sin(4*t) + 30*length**2 + 2*rate")),
    ("spring_python", 0, "python dissipative", _between("Spring", force=lambda t, length, rate: 40.0 * length + rate)),
    ("spring_on_joint", 5, "", _on_guide("Spring", stiffness=500.0, free_length=0.1)),
    ("rotational_spring", 5, "dissipative", _on_pin("RotationalSpring", stiffness=15.0, damping=0.3, free_angle=0.4)),
    ("motor", 5, "time", _on_pin("RotationalSpring", torque="2*cos(5*t) - 0.3*angle")),
    ("joint_friction", 5, "dissipative", _on_pin("JointFriction", level=0.8, slip_velocity=0.2, viscous=0.1)),
    (
        "bushing", 0, "dissipative",
        _between("Bushing", stiffness=(900.0, 700.0, 500.0, 9.0, 8.0, 7.0), damping=(9.0, 8.0, 7.0, 0.3, 0.2, 0.1)),
    ),
    ("point_force", 0, "", _on_body("PointForce", force=(1.0, -2.0, 3.0))),
    ("point_force_body", 0, "time", _on_body("PointForce", force=("sin(3*t)", 2.0, "t"), frame="body")),
    ("point_torque", 0, "", _on_body("PointTorque", pointed=False, torque=(0.1, -0.2, 0.3))),
    ("point_torque_body", 0, "time", _on_body("PointTorque", pointed=False, torque=("0.1*t", 0.2, 0.0), frame="body")),
    ("tire", 0, "dissipative", _on_body("Tire", **_TIRE)),
    ("tire_road", 0, "dissipative", _on_body("Tire", **_TIRE, road="0.03*sin(2*x)*cos(y)")),
    (
        "tire_bump", 0, "kink dissipative",
        _on_body("Tire", **_TIRE, road=lw.Road(bumps=((0.4, 0.05),)), unilateral=True),
    ),
    ("user_force", 0, "python dissipative", _add_user),
)  # fmt: skip


def _build_elements() -> tuple[Element, ...]:
    found = [Element(name, add, rows, frozenset({"joint"})) for name, rows, add in JOINTS]
    found += [Element(name, add, rows, frozenset({"coupling"}), own) for name, rows, own, add in COUPLINGS]
    found += [
        Element(name, add, rows, frozenset({"driver", "time", *tags.split()})) for name, rows, tags, add in DRIVERS
    ]
    found += [Element(name, add, rows, frozenset({"force", *tags.split()})) for name, rows, tags, add in FORCES]
    return tuple(found)


ELEMENTS = _build_elements()


def build_everything(python: bool = True) -> lw.Model:
    """Build one model with every element: a long open chain whose links are the joints, with all forces between links.

    Planar bodies and point masses hang on it too. ``python=False`` leaves out the elements that call Python functions.
    Nothing is redundant: the chain is open, and drivers and couplings take freedoms that are there.
    """
    model = lw.Model("everything", gravity=(0.3, -0.4, -9.7))
    previous = add_body(model, "link0", 1)
    number = 0
    for element in ELEMENTS:
        if "python" in element.tags and not python:
            continue
        number += 1
        link = add_body(model, f"link{number}", 1 + number)
        at = 0.5 * (np.array(previous.position) + np.array(link.position)) + np.array([0.0, 0.1, -0.05])
        element.add(model, element.name, previous, link, at)
        previous = link

    # carriers of the other kinds, joined to the chain and to each other
    flat, flat2 = (add_body(model, name, seed, "planar") for name, seed in (("flat", 5), ("flat2", 6)))
    bead = add_body(model, "bead", 7, "point")
    pin = np.array([*flat2.position, 0.0])
    model.add(lw.Revolute("flat_pin", flat, flat2, point=pin, axis=(0, 0, 1)))
    model.add(lw.Spherical("flat_ball", flat2, previous, point=(*flat2.position, 0.0)))
    model.add(lw.Distance("bead_rod", bead, flat, point_b=(*flat.position, 0.0)))
    model.add(lw.Spring("bead_spring", bead, previous, stiffness=300.0, damping=2.0, free_length=0.2))
    return model
