"""Scalar functions of the user: numbers, expression strings, tables and Python callables.

An expression is parsed with Python's own grammar, restricted to arithmetic, and becomes a list of words for the stack
machine in ``src/core/kernels/expressions.hpp``, which also differentiates it. A table becomes a piecewise cubic. A
callable stays Python and is differenced where a derivative is needed.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from .errors import FunctionError, suggest

STACK = 32  # operands an expression may hold at once: expression_stack in kernels/expressions.hpp

CONSTANTS = {"pi": math.pi, "e": math.e}


def _step(x: float, x0: float, h0: float, x1: float, h1: float) -> float:
    d = min(max((x - x0) / (x1 - x0), 0.0), 1.0)
    return h0 + (h1 - h0) * d * d * (3 - 2 * d)


def _sign(x: float) -> float:
    return float((x > 0) - (x < 0))


def _where(condition: float, then: float, otherwise: float) -> float:
    return then if condition else otherwise


# name: (number of arguments, meaning); min and max take two or more
FUNCTIONS: dict[str, tuple[int, Callable[..., float]]] = {
    "sin": (1, math.sin), "cos": (1, math.cos), "tan": (1, math.tan),
    "asin": (1, math.asin), "acos": (1, math.acos), "atan": (1, math.atan), "atan2": (2, math.atan2),
    "sinh": (1, math.sinh), "cosh": (1, math.cosh), "tanh": (1, math.tanh),
    "exp": (1, math.exp), "log": (1, math.log), "sqrt": (1, math.sqrt), "abs": (1, abs), "sign": (1, _sign),
    "min": (2, min), "max": (2, max), "where": (3, _where), "step": (5, _step),
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A function given by points: ``Table(x, y, kind="not-a-knot")``.

    ``kind`` is "not-a-knot" or "natural" (cubic splines), "linear", or "periodic" (first and last value equal). Outside
    its points a table goes on as the straight line of its end slope; a periodic one starts over.
    """

    x: Sequence[float]
    y: Sequence[float]
    kind: str = "not-a-knot"

    def __post_init__(self) -> None:
        try:
            x, y = np.asarray(self.x, dtype=float), np.asarray(self.y, dtype=float)
        except (TypeError, ValueError):
            raise FunctionError("a table needs two lists of numbers x and y") from None
        if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
            raise FunctionError(f"a table needs x and y of one length, at least 2; they have {x.shape} and {y.shape}")
        if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
            raise FunctionError("a table contains NaN or infinity; give finite numbers")
        if np.any(np.diff(x) <= 0):
            i = int(np.argmax(np.diff(x) <= 0))
            raise FunctionError(f"a table's x must increase, but {x[i + 1]:g} follows {x[i]:g} at entry {i + 1}")
        kinds = ("not-a-knot", "natural", "linear", "periodic")
        if self.kind not in kinds:
            raise FunctionError(f"table kind {self.kind!r} is unknown; {suggest(str(self.kind), kinds, 'kinds')}")
        if self.kind == "periodic" and not math.isclose(y[0], y[-1], rel_tol=1e-9, abs_tol=1e-12):
            raise FunctionError(f"a periodic table must end as it begins, but y goes from {y[0]:g} to {y[-1]:g}")
        object.__setattr__(self, "x", tuple(x.tolist()))
        object.__setattr__(self, "y", tuple(y.tolist()))
        object.__setattr__(self, "_coefficients", self._find_coefficients())

    def calc_coefficients(self) -> np.ndarray:
        """Coefficients c0..c3 of each interval in ascending powers of (x - x_i), shape (n - 1, 4)."""
        return self._coefficients  # type: ignore[attr-defined, no-any-return]

    def _find_coefficients(self) -> np.ndarray:
        x, y = np.array(self.x), np.array(self.y)
        if self.kind == "periodic":
            y[-1] = y[0]
        if self.kind == "linear" or len(x) == 2:
            c = np.zeros((len(x) - 1, 4))
            c[:, 0], c[:, 1] = y[:-1], np.diff(y) / np.diff(x)
            return c
        return np.ascontiguousarray(CubicSpline(x, y, bc_type=self.kind).c[::-1].T)

    def __call__(self, x: float) -> float:
        knots, c = np.array(self.x), self.calc_coefficients()
        if self.kind == "periodic":
            x = knots[0] + (x - knots[0]) % (knots[-1] - knots[0])
        i = int(np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2))
        d, width = x - knots[i], knots[-1] - knots[-2]
        if d < 0:
            return float(c[0, 0] + c[0, 1] * d)
        if x > knots[-1]:
            end = np.polyval(c[-1][::-1], width)
            return float(end + np.polyval((3 * c[-1, 3], 2 * c[-1, 2], c[-1, 1]), width) * (x - knots[-1]))
        return float(np.polyval(c[i][::-1], d))


