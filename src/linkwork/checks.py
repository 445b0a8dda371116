"""Checks of the fields of a record: each collects a problem in the user's words instead of stopping at the first."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import FunctionError, ModelError
from .functions import FunctionLike, read_function
from .rotations import calc_quaternion


class Check:
    """Reads the fields of one record and collects what is wrong with them; ``done`` raises it all at once."""

    def __init__(self, record: object, name: object):
        self.record = record
        self.what = f"{type(record).__name__} '{name}'" if isinstance(name, str) and name else type(record).__name__
        self.problems: list[str] = []
        if not isinstance(name, str) or not name.strip():
            self.fail(f"name {name!r} is empty or not a string; give a name such as 'arm'")
        elif name == "ground":
            self.fail("the name 'ground' is that of model.ground; choose another")
        elif "." in name or name != name.strip():
            self.fail("a name may not contain a dot or begin or end with a space; choose another")

    def fail(self, text: str) -> None:
        self.problems.append(f"{self.what}: {text}")

    def done(self, **values: Any) -> None:
        """Raises the problems, or stores the checked values in the frozen record."""
        if self.problems:
            raise ModelError(self.problems)
        for key, value in values.items():
            object.__setattr__(self.record, key, value)

    def array(self, value: Any, shape: tuple[int, ...], field: str) -> np.ndarray:
        """Finite numbers of this shape; zeros stand in for what is wrong."""
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            self.fail(f"{field} {value!r} is not made of numbers")
            return np.zeros(shape)
        if array.shape != shape:
            wanted = f"{shape[0]} numbers" if len(shape) == 1 else "a " + "x".join(map(str, shape)) + " array"
            self.fail(f"{field} has shape {array.shape}; give {wanted if shape else 'one number'}")
            return np.zeros(shape)
        if not np.all(np.isfinite(array)):
            self.fail(f"{field} {value!r} contains NaN or infinity; give finite numbers")
            return np.zeros(shape)
        return array

    def vector(self, value: Any, size: int, field: str) -> tuple[float, ...]:
        return tuple(self.array(value, (size,), field).tolist())

    def optional_vector(self, value: Any, size: int, field: str) -> tuple[float, ...] | None:
        return None if value is None else self.vector(value, size, field)

    def number(self, value: Any, field: str) -> float:
        return float(self.array(value, (), field))

    def optional_number(self, value: Any, field: str) -> float | None:
        return None if value is None else self.number(value, field)

    def positive(self, value: Any, field: str) -> float:
        before = len(self.problems)
        x = self.number(value, field)
        if len(self.problems) == before and x <= 0:
            self.fail(f"{field} {x:g} must be positive")
        return x

    def not_negative(self, value: Any, field: str) -> float:
        x = self.number(value, field)
        if x < 0:
            self.fail(f"{field} {x:g} must not be negative")
        return x

    def direction(self, value: Any, field: str) -> tuple[float, ...]:
        """A direction of any length but zero, made a unit vector."""
        before = len(self.problems)
        v = self.array(value, (3,), field)
        length = float(np.linalg.norm(v))
        if length < 1e-12:
            if len(self.problems) == before:
                self.fail(f"{field} {tuple(v.tolist())} has no length; give a direction such as (0, 0, 1)")
            return (0.0, 0.0, 1.0)
        return tuple((v / length).tolist())

    def optional_direction(self, value: Any, field: str) -> tuple[float, ...] | None:
        return None if value is None else self.direction(value, field)

    def orientation(self, value: Any, field: str) -> tuple[float, ...]:
        """A quaternion (normalized here if it is within one percent of unit length) or a rotation matrix."""
        if np.shape(value) == (3, 3):
            A = self.array(value, (3, 3), field)
            if A.any() and (np.abs(A.T @ A - np.eye(3)).max() > 1e-6 or np.linalg.det(A) < 0):
                self.fail(f"{field} is not a rotation matrix (A^T A = 1, det A = 1); give one, or a quaternion")
                return (1.0, 0.0, 0.0, 0.0)
            return tuple(calc_quaternion(A).tolist()) if A.any() else (1.0, 0.0, 0.0, 0.0)
        before = len(self.problems)
        p = self.array(value, (4,), field)
        length = float(np.linalg.norm(p))
        if abs(length - 1) > 0.01:
            if len(self.problems) == before:
                self.fail(f"{field} {tuple(p.tolist())} has length {length:g}; give a unit quaternion, scalar first")
            return (1.0, 0.0, 0.0, 0.0)
        return tuple((p / length).tolist())

    def inertia(self, value: Any) -> tuple[tuple[float, ...], ...]:
        """Three diagonal entries or a symmetric 3x3 matrix whose principal moments a rigid body can have."""
        before = len(self.problems)
        if np.shape(value) == (3,):
            J = np.diag(self.array(value, (3,), "inertia"))
        else:
            J = self.array(value, (3, 3), "inertia (3 diagonal entries or 3x3)")
        if len(self.problems) == before:
            scale = float(np.abs(J).max())
            if np.abs(J - J.T).max() > 1e-9 * scale:
                self.fail(f"inertia is not symmetric (largest difference {np.abs(J - J.T).max():g}); give J = J^T")
            moments = np.linalg.eigvalsh((J + J.T) / 2)
            listed = "(" + ", ".join(f"{m:g}" for m in moments) + ")"
            if moments[0] <= 1e-14 * scale:
                self.fail(f"inertia has principal moments {listed}; all must be positive")
            elif moments[2] > (moments[0] + moments[1]) * (1 + 1e-6):
                self.fail(
                    f"inertia breaks the triangle inequality: principal moments {listed}, the largest exceeds "
                    "the sum of the others; check the entries and the axes they refer to"
                )
        return tuple(tuple(row) for row in ((J + J.T) / 2).tolist())

    def choice(self, value: Any, allowed: tuple, field: str) -> Any:
        if value not in allowed:
            self.fail(f"{field} {value!r} is not one of {', '.join(map(repr, allowed))}")
        return value

    def function(self, value: Any, arguments: tuple[str, ...], field: str) -> FunctionLike:
        """A number, an expression in the arguments, a table or a callable."""
        try:
            return read_function(value, arguments)
        except FunctionError as error:
            self.fail(f"{field}: {error}")
            return 0.0
