"""Events with every formulation: located, filtered, combined, acted on; nothing is triggered twice or lost."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.hooks import State
from linkwork.methods import LEGAL

G = 9.81
METHODS = [
    f"{formulation}/{integrator}"
    for formulation, integrators in LEGAL.items()
    for integrator in ("dopri5", "dop853", "adams", "phem56")
    if integrator in integrators
]
METHODS += ["partitioning/radau5", "partitioning/sdirk4", "tangent_plane/bdf", "recursive/bdf"]


def build_ball(height: float = 1.0, sideways: float = 0.3) -> lw.Model:
    model = lw.Model("ball", gravity=(0, 0, -G))
    model.add(lw.PointMass("ball", 2.0, position=(0, 0, height), velocity=(sideways, 0, 0)))
    return model


def build_swing(form: str = "planar", speed: float = 0.0) -> lw.Model:
    """A pendulum beginning level, and a second one hung from its tip."""
    return lw.models.double_pendulum(form=form, angular_velocity=speed, stiffness=(0.0, 0.0), damping=(0.0, 0.0))


def bounce_off(restitution: float):
    def bounce(t: float, state: State) -> None:
        v = np.array(state["ball"].velocity)
        v[2] *= -restitution
        state["ball"].velocity = v

    return bounce


# --- actions ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
def test_a_bouncing_ball_loses_what_restitution_says(method: str) -> None:
    """Thirty bounces: times, heights, energy and momentum against the closed form."""
    e, height, count = 0.9, 1.0, 30
    floor = lw.Event("floor", lambda t, state: state["ball"].position[2], direction=-1, action=bounce_off(e))
    fall = np.sqrt(2 * height / G)
    impacts = fall * (1 + 2 * e * (1 - e ** np.arange(count)) / (1 - e))
    t_end = impacts[-1] + 0.5 * fall * e**count
    result = build_ball(height).simulate(t_end, method=method, rtol=1e-9, atol=1e-10, events=[floor])
    assert result.status.success and not result.warnings
    assert len(result.events) == count
    assert np.allclose([hit.t for hit in result.events], impacts, atol=1e-7)
    # energy falls by e^2 at each bounce, momentum along the floor stays
    energy = result.energy.total
    bounces = np.flatnonzero(np.diff(result.t) == 0.0)
    assert len(bounces) == count, "the state after a bounce is stored at the same time as the one before"
    start = energy[0] - 0.5 * 2.0 * 0.3**2
    expected = start * e ** (2.0 * np.searchsorted(bounces, np.arange(result.count), side="left"))
    assert np.allclose(energy - 0.5 * 2.0 * 0.3**2, expected, atol=1e-6)
    assert np.allclose(result.momentum.linear[:, 0], 0.6, atol=1e-12)
    # the peak between two bounces by dense output
    assert result.at(impacts[4] + fall * e**5)["ball"].position[2] == pytest.approx(height * e**10, abs=1e-6)


def test_bounces_that_accumulate_are_told() -> None:
    """Infinitely many bounces within 1.35 s: after the last that can be told apart, the ball falls through."""
    floor = lw.Event("floor", "ball.position.z", direction=-1, action=bounce_off(0.5))
    result = build_ball().simulate(5.0, events=[floor])
    rest = 3 * np.sqrt(2 / G)
    assert len(result.events) > 10
    assert all(hit.t < rest + 1e-3 for hit in result.events)
    (text,) = result.warnings
    assert "'floor'" in text and "state.stop()" in text
    t = float(text.split("t = ")[1].split(" ")[0])
    assert t == pytest.approx(rest, abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_a_stop_is_exact_and_ends_the_record(method: str) -> None:
    model = build_swing()
    stop = lw.Event("down", lambda t, state: state["pin1"].angle + 0.25, action="stop")
    start = model.simulate(1e-3)["pin1"].angle[0]
    result = model.simulate(5.0, method=method, rtol=1e-8, atol=1e-8, events=[stop])
    if start == pytest.approx(-0.25):
        pytest.skip("begins there")
    assert result.status.name == "stopped" and result.status.success
    # projection moves the interpolated state once more, by what it is off the constraints
    moved = {"projection": 1e-7, "index2": 1e-8}
    assert result["pin1"].angle[-1] == pytest.approx(-0.25, abs=moved.get(method.split("/")[0], 1e-9))
    assert result.t[-1] == result.events[-1].t == pytest.approx(float(result.events[-1].state.t))
    assert f"{result.t[-1]:.6g}"[:6] in result.status.message


@pytest.mark.parametrize("method", METHODS)
def test_directions_are_filtered(method: str) -> None:
    model = lw.models.pendulum(angle=-1.2)
    events = [
        lw.Event(name, lambda t, state: state["arm"].position[0], direction=direction)
        for name, direction in (("both", 0), ("rising", 1), ("falling", -1))
    ]
    result = model.simulate(4.0, method=method, rtol=1e-8, atol=1e-8, events=events)
    times = {name: [hit.t for hit in result.events if hit.name == name] for name in ("both", "rising", "falling")}
    assert len(times["both"]) >= 3
    assert np.allclose(sorted(times["rising"] + times["falling"]), times["both"], rtol=0, atol=1e-14)
    for name, sign in (("rising", 1), ("falling", -1)):
        assert times[name] and all(sign * result.at(t)["arm"].velocity[0] > 0 for t in times[name])
    assert [hit.t for hit in result.events] == sorted(hit.t for hit in result.events)
    assert all(abs(hit.state["arm"].position[0]) < 1e-7 for hit in result.events)


# --- several events ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "method", ("partitioning/dopri5", "partitioning/dop853", "projection/adams", "partitioning/radau5")
)
def test_many_events_in_one_step_come_in_the_order_of_time(method: str) -> None:
    heights = np.linspace(0.95, 0.05, 10)
    events = [lw.Event(f"h{k}", lambda t, state, h=h: state["ball"].position[2] - h) for k, h in enumerate(heights)][
        ::-1
    ]
    result = build_ball().simulate(0.45, method=method, first_step=0.4, rtol=1e-3, atol=1e-3, events=events)
    assert [hit.name for hit in result.events] == [f"h{k}" for k in range(10)]
    assert np.allclose([hit.t for hit in result.events], np.sqrt(2 * (1 - heights) / G), atol=1e-9)


def test_of_two_actions_in_one_step_the_first_decides_what_the_second_sees() -> None:
    """A gate at 0.5 m throws the ball up before it can reach the floor within the same step."""
    gate = lw.Event("gate", lambda t, state: state["ball"].position[2] - 0.5, direction=-1, action=bounce_off(1.0))
    floor = lw.Event("floor", lambda t, state: state["ball"].position[2], direction=-1, action="stop")
    result = build_ball().simulate(2.0, first_step=0.5, rtol=1e-3, atol=1e-3, events=[floor, gate])
    assert result.status.name == "success"
    assert {hit.name for hit in result.events} == {"gate"}
    assert result["ball"].position[:, 2].min() > 0.499


def test_two_actions_at_one_instant_both_act() -> None:
    seen = []

    def kick(t: float, state: State) -> None:
        seen.append(t)
        state["ball"].velocity = np.add(state["ball"].velocity, (1.0, 0.0, 0.0))

    events = [lw.Event(name, lambda t, state: state["ball"].position[2] - 0.5, action=kick) for name in ("one", "two")]
    result = build_ball(sideways=0.0).simulate(0.4, events=events)
    assert len(seen) == 2 and seen[0] == seen[1]
    assert result["ball"].velocity[-1, 0] == pytest.approx(2.0)
    assert [hit.name for hit in result.events] == ["one", "two"]


# --- starts -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "method", ("partitioning/dopri5", "projection/dop853", "tangent_plane/adams", "partitioning/rodas")
)
def test_an_event_that_is_zero_at_the_start_is_not_triggered_there(method: str) -> None:
    """The ball begins on the floor and flies up: only its return counts."""
    model = lw.Model("throw", gravity=(0, 0, -G))
    model.add(lw.PointMass("ball", 1.0, position=(0, 0, 0), velocity=(0, 0, 3.0)))
    floor = lw.Event("floor", lambda t, state: state["ball"].position[2], action="stop")
    result = model.simulate(5.0, method=method, rtol=1e-8, atol=1e-8, events=[floor])
    assert [hit.name for hit in result.events] == ["floor"]
    assert result.t[-1] == pytest.approx(6.0 / G, abs=1e-8)


def test_an_event_at_rest_on_zero_is_never_triggered() -> None:
    model = lw.Model("rest", gravity=(0, 0, 0))
    model.add(lw.PointMass("ball", 1.0))
    result = model.simulate(1.0, events=[lw.Event("still", lambda t, state: state["ball"].position[2], action="stop")])
    assert result.status.name == "success" and not result.events


@pytest.mark.parametrize("method", METHODS)
def test_events_of_time_alone_are_found(method: str) -> None:
    ticks = np.array([0.1, 0.25, 0.25 + 1e-3, 0.4])
    events = [lw.Event(f"tick{k}", lambda t, state, tick=tick: t - tick) for k, tick in enumerate(ticks)]
    result = build_swing("spatial", 1.0).simulate(0.5, method=method, rtol=1e-5, atol=1e-5, events=events)
    assert np.allclose([hit.t for hit in result.events], ticks, atol=1e-12)


# --- what an action does ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", ("planar", "spatial"))
def test_a_change_that_violates_the_joints_is_projected(form: str, method: str) -> None:
    """A blow sets velocities the pins do not allow, a second one moves a body off its pin."""
    model = build_swing(form)

    def strike(t: float, state: State) -> None:
        link = state[state.bodies[-1]]
        link.velocity = (3.0, 1.0, 0.0)

    def shift(t: float, state: State) -> None:
        link = state[state.bodies[-1]]
        link.position = np.add(link.position, (0.02, -0.01, 0.0))

    events = [
        lw.Event("strike", lambda t, state: t - 0.1, action=strike),
        lw.Event("shift", lambda t, state: t - 0.2, action=shift),
    ]
    result = model.simulate(0.3, method=method, rtol=1e-8, atol=1e-8, events=events)
    assert result.status.success and [hit.name for hit in result.events] == ["strike", "shift"]
    loose = method.startswith(("index1", "baumgarte"))
    assert result.violations.largest[1] < (1e-5 if loose else 1e-9)
    assert result.violations.largest_velocity[1] < (1e-4 if loose else 1e-8)
    doubled = np.flatnonzero(np.diff(result.t) == 0.0)
    assert len(doubled) == 2
    k = doubled[0]
    v = result[result.bodies[-1]].velocity
    assert np.linalg.norm(v[k + 1] - v[k]) > 0.5, "the blow acted"
    # between the events energy is kept
    energy = result.energy.total
    for part in (slice(0, k + 1), slice(k + 1, doubled[1] + 1), slice(doubled[1] + 1, None)):
        assert np.ptp(energy[part]) < 1e-4 * abs(energy[part]).max()


def test_an_impulse_on_a_linkage_keeps_the_angular_momentum_about_the_pin() -> None:
    """Only the reaction at the pin acts during a blow at the tip: what a body was given spreads as impulses would."""
    model = lw.Model("two", gravity=(0, 0, 0))
    model.add(lw.PlanarBody("one", 2.0, 0.3, position=(0.5, 0)))
    model.add(lw.PlanarBody("two", 1.0, 0.1, position=(1.5, 0)))
    model.add(lw.Revolute("pin", model.ground, "one", point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(lw.Revolute("knee", "one", "two", point=(1, 0, 0), axis=(0, 0, 1)))

    def turn(t: float, state: State) -> None:
        state["one"].angular_velocity = (0, 0, 1.0)

    result = model.simulate(1.0, events=[lw.Event("turn", lambda t, state: t - 0.5, action=turn)], rtol=1e-9, atol=1e-9)
    after = result.at(0.5 + 1e-9)
    assert after["one"].angular_velocity[2] == pytest.approx(1.0, abs=1e-3)
    # the knee moves at 1 m/s; the second link, struck there, turns back about its centre of percussion
    m, inertia, arm = 1.0, 0.1, 0.5
    impulse = 1.0 / (1 / m + arm**2 / inertia)
    assert after["two"].velocity[1] == pytest.approx(impulse / m, abs=2e-3)
    assert after["two"].angular_velocity[2] == pytest.approx(-arm * impulse / inertia, abs=2e-3)


def test_an_action_that_raises_ends_the_run_with_its_exception() -> None:
    def fail(t: float, state: State) -> None:
        raise RuntimeError("broken latch")

    result = build_ball().simulate(1.0, events=[lw.Event("latch", lambda t, state: t - 0.3, action=fail)])
    assert result.status.name == "user_error" and "broken latch" in result.status.message
    assert result.t[-1] == pytest.approx(0.3)


def test_an_action_that_asks_for_the_impossible_is_told() -> None:
    """A driven arm cannot be turned by hand: the driver's joint is named."""
    model = lw.Model("driven", gravity=(0, 0, 0))
    model.add(lw.Body("arm", 1.0, (1, 1, 1), position=(1, 0, 0)))
    model.add(lw.Revolute("pin", model.ground, "arm", point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(lw.Driver("motor", on="pin", function="0.0"))

    def tear(t: float, state: State) -> None:
        state["arm"].position = (3.0, 0.0, 0.0)
        state["arm"].velocity = (1.0, 0.0, 0.0)

    result = model.simulate(1.0, events=[lw.Event("tear", lambda t, state: t - 0.5, action=tear)])
    # held by pin and motor, the arm is back where they want it
    assert result.status.success
    assert np.allclose(result["arm"].position[-1], (1, 0, 0), atol=1e-9)
    assert np.allclose(result["arm"].velocity[-1], 0, atol=1e-9)


def test_an_event_that_is_not_a_number_is_a_status() -> None:
    result = build_ball().simulate(1.0, events=[lw.Event("odd", lambda t, state: float("nan") if t > 0.3 else 1.0)])
    assert result.status.name in ("not_finite", "user_error") and not result.status.success
    assert result.t[-1] <= 0.31


def test_output_times_and_events_share_one_time_line() -> None:
    floor = lw.Event("floor", lambda t, state: state["ball"].position[2], direction=-1, action=bounce_off(0.8))
    grid = np.linspace(0, 1.5, 31)
    result = build_ball().simulate(1.5, events=[floor], output=grid, rtol=1e-9, atol=1e-9)
    assert np.array_equal(result.t, grid)
    fall = np.sqrt(2 / G)
    expected = np.where(grid < fall, 1 - 0.5 * G * grid**2, np.nan)
    first = grid < fall
    assert np.allclose(result["ball"].position[first, 2], expected[first], atol=1e-8)
    s = grid - fall
    second = (s > 0) & (s < 2 * 0.8 * fall)
    speed = 0.8 * G * fall
    assert np.allclose(result["ball"].position[second, 2], speed * s[second] - 0.5 * G * s[second] ** 2, atol=1e-7)
