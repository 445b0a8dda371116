"""Simulate: arguments are checked in one line, starts are projected or refused, events act, and no result is lost."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

import linkwork as lw
from linkwork.hooks import State
from linkwork.run_warnings import find_jumps
from linkwork.simulate import InputError
from linkwork.states import States
from linkwork.status import STATUS_NAMES, build_status


def build_ball(height: float = 1.0) -> lw.Model:
    model = lw.Model("ball", gravity=(0, 0, -9.81))
    model.add(lw.PointMass("ball", 1.0, position=(0, 0, height)))
    return model


def build_pendulum(**options) -> lw.Model:
    return lw.models.pendulum(**options)


def test_a_falling_ball_falls_as_galileo_says() -> None:
    result = build_ball().simulate(1.0, output=[0.0, 0.25, 1.0])
    assert np.array_equal(result.t, [0.0, 0.25, 1.0])
    assert np.allclose(result["ball"].position[:, 2], 1 - 0.5 * 9.81 * result.t**2)
    assert np.allclose(result["ball"].acceleration, (0, 0, -9.81))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"t_end": 0.0}, "t_end = 0 must be later than t_start = 0"),
        ({"t_end": float("nan")}, "t_end = nan must be a finite number"),
        ({"rtol": 0.0}, "rtol = 0.0 must be a finite positive number"),
        ({"atol": {"position": 1e-6}}, "needs the keys 'position' and 'velocity'"),
        ({"atol": (1, 2, 3)}, "must be one number or"),
        ({"step": -1}, "step = -1 must be a finite positive"),
        ({"output": [0, 2]}, r"must lie within \[0, 1\]"),
        ({"output": [0.5, 0.2]}, "ascending"),
        ({"output": "often"}, "must be times or a spacing"),
        ({"initial": "guess"}, "use 'project' or 'refuse'"),
        ({"method": "partitioning/rk4"}, "unknown integrator 'rk4'"),
    ],
)
def test_bad_arguments_are_refused_before_the_first_step(arguments: dict, reason: str) -> None:
    with pytest.raises((InputError, lw.MethodError), match=reason):
        build_ball().simulate(**{"t_end": 1.0, **arguments})


def test_all_bad_arguments_come_at_once() -> None:
    with pytest.raises(InputError, match="rtol") as caught:
        build_ball().simulate(1.0, rtol=-1, step=0, max_steps=-3)
    assert str(caught.value).count(";") == 2


def test_tolerances_steps_and_grids_are_passed_on() -> None:
    model = build_pendulum()
    fixed = model.simulate(1.0, step=0.125)
    assert fixed.statistics.steps == 8 and np.allclose(np.diff(fixed.t), 0.125)
    bounded = model.simulate(1.0, max_step=0.05)
    assert bounded.statistics.largest_step <= 0.05 * 1.02
    spaced = model.simulate(1.0, output=0.25, atol={"position": 1e-8, "velocity": 1e-6}, linear="augmented_dense")
    assert np.allclose(spaced.t, [0, 0.25, 0.5, 0.75, 1.0])
    assert spaced.options["atol"] == (1e-8, 1e-6) and spaced.options["linear"] == "augmented_dense"


def test_an_inconsistent_start_is_projected_with_a_warning_or_refused() -> None:
    model = lw.Model("loose", gravity=(0, 0, 0))
    model.add(lw.Body("arm", 2.0, (1, 1, 1), position=(1, 0, 0), velocity=(1, 1, 0)))
    model.add(lw.Spherical("ball", model.ground, "arm", point=(0, 0, 0)))
    result = model.simulate(0.1)
    assert np.isclose(result.initial_correction.velocity_correction["arm"][1], 0.5)
    assert any("initial state was corrected" in text for text in result.warnings)
    with pytest.raises(lw.AssemblyError, match=r"joint 'ball' is violated by .* and 1 \(per second\)"):
        model.simulate(0.1, initial="refuse")
    assert not build_pendulum().simulate(0.1, initial="refuse").warnings


def test_events_are_recorded_and_stop_the_run() -> None:
    model = build_ball()
    model.add(lw.Event("half", lambda t, state: state["ball"].position[2] - 0.5))
    ground = lw.Event("floor", lambda t, state: state["ball"].position[2], direction=-1, action="stop")
    result = model.simulate(5.0, events=[ground])
    assert [hit.name for hit in result.events] == ["half", "floor"]
    assert np.isclose(result.events[0].t, np.sqrt(1 / 9.81), atol=1e-9)
    assert np.isclose(result.events[0].state["ball"].position[2], 0.5, atol=1e-9)
    assert result.status.name == "stopped" and result.status.success
    assert np.isclose(result.t[-1], np.sqrt(2 / 9.81), atol=1e-9)


def test_a_channel_serves_as_event_function() -> None:
    result = build_ball().simulate(1.0, events=[lw.Event("floor", "ball.position.z", action="stop")])
    assert np.isclose(result.t[-1], np.sqrt(2 / 9.81), atol=1e-9)
    with pytest.raises(lw.ModelError, match=r"'ball.position' is a vector; name a component"):
        build_ball().simulate(1.0, events=[lw.Event("floor", "ball.position")])


def test_an_action_may_change_the_state_and_end_the_run() -> None:
    bounces = []

    def bounce(t: float, state: State) -> None:
        state["ball"].velocity = -0.5 * state["ball"].velocity
        bounces.append(t)
        if len(bounces) == 3:
            state.stop()

    event = lw.Event("floor", lambda t, state: state["ball"].position[2], direction=-1, action=bounce)
    result = build_ball().simulate(10.0, events=[event])
    fall = np.sqrt(2 / 9.81)
    assert np.allclose(bounces, [fall, 2 * fall, 2.5 * fall], atol=1e-8)
    assert result.status.name == "stopped"
    assert np.isclose(result.at(1.5 * fall)["ball"].position[2], 0.25, atol=1e-6), "dense output across the bounce"


def test_a_changed_state_is_brought_back_onto_the_joints() -> None:
    model = build_pendulum(angular_velocity=0.0)

    def kick(t: float, state: State) -> None:
        state["arm"].angular_velocity = (1.0, 0.0, 2.0)

    kicked = model.simulate(0.4, events=[lw.Event("kick", lambda t, state: t - 0.2, action=kick)])
    assert kicked.status.success
    assert kicked.violations.largest_velocity[1] < 1e-8
    after = kicked.at(0.2 + 1e-9)["arm"].angular_velocity
    assert np.isclose(after[2], 2.0, atol=1e-4) and abs(after[0]) < 1e-9


def test_events_follow_angles_over_turns() -> None:
    model = build_pendulum(angular_velocity=20.0)
    event = lw.Event("two turns", lambda t, state: state["pin"].angle - 4 * np.pi, action="stop")
    result = model.simulate(5.0, events=[event], rtol=1e-8, atol=1e-8)
    assert result.status.name == "stopped"
    assert np.isclose(result["pin"].angle[-1], 4 * np.pi, atol=1e-7)


def test_the_callback_sees_every_accepted_step_and_may_stop() -> None:
    seen = []
    result = build_pendulum().simulate(1.0, callback=lambda state: seen.append(state["arm"].position[1]))
    assert len(seen) == result.statistics.steps
    assert np.allclose(seen, result["arm"].position[1:, 1])
    result = build_pendulum().simulate(1.0, callback=lambda state: state.t > 0.3)
    assert result.status.name == "stopped" and 0.3 < result.t[-1] < 1.0


def test_ctrl_c_returns_the_part_computed() -> None:
    def press(state: State) -> None:
        if state.t > 0.3:
            raise KeyboardInterrupt

    result = build_pendulum().simulate(1.0, callback=press)
    assert result.status.name == "interrupted" and not result.status.success
    assert 0.3 < result.t[-1] < 1.0


@pytest.mark.skipif(os.name == "nt", reason="signals to the own process")
def test_a_real_interrupt_ends_a_long_run() -> None:
    timer = threading.Timer(0.4, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    result = build_pendulum().simulate(1e7, rtol=1e-10, atol=1e-10, max_step=1e-3)
    timer.cancel()
    assert result.status.name == "interrupted" and 0 < result.t[-1] < 1e7


def test_what_a_user_function_raises_is_in_the_status() -> None:
    def wind(t: float, bodies: object) -> dict:
        if t > 0.2:
            raise RuntimeError("no wind left")
        return {"ball": ((1, 0, 0), (0, 0, 0))}

    model = build_ball()
    model.add(lw.UserForce("wind", ["ball"], wind))
    result = model.simulate(1.0)
    assert result.status.name == "user_error" and isinstance(result.status.exception, RuntimeError)
    assert "no wind left" in result.status.message and 0 < result.t[-1] <= 0.2
    with pytest.raises(lw.SimulationError, match="no wind left") as caught:
        model.simulate(1.0, raise_on_failure=True)
    assert caught.value.result.t[-1] == result.t[-1]


def test_events_are_records_and_a_single_one_needs_no_list() -> None:
    model = build_pendulum()
    top = lw.Event("low", "arm.position.y", direction=0)
    assert model.simulate(0.1, events=top).status.success
    with pytest.raises(lw.LinkworkError, match=r"events has 'arm.position.y'; give records such as Event"):
        model.simulate(0.1, events="arm.position.y")


def test_the_step_limit_is_a_status_not_an_exception() -> None:
    result = build_pendulum().simulate(10.0, max_steps=5)
    assert result.status.name == "too_many_steps" and "raise max_steps" in result.status.message
    assert len(result.t) >= 2


def test_every_status_has_a_message_with_the_time() -> None:
    for name in STATUS_NAMES:
        status = build_status(name, 1.25)
        assert "1.25" in status.message and status.success == (name in ("success", "stopped"))
    with pytest.raises(ValueError, match="unknown status"):
        build_status("tired", 0.0)


@pytest.mark.parametrize("method", ["partitioning/dopri5", "projection/dop853"])
def test_a_singular_position_between_two_steps_is_told_with_time_and_joints(method: str) -> None:
    model = lw.Model("parallelogram", gravity=(0, -9.81, 0))
    frame, speed = lw.Frame, -6.0
    for name, x in (("crank", 0.0), ("rocker", 2.0)):
        model.add(lw.PlanarBody(name, 1.0, 0.1, (x, 0.5), np.pi / 2, (-0.5 * speed, 0), speed))
    model.add(lw.PlanarBody("coupler", 1.0, 0.1, (1, 1), 0.0, (-speed, 0)))
    model.add(lw.Revolute("A", model.ground, frame("crank", (-0.5, 0, 0))))
    model.add(lw.Revolute("B", frame("crank", (0.5, 0, 0)), frame("coupler", (-1, 0, 0))))
    model.add(lw.Revolute("C", frame("coupler", (1, 0, 0)), frame("rocker", (0.5, 0, 0))))
    model.add(lw.Revolute("D", frame(model.ground, (2, 0, 0)), frame("rocker", (-0.5, 0, 0))))
    result = model.simulate(0.3, method=method, rtol=1e-7, atol=1e-7)
    warning = next(text for text in result.warnings if "singular position" in text)
    flat = float(warning.split("t = ")[1].split(" ")[0])
    assert np.isclose(result.at(flat)["crank"].angle, 0.0, atol=1e-3), "the crank lies along the ground there"
    assert all(f"'{joint}'" in warning for joint in "ABCD")
    assert not model.simulate(0.2, method=method).warnings


def test_a_jump_to_another_branch_is_not_silent() -> None:
    result = lw.models.slider_crank(driven=True).simulate(1.0)
    ends = [0, 1, -2, -1]  # as if a step had led from one end of the motion to the other
    torn = States(result.compiled, result.t[ends], result.q[ends], result.v[ends], result.a[ends], result.lambda_[ends])
    assert find_jumps(result.compiled, result) == []
    (text,) = find_jumps(result.compiled, torn)
    assert "s: the steps are too long" in text and "set max_step" in text


def test_progress_is_silent_unless_asked(capsys) -> None:
    build_pendulum().simulate(0.5)
    assert capsys.readouterr().err == ""
    build_pendulum().simulate(0.5, progress=True)
    assert "pendulum" in capsys.readouterr().err
