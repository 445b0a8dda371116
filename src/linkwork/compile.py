"""The model as flat tables: numbers for every body, joint, force and function, in the records of ``tables.py``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import coordinates as co
from . import tables as tb
from .bodies import AnyBody, PlanarBody, PointMass, calc_initial_state
from .calls import ScalarCall
from .compile_forces import ForceCompiler, ForceInfo
from .coordinates import Coordinate, Equation, Side
from .couplings import Coupling, Driver
from .errors import FunctionError, ModelError, suggest
from .forces import Spring
from .functions import Expression, Table, calc_value
from .joints import Joint
from .rotations import calc_quaternion
from .sides import SideFinder
from .stops import Stop
from .tree import TreeJoint, build_tree
from .words import FunctionWriter

if TYPE_CHECKING:
    from .model import Model

FrameOnBody = tuple[np.ndarray, np.ndarray]  # origin (3,) and quaternion (4,) in body coordinates


@dataclass(frozen=True)
class JointInfo:
    """Where a joint is in the tables, what its rows mean, and its free coordinates for outputs."""

    name: str
    kind: str
    block: int  # -1: no rows are left (planar motion keeps the joint closed by itself)
    rows: slice
    labels: list[str]  # one per row
    body_a: int
    body_b: int
    frame_a: FrameOnBody
    frame_b: FrameOnBody
    coordinates: list[tuple[str, np.ndarray]]  # label, PRIMITIVE record with row = -1


@dataclass(frozen=True)
class Compiled:
    """A compiled model: immutable tables and the initial guess. Everything that runs starts from here."""

    tables: dict[str, Any]
    callables: list[Callable[..., Any]]
    q: np.ndarray
    v: np.ndarray
    memory: np.ndarray
    bodies: dict[str, int]  # index into tables["bodies"]; "ground" is 0
    records: dict[str, Any]
    joints: dict[str, JointInfo]
    forces: dict[str, ForceInfo]
    hash: str
    tree_joints: tuple[TreeJoint, ...] = ()
    _kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def system(self) -> Any:
        """The core's view of the tables, built at first use."""
        if "system" not in self._kept:
            from ._core import System

            self._kept["system"] = System(self.tables, self.callables)
        return self._kept["system"]

    def find_system(self, cut: tuple[str, ...] = ()) -> Any:
        """The core's view with these joints of the tree cut; the last one is kept."""
        if not cut:
            return self.system
        if self._kept.get("cut") != cut:
            from ._core import System

            known = {joint.name for joint in self.tree_joints}
            for name in cut:
                if name in known:
                    continue
                if name in self.joints:
                    raise ModelError(f"cut: '{name}' closes a loop in any case; name joints between two bodies")
                raise ModelError(f"cut: there is no joint '{name}'; {suggest(name, known, 'joints')}")
            tree = self.build_tree(cut)
            self._kept["cut"], self._kept["cut system"] = cut, System({**self.tables, **tree}, self.callables)
        return self._kept["cut system"]

    def build_tree(self, cut: tuple[str, ...]) -> dict[str, Any]:
        """The tables of the tree with these joints cut."""
        bodies = self.tables["bodies"]
        return build_tree(bodies["kind"], bodies["mass"], self.tree_joints, len(self.tables["rows"]), cut)

    def find_closures(self, cut: tuple[str, ...] = ()) -> np.ndarray:
        """The rows that the motions of the tree do not satisfy."""
        return np.asarray(self.build_tree(cut)["closures"] if cut else self.tables["closures"])

    @property
    def engaged(self) -> np.ndarray:
        """1 for the rows that hold from the start, 0 for those that are switched on later, (rows,)."""
        return np.asarray(self.tables["rows"]["engaged"], dtype=float)

    def engage(self, engaged: np.ndarray) -> Compiled:
        """The same model with these rows engaged; variants are kept."""
        if np.array_equal(engaged, self.engaged):
            return self
        variants = self._kept.setdefault("variants", {})
        key = np.asarray(engaged, dtype=np.int32).tobytes()
        if key not in variants:
            rows = self.tables["rows"].copy()
            rows["engaged"] = engaged
            variants[key] = replace(self, tables={**self.tables, "rows": rows}, _kept={"variants": variants})
        variant: Compiled = variants[key]
        return variant

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}}


USES = {  # what of its sides a primitive uses: direction of a, direction of b
    tb.COINCIDENT: (False, False), tb.COINCIDENT2: (False, False), tb.DISTANCE: (False, False),
    tb.DOT1: (True, True), tb.DOT2: (True, False), tb.ANGLE: (True, True), tb.CURVE: (True, False),
}  # fmt: skip


