"""Random mechanisms for property tests: trees and closed loops with every joint type, in space and in the plane.

A mechanism is drawn as a graph and a seed: which body hangs on which, by which kind of joint, and which pairs of bodies
are joined once more. Points and axes are given where the bodies are put, so every mechanism is assembled as it is made,
however many loops it has; loops of random axes may be stiff or overconstrained, which is the point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import linkwork as lw
from elements import CURVE, build_body

Place = Callable[[np.random.Generator, np.ndarray], dict[str, Any]]


def draw_axis(random: np.random.Generator) -> tuple[float, ...]:
    """A direction in space."""
    axis = random.normal(size=3)
    return tuple(axis / np.linalg.norm(axis))


def _draw_cross(random: np.random.Generator) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Two directions at right angles."""
    axes = np.linalg.qr(random.normal(size=(3, 3)))[0]
    return tuple(axes[0]), tuple(axes[1])


def _near(random: np.random.Generator, at: np.ndarray) -> np.ndarray:
    return at + random.uniform(-0.1, 0.1, 3)


def _place_point_axis(random: np.random.Generator, at: np.ndarray) -> dict[str, Any]:
    return {"point": _near(random, at), "axis": draw_axis(random)}


def _place_point(random: np.random.Generator, at: np.ndarray) -> dict[str, Any]:
    return {"point": _near(random, at)}


def _place_universal(random: np.random.Generator, at: np.ndarray) -> dict[str, Any]:
    axis_a, axis_b = _draw_cross(random)
    return {"point": _near(random, at), "axis_a": axis_a, "axis_b": axis_b}


def _place_perpendicular(random: np.random.Generator, at: np.ndarray) -> dict[str, Any]:
    axis_a, axis_b = _draw_cross(random)
    return {"axis_a": axis_a, "axis_b": axis_b}


def _place_rod(random: np.random.Generator, at: np.ndarray) -> dict[str, Any]:
    rod = 0.3 * np.array(draw_axis(random))
    return {"point_a": at - 0.5 * rod, "point_b": at + 0.5 * rod}


def _place_hinged_rod(random: np.random.Generator, at: np.ndarray) -> dict[str, Any]:
    axis, along = _draw_cross(random)
    return {"point_a": at, "axis": axis, "point_b": at + 0.3 * np.array(along)}


def _place_cam(random: np.random.Generator, at: np.ndarray) -> dict[str, Any]:
    axis, reference = _draw_cross(random)
    follower = at + 0.3 * np.array(reference)
    return {"point": at, "axis": axis, "reference": reference, "curve": CURVE, "closed": True, "follower": follower}


SPATIAL: dict[str, Place] = {
    "Fixed": lambda random, at: {},
    "Revolute": _place_point_axis,
    "Spherical": _place_point,
    "Cylindrical": _place_point_axis,
    "Translational": _place_point_axis,
    "Screw": lambda random, at: {**_place_point_axis(random, at), "pitch": 0.05},
    "Universal": _place_universal,
    "ConstantVelocity": lambda random, at: {"point": _near(random, at), "axis_a": draw_axis(random)},
    "Planar": _place_point_axis,
    "InLine": _place_point_axis,
    "InPlane": _place_point_axis,
    "Parallel": lambda random, at: {"axis": draw_axis(random)},
    "Perpendicular": _place_perpendicular,
    "Distance": _place_rod,
    "RevoluteSpherical": _place_hinged_rod,
    "PointOnCurve": _place_cam,
}
PLANAR: dict[str, Place] = {
    "Fixed": lambda random, at: {},
    "Revolute": lambda random, at: {"point": _near(random, at), "axis": (0.0, 0.0, 1.0)},
    "Translational": lambda random, at: {"point": at, "axis": _draw_flat_axis(random)},
    "InLine": lambda random, at: {"point": at, "axis": _draw_flat_axis(random)},
    "Distance": lambda random, at: {"point_a": at, "point_b": at + 0.3 * np.array(_draw_flat_axis(random))},
}


def _draw_flat_axis(random: np.random.Generator) -> tuple[float, ...]:
    angle = random.uniform(0.0, 2.0 * np.pi)
    return float(np.cos(angle)), float(np.sin(angle)), 0.0


@st.composite
def mechanisms(
    draw: Any,
    *,
    planar: bool = False,
    most_bodies: int = 5,
    most_loops: int = 2,
    floating: bool = False,
    kinds: tuple[str, ...] = (),
    springs: bool = True,
    moving: bool = True,
    gravity: tuple[float, float, float] = (0.3, -9.7, -0.4),
) -> lw.Model:
    """A model of some bodies, each joined to one before it (the first to the ground), with some loops closed.

    ``floating``: nothing is joined to the ground. ``kinds``: joints to draw from, all unless given. ``springs``:
    an undamped one, so that energy stays what it is. ``moving``: velocities at random, to be made consistent.
    """
    places = PLANAR if planar else SPATIAL
    names = sorted(kinds or places)
    count = draw(st.integers(2, most_bodies))
    parents = [draw(st.integers(1 if floating and k > 0 else 0, k)) for k in range(count)]
    joints = [draw(st.sampled_from(names)) for _ in range(count)]
    loops = draw(st.lists(st.tuples(st.integers(0, count), st.integers(0, count), st.sampled_from(names)),
                          max_size=most_loops))  # fmt: skip
    seed = draw(st.integers(0, 10_000))

    random = np.random.default_rng(seed)
    model = lw.Model("random", gravity=gravity)
    bodies: list[Any] = [model.ground]
    for k in range(count):
        motion: dict[str, Any] = {"velocity": random.normal(size=3), "angular_velocity": random.normal(size=3)}
        if planar:
            motion = {"velocity": random.normal(size=2), "angular_velocity": random.normal()}
        motion = motion if moving else {}
        kind = "planar" if planar else "rigid"
        bodies.append(model.add(build_body(f"body{k}", 1 + seed % 97 + k, kind, **motion)))
    pairs = [(parents[k], k + 1, joints[k]) for k in range(count) if not (floating and k == 0)]
    pairs += [(a, b, kind) for a, b, kind in loops if a != b and not (floating and 0 in (a, b))]
    for number, (a, b, kind) in enumerate(pairs):
        at = _find_place(bodies[a], bodies[b])
        model.add(getattr(lw, kind)(f"joint{number}", bodies[a], bodies[b], **places[kind](random, at)))
    if springs:
        ends = _find_place(bodies[1], bodies[1])
        other = ends + np.array([0.4, 0.3, 0.0])
        a, b = (bodies[1], bodies[2]) if floating else (bodies[0], bodies[count])
        model.add(lw.Spring("spring", a, b, point_a=ends, point_b=other, stiffness=60.0, free_length=0.3))
    return model


def _find_place(a: Any, b: Any) -> np.ndarray:
    """Half way between the centres of mass, or the centre of the one that is not the ground."""
    places = [np.resize(np.append(body.position, 0.0), 3) for body in (a, b) if hasattr(body, "mass")]
    return np.mean(places, axis=0)
