"""Finds the two sides of a joint or force: frames in body coordinates, from ground points and axes or from Frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import tables as tb
from .bodies import AnyBody, Body, BodyLike, Frame, Ground, PlanarBody, PointMass, Vector, calc_initial_pose
from .coordinates import Pose, Side
from .errors import ModelError, suggest
from .rotations import calc_axes, calc_matrix

KINDS = {Ground: tb.BODY_GROUND, Body: tb.BODY_RIGID, PlanarBody: tb.BODY_PLANAR, PointMass: tb.BODY_POINT}

Given = Vector | None


class SideFinder:
    """Resolves references to bodies of one model and places frames on them."""

    def __init__(self, ground: Ground, bodies: Sequence[AnyBody], names: Mapping[str, object]):
        self.bodies: list[AnyBody] = [ground, *bodies]
        self.names = names  # every name of the model, to tell a joint from a typing error
        self.index = {body.name: i for i, body in enumerate(self.bodies)}
        self.kinds = [KINDS[type(body)] for body in self.bodies]
        self.poses: list[Pose] = [calc_initial_pose(body) for body in self.bodies]

    def find_body(self, reference: object) -> int:
        """Index of a body given as record, Frame or name."""
        if isinstance(reference, Frame):
            reference = reference.body
        if isinstance(reference, str):
            if reference not in self.index:
                if reference in self.names:
                    raise ModelError(f"'{reference}' is not a body; give the body it acts on")
                raise ModelError(f"unknown body '{reference}'; {suggest(reference, self.index, 'bodies')}")
            return self.index[reference]
        if not isinstance(reference, (Ground, Body, PlanarBody, PointMass)):
            raise ModelError(f"{reference!r} is not a body; give a body record, its name, a Frame or model.ground")
        i = self.index.get(reference.name)
        if i is None or self.bodies[i] != reference:
            raise ModelError(f"body '{reference.name}' does not belong to this model; add it first")
        return i

    def build_side(self, reference: object, origin: np.ndarray | None, axes: np.ndarray | None) -> Side:
        """A side from a Frame, or from origin and axes in ground coordinates (default: centre of mass, ground axes)."""
        i = self.find_body(reference)
        r, A = self.poses[i]
        if isinstance(reference, Frame):
            s, R = np.array(reference.position), calc_matrix(reference.orientation)
        else:
            s = A.T @ (origin - r) if origin is not None else np.zeros(3)
            R = A.T @ (axes if axes is not None else np.eye(3))
        name = self.bodies[i].name
        if self.kinds[i] == tb.BODY_POINT:
            if np.linalg.norm(s) > 1e-9:
                raise ModelError(
                    f"its point lies {np.linalg.norm(s):g} m from the point mass '{name}', which has no orientation; "
                    "put the point at the mass or use a Body"
                )
            s = np.zeros(3)
        return Side(i, self.kinds[i], name, s, R, self.poses[i])

    def find_sides(
        self, a: BodyLike, b: BodyLike, *, point: Given = None, point_b: Given = None, axis: Given = None,
        axis_b: Given = None, axes_b: np.ndarray | None = None, reference: Given = None, reference_b: Given = None,
        apart: bool = False, needs_point: bool = True, needs_axis: bool = False, own_axes: bool = False,
    ) -> tuple[Side, Side]:  # fmt: skip
        """Both sides of a joint.

        ``apart``: each side has its own point, by default its centre of mass; else they share one. ``own_axes``: each
        side needs its own axis; else b takes the axes of a. Frames win over points and axes.
        """
        if self.find_body(a) == self.find_body(b):
            raise ModelError(f"both sides are '{self.bodies[self.find_body(a)].name}'; give two different bodies")
        given = any(v is not None for v in (point, point_b, axis, axis_b, axes_b))
        if isinstance(a, Frame) and isinstance(b, Frame) and given and not apart:
            raise ModelError("both sides are Frames, which fix point and axis; leave point and axis out")
        origin_a, origin_b = self.find_origins(a, b, point, point_b, apart, needs_point)
        frame_a = self.build_side(a, None, None).ground_axes if isinstance(a, Frame) else None
        frame_b = self.build_side(b, None, None).ground_axes if isinstance(b, Frame) else None
        ground_a = frame_a if frame_a is not None else self.find_axes(axis, reference, frame_b, own_axes)
        if ground_a is None and needs_axis:
            raise ModelError(f"give {'axis_a' if own_axes else 'axis'}, a direction in ground coordinates, or a Frame")
        if axes_b is None:
            axes_b = self.find_axes(axis_b if axis_b is not None or own_axes else axis, reference_b, ground_a, own_axes)
            if axes_b is None and frame_b is None and needs_axis:
                raise ModelError("give axis_b, a direction in ground coordinates, or a Frame")
        return self.build_side(a, origin_a, ground_a), self.build_side(b, origin_b, axes_b)

    def find_ends(self, spring: Any) -> tuple[Side, Side]:
        """Both sides of a record with bodies a and b and a point on each."""
        return self.find_sides(spring.a, spring.b, point=spring.point_a, point_b=spring.point_b, apart=True)

    @staticmethod
    def find_axes(axis: Given, reference: Given, other: np.ndarray | None, own: bool) -> np.ndarray | None:
        """Axes along ``axis`` with x as near as possible to the other side's x; without axis, the other side's axes."""
        if axis is None:
            return None if own else other
        if reference is None and other is not None and np.linalg.norm(np.cross(axis, other[:, 0])) > 1e-6:
            reference = other[:, 0]
        return calc_axes(axis, reference)

    def find_origins(
        self, a: BodyLike, b: BodyLike, point: Given, point_b: Given, apart: bool, needs_point: bool
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Origins of both sides in ground coordinates; None where a Frame or the centre of mass serves."""
        if apart:
            for reference, given, key in ((a, point, "point_a"), (b, point_b, "point_b")):
                if given is None and not isinstance(reference, Frame) and self.find_body(reference) == 0:
                    raise ModelError(f"give {key}, the point on the ground")
            return self.read_point(point), self.read_point(point_b)
        common = self.read_point(point)
        if common is None:
            for reference in (a, b):  # a Frame's origin, else a point mass's position
                if isinstance(reference, Frame):
                    common = self.build_side(reference, None, None).origin
                    break
                if self.kinds[self.find_body(reference)] == tb.BODY_POINT:
                    common = self.poses[self.find_body(reference)][0]
        if common is None and needs_point:
            raise ModelError("give point, in ground coordinates at the initial configuration, or a Frame")
        if common is None:
            i, j = self.find_body(a), self.find_body(b)
            common = self.poses[j if j else i][0]
        return common, common

    @staticmethod
    def read_point(point: Any) -> np.ndarray | None:
        return None if point is None else np.array(point, dtype=float)
