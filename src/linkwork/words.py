"""Writes functions into the compiled tables: expressions as words of a stack machine, tables as piecewise cubics.

The words and their meaning are those of ``enum Word`` in ``src/core/kernels/functions.hpp``, in the same order.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

from . import tables as tb
from .errors import FunctionError
from .functions import CONSTANTS, FUNCTIONS, STACK, Expression, FunctionLike, Table, parse_expression


class Word(IntEnum):
    PUSH, LOAD, ADD, SUB, MUL, DIV, NEG, POWER, SIN, COS, TAN, ASIN, ACOS, ATAN, ATAN2 = range(15)
    SINH, COSH, TANH, EXP, LOG, SQRT, ABS, SIGN, MIN, MAX, LESS, LESS_EQUAL, WHERE, STEP, SPLINE = range(15, 30)
    AND, OR, NOT, POWER_INTEGER = range(30, 34)


INDEXED = (Word.PUSH, Word.LOAD, Word.SPLINE, Word.POWER_INTEGER)  # words followed by a number
OPERANDS = {Word.PUSH: 0, Word.LOAD: 0, Word.SPLINE: 1, Word.POWER_INTEGER: 1, Word.NEG: 1, Word.NOT: 1}
OPERANDS |= {word: 2 for word in (Word.ADD, Word.SUB, Word.MUL, Word.DIV, Word.POWER, Word.LESS, Word.LESS_EQUAL)}
OPERANDS |= {Word.AND: 2, Word.OR: 2}
OPERANDS |= {Word[name.upper()]: count for name, (count, _) in FUNCTIONS.items()}

Words = list[int]


class FunctionWriter:
    """Collects the functions of a model; indices it returns refer to ``tables["functions"]``."""

    def __init__(self) -> None:
        self.functions: list[tuple[int, int, int, int]] = []
        self.code: list[int] = []
        self.numbers: list[float] = []
        self.callables: list[Callable[..., Any]] = []

    def add(self, function: FunctionLike, arguments: tuple[str, ...]) -> int:
        """Writes one function of these arguments; a number becomes an expression, a table takes the first argument."""
        if isinstance(function, Table):
            return self.add_table(function)
        if callable(function) and not isinstance(function, Expression):
            return self.add_callable(function, len(arguments))
        return self.add_words(self.build_words(function, arguments), len(arguments), str(function))

    def add_callable(self, function: Callable[..., Any], arguments: int) -> int:
        self.callables.append(function)
        return self._append(tb.FUNCTION_CALLBACK, len(self.callables) - 1, 1, arguments)

    def add_table(self, table: Table) -> int:
        first = len(self.numbers)
        self.numbers.extend(table.x)
        self.numbers.extend(table.calc_coefficients().ravel().tolist())
        kind = tb.FUNCTION_PERIODIC if table.kind == "periodic" else tb.FUNCTION_SPLINE
        return self._append(kind, first, len(table.x), 1)

    def add_words(self, words: Words, arguments: int, text: str) -> int:
        if calc_depth(words) > STACK:
            raise FunctionError(
                f"expression '{text}' nests more than {STACK} operands deep; split it or use a callable"
            )
        first = len(self.code)
        self.code.extend(words)
        return self._append(tb.FUNCTION_EXPRESSION, first, len(words), arguments)

    def _append(self, *record: int) -> int:
        self.functions.append((record[0], record[1], record[2], record[3]))
        return len(self.functions) - 1

    def push(self, number: float) -> Words:
        self.numbers.append(float(number))
        return [Word.PUSH, len(self.numbers) - 1]

    def build_words(self, function: FunctionLike, arguments: tuple[str, ...]) -> Words:
        """Words of a number, an expression or a table of the first argument."""
        if isinstance(function, Table):
            return [Word.LOAD, 0, Word.SPLINE, self.add_table(function)]
        if isinstance(function, str):
            function = Expression(function)
        if isinstance(function, Expression):
            tree = parse_expression(function, arguments)
            return _Translator(self, arguments, function).translate(tree.body)
        return self.push(float(function))  # type: ignore[arg-type]

    def build_tables(self) -> dict[str, np.ndarray]:
        return {
            "functions": np.array(self.functions, dtype=tb.FUNCTION),
            "code": np.array(self.code, dtype=np.int32),
            "numbers": np.array(self.numbers, dtype=float),
        }


def calc_depth(words: Words) -> int:
    """The largest number of operands the words hold at once."""
    depth = deepest = 0
    position = 0
    while position < len(words):
        word = Word(words[position])
        position += 2 if word in INDEXED else 1
        depth += 1 - OPERANDS[word]
        deepest = max(deepest, depth)
    return deepest


class _Translator:
    """Turns a checked syntax tree into words."""

    def __init__(self, writer: FunctionWriter, arguments: tuple[str, ...], expression: Expression):
        self.writer, self.arguments, self.expression = writer, arguments, expression
        self.parameters = dict(expression.parameters)

    def translate(self, node: ast.expr) -> Words:
        if not any(isinstance(part, ast.Name) and part.id in self.arguments for part in ast.walk(node)):
            return self.writer.push(self.calc_constant(node))
        if isinstance(node, ast.Name):
            return [Word.LOAD, self.arguments.index(node.id)]
        if isinstance(node, ast.BinOp):
            return self.translate_binary(node)
        if isinstance(node, ast.UnaryOp):
            words = self.translate(node.operand)
            if isinstance(node.op, ast.UAdd):
                return words
            return [*words, Word.NOT if isinstance(node.op, ast.Not) else Word.NEG]
        if isinstance(node, ast.BoolOp):
            word = Word.AND if isinstance(node.op, ast.And) else Word.OR
            return self.fold([self.translate(value) for value in node.values], word)
        if isinstance(node, ast.IfExp):
            return [*self.translate(node.test), *self.translate(node.body), *self.translate(node.orelse), Word.WHERE]
        if isinstance(node, ast.Compare):
            return self.translate_compare(node)
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        return self.translate_call(node.func.id, node.args)

    def calc_constant(self, node: ast.expr) -> float:
        """A part without arguments is computed here, once."""
        scope: dict[str, Any] = {name: meaning for name, (_, meaning) in FUNCTIONS.items()}
        scope |= {**CONSTANTS, **self.parameters, "__builtins__": {}}
        text = ast.unparse(node)
        try:
            value = float(eval(compile(ast.Expression(node), "<constant>", "eval"), scope))
        except (ArithmeticError, ValueError, TypeError) as error:
            raise FunctionError(f"expression '{self.expression.text}': {text} has no value ({error})") from None
        return value

    def translate_binary(self, node: ast.BinOp) -> Words:
        base = self.translate(node.left)
        if isinstance(node.op, ast.Pow) and not self.uses_arguments(node.right):
            exponent = self.calc_constant(node.right)
            if exponent == int(exponent) and abs(exponent) <= 1000:
                return [*base, Word.POWER_INTEGER, int(exponent)]
        word = {ast.Add: Word.ADD, ast.Sub: Word.SUB, ast.Mult: Word.MUL, ast.Div: Word.DIV, ast.Pow: Word.POWER}
        return [*base, *self.translate(node.right), word[type(node.op)]]  # type: ignore[index]

    def uses_arguments(self, node: ast.expr) -> bool:
        return any(isinstance(part, ast.Name) and part.id in self.arguments for part in ast.walk(node))

    def translate_compare(self, node: ast.Compare) -> Words:
        """a < b <= c is (a < b) and (b <= c); a == b is (a <= b) and (b <= a)."""
        operands = [node.left, *node.comparators]
        pairs = []
        for op, left, right in zip(node.ops, operands[:-1], operands[1:], strict=True):
            a, b = self.translate(left), self.translate(right)
            if isinstance(op, (ast.Lt, ast.LtE)):
                pairs.append([*a, *b, Word.LESS if isinstance(op, ast.Lt) else Word.LESS_EQUAL])
            elif isinstance(op, (ast.Gt, ast.GtE)):
                pairs.append([*b, *a, Word.LESS if isinstance(op, ast.Gt) else Word.LESS_EQUAL])
            else:
                equal = [*a, *b, Word.LESS_EQUAL, *b, *a, Word.LESS_EQUAL, Word.AND]
                pairs.append(equal if isinstance(op, ast.Eq) else [*equal, Word.NOT])
        return self.fold(pairs, Word.AND)

    def translate_call(self, name: str, arguments: list[ast.expr]) -> Words:
        parts = [self.translate(argument) for argument in arguments]
        table = self.parameters.get(name)
        if isinstance(table, Table):
            return [*parts[0], Word.SPLINE, self.writer.add_table(table)]
        if name in ("min", "max"):
            return self.fold(parts, Word[name.upper()])
        return [*(word for part in parts for word in part), Word[name.upper()]]

    @staticmethod
    def fold(parts: list[Words], word: Word) -> Words:
        words = list(parts[0])
        for part in parts[1:]:
            words += [*part, word]
        return words