@dataclass(frozen=True, init=False)
class Expression:
    """A formula as text with named numbers and tables: ``Expression("A*sin(w*t)", A=2, w=3)``.

    Operators + - * / **, comparisons, and, or, not, ``a if c else b``; constants pi and e; functions sin cos tan asin
    acos atan atan2 sinh cosh tanh exp log sqrt abs sign min max, where(c, a, b) and step(x, x0, h0, x1, h1). A
    parameter that is a ``Table`` is called like a function.
    """

    text: str
    parameters: tuple[tuple[str, float | Table], ...]

    def __init__(self, text: str, /, **parameters: float | Table):
        if not isinstance(text, str) or not text.strip():
            raise FunctionError(f"expression {text!r} is empty or not a string; give a formula such as '2*sin(t)'")
        for key, value in parameters.items():
            if key in FUNCTIONS or key in CONSTANTS:
                raise FunctionError(f"expression '{text}': parameter '{key}' hides a built-in name; rename it")
            if not isinstance(value, Table):
                _finite(value, f"expression '{text}': parameter '{key}'")
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "parameters", tuple(parameters.items()))

    def __call__(self, **arguments: float) -> float:
        """The value for arguments given by name, computed in Python."""
        tree = parse_expression(self, tuple(arguments))
        known = {name: meaning for name, (_, meaning) in FUNCTIONS.items()}
        scope: dict[str, Any] = {**known, **CONSTANTS, **dict(self.parameters), **arguments, "__builtins__": {}}
        return float(eval(compile(tree, "<expression>", "eval"), scope))  # only the grammar checked by _Checker


FunctionLike = float | str | Expression | Table | Callable[..., Any]


def _finite(value: Any, what: str) -> float:
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise FunctionError(f"{what} {value!r} is not a number") from None
    if not math.isfinite(x):
        raise FunctionError(f"{what} {value!r} is not finite")
    return x


def read_function(value: Any, arguments: tuple[str, ...]) -> FunctionLike:
    """Normalizes what the user gave for a function of these arguments; pairs (x, y) become tables."""
    if isinstance(value, str):
        value = Expression(value)
    if isinstance(value, Expression):
        parse_expression(value, arguments)
        return value
    if isinstance(value, Table) or callable(value):
        return value
    if isinstance(value, (tuple, list)) and len(value) == 2 and np.ndim(value[0]) == 1:
        return Table(*value)
    if np.ndim(value) == 0:
        return _finite(value, "the value")
    raise FunctionError(f"{value!r} is not a number, an expression, a table (x, y) or a callable")


def calc_value(function: FunctionLike, arguments: tuple[str, ...], values: Sequence[float]) -> float:
    """The function's value in Python, for initial guesses and reports."""
    if isinstance(function, str):
        function = Expression(function)
    if isinstance(function, Expression):
        return function(**dict(zip(arguments, values, strict=True)))
    if isinstance(function, Table):
        return function(values[0])
    return float(function(*values)) if callable(function) else float(function)


# --- grammar --------------------------------------------------------------------------------------------------------

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "power"}
_COMPARE = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_UNARY = (ast.USub, ast.UAdd, ast.Not)


def parse_expression(expression: Expression, arguments: tuple[str, ...]) -> ast.Expression:
    """The syntax tree of an expression that uses only the allowed grammar and names."""
    text = expression.text
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        column = error.offset or 0
        raise FunctionError(f"expression '{text}' is not a formula: {error.msg} at character {column}") from None
    _Checker(text, arguments, dict(expression.parameters)).check(tree.body)
    return tree


class _Checker:
    """Walks a tree and raises at the first word that is not part of the language."""

    def __init__(self, text: str, arguments: tuple[str, ...], parameters: dict[str, float | Table]):
        self.text, self.arguments, self.parameters = text, arguments, parameters

    def fail(self, what: str) -> FunctionError:
        return FunctionError(f"expression '{self.text}': {what}")

    def check(self, node: ast.expr) -> None:
        if isinstance(node, ast.Call):
            return self.check_call(node)
        if isinstance(node, ast.Name):
            return self.check_name(node.id)
        if isinstance(node, ast.Constant):
            if isinstance(node.value, (bool, int, float)) and math.isfinite(float(node.value)):
                return None
            raise self.fail(f"{node.value!r} is not a finite number")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
            raise self.fail("'^' is not a power; write **")
        known = (
            (isinstance(node, ast.BinOp) and type(node.op) in _BINARY)
            or (isinstance(node, ast.UnaryOp) and isinstance(node.op, _UNARY))
            or (isinstance(node, ast.Compare) and all(isinstance(op, _COMPARE) for op in node.ops))
            or isinstance(node, (ast.BoolOp, ast.IfExp))
        )
        if not known:
            part = ast.get_source_segment(self.text.strip(), node) or type(node).__name__
            raise self.fail(f"'{part}' is not allowed; use + - * / **, comparisons, and, or, not, if-else, functions")
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.check(child)
        return None

    def check_name(self, name: str) -> None:
        if name in self.arguments or name in CONSTANTS:
            return
        if name in FUNCTIONS or isinstance(self.parameters.get(name), Table):
            raise self.fail(f"'{name}' is a function; call it as {name}(...)")
        if name not in self.parameters:
            allowed = [*self.arguments, *CONSTANTS, *self.parameters]
            raise self.fail(
                f"unknown name '{name}'; allowed names: {', '.join(allowed)}; functions: {', '.join(FUNCTIONS)}"
            )

    def check_call(self, node: ast.Call) -> None:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self.fail("call functions by their plain name with plain arguments, as in sin(t)")
        name, given = node.func.id, len(node.args)
        if isinstance(self.parameters.get(name), Table):
            count = 1
        elif name in FUNCTIONS:
            count = FUNCTIONS[name][0]
        else:
            tables = [key for key, value in self.parameters.items() if isinstance(value, Table)]
            raise self.fail(f"unknown function '{name}'; {suggest(name, [*FUNCTIONS, *tables], 'functions')}")
        if given != count and not (name in ("min", "max") and given > 2):
            raise self.fail(f"{name} takes {count} argument{'s' if count > 1 else ''}, {given} given")
        for argument in node.args:
            self.check(argument)


__all__ = ["Expression", "FunctionLike", "Table", "calc_value", "parse_expression", "read_function"]
