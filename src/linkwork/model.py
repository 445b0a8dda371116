"""The model: a named collection of records, and the questions that can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from .bodies import Body, Frame, Ground, PlanarBody, PointMass
from .checks import Check
from .couplings import Coupling
from .errors import ModelError, suggest
from .events import Event
from .forces import Bushing, JointFriction, PointForce, PointTorque, RotationalSpring, Spring, Tire, UserForce
from .joints import Joint
from .stops import Stop

BODIES = (Body, PlanarBody, PointMass)
JOINTS = (Joint, Coupling)
FORCES = (Spring, RotationalSpring, JointFriction, Bushing, PointForce, PointTorque, Tire, UserForce)

Record = TypeVar("Record")


class Model:
    """A mechanism: ``Model("pendulum", gravity=(0, -9.81, 0))``, filled with ``add``.

    Records are frozen; the model only remembers them by name. ``revision`` counts the changes, so that nothing compiled
    earlier is used after one.
    """

    def __init__(self, name: str = "model", *, gravity: Sequence[float] | np.ndarray = (0.0, 0.0, -9.81)):
        self.name = name
        self.ground = Ground()
        self.revision = 0
        self.kept: tuple[int, Any] | None = None  # (revision, Compiled), written by compile.py
        self.assembled: Any = None  # the last assembly, written by initial.py
        self._records: dict[str, Any] = {}
        self.gravity = gravity  # type: ignore[assignment]

    @property
    def gravity(self) -> tuple[float, ...]:
        """Acceleration of gravity in ground axes, m/s^2."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: Sequence[float]) -> None:
        check = Check(self, self.name)
        gravity = check.vector(value, 3, "gravity")
        check.done()
        self._gravity = gravity
        self.revision += 1

    @property
    def records(self) -> Mapping[str, Any]:
        """All records by name, in the order they were added (read-only)."""
        return MappingProxyType(self._records)

    def _names(self, types: tuple[type, ...]) -> list[str]:
        return [name for name, record in self._records.items() if isinstance(record, types)]

    @property
    def bodies(self) -> list[str]:
        return self._names(BODIES)

    @property
    def joints(self) -> list[str]:
        return self._names(JOINTS)

    @property
    def forces(self) -> list[str]:
        return self._names(FORCES)

    @property
    def events(self) -> list[str]:
        return self._names((Event,))

    @property
    def stops(self) -> list[str]:
        """Names of the stops; they are among the joints, too."""
        return self._names((Stop,))

    def add(self, record: Record) -> Record:
        """Adds a body, joint, coupling, driver, force or event, and returns it."""
        if isinstance(record, Frame):
            raise ModelError("a Frame is not added; give it to a joint or force in place of a body", self.name)
        if isinstance(record, type) or not isinstance(record, (*BODIES, *JOINTS, *FORCES, Event)):
            what = f"the class {record.__name__}" if isinstance(record, type) else repr(record)
            raise ModelError(f"{what} cannot be added; give a record such as Body('arm', mass=1, ...)", self.name)
        name: str = record.name
        if name in self._records:
            kind = type(self._records[name]).__name__
            raise ModelError(
                f"{type(record).__name__} '{name}': the name is taken by a {kind}; choose another", self.name
            )
        self._records[name] = record
        self.revision += 1
        return record

    def __getitem__(self, name: str) -> Any:
        if name == self.ground.name:
            return self.ground
        if name not in self._records:
            raise KeyError(f"model '{self.name}' has no '{name}'; {suggest(name, self._records)}")
        return self._records[name]

    def __contains__(self, name: object) -> bool:
        return name in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        counts = [
            f"{len(names)} {noun if len(names) != 1 else one}"
            for names, noun, one in (
                (self.bodies, "bodies", "body"),
                (self.joints, "joints", "joint"),
                (self.forces, "forces", "force"),
                (self.events, "events", "event"),
            )
            if names
        ]
        return f"Model('{self.name}': {', '.join(counts) or 'empty'})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "kept": None}

    # --- questions: each is answered by the module that it names ----------------------------------------------------

    def check(self, **options: Any) -> Any:
        """A report of residuals, rank, freedoms and redundant rows, with every problem found."""
        from . import report

        return report.check(self, **options)

    def assemble(self, keep: Sequence[str] = (), weights: Mapping[str, float] | None = None, **options: Any) -> Any:
        """Closes the joints from the initial guess by weighted projection; ``keep`` names what must stay."""
        from . import initial

        return initial.assemble(self, keep=keep, weights=weights, **options)

    def kinematics(self, times: Sequence[float] | np.ndarray, **options: Any) -> Any:
        """Motion and driving forces of a fully driven mechanism at these times."""
        from . import kinematics

        return kinematics.kinematics(self, times, **options)

    def simulate(
        self,
        t_end: float,
        *,
        t_start: float = 0.0,
        method: Any = "auto",
        rtol: float = 1e-6,
        atol: Any = 1e-6,
        step: float | None = None,
        output: Any = None,
        events: Sequence[Event] = (),
        initial: str = "project",
        progress: bool | None = None,
        callback: Callable[..., Any] | None = None,
        raise_on_failure: bool = False,
        **options: Any,
    ) -> Any:
        """The motion from ``t_start`` to ``t_end``; see simulate.py for every keyword."""
        from . import simulate

        return simulate.simulate(
            self, t_end, t_start=t_start, method=method, rtol=rtol, atol=atol, step=step, output=output, events=events,
            initial=initial, progress=progress, callback=callback, raise_on_failure=raise_on_failure, **options,
        )  # fmt: skip
