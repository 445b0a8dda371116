"""The spanning tree of joint coordinates: which joints carry bodies, and the tables of ``kernels/tree.hpp``.

Every body hangs on one other or on the ground, by the motions of a joint or, where no joint serves, freely on the
ground. Joints are taken in the order of how many rows their motions satisfy (the fewest coordinates are left then);
those that would close a loop, and all couplings and drivers, become closures. A planar body moves in its plane by
itself, so it hangs on planar bodies or the ground only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import tables as tb
from .coordinates import PLANAR, Side, triple
from .motions import FREE, Motion, Path, Rotation, Shift, Step, Turns, X, Y, Z, slide, turn
from .rotations import calc_axes

FREEDOMS = {tb.BODY_RIGID: 6, tb.BODY_PLANAR: 3, tb.BODY_POINT: 3}


@dataclass(frozen=True)
class TreeJoint:
    """A joint as the tree sees it: its two sides, its path, and the rows of each of its equations."""

    name: str
    a: Side
    b: Side
    path: Path | None
    block: int
    rows: tuple[tuple[int, ...], ...]

    @property
    def count(self) -> int:
        """Rows that the motions satisfy."""
        rest = self.path.rest if self.path else range(len(self.rows))
        return sum(len(rows) for i, rows in enumerate(self.rows) if i not in rest)


@dataclass(frozen=True)
class Hanging:
    """A body that hangs on its parent by these steps, between the frames (point, axes in columns) on the two."""

    body: int
    parent: int
    block: int
    steps: tuple[Step, ...]
    frame_parent: tuple[np.ndarray, np.ndarray]
    frame_body: tuple[np.ndarray, np.ndarray]


def count_motions(steps: Sequence[Step]) -> int:
    return sum(len(s.axes) if isinstance(s, Turns) else isinstance(s, Motion) for s in steps)


def find_hanging(joint: TreeJoint, child: int, kinds: Sequence[int]) -> Hanging | None:
    """How the child hangs on the other body of the joint; None where the joint's motions do not describe it."""
    if joint.path is None:
        return None
    forward = child == joint.b.body
    parent, body = (joint.a, joint.b) if forward else (joint.b, joint.a)
    steps = (joint.path if forward else joint.path.reversed()).steps
    kind = kinds[child]
    s_parent, s_body = np.array(parent.s), np.array(body.s)
    if kind == tb.BODY_PLANAR:
        if kinds[parent.body] not in PLANAR:
            return None
        rise = s_body[2] - s_parent[2] if joint.path.symmetric else 0.0  # a rod may stand off the plane
        flat = flatten(steps, parent, rise)
        if flat is None:
            return None
        steps = flat
        s_parent[2] = s_body[2] = 0.0
    if kind == tb.BODY_POINT:  # it has no orientation: what turns it about itself does nothing
        while steps and (isinstance(steps[-1], (Turns, Rotation)) or getattr(steps[-1], "slide", 1.0) == 0.0):
            steps = steps[:-1]
    if count_motions(steps) != FREEDOMS[kind] - joint.count:
        return None
    return Hanging(child, parent.body, joint.block, steps, (s_parent, parent.axes), (s_body, body.axes))


def flatten(steps: Sequence[Step], parent: Side, rise: float) -> tuple[Step, ...] | None:
    """The steps as a planar body can take them: turns about the normal, slides in the plane; None if they leave it.

    ``rise``: how far a rod ends above where it begins; its shadow is shorter.
    """
    axes = np.array(parent.axes)
    kept: list[Step] = []
    for step in steps:
        normal = axes.T @ np.array(Z)
        if isinstance(step, Rotation):
            axes = axes @ step.matrix
        elif isinstance(step, Shift):
            square = float(np.dot(step.by, step.by))
            if abs(normal @ np.array(step.by)) > 1e-9 or not rise**2 < square:
                return None
            step = Shift(triple(np.sqrt(1 - rise**2 / square) * np.array(step.by)))
        elif isinstance(step, Turns):
            kept.append(turn(triple(normal)))
            continue
        else:
            along = float(normal @ np.array(step.axis))
            if (step.turn and step.slide) or (step.turn and abs(abs(along) - 1) > 1e-9):
                continue
            if step.slide and abs(along) > 1e-9:
                continue
        kept.append(step)
    return tuple(kept)


def hang_free(body: int, kind: int) -> Hanging:
    """The body on the ground, all its freedoms its own."""
    free = {tb.BODY_PLANAR: (slide(X), slide(Y), turn(Z)), tb.BODY_POINT: FREE[:3]}.get(kind, FREE)
    origin = np.zeros(3), np.eye(3)
    return Hanging(body, 0, -1, free, origin, origin)


