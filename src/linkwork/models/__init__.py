"""The gallery: benchmark machines, each built by one function with keyword parameters.

>>> import linkwork as lw
>>> model = lw.models.andrews(form="spatial")
>>> [machine.name for machine in lw.models.list_models()][:2]
['pendulum', 'simple_pendulum']

``machines`` maps each name to a :class:`Machine`, which knows the builder and how the machine is usually run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..model import Model
from .contacts import bouncing_block, dead_stop, geneva
from .linkages import four_bar, n_four_bar, slider_crank
from .loops import bricard
from .pendulums import chain, double_pendulum, pendulum, simple_pendulum
from .rotors import flyball_governor, spinning_top
from .squeezer import andrews
from .vehicles import hmmwv


@dataclass(frozen=True)
class Machine:
    """One entry of the gallery: how to build it, and settings with which a run is short and tells something."""

    name: str
    build: Callable[..., Model]
    description: str
    t_end: float
    method: str = "partitioning/auto"
    rtol: float = 1e-6
    atol: float = 1e-6
    channels: tuple[str, ...] = ()

    @property
    def settings(self) -> dict[str, float | str]:
        """Keyword arguments for ``model.simulate``."""
        return {"t_end": self.t_end, "method": self.method, "rtol": self.rtol, "atol": self.atol}


machines: dict[str, Machine] = {
    machine.name: machine
    for machine in (
        Machine(
            "pendulum", pendulum, "slender rod on a pin, with an optional spring", 10.0,
            channels=("pin.coordinate", "arm.position.y"),
        ),
        Machine(
            "simple_pendulum", simple_pendulum, "IFToMM A01: point mass on a massless rod", 10.0, rtol=1e-8, atol=1e-8,
            channels=("bob.position.x", "bob.position.y"),
        ),
        Machine(
            "double_pendulum", double_pendulum, "stiff double pendulum of the negrut paper, eigenvalue -1e5 1/s", 2.0,
            channels=("pin1.coordinate", "pin2.coordinate"),
        ),
        Machine(
            "four_bar", four_bar, "crank-rocker of slender rods, conservative, turning", 10.0,
            channels=("B.force.x", "rocker.angular_velocity.z"),
        ),
        Machine(
            "n_four_bar", n_four_bar, "IFToMM A02: row of n parallelograms, singular when horizontal", 10.0,
            rtol=1e-8, atol=1e-8, channels=("link0.position.x", "link0.position.y"),
        ),
        Machine(
            "slider_crank", slider_crank, "crank, rod and slider; optionally driven at constant speed", 2.0,
            channels=("slider.position.x", "slider.velocity.x"),
        ),
        Machine(
            "andrews", andrews, "IFToMM A03: Andrews' squeezing mechanism, seven bodies", 0.05, rtol=1e-8, atol=1e-8,
            channels=("O.coordinate", "B.coordinate"),
        ),
        Machine(
            "bricard", bricard, "IFToMM A04: overconstrained loop of five rods in space", 10.0, rtol=1e-7, atol=1e-7,
            channels=("rod3.position.x", "rod3.position.y"),
        ),
        Machine(
            "flyball_governor", flyball_governor, "IFToMM A05: spinning governor with stiff springs", 10.0,
            channels=("guide.coordinate",),
        ),
        Machine(
            "spinning_top", spinning_top, "heavy symmetric top, nutating with cusps", 2.0, rtol=1e-8, atol=1e-8,
            channels=("top.position.x", "top.position.y", "top.position.z"),
        ),
        Machine(
            "chain", chain, "n rods hung one after the other, falling from the horizontal", 2.0,
            channels=("link1.position.y",),
        ),
        Machine(
            "bouncing_block", bouncing_block, "block thrown upon a floor: impacts with restitution and friction", 2.0,
            rtol=1e-8, atol=1e-8, channels=("block.position.y", "block.angle"),
        ),
        Machine(
            "dead_stop", dead_stop, "swinging leg whose knee meets a dead stop and leaves it again", 3.0,
            rtol=1e-8, atol=1e-8, channels=("hip.coordinate", "knee.coordinate", "kneecap.contact_force"),
        ),
        Machine(
            "geneva", geneva, "Geneva drive: slots and locks are switched on and off", 4.0,
            rtol=1e-8, atol=1e-8, channels=("motor.rate", "axle.coordinate"),
        ),
        Machine(
            "hmmwv", hmmwv, "14-body HMMWV with double wishbones over a bump (stiff=True: stiff bushings)", 5.0,
            rtol=1e-5, atol=1e-5, channels=("chassis.position.z", "tire_FL.force.z"),
        ),
    )
}  # fmt: skip


def list_models() -> list[Machine]:
    """Return the machines of the gallery in their order."""
    return list(machines.values())


__all__ = [
    "Machine",
    "andrews",
    "bouncing_block",
    "bricard",
    "chain",
    "dead_stop",
    "double_pendulum",
    "flyball_governor",
    "four_bar",
    "geneva",
    "hmmwv",
    "list_models",
    "machines",
    "n_four_bar",
    "pendulum",
    "simple_pendulum",
    "slider_crank",
    "spinning_top",
]
