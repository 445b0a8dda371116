"""Proves that jumps of forces that nobody announced are found where they are, with fewer evaluations and no loss of
accuracy, and are not seen where there are none.

The pendulum of the gallery with a torque that jumps: with time, where the arm passes an angle, where its rate changes
sign.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from catalogue import list_machines, name_of
from linkwork.bench.discontinuities import JUMPS, build_jumping, calc_error, find_exact, measure_jumps

# integrator and the part of the evaluations that is left, at most; the multistep ones cross a jump cheaply anyway
INTEGRATORS = {"dopri5": 0.8, "dop853": 0.65, "rodas": 0.9, "radau5": 0.9, "adams": 1.01, "bdf": 1.0, "auto": 1.01}


def build_pendulum(law: str, **parameters: float) -> lw.Model:
    model = lw.models.pendulum(form="planar", angular_velocity=2.0)
    model.add(lw.RotationalSpring("jump", on="pin", torque=lw.Expression(law, **parameters)))
    return model


def run_both(model: lw.Model, method: str, tolerance: float = 1e-6) -> list[lw.Result]:
    """With and without the search."""
    return [
        model.simulate(5.0, method=method, rtol=tolerance, atol=tolerance, discontinuities=wanted)
        for wanted in (True, False)
    ]


@pytest.fixture(scope="module", params=JUMPS)
def jumping(request) -> tuple[str, lw.Model, lw.Result]:
    model = build_jumping(request.param)
    return request.param, model, find_exact(model)


# --- found, cheaper, as accurate --------------------------------------------------------------------------------------
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_jumps_are_found_where_they_are_and_save_evaluations(jumping, integrator):
    kind, model, exact = jumping
    found, blind = run_both(model, f"partitioning/{integrator}")
    assert found.statistics.discontinuities == len(found.discontinuities) >= 3
    assert blind.statistics.discontinuities == 0 and blind.discontinuities == []
    for t in found.discontinuities:
        state = found.at(t)
        if kind == "time":
            assert abs(math.remainder(t, math.pi / 6)) < 1e-6
        elif kind == "angle":
            assert state["pin"].angle == pytest.approx(-0.3, abs=1e-5)
        else:
            assert state["pin"].rate == pytest.approx(0.0, abs=1e-4)
    assert found.statistics.evaluations < INTEGRATORS[integrator] * blind.statistics.evaluations
    assert found.statistics.rejected < blind.statistics.rejected
    assert calc_error(found, exact) < max(2 * calc_error(blind, exact), 1e-5)


def test_at_equal_error_the_search_saves_more():
    """What adams needs for an error of 1e-5 at the end of nine jumps: a hundred times tighter steps without it."""
    model = build_jumping("time")
    exact = find_exact(model)

    def count_evaluations(wanted: bool) -> int:
        for tolerance in 10.0 ** np.arange(-4, -12, -0.5):
            result = model.simulate(
                5.0, method="partitioning/adams", rtol=tolerance, atol=tolerance, discontinuities=wanted
            )
            if calc_error(result, exact) < 1e-5:
                return result.statistics.evaluations
        raise AssertionError("the error was not reached")

    assert count_evaluations(True) < 0.8 * count_evaluations(False)


@pytest.mark.parametrize("method", ["index1/dopri5", "projection/dop853", "recursive/adams", "tangent_plane/radau5"])
def test_other_formulations_find_them_too(method):
    model = build_jumping("time")
    found, blind = run_both(model, method)
    assert len(found.discontinuities) >= 7
    assert all(abs(math.remainder(t, math.pi / 6)) < 1e-6 for t in found.discontinuities)
    assert found.statistics.rejected < blind.statistics.rejected
    exact = find_exact(model)
    assert calc_error(found, exact) < max(2 * calc_error(blind, exact), 1e-5)


@pytest.mark.parametrize("method", ["index2/phem56", "index2/radau5", "ggl/bdf"])
def test_jumps_of_multipliers_are_crossed(method):
    model = build_jumping("time")
    found, blind = run_both(model, method)
    assert len(found.discontinuities) >= 3
    exact = find_exact(model)
    assert calc_error(found, exact) < max(2 * calc_error(blind, exact), 1e-4)


def test_a_force_in_python_may_jump():
    model = lw.Model("ball", gravity=(0, 0, 0))
    model.add(lw.PointMass("ball", mass=1.0, position=(0, 0, 0), velocity=(1, 0, 0)))
    model.add(
        lw.UserForce(
            "field", ("ball",), lambda t, s: {"ball": ((5.0 if s["ball"].position[0] > 1 else 0.0, 0, 0), (0, 0, 0))}
        )
    )
    found, blind = (
        model.simulate(2.0, method="partitioning/dopri5", rtol=1e-8, atol=1e-8, max_step=0.3, discontinuities=wanted)
        for wanted in (True, False)
    )
    assert found.discontinuities == pytest.approx([1.0], abs=1e-7)
    assert found["ball"].position[-1, 0] == pytest.approx(1 + 1 + 2.5, abs=1e-6)
    assert found.statistics.evaluations < blind.statistics.evaluations


def test_kinks_are_found_where_the_order_is_high():
    model = build_pendulum("-k*max(-0.3 - angle, 0)", k=400.0)
    exact = find_exact(model)
    found, blind = run_both(model, "partitioning/dop853")
    assert len(found.discontinuities) >= 6
    for t in found.discontinuities:
        assert exact.at(t)["pin"].angle == pytest.approx(-0.3, abs=1e-3)
    assert found.statistics.evaluations < 0.85 * blind.statistics.evaluations
    assert calc_error(found, exact) < max(2 * calc_error(blind, exact), 1e-5)
    # methods of order 5 step over them, and lose a few evaluations to the question
    for integrator in ("dopri5", "adams", "radau5"):
        found, blind = run_both(model, f"partitioning/{integrator}")
        assert found.statistics.evaluations < 1.1 * blind.statistics.evaluations


# --- nothing else -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", list_machines("smooth"), ids=name_of)
def test_smooth_machines_give_no_false_alarm(case):
    model = case.build()
    for integrator in ("dopri5", "dop853", "adams", "radau5", "bdf"):
        for tolerance in (1e-3, 1e-6):
            result = model.simulate(case.t_end, method=f"partitioning/{integrator}", rtol=tolerance, atol=tolerance)
            assert result.discontinuities == [], (integrator, tolerance)


def test_events_and_outputs_near_a_jump_are_neither_lost_nor_doubled():
    model, first = build_jumping("time"), math.pi / 6
    around = [lw.Event(f"at {k}", lambda t, state, k=k: t - first - 1e-5 * k, direction=0) for k in (-1, 0, 1)]
    times = np.sort([*np.linspace(0, 1, 21), first - 1e-6, first, first + 1e-6])
    seen: list[float] = []
    result = model.simulate(
        1.0, method="partitioning/dopri5", events=around, output=times, callback=lambda state: seen.append(state.t)
    )
    assert len(result.discontinuities) == 1 and result.discontinuities[0] == pytest.approx(first, abs=1e-6)
    assert [hit.name for hit in result.events] == ["at -1", "at 0", "at 1"]
    assert np.array_equal(result.t, times)
    # one row more: the state just before the jump, of no step of its own
    rows = result.steps.t[1:]
    assert np.array_equal(seen, rows[np.append(np.diff(rows) > 1e-6, True)])
    assert len(seen) == result.statistics.steps == len(rows) - 1


def test_dense_output_before_a_jump_or_a_kink_knows_nothing_of_what_is_behind():
    model = build_jumping("time")
    exact = find_exact(model)
    found = model.simulate(5.0, method="partitioning/dop853", rtol=1e-10, atol=1e-10, max_step=0.05)
    before = found.discontinuities[3] - np.array([1e-3, 5e-3, 1e-2])
    assert np.allclose(found.at(before)["pin"].angle, exact.at(before)["pin"].angle, atol=1e-7)
    # the wheels of the vehicle meet the foot of the bump at 0.5 s, where the force of their dampers jumps
    vehicle, times = lw.models.hmmwv(), np.linspace(0.47, 0.5, 7)
    runs = [
        vehicle.simulate(0.6, method="partitioning/radau5", rtol=tolerance, atol=tolerance, max_step=longest)
        for tolerance, longest in ((1e-9, 0.1), (1e-10, 1e-3))
    ]
    heights = [run.at(times)["WHEEL_FL"].position[:, 2] for run in runs]
    assert np.allclose(*heights, atol=1e-7)


@pytest.mark.parametrize("tolerance", (1e-3, 1e-4, 1e-5, 1e-8))
@pytest.mark.parametrize("integrator", ("dopri5", "adams", "radau5"))
def test_the_search_costs_little_where_it_is_of_no_use(integrator, tolerance):
    found, blind = run_both(build_jumping("rate"), f"partitioning/{integrator}", tolerance)
    assert found.statistics.evaluations < 1.1 * blind.statistics.evaluations


def test_the_search_is_told_switched_off_and_checked():
    model = build_jumping("time")
    found, blind = run_both(model, "auto")
    assert "discontinuities at t = 0.523599, 1.0472" in str(found) and "and 3 more" in str(found)
    assert "discontinuities" not in str(blind)
    assert found.options["discontinuities"] is True and blind.options["discontinuities"] is False
    assert model.simulate(5.0, step=0.01).discontinuities == []
    with pytest.raises(ValueError, match="discontinuities = 3 must be True or False"):
        model.simulate(1.0, discontinuities=3)


def test_the_benchmark_counts_both_ways():
    rows = measure_jumps("rate")
    assert all(len(row["without"]) + 1 == len(row["with"]) == 4 for row in rows.values())
    assert rows["dop853"]["with"][0] < rows["dop853"]["without"][0]
