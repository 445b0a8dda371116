"""What the core calls: the user's callables behind one interface, ``call(arguments) -> numbers``, results checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import FunctionError
from .rotations import calc_quaternion


@dataclass(frozen=True)
class ScalarCall:
    """A function of separate arguments that returns one number."""

    owner: str
    function: Callable[..., Any]

    def __call__(self, arguments: np.ndarray) -> float:
        value = self.function(*arguments.tolist())
        try:
            return float(value)
        except (TypeError, ValueError):
            raise FunctionError(f"{self.owner}: its function returned {value!r}; return one number") from None


@dataclass(frozen=True)
class ComponentCall:
    """One component of a function of t that returns three numbers."""

    owner: str
    function: Callable[..., Any]
    component: int

    def __call__(self, arguments: np.ndarray) -> float:
        value = self.function(float(arguments[0]))
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            array = np.zeros(0)
        if array.shape != (3,):
            raise FunctionError(f"{self.owner}: its function returned {value!r}; return three numbers")
        return float(array[self.component])


@dataclass(frozen=True)
class BodyState:
    """A body as a user force sees it; everything in ground axes, at the centre of mass."""

    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray

    @property
    def orientation(self) -> np.ndarray:
        """Unit quaternion, scalar first."""
        return calc_quaternion(self.rotation)

    def point(self, s: Sequence[float]) -> np.ndarray:
        """Ground coordinates of the point s given in body coordinates."""
        return self.position + self.rotation @ np.asarray(s, dtype=float)

    def point_velocity(self, s: Sequence[float]) -> np.ndarray:
        return self.velocity + np.cross(self.angular_velocity, self.rotation @ np.asarray(s, dtype=float))


class BodyStates(Mapping[str, BodyState]):
    """The bodies of a user force, by name or by place."""

    def __init__(self, names: tuple[str, ...], states: list[BodyState]):
        self.names, self.states = names, states

    def __getitem__(self, key: str | int) -> BodyState:
        if isinstance(key, int):
            return self.states[key]
        if key not in self.names:
            raise KeyError(f"'{key}' is not among the bodies of this force: {', '.join(self.names)}")
        return self.states[self.names.index(key)]

    def __iter__(self) -> Any:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class WrenchCall:
    """A user force: from t and 18 numbers per body (r, A, r', w) to six per body (force, torque in ground axes)."""

    owner: str
    function: Callable[..., Any]
    names: tuple[str, ...]

    def __call__(self, arguments: np.ndarray) -> np.ndarray:
        rows = np.array(arguments[1:], dtype=float).reshape(len(self.names), 18)
        states = [BodyState(row[:3], row[3:12].reshape(3, 3), row[12:15], row[15:18]) for row in rows]
        value = self.function(float(arguments[0]), BodyStates(self.names, states))
        try:
            return self.read_wrenches(value)
        except (TypeError, ValueError, KeyError):
            raise FunctionError(
                f"{self.owner}: its function returned {value!r}; return per body (force, torque), three numbers each"
            ) from None

    def read_wrenches(self, value: Any) -> np.ndarray:
        out = np.zeros((len(self.names), 2, 3))
        if isinstance(value, Mapping):
            for key, wrench in value.items():
                if key not in self.names:
                    raise KeyError(key)
                out[self.names.index(key)] = np.asarray(wrench, dtype=float)
        else:
            array = np.asarray(value, dtype=float)
            if array.size != out.size:
                raise ValueError(array.shape)
            out[:] = array.reshape(out.shape)
        return out.ravel()
