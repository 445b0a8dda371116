"""One report on a model before it runs: every residual, every dependent equation, every problem, not the first one."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import AssemblyError, ModelError
from .initial import find_assembly
from .jacobian import build_jacobian_pattern, calc_jacobian, calc_mass, find_dependencies, find_owner
from .states import find_memory
from .tables import BODY_RIGID

if TYPE_CHECKING:
    from .compile import Compiled

OPEN = 1e-6  # m, rad or per second: above this a start is called inconsistent


@dataclass(frozen=True)
class JointCheck:
    """One joint in the report: largest residual of its equations at each level, and how many of them are redundant."""

    name: str
    kind: str
    rows: int
    redundant: int
    position: float
    velocity: float
    acceleration: float


@dataclass(frozen=True)
class RedundantRow:
    """An equation that follows from others: `depends_on` lists them as (joint, label)."""

    joint: str
    label: str
    depends_on: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        by_joint: dict[str, list[str]] = {}
        for joint, label in self.depends_on:
            by_joint.setdefault(joint, []).append(label)
        parts = [f"{', '.join(labels)} of '{joint}'" for joint, labels in by_joint.items()]
        if len(self.depends_on) > 6:  # a loop: which equations take part matters less than which joints
            parts = [f"'{joint}' ({len(labels)} equations)" for joint, labels in by_joint.items()]
        listed = "; ".join(parts)
        return f"joint '{self.joint}', {self.label}: follows from {listed or 'nothing (it constrains nothing)'}"


@dataclass(frozen=True)
class Report:
    """What `model.check()` found; `str(report)` is the table."""

    model: str
    joints: tuple[JointCheck, ...] = ()
    coordinates: int = 0
    rows: int = 0
    normalizations: int = 0
    rank: int = 0
    dof: int = 0
    balance: float = 0.0  # |M v' + J^T lambda - f|, largest entry
    redundant: tuple[RedundantRow, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def counting(self) -> str:
        """Coordinates, equations and degrees of freedom with the normalizations of Euler parameters counted too."""
        equations = f"{self.rows} + {self.normalizations}" if self.normalizations else f"{self.rows}"
        freedoms = f"{self.dof} degree{'' if self.dof == 1 else 's'} of freedom"
        text = f"{self.coordinates} coordinates, {equations} constraint rows, {freedoms}"
        return f"{text} ({self.rows - self.rank} of the rows redundant)" if self.rows > self.rank else text

    def __str__(self) -> str:
        lines = [f"model '{self.model}': {self.counting}"]
        if self.joints:
            width = max(5, *(len(joint.name) for joint in self.joints))
            kind = max(4, *(len(joint.kind) for joint in self.joints))
            lines.append(f"{'joint':<{width}}  {'kind':<{kind}}  rows  redundant    position    velocity  acceleration")
            lines += [
                f"{j.name:<{width}}  {j.kind:<{kind}}  {j.rows:4d}  {j.redundant:9d}  {j.position:10.2e}  "
                f"{j.velocity:10.2e}  {j.acceleration:12.2e}"
                for j in self.joints
            ]
            lines.append(f"force balance M v' + J^T lambda - f: {self.balance:.2e}")
        if self.redundant:
            lines.append("redundant rows (handled: dropped, multipliers of minimum norm):")
            lines += [f"  {row}" for row in self.redundant]
        lines += [f"note: {text}" for text in self.notes]
        lines.append("problems:" if self.problems else "no problems")
        lines += [f"  {text}" for text in self.problems]
        return "\n".join(lines)


def check(model: Any) -> Report:
    """Residuals per joint, rank, degrees of freedom, redundant rows and everything that is wrong, in one report."""
    from .compile import compile_model

    try:
        compiled = compile_model(model)
    except ModelError as error:
        return Report(model=model.name, problems=tuple(error.problems))
    return build_report(compiled, model.name)


def build_report(compiled: Compiled, name: str, t: float = 0.0) -> Report:
    """The report of a compiled model at its initial guess."""
    system, tables = compiled.system, compiled.tables
    q, v = np.asarray(compiled.q, dtype=float), np.asarray(compiled.v, dtype=float)
    memory = find_memory(compiled, t, q, np.asarray(compiled.memory, dtype=float))
    jacobian = calc_jacobian(system, build_jacobian_pattern(tables), t, q, memory)
    rank, active = system.active_rows(t, q, memory)
    active = np.asarray(active)

    # residuals at the three levels; accelerations are those the equations of motion give at this state
    engaged = compiled.engaged
    position = engaged * np.abs(np.asarray(system.constraints(t, q, memory)))
    velocity = engaged * np.abs(jacobian @ v - system.velocity_target(t, q, memory))
    force = np.asarray(system.forces(t, q, v, memory))
    a, multipliers = (np.asarray(x) for x in system.accelerations(t, q, v, memory, active))
    acceleration = engaged * np.abs(jacobian @ a - system.gamma(t, q, v, memory))
    balance = np.abs(calc_mass(tables) @ a + jacobian.T @ multipliers - force)

    redundant = []
    for row, others in find_dependencies(jacobian, active).items():
        if not engaged[row]:
            continue
        joint, label = find_owner(compiled.joints, row)
        redundant.append(RedundantRow(joint, label, tuple(find_owner(compiled.joints, other) for other in others)))
    joints = tuple(
        JointCheck(
            joint, info.kind, info.rows.stop - info.rows.start,
            int(np.sum((active[info.rows] == 0) & (engaged[info.rows] != 0))),
            *(float(level[info.rows].max(initial=0.0)) for level in (position, velocity, acceleration)),
        )
        for joint, info in compiled.joints.items()
    )  # fmt: skip
    dof = len(v) - int(rank)
    return Report(
        model=name,
        joints=joints,
        coordinates=len(q),
        rows=int(np.sum(engaged)),
        normalizations=int(np.sum(tables["bodies"]["kind"] == BODY_RIGID)),
        rank=int(rank),
        dof=dof,
        balance=float(balance.max(initial=0.0)),
        redundant=tuple(redundant),
        problems=tuple(find_problems(compiled, joints, force, a, name)),
        notes=tuple(find_notes(compiled, dof)),
    )


def find_problems(compiled: Compiled, joints: tuple[JointCheck, ...], force: Any, a: Any, name: str) -> list[str]:
    """Open joints, velocities in conflict, whether assembly closes them, and numbers that are not finite."""
    problems = []
    for joint in joints:
        if not joint.position <= OPEN:
            problems.append(
                f"joint '{joint.name}' is open by {joint.position:.3g} m or rad at the start; correct the points or "
                "positions, or close it with model.assemble()"
            )
        if not joint.velocity <= OPEN:
            problems.append(
                f"joint '{joint.name}': the initial velocities violate it by {joint.velocity:.3g} m/s or rad/s; "
                "correct them, or take model.assemble(), which changes them least"
            )
    if problems:
        try:
            find_assembly(compiled, name=name)
        except AssemblyError as error:
            problems += list(error.problems)
    for body, index in compiled.bodies.items():
        record = compiled.tables["bodies"][index]
        own = slice(int(record["v"]), int(record["v"] + record["nv"]))
        if not np.all(np.isfinite(force[own])):
            problems.append(f"body '{body}': the force on it is not finite at the start; check what acts on it")
        elif not np.all(np.isfinite(a[own])):
            problems.append(f"body '{body}': its acceleration is not finite at the start; check its joints")
        if index and not record["mass"] > 0.0:
            problems.append(f"body '{body}' has no mass; give it one")
    return problems


def find_notes(compiled: Compiled, dof: int) -> list[str]:
    """What is legal but worth knowing: free bodies, extreme masses, mechanisms without a degree of freedom."""
    notes = []
    free = find_unconnected(compiled)
    if free:
        named = ", ".join(repr(name) for name in free[:4]) + (f" and {len(free) - 4} more" if len(free) > 4 else "")
        notes.append(f"not connected to the ground by joints, held by forces alone: {named}")
    masses = {name: float(compiled.tables["bodies"][index]["mass"]) for name, index in compiled.bodies.items() if index}
    heaviest = max(masses.values(), default=0.0)
    light = [name for name, mass in masses.items() if mass < 1e-6 * heaviest]
    if light:
        named = ", ".join(repr(name) for name in light)
        notes.append(f"nearly massless beside the others: {named}; expect small steps")
    if dof == 0:
        notes.append("no degree of freedom is left: the motion is prescribed, model.kinematics(times) computes it")
    return notes


def find_unconnected(compiled: Compiled) -> list[str]:
    """Bodies that no chain of joints connects to the ground."""
    tables = compiled.tables
    neighbours: dict[int, set[int]] = {}
    members: dict[int, list[int]] = {}
    for part in tables["parts"]:
        members.setdefault(int(part["block"]), []).append(int(part["body"]))
    for bodies in members.values():
        for body in bodies:
            neighbours.setdefault(body, set()).update(bodies)
    reached, queue = {0}, deque([0])
    while queue:
        for body in neighbours.get(queue.popleft(), set()) - reached:
            reached.add(body)
            queue.append(body)
    return [name for name, index in compiled.bodies.items() if index not in reached]
