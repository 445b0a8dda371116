"""Machines with discontinuities: impacts, a dead stop, joints that are switched on and off."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..bodies import Frame, PlanarBody
from ..events import Event
from ..joints import InPlane, Perpendicular, Revolute
from ..model import Model
from ..rotations import calc_axes
from ..stops import Gap, Stop
from .shapes import check_positive

CORNERS = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))


def bouncing_block(
    height: float = 0.4, speed: float = 1.0, angle: float = 0.3, spin: float = 0.0, restitution: float = 0.5,
    friction: float = 0.2, size: tuple[float, float] = (0.2, 0.1), mass: float = 1.0,
) -> Model:  # fmt: skip
    """Build a block in the plane that is thrown upon a floor, tumbles, bounces and comes to rest upon two corners.

    Its centre begins ``height`` [m] above the floor, moves sideways with ``speed`` [m/s], turns with ``spin`` [rad/s];
    ``restitution`` and ``friction`` are those of each corner, `floor1` to `floor4`; ``size`` [m], ``mass`` [kg].
    """
    lowest = min(math.sin(angle) * x * size[0] + math.cos(angle) * y * size[1] for x, y in CORNERS)
    if height + lowest <= 0.0:
        raise ValueError(f"bouncing_block: height {height:g} puts a corner below the floor; give more than {-lowest:g}")
    check_positive("bouncing_block", mass=mass)
    model = Model("bouncing_block", gravity=(0.0, -9.81, 0.0))
    inertia = mass * (size[0] ** 2 + size[1] ** 2) / 12.0
    motion: dict[str, Any] = {"velocity": (speed, 0), "angular_velocity": spin}
    block = model.add(PlanarBody("block", mass, inertia, position=(0, height), angle=angle, **motion))
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    for k, corner in enumerate(CORNERS, start=1):
        x, y = turn @ (np.array(corner) * size) + (0.0, height)
        floor: dict[str, Any] = {"plane": (0, 0, 0), "axis": (0, 1, 0), "reference": (1, 0, 0)}
        model.add(Gap(f"corner{k}", model.ground, block, point=(x, y, 0), **floor))
        model.add(Stop(f"floor{k}", on=f"corner{k}.gap", restitution=restitution, friction=friction))
    return model


def dead_stop(
    bend: float = 1.2, angle: float = -1.0, lengths: tuple[float, float] = (0.5, 0.4), mass: float = 1.0,
    restitution: float = 0.0,
) -> Model:  # fmt: skip
    """Build a leg that swings: the knee straightens against a dead stop, stays straight, and bends again.

    Two slender rods hang from a hip; the thigh begins ``angle`` [rad] from the vertical, at rest, the shank ``bend``
    [rad] behind it. The stop keeps the knee from bending forwards. ``lengths`` [m], ``mass`` of the thigh [kg].
    """
    model = Model("dead_stop", gravity=(0.0, -9.81, 0.0))
    knee = lengths[0] * np.array([math.sin(angle), -math.cos(angle)])
    second = angle - bend
    foot = knee + lengths[1] * np.array([math.sin(second), -math.cos(second)])
    masses = mass, mass * lengths[1] / lengths[0]
    inertias = [m * length**2 / 12.0 for m, length in zip(masses, lengths, strict=True)]
    thigh = model.add(PlanarBody("thigh", masses[0], inertias[0], position=tuple(0.5 * knee), angle=angle))
    shank = model.add(PlanarBody("shank", masses[1], inertias[1], position=tuple(0.5 * (knee + foot)), angle=second))
    model.add(Revolute("hip", model.ground, thigh, point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(Revolute("knee", thigh, shank, point=(*knee, 0), axis=(0, 0, 1)))
    model.add(Stop("kneecap", on="knee", at=bend, side="upper", restitution=restitution))
    return model


def geneva(
    radius: float = 0.1, speed: float = 6.0, crank_inertia: float = 2e-3, wheel_inertia: float = 1e-3
) -> Model:  # fmt: skip
    """Build a Geneva drive of four slots: a turning crank picks up the wheel, turns it by 90 degrees and locks it.

    Joints are switched: while the pin of the crank is in a slot (`slot0`, `slot1`, each with the slot opposite), the
    lock (`lock0`, `lock1`) is off. The pin enters and leaves along the slot, so that no velocity jumps and energy is
    kept. ``radius`` of the crank [m], its initial ``speed`` [rad/s], moments of inertia [kg m^2].
    """
    check_positive("geneva", radius=radius, speed=speed)
    model = Model("geneva", gravity=(0.0, 0.0, 0.0))
    centre = math.sqrt(2.0) * radius
    crank = model.add(PlanarBody("crank", 1.0, crank_inertia, position=(0, 0), angular_velocity=speed))
    wheel = model.add(PlanarBody("wheel", 1.0, wheel_inertia, position=(centre, 0)))
    model.add(Revolute("motor", model.ground, crank, point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(Revolute("axle", model.ground, wheel, point=(centre, 0, 0), axis=(0, 0, 1)))
    pin = (0.0, -radius, 0.0)  # the crank begins pointing down, 45 degrees before the wheel
    for k in (0, 1):
        slot = math.radians(225.0 + 90.0 * k)
        across = np.array([-math.sin(slot), math.cos(slot), 0.0])
        frames = Frame(wheel, orientation=calc_axes(across)), Frame(crank, position=pin)
        model.add(InPlane(f"slot{k}", *frames, engaged=False))
        side = ((0, 1, 0), (1, 0, 0))[k]
        model.add(Perpendicular(f"lock{k}", model.ground, wheel, axis_a=(1, 0, 0), axis_b=side, engaged=k == 0))

    def count_turns(state: Any) -> int:
        """Quarter turns of the wheel so far, the one under way from its middle on."""
        return round(-2.0 * float(state["wheel"].angle) / math.pi)

    def find_way(state: Any, turns: int) -> float:
        """Angle of the crank beyond the line of centres in its turn of this number."""
        return float(state["crank"].angle) - 0.5 * math.pi - 2.0 * math.pi * turns

    def pick_up(t: float, state: Any) -> None:
        k = count_turns(state) % 2
        state.switch(on=f"slot{k}", off=f"lock{k}")

    def drop(t: float, state: Any) -> None:
        k = count_turns(state) % 2
        state.switch(on=f"lock{k}", off=f"slot{1 - k}")

    # the functions rise steadily while nothing is switched, so that steps of any length meet their zeros
    quarter = 0.25 * math.pi
    model.add(Event("in", lambda s: find_way(s, count_turns(s)) + quarter, direction=1, action=pick_up))
    model.add(Event("out", lambda s: find_way(s, count_turns(s) - 1) - quarter, direction=1, action=drop))
    return model
