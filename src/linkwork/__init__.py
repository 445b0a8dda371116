"""linkwork: dynamics of constrained mechanical systems.

``Model`` collects frozen records (bodies, joints, forces, events); ``model.simulate`` runs it; ``linkwork.models``
builds well-known machines.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from .bodies import Body, Frame, Ground, PlanarBody, PointMass
from .cams import PointOnCurve
from .couplings import Coupler, Driver, Gear, RackAndPinion
from .errors import AssemblyError, FunctionError, LinkworkError, MethodError, ModelError, SimulationError
from .events import Event, Switch
from .forces import (
    Bushing,
    JointFriction,
    PointForce,
    PointTorque,
    Road,
    RotationalSpring,
    Spring,
    Tire,
    UserForce,
)
from .functions import Expression, Table
from .joints import (
    ConstantVelocity,
    Cylindrical,
    Distance,
    Fixed,
    InLine,
    InPlane,
    Parallel,
    Perpendicular,
    Planar,
    Revolute,
    RevoluteSpherical,
    Screw,
    Spherical,
    Translational,
    Universal,
)
from .methods import Method, method_table
from .model import Model
from .stops import Gap, Stop
from .version import VERSION

if TYPE_CHECKING:
    from .results import Result as Result
    from .status import Status as Status

__version__ = VERSION

_LAZY = {"Result": "results", "Status": "status"}
_MODULES = ("embed", "models", "rotations")


def __getattr__(name: str) -> Any:
    """Loads the parts that not every script needs at their first use."""
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _LAZY:
        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module 'linkwork' has no attribute '{name}'", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])


__all__ = [
    "AssemblyError", "Body", "Bushing", "ConstantVelocity", "Coupler", "Cylindrical", "Distance", "Driver", "Event",
    "Expression", "Fixed", "Frame", "FunctionError", "Gap", "Gear", "Ground", "InLine", "InPlane", "JointFriction",
    "LinkworkError", "Method", "MethodError", "Model", "ModelError", "Parallel", "Perpendicular", "Planar",
    "PlanarBody", "PointForce", "PointMass", "PointOnCurve", "PointTorque", "RackAndPinion", "Result", "Revolute",
    "RevoluteSpherical", "Road", "RotationalSpring", "Screw", "SimulationError", "Spherical", "Spring", "Status",
    "Stop", "Switch", "Table", "Tire", "Translational", "Universal", "UserForce", "__version__", "method_table",
]  # fmt: skip
