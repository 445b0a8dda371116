"""Proves that the user's functions mean the same in Python and in the core, with derivatives, and refuse the rest."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import linkwork as lw
from linkwork.compile import compile_model
from linkwork.functions import STACK, calc_value, read_function
from linkwork.words import FUNCTIONS, FunctionWriter, Word, calc_depth

SMOOTH = [
    "1", "t", "-t", "+t", "2*t**3 - t/3 + 1", "t**-2", "t**0.5", "t**t", "2**t", "pi*e*t", "sin(t)", "cos(2*t)",
    "tan(t/3)", "asin(t/4)", "acos(t/4)", "atan(t)", "atan2(t, 2 - t)", "sinh(t)", "cosh(t)", "tanh(t)", "exp(-t)",
    "log(t)", "sqrt(t)", "abs(t - 2)", "sign(t - 2)*t", "min(t, t**2, 1.1)", "max(t, 2 - t)",
    "where(t < 2, t**2, 4*t - 4)", "step(t, 0.3, 1, 2.5, -2)", "t**2 if 1 < t <= 1.5 else -t",
    "(t > 1 and t >= 1.2) or not t < 0.5", "t == 1", "t != 1", "sin(t)*exp(-0.3*t) + step(t, 0, 0, 1, 1)*max(t, 0.2)",
    "(t and 0) + 1",
]  # fmt: skip


def build_system(function):
    """One planar body with x = function(t): the row is x - f, its velocity target f', its gamma f''."""
    model = lw.Model("probe")
    body = model.add(lw.PlanarBody("body", mass=1, inertia=1))
    model.add(lw.Driver("drive", on="body.x", function=function))
    compiled = compile_model(model)
    zero = np.zeros(3)

    def calc(t):
        system, memory = compiled.system, compiled.memory
        row = system.constraints(t, zero, memory)[0]
        return -row, system.velocity_target(t, zero, memory)[0], system.gamma(t, zero, zero, memory)[0]

    assert body.name == "body"
    return calc


@pytest.mark.parametrize("text", SMOOTH)
def test_an_expression_has_the_value_and_derivatives_of_its_formula_in_the_core(text):
    f, core = lw.Expression(text), build_system(text)
    h = 1e-4
    for t in (0.37, 1.13, 1.91, 2.71):
        value, rate, bend = core(t)
        low, here, high = (f(t=x) for x in (t - h, t, t + h))
        assert value == pytest.approx(here, rel=1e-14, abs=1e-14)
        assert rate == pytest.approx((high - low) / (2 * h), rel=1e-6, abs=1e-6)
        assert bend == pytest.approx((high - 2 * here + low) / h**2, rel=1e-4, abs=1e-5)


def test_every_function_of_the_language_is_used_by_these_tests():
    assert all(any(name + "(" in text for text in SMOOTH) for name in FUNCTIONS)


def test_parts_without_arguments_are_computed_once():
    words = FunctionWriter().build_words("sin(pi/6)*2*t", ("t",))
    assert words == [Word.PUSH, 0, Word.LOAD, 0, Word.MUL]


def test_parameters_may_be_numbers_and_tables():
    table = lw.Table((0, 1, 3), (0, 1, 9), "linear")
    f = lw.Expression("A*road(t) + B", A=2, B=-1, road=table)
    assert f(t=2.0) == 2 * 5 - 1
    assert build_system(f)(2.0) == pytest.approx((9, 8, 0))


@pytest.mark.parametrize("kind", ["not-a-knot", "natural", "linear", "periodic"])
def test_a_table_is_the_same_function_in_python_and_in_the_core(kind):
    x = np.array([0.0, 0.5, 1.2, 2.0, 3.1])
    y = np.array([1.0, -0.3, 0.8, 2.0, 1.0])
    table = lw.Table(x, y, kind)
    core = build_system(table)
    for t in (*x, 0.2, 1.7, 3.0, -0.8, 3.9, 7.3):
        assert core(t)[0] == pytest.approx(table(t), rel=1e-13, abs=1e-13)
    for t, value in zip(x, y, strict=True):
        assert table(t) == pytest.approx(value, abs=1e-14)
    if kind in ("not-a-knot", "natural"):
        assert table(1.7) == pytest.approx(CubicSpline(x, y, bc_type=kind)(1.7), rel=1e-14)
    if kind == "periodic":
        assert table(0.2) == pytest.approx(table(0.2 - 2 * 3.1), rel=1e-12)
    else:
        ends = table(4.1) - table(3.6), table(5.1) - table(4.6)
        assert ends[0] == pytest.approx(ends[1], rel=1e-12), "a table goes on as a straight line"