class Forest:
    """Bodies that are connected, by union and find."""

    def __init__(self, count: int):
        self.roots = list(range(count))

    def find(self, i: int) -> int:
        while self.roots[i] != i:
            self.roots[i] = i = self.roots[self.roots[i]]
        return i

    def join(self, i: int, j: int) -> bool:
        i, j = self.find(i), self.find(j)
        self.roots[j] = i
        return i != j


def choose_joints(kinds: Sequence[int], joints: Sequence[TreeJoint]) -> dict[int, list[tuple[int, TreeJoint]]]:
    """The joints of the tree, per body with the body on the other side."""
    forest = Forest(len(kinds))
    near: dict[int, list[tuple[int, TreeJoint]]] = {i: [] for i in range(len(kinds))}
    usable = sorted((j for j in joints if j.path is not None and j.count > 0), key=lambda j: -j.count)

    def take(chosen: Sequence[TreeJoint]) -> None:
        for joint in chosen:
            if forest.join(joint.a.body, joint.b.body):
                near[joint.a.body].append((joint.b.body, joint))
                near[joint.b.body].append((joint.a.body, joint))

    take([j for j in usable if kinds[j.a.body] in PLANAR and kinds[j.b.body] in PLANAR])
    for body, kind in enumerate(kinds):
        if kind == tb.BODY_PLANAR:
            forest.join(0, body)
    take(usable)
    return near


def hang_bodies(kinds: Sequence[int], masses: Any, joints: Sequence[TreeJoint]) -> list[Hanging]:
    """All bodies, parents first: from the ground, from free planar bodies, then from the heaviest free ones."""
    near = choose_joints(kinds, joints)
    hangings: list[Hanging] = []
    seen = {0}

    def climb(root: int) -> None:
        stack = [(root, other, joint) for other, joint in reversed(near[root])]
        while stack:
            parent, body, joint = stack.pop()
            if body in seen:
                continue
            seen.add(body)
            hangings.append(find_hanging(joint, body, kinds) or hang_free(body, kinds[body]))
            stack += [(body, other, joint) for other, joint in reversed(near[body]) if other != parent]

    climb(0)
    order = sorted(range(1, len(kinds)), key=lambda i: (kinds[i] != tb.BODY_PLANAR, -masses[i]))
    for body in order:
        if body not in seen:
            seen.add(body)
            hangings.append(hang_free(body, kinds[body]))
            climb(body)
    return hangings


def build_links(hangings: Sequence[Hanging]) -> tuple[np.ndarray, np.ndarray]:
    """The tables of links and motions."""
    links: list[tuple[Any, ...]] = []
    motions: list[tuple[Any, ...]] = []
    for h in hangings:
        first = len(motions)
        shift, pending = np.array(h.frame_parent[0]), np.array(h.frame_parent[1])
        s_body, axes_body = h.frame_body
        for step in h.steps:
            if isinstance(step, Shift):
                shift = shift + pending @ np.array(step.by)
                continue
            if isinstance(step, Rotation):
                pending = pending @ step.matrix
                continue
            parts = [turn(axis) for axis in step.axes] if isinstance(step, Turns) else [step]
            for i, part in enumerate(parts):
                own = np.eye(3) if part.axis == Z else calc_axes(part.axis)
                group = len(parts) if isinstance(step, Turns) and i == 0 else 0
                motions.append((pending @ own, shift, part.turn, part.slide, group, 0))
                pending, shift = own.T, np.zeros(3)
        E = pending @ axes_body.T
        links.append((h.body, h.parent, first, len(motions) - first, h.block, 0, E, s_body - E.T @ shift))
    return np.array(links, dtype=tb.TREE_LINK), np.array(motions, dtype=tb.TREE_MOTION)


def build_tree(
    kinds: Sequence[int], masses: Any, joints: Sequence[TreeJoint], rows: int, cut: Collection[str] = ()
) -> dict[str, Any]:
    """The tables of the tree; the joints named in ``cut`` close loops whether or not they would have to."""
    hangings = hang_bodies(kinds, masses, [j for j in joints if j.name not in cut])
    links, motions = build_links(hangings)
    carrying = {h.block for h in hangings}
    satisfied = {
        row
        for joint in joints
        if joint.block in carrying and joint.path is not None
        for i, own in enumerate(joint.rows)
        if i not in joint.path.rest
        for row in own
    }
    closures = np.array([row for row in range(rows) if row not in satisfied], dtype=np.int32)
    return {"links": links, "motions": motions, "closures": closures}
