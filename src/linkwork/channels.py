"""From a name to its view, from a dotted text to an array, and the sums over all bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .errors import LinkworkError, suggest
from .states import States
from .tables import BODY_POINT
from .views import BodyView, ForceView, JointView, turn

AXES = {"x": 0, "y": 1, "z": 2}
QUATERNION_AXES = {"w": 0, "x": 1, "y": 2, "z": 3}


class ChannelError(LinkworkError, KeyError):
    """A name or a channel that the model does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


View: TypeAlias = BodyView | JointView | ForceView


def build_view(states: States, name: str) -> View:
    compiled = states.compiled
    if name in compiled.bodies:
        return BodyView(states, name, compiled.bodies[name])
    if name in compiled.joints:
        return JointView(states, name)
    if name in compiled.forces:
        return ForceView(states, name)
    known = [*states.bodies, *states.joints, *states.forces]
    raise ChannelError(f"the model has no element '{name}'; {suggest(name, known, 'elements')}")


@dataclass(frozen=True)
class Energy:
    """Energies in J, one per state."""

    kinetic: Any
    potential: Any

    @property
    def total(self) -> Any:
        return self.kinetic + self.potential


@dataclass(frozen=True)
class Momentum:
    """Momenta of the whole model in ground axes: linear (n, 3), angular (n, 3) about the ground's origin."""

    linear: Any
    angular: Any


def build_energy(states: States) -> Energy:
    s = states
    both = s.evaluate(lambda k: s.system.energy(s._t[k], s.positions[k], s.velocities[k], s.memory[k]))
    return Energy(s.trim(both[:, 0]), s.trim(both[:, 1]))


def build_momentum(states: States) -> Momentum:
    """Sums m v and r x m v + A I w over the bodies."""
    linear, angular = np.zeros((states.count, 3)), np.zeros((states.count, 3))
    for name in states.bodies:
        index = states.compiled.bodies[name]
        body, twist = states.body_record(index), states.spread(index, states.velocities)
        p = float(body["mass"]) * twist[:, :3]
        linear += p
        angular += np.cross(states.calc_positions(index), p)
        if body["kind"] != BODY_POINT:
            angular += turn(states.find_rotations(index), twist[:, 3:] @ np.asarray(body["inertia"]).T)
    return Momentum(states.trim(linear), states.trim(angular))


def find_channel(states: States, text: str) -> Any:
    """Resolves "element.quantity.component"; components are x, y, z (w first for orientations) or numbers from 0."""
    if text == "t":
        return states.t
    head, _, rest = text.partition(".")
    quantity, *components = rest.split(".")
    target = getattr(states, head) if head in ("energy", "momentum") else states[head]
    value = getattr(target, quantity, None) if quantity else None
    if value is None:
        raise ChannelError(f"channel '{text}': {explain_missing(target, head, quantity)}")
    if callable(value):
        raise ChannelError(f"channel '{text}': '{quantity}' needs an argument; call result['{head}'].{quantity}(...)")
    for component in components:
        axes = QUATERNION_AXES if quantity == "orientation" else AXES
        place = axes.get(component, int(component) if component.isdigit() else None)
        value = np.asarray(value)
        if place is None or value.ndim <= (0 if states.single else 1) or place >= value.shape[-1]:
            raise ChannelError(f"channel '{text}': '{component}' is not a component; use {', '.join(axes)} or a number")
        value = value[..., place]
    return value


def explain_missing(target: Any, head: str, quantity: str) -> str:
    """Why `target.quantity` does not exist, and what does."""
    try:
        getattr(target, quantity or "?")
    except AttributeError as error:
        if "object has no attribute" not in str(error):
            return str(error)
    known = [name for name in dir(target) if not name.startswith("_") and name != "name"]
    known += getattr(target, "labels", []) if isinstance(target, JointView) else []
    return f"'{head}' has no quantity '{quantity}'; it has: {', '.join(known)}"