def test_a_callable_is_differenced_for_its_derivatives():
    value, rate, bend = build_system(lambda t: math.sin(3 * t))(0.4)
    assert value == math.sin(3 * 0.4)
    assert rate == pytest.approx(3 * math.cos(1.2), abs=1e-9)
    assert bend == pytest.approx(-9 * math.sin(1.2), abs=1e-5)


def test_expressions_may_be_as_deep_as_the_stack_and_no_deeper():
    def nest(depth):
        return "max(t, " * (depth - 1) + "t" + ")" * (depth - 1)

    writer = FunctionWriter()
    assert calc_depth(writer.build_words(nest(STACK), ("t",))) == STACK
    assert build_system(nest(STACK))(1.5)[0] == 1.5
    with pytest.raises(lw.FunctionError, match="nests more than 32"):
        writer.add(nest(STACK + 1), ("t",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("x + 1", "unknown name 'x'; allowed names: t, pi, e"),
        ("sn(t)", "unknown function 'sn'; did you mean 'sin'"),
        ("sin", "'sin' is a function; call it"),
        ("sin(t, 2)", "sin takes 1 argument, 2 given"),
        ("t^2", "write \\*\\*"),
        ("t.real", "'t.real' is not allowed"),
        ("[t]", "is not allowed"),
        ("lambda: t", "is not allowed"),
        ("__import__('os')", "unknown function '__import__'"),
        ("sin t", "is not a formula"),
        ("sin(x=t)", "plain arguments"),
        ("'a'", "is not a finite number"),
        ("1e999", "is not a finite number"),
    ],
)
def test_what_is_not_in_the_language_is_refused_by_name(text, message):
    with pytest.raises(lw.FunctionError, match=message):
        read_function(text, ("t",))


def test_a_constant_part_without_a_value_is_refused():
    with pytest.raises(lw.FunctionError, match="1 / 0 has no value"):
        FunctionWriter().add("t + 1/0", ("t",))


@pytest.mark.parametrize(
    ("x", "y", "kind", "message"),
    [
        ((0, 1), (0, 1, 2), "linear", "one length"),
        ((0,), (0,), "linear", "at least 2"),
        ((0, 0, 1), (0, 1, 2), "linear", "must increase, but 0 follows 0 at entry 1"),
        ((0, 1, math.nan), (0, 1, 2), "linear", "NaN"),
        ((0, 1, 2), (0, 1, 2), "periodic", "end as it begins"),
        ((0, 1, 2), (0, 1, 2), "lineer", "did you mean 'linear'"),
        (("a",), (0,), "linear", "lists of numbers"),
    ],
)
def test_bad_tables_are_refused(x, y, kind, message):
    with pytest.raises(lw.FunctionError, match=message):
        lw.Table(x, y, kind)


def test_bad_functions_are_refused():
    with pytest.raises(lw.FunctionError, match="not a number, an expression, a table"):
        read_function([1, 2, 3], ("t",))
    with pytest.raises(lw.FunctionError, match="not finite"):
        read_function(math.inf, ("t",))
    with pytest.raises(lw.FunctionError, match="hides a built-in"):
        lw.Expression("sin*t", sin=2)
    with pytest.raises(lw.FunctionError, match="parameter 'A' 'x' is not a number"):
        lw.Expression("A*t", A="x")


def test_values_in_python_for_every_kind_of_function():
    for function in (3, "3*t", lw.Expression("a*t", a=3), ((0, 2), (0, 6)), lambda t: 3 * t):
        assert calc_value(read_function(function, ("t",)), ("t",), (1.0,)) == pytest.approx(3)


def test_functions_survive_pickling():
    for f in (lw.Expression("A*t", A=2), lw.Table((0, 1, 2), (0, 1, 4))):
        assert pickle.loads(pickle.dumps(f)) == f
