"""The figures of `linkwork bench tlismni` that do not depend on the machine. No test asserts a time."""

from __future__ import annotations

import pytest

from linkwork.bench import tlismni
from linkwork.bench.runs import find_start, run_timed
from linkwork.methods import LOW_ORDER


@pytest.mark.parametrize("name", LOW_ORDER)
def test_orders_are_two_at_any_steps(name):
    for pattern, order in tlismni.measure_orders(name, (400, 800)).items():
        assert order == pytest.approx(2, abs=0.2 if pattern == "random" else 0.05), pattern


@pytest.mark.parametrize("name", tlismni.THEORY)
def test_constants_are_those_of_theory(name):
    assert tlismni.measure_constant(name) == pytest.approx(tlismni.THEORY[name], rel=1e-5)


@pytest.mark.parametrize("machine", tlismni.MACHINES)
def test_simple_iteration_is_bound_and_krylov_is_not(machine):
    build, largest, *_ = tlismni.MACHINES[machine]
    start = find_start(build())
    found = {
        solver: tlismni.count_work(run_timed(start, f"partitioning/park/{solver}", 1e-4, span), span, 0.6 * largest)
        for solver, span in (("fixed_point", 0.01), ("krylov", 0.5))
    }
    assert found["fixed_point"]["h eta rho"] < 1 < 100 < found["krylov"]["h eta rho"]
    assert found["fixed_point"]["restrictions"] > 0.7 > 0 == found["krylov"]["restrictions"]
    assert found["fixed_point"]["steps"] > 500 * found["krylov"]["steps"]
    assert 1 <= found["fixed_point"]["iterations"] < 4 and 1 <= found["krylov"]["iterations"] < 4
