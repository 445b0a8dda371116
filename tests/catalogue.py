"""The catalogue: every machine and every element that the tests loop over.

A new machine or element is added here once and inherits every test that takes ``MACHINES``, ``ELEMENTS`` or
``build_everything``. Each :class:`Case` says how to build the model and which sizes it must have; what it is like is
said by tags:

planar, spatial   all bodies planar, or at least one rigid body or point mass in space
conservative      total energy is constant
redundant         more rows than rank
driven            no freedom is left, or a driver acts (time appears in the constraints)
stiff             explicit methods need steps far below the motion's time scale
smooth            no kinks, no impacts in forces or constraints: methods show their order
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import linkwork as lw
from elements import ELEMENTS, build_everything


@dataclass(frozen=True)
class Case:
    """One model of the catalogue with the sizes it must have."""

    name: str
    builder: Callable[..., lw.Model]
    nq: int
    nv: int
    rows: int
    rank: int
    tags: frozenset[str]
    t_end: float  # a short run [s] in which the machine moves visibly
    kwargs: dict[str, Any] = field(default_factory=dict)
    off: int = 0  # rows that do not hold at the start

    def build(self) -> lw.Model:
        return self.builder(**self.kwargs)

    @property
    def dof(self) -> int:
        return self.nv - self.rank

    @property
    def redundant(self) -> int:
        return self.rows - self.off - self.rank


def _case(
    name: str, machine: str, sizes: tuple[int, int, int, int], tags: str, t_end: float, off: int = 0, **kwargs: Any
) -> Case:
    return Case(name, getattr(lw.models, machine), *sizes, frozenset(tags.split()), t_end, kwargs, off)


MACHINES: tuple[Case, ...] = (
    _case("pendulum", "pendulum", (7, 6, 5, 5), "spatial conservative smooth", 0.5),
    _case(
        "pendulum-coil", "pendulum", (3, 3, 2, 2), "planar smooth", 0.5,
        form="planar", angular_velocity=2.0, stiffness=40.0, damping=2.0, free_angle=0.5,
    ),
    _case("simple_pendulum", "simple_pendulum", (3, 3, 1, 1), "spatial conservative smooth", 0.5),
    _case("double_pendulum", "double_pendulum", (14, 12, 10, 10), "spatial stiff smooth", 0.01),
    _case("double_pendulum-planar", "double_pendulum", (6, 6, 4, 4), "planar stiff smooth", 0.01, form="planar"),
    _case(
        "double_pendulum-free", "double_pendulum", (14, 12, 10, 10), "spatial conservative smooth", 0.5,
        angular_velocity=2.0, stiffness=(0.0, 0.0), damping=(0.0, 0.0),
    ),
    _case("four_bar", "four_bar", (9, 9, 8, 8), "planar conservative smooth", 0.5),
    _case(
        "four_bar-spatial", "four_bar", (21, 18, 20, 17), "spatial conservative redundant smooth", 0.5, form="spatial"
    ),
    _case("n_four_bar", "n_four_bar", (15, 15, 14, 14), "planar conservative smooth", 0.3),
    _case(
        "n_four_bar-spatial", "n_four_bar", (35, 30, 35, 29), "spatial conservative redundant smooth", 0.3,
        form="spatial",
    ),
    _case("slider_crank", "slider_crank", (9, 9, 8, 8), "planar conservative smooth", 0.3),
    _case(
        "slider_crank-spatial", "slider_crank", (21, 18, 17, 17), "spatial conservative smooth", 0.3, form="spatial"
    ),
    _case("slider_crank-driven", "slider_crank", (9, 9, 9, 9), "planar driven smooth", 0.3, driven=True),
    _case("andrews", "andrews", (21, 21, 20, 20), "planar smooth", 0.01),
    _case("andrews-bad", "andrews", (21, 21, 20, 20), "planar smooth", 0.01, numbering="bad"),
    _case("andrews-spatial", "andrews", (49, 42, 50, 41), "spatial redundant smooth", 0.01, form="spatial"),
    _case("bricard", "bricard", (35, 30, 30, 29), "spatial conservative redundant smooth", 0.5),
    _case("flyball_governor", "flyball_governor", (34, 30, 26, 26), "spatial stiff smooth", 0.02),
    _case("spinning_top", "spinning_top", (7, 6, 3, 3), "spatial conservative smooth", 0.1),
    _case("chain", "chain", (30, 30, 20, 20), "planar conservative smooth", 0.1),
    _case("chain-spatial", "chain", (35, 30, 25, 25), "spatial conservative smooth", 0.1, n=5, form="spatial"),
    _case(
        "chain-spherical", "chain", (35, 30, 15, 15), "spatial conservative smooth", 0.1,
        n=5, form="spatial", joint="spherical",
    ),
    _case("bouncing_block", "bouncing_block", (3, 3, 8, 0), "planar", 0.2, off=8),
    _case("dead_stop", "dead_stop", (6, 6, 5, 4), "planar", 0.3, off=1),
    _case("geneva", "geneva", (6, 6, 8, 5), "planar conservative", 0.1, off=3),
    _case("hmmwv", "hmmwv", (98, 84, 73, 73), "spatial", 0.2),
    _case("hmmwv-soft", "hmmwv", (98, 84, 66, 66), "spatial driven", 0.2, stiff=True, bushing_factor=0.01),
    _case("hmmwv-stiff", "hmmwv", (98, 84, 66, 66), "spatial driven stiff", 0.002, stiff=True),
)  # fmt: skip


def list_machines(*tags: str, without: tuple[str, ...] = ()) -> list[Case]:
    """Machines that have all of ``tags`` and none of ``without``."""
    return [case for case in MACHINES if set(tags) <= case.tags and not set(without) & case.tags]


def name_of(case: Any) -> str:
    """Test id of a case or an element, for ``pytest.mark.parametrize(..., ids=name_of)``."""
    return str(case.name)


__all__ = ["ELEMENTS", "MACHINES", "Case", "build_everything", "list_machines", "name_of"]