class Compiler:
    """Collects the tables of one model; problems are gathered and raised together at the end."""

    def __init__(self, model: Model):
        self.model = model
        bodies: list[AnyBody] = [model[name] for name in model.bodies]
        self.finder = SideFinder(model.ground, bodies, model.records)
        self.writer = FunctionWriter()
        self.problems: list[str] = []
        self.sides: dict[str, tuple[Side, Side]] = {}
        self.named: dict[str, list[tuple[str, Coordinate]]] = {}  # coordinates by joint or spring
        self.memory: dict[Coordinate, int] = {}
        self.memory_values: list[float] = []
        self.curves: dict[Coordinate, int] = {}
        self.primitives: list[np.ndarray] = []
        self.rows: list[tuple[int, int, int, int, float]] = []
        self.blocks: list[tuple[int, int, int, int]] = []
        self.parts: list[list[int]] = []
        self.joints: dict[str, JointInfo] = {}
        self.tree_joints: list[TreeJoint] = []
        self.forces = ForceCompiler(
            self.finder, self.writer, self.find_coordinate, self.calc_initial, self.build_primitive
        )

    # --- coordinates ------------------------------------------------------------------------------------------------

    def calc_initial(self, c: Coordinate) -> float:
        guess = self.memory_values[self.memory[c]] if c in self.memory else 0.0
        return co.calc_value(c, self.finder.poses, guess)

    def find_memory(self, c: Coordinate) -> int:
        """The entry of the memory that follows an angle or a curve parameter, shared by all who use the coordinate."""
        if not c.has_memory:
            return -1
        if c not in self.memory:
            find = co.find_curve_parameter if c.kind == tb.CURVE else co.calc_value
            self.memory_values.append(find(c, self.finder.poses))
            self.memory[c] = len(self.memory_values) - 1
        return self.memory[c]

    def find_curve(self, c: Coordinate) -> int:
        """First of the two consecutive splines of a curve."""
        if c.curve is None:
            return -1
        if c not in self.curves:
            self.curves[c] = self.writer.add_table(c.curve[0])
            self.writer.add_table(c.curve[1])
        return self.curves[c]

    def build_primitive(
        self, c: Coordinate, row: int = -1, part_a: int = -1, part_b: int = -1, coefficient: float = 1.0
    ) -> np.ndarray:
        for body, needs in zip((c.a, c.b), USES[c.kind], strict=True):
            if needs and self.finder.kinds[body] == tb.BODY_POINT:
                name = self.finder.bodies[body].name
                raise ModelError(
                    f"it needs directions on the point mass '{name}', which has no orientation; use a Body"
                )
        record = (
            c.kind, row, part_a, part_b, c.a, c.b, self.find_memory(c), self.find_curve(c), coefficient,
            c.s_a, c.s_b, c.d_a, c.e_a, c.d_b,
        )  # fmt: skip
        return np.array(record, dtype=tb.PRIMITIVE)

    def find_coordinate(self, on: Any) -> Coordinate:
        """The coordinate that the user's word means, see couplings.py."""
        if isinstance(on, tuple):
            c = co.distance(*self.finder.find_sides(on[0], on[1], apart=True))
            if self.calc_initial(c) < 1e-9:
                raise ModelError("the two points of its distance coincide initially; move one")
            return c
        name, _, label = on.partition(".")
        if name in self.finder.index:
            return self.find_body_coordinate(name, label)
        if name not in self.named:
            if isinstance(self.model.records.get(name), Joint):
                raise ModelError(f"joint '{name}', on which it acts, has a problem of its own")
            if name in self.model.records:
                raise ModelError(f"'{name}' has no coordinate to act on; name a joint that has one, such as a Revolute")
            raise ModelError(f"unknown joint or body '{name}'; {suggest(name, [*self.named, *self.finder.index])}")
        known = dict(self.named[name])
        if not label and len(known) == 1:
            return next(iter(known.values()))
        if label not in known:
            options = ", ".join(f"'{name}.{key}'" for key in known)
            raise ModelError(f"'{on}' is not one coordinate; " + (f"use {options}" if known else f"'{name}' has none"))
        return known[label]

    def find_body_coordinate(self, name: str, label: str) -> Coordinate:
        i = self.finder.index[name]
        kind = self.finder.kinds[i]
        labels = {tb.BODY_PLANAR: ("x", "y", "angle"), tb.BODY_GROUND: ()}.get(kind, ("x", "y", "z"))
        if label not in labels:
            options = ", ".join(f"'{name}.{key}'" for key in labels) or "a moving body"
            raise ModelError(f"'{name}{'.' * bool(label)}{label}' is not a coordinate; use {options}")
        ground = self.finder.build_side(self.model.ground, np.zeros(3), None)
        body = self.finder.build_side(name, None, None)
        if label == "angle":
            body = Side(body.body, body.kind, name, body.s, np.eye(3), body.pose)
            return co.turn(ground, body)
        return co.dot2(ground, np.eye(3)["xyz".index(label)], body)

    # --- joints -----------------------------------------------------------------------------------------------------

    def guarded(self, record: Any, step: Callable[[], None]) -> None:
        """Runs one step; what is wrong is noted under the record's name and the compilation goes on."""
        try:
            step()
        except ModelError as error:
            self.problems += [f"{type(record).__name__} '{record.name}': {problem}" for problem in error.problems]
        except FunctionError as error:
            self.problems.append(f"{type(record).__name__} '{record.name}': {error}")

    def place(self, record: Any) -> None:
        """Finds sides and free coordinates of joints and springs, for others to refer to."""
        if isinstance(record, Joint):
            a, b = record.find_sides(self.finder.find_sides)
            self.sides[record.name] = (a, b)
            kinds = self.finder.kinds
            self.named[record.name] = [
                (label, c) for label, c in record.coordinates(a, b) if co.find_planar_constant(c, kinds) is None
            ]
        elif isinstance(record, Spring) and record.on is None:
            a, b = self.finder.find_ends(record)
            self.named[record.name] = [("length", co.distance(a, b))]

    def write_joint(self, record: Joint | Coupling) -> None:
        name = record.name
        if isinstance(record, Joint):
            if name not in self.sides:
                return  # its sides are already among the problems
            a, b = self.sides[name]
            equations = record.equations(a, b)
            frames = (a.s, calc_quaternion(a.axes)), (b.s, calc_quaternion(b.axes))
            bodies = a.body, b.body
        else:
            equations = record.find_equations(self.find_coordinate, self.calc_initial)
            first = equations[0].terms[0][1]
            bodies = first.a, first.b
            frames = self.find_frames(first)
            if isinstance(record, Driver):
                self.guess_turns(record, first)
        pruned = [co.prune_planar(e, self.finder.kinds) for e in equations]
        kept = [e for e in pruned if e is not None]
        labels = [label for e in kept for label in e.labels]
        engaged = record.engaged and not isinstance(record, Stop)
        block, start = self.write_block(name, kept, engaged), len(self.rows) - len(labels)
        if isinstance(record, Joint):
            self.place_in_tree(record, a, b, block, pruned, start)
        outputs = [(label, self.build_primitive(c)) for label, c in self.named.get(name, [])]
        if isinstance(record, Stop):
            if not kept:
                raise ModelError("no motion in the x-y plane changes its coordinate; take another")
            outputs = [("coordinate", self.build_primitive(kept[0].terms[0][1]))]
        self.joints[name] = JointInfo(
            name, record.kind, block, slice(start, len(self.rows)), labels, *bodies, *frames, outputs
        )

    def place_in_tree(
        self, record: Joint, a: Side, b: Side, block: int, pruned: list[Equation | None], row: int
    ) -> None:
        rows = []
        for e in pruned:
            count = len(e.labels) if e is not None else 0
            rows.append(tuple(range(row, row + count)))
            row += count
        path = record.motions(a, b) if record.engaged else None  # what is switched on later carries no body
        self.tree_joints.append(TreeJoint(record.name, a, b, path, block, tuple(rows)))

    def find_frames(self, c: Coordinate) -> tuple[FrameOnBody, FrameOnBody]:
        """Frames for the reactions of a coupling: those of the joint that owns its first coordinate, else body axes."""
        for name, coordinates in self.named.items():
            if name in self.sides and any(c == known for _, known in coordinates):
                a, b = self.sides[name]
                if (a.body, b.body) == (c.a, c.b):
                    return (a.s, calc_quaternion(a.axes)), (b.s, calc_quaternion(b.axes))
        unit = np.array([1.0, 0.0, 0.0, 0.0])
        return (np.array(c.s_a), unit), (np.array(c.s_b), unit)

    def guess_turns(self, driver: Driver, c: Coordinate) -> None:
        """Starts a driven angle on the turn on which its function starts."""
        if c.kind == tb.ANGLE:
            entry = self.find_memory(c)
            goal = calc_value(driver.function, ("t",), (0.0,))
            if np.isfinite(goal):
                self.memory_values[entry] = co.calc_value(c, self.finder.poses, goal)

    def write_block(self, name: str, equations: list[Equation], engaged: bool) -> int:
        """Rows, parts and primitives of one joint; returns its block, -1 if it has no rows."""
        if not equations:
            return -1
        block, first_row, first_part = len(self.blocks), len(self.rows), len(self.parts)
        touched = sorted({body for e in equations for _, c in e.terms for body in (c.a, c.b)})
        part = {body: first_part + i for i, body in enumerate(touched)}
        row = first_row
        primitives = []
        for e in equations:
            for factor, c in e.terms:
                primitives.append(self.build_primitive(c, row, part[c.a], part[c.b], factor))
            row += len(e.labels)
        functions = [self.add_time_function(name, e) for e in equations]
        for e, function in zip(equations, functions, strict=True):
            self.rows += [(block, function, int(engaged), 0, e.constant)] * len(e.labels)
        self.primitives += primitives
        self.blocks.append((first_row, row - first_row, first_part, len(touched)))
        self.parts += [[block, body, 0, 0] for body in touched]
        return block

    def add_time_function(self, name: str, e: Equation) -> int:
        f = e.function
        if f is None:
            return -1
        if callable(f) and not isinstance(f, (Expression, Table)):
            return self.writer.add_callable(ScalarCall(f"Driver '{name}'", f), 1)
        return self.writer.add(f, ("t",))

    # --- tables -----------------------------------------------------------------------------------------------------

    def build_bodies(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The table of bodies and the initial guess q, v."""
        table = np.zeros(len(self.finder.bodies), dtype=tb.BODY)
        states = [calc_initial_state(body) for body in self.finder.bodies]
        nq = nv = 0
        for row, body, kind, (q, v) in zip(table, self.finder.bodies, self.finder.kinds, states, strict=True):
            row["kind"], row["q"], row["nq"], row["v"], row["nv"] = kind, nq, len(q), nv, len(v)
            row["columns"][: len(v)] = tb.COLUMNS[kind]
            row["mass"] = getattr(body, "mass", 0.0)
            if not isinstance(body, PointMass) and kind != tb.BODY_GROUND:
                inertia = body.inertia  # type: ignore[union-attr]
                row["inertia"] = np.eye(3) * inertia if isinstance(body, PlanarBody) else inertia
                row["inertia_inverse"] = np.linalg.inv(row["inertia"])
            nq, nv = nq + len(q), nv + len(v)
        return table, np.concatenate([q for q, _ in states]), np.concatenate([v for _, v in states])

    def lay_out_jacobian(self, bodies: np.ndarray) -> None:
        """Offsets of the parts: those of moving bodies one after the other, those of the ground in a scratch behind."""
        offset = 0
        for part in self.parts:
            if bodies["nv"][part[1]] > 0:
                part[2] = offset
                offset += self.blocks[part[0]][1] * int(bodies["nv"][part[1]])
        for part in self.parts:
            if bodies["nv"][part[1]] == 0:
                part[2] = offset

    def compile(self) -> Compiled:
        records = self.model.records
        joints = [r for r in records.values() if isinstance(r, (Joint, Coupling))]
        forces = [r for r in records.values() if type(r) in self.forces.writers]
        for record in [*joints, *forces]:
            self.guarded(record, lambda record=record: self.place(record))  # type: ignore[misc]
        for record in joints:
            self.guarded(record, lambda record=record: self.write_joint(record))  # type: ignore[misc]
        for record in forces:
            self.guarded(record, lambda record=record: self.forces.write(record))  # type: ignore[misc]
        if self.problems:
            raise ModelError(list(dict.fromkeys(self.problems)), self.model.name)
        bodies, q, v = self.build_bodies()
        self.lay_out_jacobian(bodies)
        self.primitives.sort(key=lambda p: int(p["kind"]))
        force_tables, infos = self.forces.build_tables()
        tables: dict[str, Any] = {
            "bodies": bodies,
            "primitives": np.array(self.primitives, dtype=tb.PRIMITIVE),
            "rows": np.array(self.rows, dtype=tb.ROW),
            "blocks": np.array(self.blocks, dtype=tb.BLOCK),
            "parts": np.array([tuple(part) for part in self.parts], dtype=tb.PART),
            **force_tables,
            **self.writer.build_tables(),
            "gravity": np.array(self.model.gravity, dtype=float),
            "memory_size": len(self.memory_values),
            **build_tree(self.finder.kinds, bodies["mass"], self.tree_joints, len(self.rows)),
        }
        return Compiled(
            tables, list(self.writer.callables), q, v, np.array(self.memory_values, dtype=float),
            dict(self.finder.index), dict(records), self.joints, infos, calc_hash(tables), tuple(self.tree_joints),
        )  # fmt: skip


def calc_hash(tables: dict[str, Any]) -> str:
    """SHA-256 over the tables, in the order of their names."""
    digest = hashlib.sha256()
    for key in sorted(tables):
        digest.update(key.encode())
        digest.update(np.ascontiguousarray(tables[key]).tobytes())
    return digest.hexdigest()


def compile_model(model: Model) -> Compiled:
    """The model's tables; compiled anew only if the model has changed since."""
    kept = model.kept
    if kept is None or kept[0] != model.revision:
        if not model.bodies:
            raise ModelError("it has no bodies; add one with model.add(linkwork.Body(...))", model.name)
        kept = model.kept = (model.revision, Compiler(model).compile())
    return kept[1]
