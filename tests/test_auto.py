"""Proves that `auto` begins with the right kind of method, changes it both ways, and changes nothing else.

Machines that turn stiff and back: a clutch that ties a pendulum to a moving shaft for a while, a pendulum pressed into
mud that fills a part of its range, and x' = -k(t) (x - cos t).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from catalogue import list_machines, name_of
from linkwork import _core
from linkwork.methods import STATE_SPACE

EXPLICIT, TIGHT, LOOSE = "adams", "radau5", "bdf"


def build_clutch() -> lw.Model:
    """From 2 s to 6 s a damper, 3000 1/s as an eigenvalue, makes the arm follow a shaft that turns with cos(3 t)."""
    model = lw.models.pendulum(form="planar", angular_velocity=2.0)
    law = "c*(rate - cos(3*t))*(step(t, 2, 0, 2.1, 1) - step(t, 6, 0, 6.1, 1))"
    model.add(lw.RotationalSpring("clutch", on="pin", torque=lw.Expression(law, c=3e3)))
    return model


def build_mud() -> lw.Model:
    """Mud and a pad beyond 0.2 rad; a torque presses the arm into it, and pulls it out from 5 s on."""
    model = lw.models.pendulum(form="planar", angular_velocity=2.0)
    law = "(c*rate + k*(angle - 0.2))*step(angle, 0.2, 0, 0.25, 1) - 60*(1 - 2*step(t, 5, 0, 5.5, 1))"
    model.add(lw.RotationalSpring("mud", on="pin", torque=lw.Expression(law, c=3e3, k=2e4)))
    return model


def list_used(result: lw.Result) -> list[str]:
    return [span.method.split("/")[1] for span in result.methods]


@pytest.fixture(scope="module")
def clutch_exact() -> lw.Result:
    return build_clutch().simulate(10.0, method="partitioning/radau5", rtol=1e-10, atol=1e-10)


# --- both ways --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("formulation", STATE_SPACE)
@pytest.mark.parametrize(("tolerance", "implicit"), [(1e-4, LOOSE), (1e-6, TIGHT)])
def test_it_changes_to_the_implicit_method_and_back_as_a_clutch_closes_and_opens(
    clutch_exact, formulation, tolerance, implicit
):
    model, times = build_clutch(), np.linspace(0, 10, 201)
    runs = {
        name: model.simulate(10.0, method=f"{formulation}/{name}", rtol=tolerance, atol=tolerance)
        for name in ("auto", EXPLICIT, implicit)
    }
    result = runs["auto"]
    assert list_used(result) == [EXPLICIT, implicit, EXPLICIT]
    assert 2.0 < result.methods[1].t_from < 2.2 and 6.0 < result.methods[1].t_to < 8.0
    errors = {
        name: np.abs(run.at(times)["pin"].angle - clutch_exact.at(times)["pin"].angle).max()
        for name, run in runs.items()
    }
    assert errors["auto"] < 3 * max(errors[EXPLICIT], errors[implicit])
    counts = {name: run.statistics.evaluations for name, run in runs.items()}
    assert counts["auto"] < counts[implicit] and counts["auto"] < 0.4 * counts[EXPLICIT]


@pytest.mark.parametrize(("tolerance", "implicit"), [(1e-4, LOOSE), (1e-6, TIGHT)])
def test_it_changes_both_ways_where_the_state_makes_the_motion_stiff(tolerance, implicit):
    model, times = build_mud(), np.linspace(0, 8, 161)
    exact = model.simulate(8.0, method="partitioning/radau5", rtol=1e-10, atol=1e-10).at(times)["pin"].angle
    result = model.simulate(8.0, rtol=tolerance, atol=tolerance)
    assert list_used(result) == [EXPLICIT, implicit, EXPLICIT]
    fixed = model.simulate(8.0, method=f"partitioning/{implicit}", rtol=tolerance, atol=tolerance)
    errors = [np.abs(run.at(times)["pin"].angle - exact).max() for run in (result, fixed)]
    assert errors[0] < 3 * errors[1]
    assert result.statistics.evaluations < fixed.statistics.evaluations


def test_it_changes_both_ways_on_plain_equations():
    def find_k(t):
        return 1e4 if 2 < t < 6 else 1.0

    def calc_rate(t, x):
        return -find_k(t) * (x - np.cos(t))

    found = _core.solve_ode(calc_rate, 0.0, np.array([0.5]), 40.0, "auto", 1e-6, 1e-6)
    assert found["status"] == 0
    assert [span[2] for span in found["methods"]] == [EXPLICIT, TIGHT, EXPLICIT]
    # what the motion tends to, whatever it began with
    t, x = found["t"], found["x"][:, 0]
    for k, settled in ((1e4, (t > 2.1) & (t < 6)), (1.0, t > 25)):
        assert settled.sum() > 2
        assert np.abs(x - (k * k * np.cos(t) + k * np.sin(t)) / (k * k + 1))[settled].max() < 1e-5
    explicit = _core.solve_ode(calc_rate, 0.0, np.array([0.5]), 3.0, "adams", 1e-6, 1e-6)
    assert found["evaluations"] < 0.2 * explicit["evaluations"]  # which has three more stiff seconds to go


def test_a_stiff_spring_that_has_come_to_rest_is_left_to_the_implicit_method():
    # eigenvalues on both sides of critical damping: steps that stability sets are long and short in turn
    for stiffness, damping in ((4e5, 2000.0), (4e4, 200.0), (4e4, 1000.0)):
        model = lw.models.pendulum(form="planar", angular_velocity=2.0, stiffness=stiffness, damping=damping)
        result = model.simulate(20.0)
        assert list_used(result)[-1] == TIGHT
        assert result.statistics.steps < 400  # adams alone: thousands


def test_a_motion_with_jumps_of_the_state_takes_a_one_step_method():
    model = lw.Model("ball")
    model.add(lw.PointMass("ball", mass=1, position=(0, 0, 1)))

    def bounce(state):
        state["ball"].velocity = (0, 0, -0.8 * state["ball"].velocity[2])

    bouncing = lw.Event("touch", "ball.position.z", direction=-1, action=bounce)
    assert list_used(model.simulate(1.0, events=[bouncing])) == ["dopri5"]
    assert list_used(model.simulate(1.0, events=[lw.Event("seen", "ball.position.z")])) == [EXPLICIT]


# --- the beginning ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", list_machines("smooth", without=("stiff",)), ids=name_of)
def test_a_motion_that_is_not_stiff_is_left_to_the_explicit_method_at_hardly_a_cost(case):
    model = case.build()
    result = model.simulate(case.t_end, rtol=1e-6, atol=1e-6)
    assert list_used(result) == [EXPLICIT]
    explicit = model.simulate(case.t_end, method=f"partitioning/{EXPLICIT}", rtol=1e-6, atol=1e-6)
    assert result.statistics.evaluations <= explicit.statistics.evaluations + 30


@pytest.mark.parametrize(("name", "t_end"), [("double_pendulum", 2.0), ("hmmwv", 2.0)])
@pytest.mark.parametrize(("tolerance", "implicit"), [(1e-4, LOOSE), (1e-6, TIGHT)])
def test_stiffness_is_seen_before_the_first_step(name, t_end, tolerance, implicit):
    model = getattr(lw.models, name)(**({"stiff": True} if name == "hmmwv" else {}))
    result = model.simulate(t_end, rtol=tolerance, atol=tolerance)
    assert list_used(result) == [implicit]
    fixed = model.simulate(t_end, method=f"partitioning/{implicit}", rtol=tolerance, atol=tolerance)
    assert result.statistics.evaluations < 1.2 * fixed.statistics.evaluations


def test_a_short_run_of_a_stiff_machine_begins_explicitly():
    assert list_used(lw.models.double_pendulum().simulate(1e-4)) == [EXPLICIT]


# --- what a change leaves alone ---------------------------------------------------------------------------------------
def test_statistics_are_those_of_the_whole_run_and_spans_follow_each_other():
    result = build_clutch().simulate(10.0)
    spans = result.methods
    assert spans[0].t_from == 0.0 and spans[-1].t_to == 10.0
    assert all(before.t_to == after.t_from for before, after in pairwise(spans))
    assert sum(span.steps for span in spans) == result.statistics.steps == len(result.steps.t) - 1
    assert result.statistics.jacobians > 0 and result.statistics.iterations > 0
    assert result.statistics.restarts == result.statistics.repartitions + len(spans) - 1
    assert "adams to 2." in str(result) and "radau5 to" in str(result)


def test_events_outputs_and_callbacks_do_not_notice_a_change(clutch_exact):
    event, seen = lw.Event("through", "pin.angle", direction=0), []
    times = np.linspace(0, 10, 401)
    settings = {"events": [event], "output": times, "rtol": 1e-7, "atol": 1e-7}
    result = build_clutch().simulate(10.0, callback=lambda state: seen.append(state.t), **settings)
    assert list_used(result) == [EXPLICIT, TIGHT, EXPLICIT]
    exact = build_clutch().simulate(10.0, method="partitioning/radau5", events=[event], rtol=1e-10, atol=1e-10)
    assert np.array_equal(result.t, times)
    assert len(result.events) == len(exact.events) > 2
    assert np.allclose([hit.t for hit in result.events], [hit.t for hit in exact.events], atol=1e-5)
    assert np.allclose(result["pin"].angle, clutch_exact.at(times)["pin"].angle, atol=1e-5)
    assert np.array_equal(seen, result.steps.t[1:])
    for span in result.methods[1:]:  # dense output around the change
        around = span.t_from + np.linspace(-0.02, 0.02, 21)
        assert np.allclose(result.at(around)["pin"].angle, clutch_exact.at(around)["pin"].angle, atol=1e-5)


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt, "interrupted"), (ZeroDivisionError, "user_error")])
def test_a_run_that_ends_after_a_change_keeps_what_was_computed(error, status):
    def stop(state):
        if state.t > 4:
            raise error

    result = build_clutch().simulate(10.0, callback=stop)
    assert result.status.name == status
    assert list_used(result) == [EXPLICIT, TIGHT]
    assert result.methods[-1].t_to == result.steps.t[-1] > 4
    assert sum(span.steps for span in result.methods) == result.statistics.steps


# --- choices ----------------------------------------------------------------------------------------------------------
def test_fixed_steps_are_those_of_dopri5_as_long_as_they_are_stable():
    model = lw.models.pendulum(angular_velocity=2.0)
    result, fixed = (model.simulate(1.0, method=f"partitioning/{name}", step=0.01) for name in ("auto", "dopri5"))
    assert list_used(result) == ["dopri5"] and np.array_equal(result.steps._q, fixed.steps._q)
    stiff = lw.models.double_pendulum().simulate(0.1, step=0.001)
    assert list_used(stiff) == [TIGHT] and stiff.status.success


def test_fixed_steps_become_implicit_before_they_blow_up(clutch_exact):
    result = build_clutch().simulate(10.0, step=0.01)
    assert list_used(result) == ["dopri5", TIGHT, "dopri5"]
    assert abs(result["pin"].angle[-1] - clutch_exact["pin"].angle[-1]) < 1e-2


def test_the_solver_of_the_implicit_partner_can_be_chosen():
    model = lw.models.double_pendulum(form="planar")
    result = model.simulate(0.2, method="partitioning/auto/krylov")
    assert [span.method for span in result.methods] == ["partitioning/radau5/krylov"]
    assert result.statistics.jacobians == 0 and result.statistics.krylov_vectors > 0


def test_formulations_of_one_family_of_integrators_keep_their_own():
    assert str(lw.Method.parse("projection/auto")) == str(lw.Method.parse("projection")) == "projection/dopri5"
    with pytest.raises(lw.MethodError, match="no option 'max_order'"):
        lw.Method("partitioning", "auto", max_order=3)


def test_a_fixed_method_reports_itself_for_the_whole_run():
    result = lw.models.pendulum().simulate(0.5, method="projection/dop853")
    assert result.methods == [(0.0, 0.5, "projection/dop853", result.statistics.steps)]
    embedded = lw.models.pendulum().simulate(0.5, method="partitioning/scipy:LSODA")
    assert [span.method for span in embedded.methods] == ["partitioning/scipy:LSODA"]


def test_the_benchmark_compares_auto_with_every_choice_that_is_as_accurate():
    from linkwork.bench import auto

    (row,) = auto.measure_machine("pendulum", {}, (1e-4,), repeats=1, t_end=0.5)
    assert set(row["costs"]) >= {"dopri5", "adams", "radau5"}
    assert row["best"] in row["costs"] and row["spans"][0][0] == EXPLICIT
    assert len(auto.show_row(row)) == 12
