"""Columns differenced together: groups of sparse patterns, and the linearization that they give."""

import numpy as np
import pytest

import linkwork as lw
from catalogue import ELEMENTS, MACHINES, build_everything, name_of
from linkwork import _core
from linkwork.compile import compile_model
from states import random_state

ORDERS = ("natural", "largest_first", "smallest_last", "incidence", "best")


def find_groups(columns, rows, order="best"):
    """The groups, checked: no row depends on two columns of one."""
    groups = _core.group_columns(columns, rows, order)
    assert len(groups) == columns and all(len({groups[j] for j in row}) == len(row) for row in rows)
    return max(groups, default=-1) + 1


@pytest.mark.parametrize("order", ORDERS)
def test_groups_of_simple_patterns_are_as_many_as_the_longest_row(order):
    band = [[j for j in range(i - 1, i + 2) if 0 <= j < 30] for i in range(30)]
    assert find_groups(30, band, order) == 3
    assert find_groups(30, [[i] for i in range(30)], order) == 1
    assert find_groups(7, [list(range(7))], order) == 7
    assert find_groups(0, [], order) == 0
    star = [[0, j] for j in range(1, 20)]
    assert find_groups(20, star, order) == 2


@pytest.mark.parametrize("order", ORDERS)
def test_groups_of_random_patterns_hold_no_two_columns_of_a_row(order):
    random = np.random.default_rng(5)
    for _ in range(10):
        rows = [list(map(int, random.choice(40, size=random.integers(1, 6), replace=False))) for _ in range(50)]
        assert find_groups(40, rows, order) >= max(map(len, rows))


def test_an_order_by_degrees_needs_fewer_groups_where_the_natural_one_is_misled():
    """The crown graph: column i of the left side meets all of the right side but its partner."""
    n = 8
    rows = [[2 * i, 2 * j + 1] for i in range(n) for j in range(n) if i != j]
    assert find_groups(2 * n, rows, "natural") == n
    assert find_groups(2 * n, rows, "incidence") == find_groups(2 * n, rows) == 2


def compare_slopes(model, tolerance):
    compiled = compile_model(model)
    t, q, v, memory = random_state(compiled, 3)
    random = np.random.default_rng(4)
    system = compiled.system
    a, multipliers = random.uniform(-1, 1, system.nv), random.uniform(-1, 1, system.rows)
    exact = _core.slopes(system, t, q, v, memory, a, multipliers)
    differences = _core.slopes(system, t, q, v, memory, a, multipliers, True)
    for name, matrix in exact.items():
        scale = max(1.0, np.abs(matrix).max(initial=0.0))
        worst = np.abs(matrix - differences[name]).max(initial=0.0) / scale
        assert worst < tolerance, f"{name}: relative difference {worst:.2e}"
    return differences


@pytest.mark.parametrize("element", ELEMENTS, ids=name_of)
def test_grouped_differences_of_an_element_are_its_derivatives(element):
    compare_slopes(element.build(), 1e-5)


@pytest.mark.parametrize("case", MACHINES, ids=name_of)
def test_grouped_differences_of_a_machine_are_its_derivatives(case):
    compare_slopes(case.build(), 1e-5)


def test_grouped_differences_of_a_model_with_every_element():
    compare_slopes(build_everything(), 1e-5)


def count_columns(model):
    compiled = compile_model(model)
    return compiled.system.nq + compiled.system.nv + compiled.system.rows


def test_a_long_chain_needs_less_than_a_tenth_of_a_difference_per_unknown():
    chain = lw.models.chain(n=100)
    found = compare_slopes(chain, 1e-5)
    assert found["groups"] == 2 and found["evaluations"] == 1 + 2 * 2 * 3
    assert 10 * found["evaluations"] <= count_columns(chain) + 1


@pytest.mark.parametrize("settings", ({}, {"stiff": True}), ids=("joints", "bushings"))
def test_the_vehicle_needs_less_than_a_third_of_a_difference_per_unknown(settings):
    vehicle = lw.models.hmmwv(**settings)
    found = compare_slopes(vehicle, 1e-5)
    assert found["groups"] == 3 and found["evaluations"] == 1 + 3 * 2 * 6
    assert 3 * found["evaluations"] <= count_columns(vehicle) + 1


def test_a_force_of_the_user_that_raises_while_it_is_differenced_is_told():
    model = lw.Model("one")
    model.add(lw.Body("a", mass=1, inertia=(1, 1, 1)))

    def fail(t, a):
        raise RuntimeError("no more")

    model.add(lw.UserForce("f", ["a"], fail))
    system = compile_model(model).system
    one = np.zeros(6)
    with pytest.raises(Exception, match="no more"):
        _core.slopes(system, 0.0, np.eye(7)[3], one, np.zeros(0), one, np.zeros(0), True)
