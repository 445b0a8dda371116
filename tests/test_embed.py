"""Embedded codes reproduce the native results: same states, events, outputs, statuses and statistics, in any chart."""

from __future__ import annotations

import functools
import importlib.util
import sys

import numpy as np
import pytest

import linkwork as lw
from catalogue import MACHINES, name_of
from linkwork.embed import EvaluationError, StateSpace, StepFailed, find_first_step
from linkwork.hooks import State
from linkwork.simulate import InputError

NEEDS_SUNDIALS = pytest.mark.skipif(importlib.util.find_spec("sksundae") is None, reason="needs scikit-sundae")
CVODE = pytest.param("cvode", marks=NEEDS_SUNDIALS)
CODES = ("scipy:Radau", "scipy:BDF", "scipy:LSODA", CVODE)
FORMULATIONS = ("partitioning", "tangent_plane")
# errors at the end of a run in units of the tolerance: those of multistep formulas add up over the steps, native or not
REACHED = {"scipy:Radau": 5, "scipy:BDF": 2000, "scipy:LSODA": 1000, "cvode": 2000}


class ImplicitEuler:
    """The protocol at its simplest: fixed steps, the rate at the end of the step, linear interpolation."""

    one_step = True

    def __init__(self, h: float = 1e-3):
        self.h, self.iterations = h, 0

    def start(self, fun, jac, t, w, t_end, rtol, atol, first_step, max_step):
        self.fun, self.jac, self.t, self.w, self.t_end, self.wanted = fun, jac, t, w, t_end, first_step

    def step(self):
        h = self.wanted or self.h
        h = self.t_end - self.t if self.t_end - self.t < 1.001 * h else h
        old = self.t, self.w
        t, w = self.t + h, self.w.copy()
        matrix = np.eye(len(w)) - h * self.jac(*old)
        for _ in range(20):
            change = np.linalg.solve(matrix, old[1] + h * self.fun(t, w) - w)
            w += change
            self.iterations += 1
            if np.abs(change).max() < 1e-12:
                break
        self.old, self.t, self.w, self.wanted = old, t, w, None
        return old[0], t

    def interpolate(self, t):
        s = (t - self.old[0]) / (self.t - self.old[0])
        return (1 - s) * self.old[1] + s * self.w

    @property
    def counters(self):
        return {"iterations": self.iterations}


def measure(result, reference) -> float:
    """Largest difference of the last states, relative to 1 or to their size."""
    pairs = ((result.q[-1], reference.q[-1]), (result.v[-1], reference.v[-1]))
    return max(float(np.max(np.abs(a - b) / (1 + np.abs(b)))) for a, b in pairs)


def build_ball() -> lw.Model:
    model = lw.Model("ball", gravity=(0, 0, -9.81))
    model.add(lw.PointMass("ball", 1.0, position=(0, 0, 1)))
    return model


def build_pendulum(**options) -> lw.Model:
    return lw.models.pendulum(form="planar", **{"angular_velocity": 2.0, **options})


# ---------------------------------------------------------------------------------------------------------------
# the state space
# ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_state_space_of_a_pendulum_is_its_equation(formulation: str) -> None:
    model = build_pendulum()
    space = StateSpace(model, formulation)
    assert space.size == 2 and space.t0 == 0.0 and space.kinds.tolist() == [0, 1]
    assert space.calc_atol((1e-3, 1e-5)).tolist() == [1e-3, 1e-5]
    state = space.lift(0.0, space.w0)
    assert np.isclose(state.channel("arm.angular_velocity.z"), 2.0)
    rate = space.fun(0.0, space.w0)
    assert rate[0] == space.w0[1]
    # the Jacobian by central differences
    h = 1e-5
    columns = [(space.fun(0, space.w0 + h * e) - space.fun(0, space.w0 - h * e)) / (2 * h) for e in np.eye(2)]
    assert np.allclose(space.jac(0.0, space.w0), np.transpose(columns), atol=1e-8)
    assert np.allclose(StateSpace(model, formulation, solver="newton_fd").jac(0.0, space.w0), space.jac(0.0, space.w0),
                       atol=1e-5)  # fmt: skip


def test_lift_names_bodies_joints_and_forces() -> None:
    model = build_pendulum(stiffness=40.0, damping=2.0)
    result = model.simulate(0.1)
    space = StateSpace(model)
    state = space.lift(space.t0, space.w0)
    for channel in ("arm.position", "arm.acceleration", "pin.force", "pin.angle", "energy.total"):
        assert np.allclose(state.channel(channel), result.channel(channel)[0]), channel
    assert np.allclose(state.lambda_, result.lambda_[0])


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_code_of_ones_own_follows_the_charts(formulation: str) -> None:
    model = lw.models.spinning_top()
    space = StateSpace(model, formulation)
    t, w, h, changes = space.t0, space.w0, 1e-4, 0
    for _ in range(1000):  # classical Runge-Kutta
        k1 = space.fun(t, w)
        k2 = space.fun(t + h / 2, w + h / 2 * k1)
        k3 = space.fun(t + h / 2, w + h / 2 * k2)
        k4 = space.fun(t + h, w + h * k3)
        t, w = t + h, w + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        before = space.lift(t, w).q.copy()
        w, changed = space.correct(t, w)
        changes += changed
        assert np.allclose(space.lift(t, w).q, before, atol=1e-12), "the chart changes, the state does not"
        if changed:
            assert space.t0 == t and np.array_equal(space.w0, w)
    reference = model.simulate(t, rtol=1e-11, atol=1e-11, method="partitioning/dop853")
    assert changes > 1 and np.allclose(space.lift(t, w).q, reference.q[-1], atol=1e-6)


def test_angles_are_followed_over_turns() -> None:
    space = StateSpace(build_pendulum(angular_velocity=30.0))
    t, w = space.t0, space.w0
    for _ in range(2000):
        w = w + 1e-3 * space.fun(t, w)
        t += 1e-3
        w, _ = space.correct(t, w)
    assert space.lift(t, w)["pin"].angle > 10 * np.pi


def test_a_restart_opens_a_chart_at_another_state() -> None:
    space = StateSpace(lw.models.four_bar())
    result = lw.models.four_bar().simulate(1.0, rtol=1e-9, atol=1e-9)
    w = space.restart(1.0, result.q[-1], result.v[-1])
    assert space.t0 == 1.0 and np.allclose(space.lift(1.0, w).v, result.v[-1], atol=1e-9)
    with pytest.raises(ValueError, match=r"needs \(2,\)"):
        space.fun(1.0, np.zeros(3))


def test_states_that_do_not_exist_raise() -> None:
    space = StateSpace(lw.models.slider_crank())
    w = space.w0.copy()
    w[0] += 1e4
    with pytest.raises(EvaluationError, match="onto the constraints") as caught:
        for scale in np.geomspace(1, 1e6, 25):
            space.fun(0.0, np.array([scale * 1.1, 0.0]))
    assert caught.value.status in ("position_lost", "singular_position") and caught.value.t == 0.0
    assert np.all(np.isfinite(space.fun(0.0, space.w0))), "and the space goes on being of use"


def test_only_state_space_formulations_are_embedded() -> None:
    with pytest.raises(lw.MethodError, match="use partitioning or tangent_plane"):
        StateSpace(build_pendulum(), "baumgarte")
    with pytest.raises(lw.MethodError, match="use partitioning or tangent_plane"):
        lw.Method("index1", ImplicitEuler)
    with pytest.raises(lw.MethodError, match="cannot be integrated by 'cvode'"):
        lw.Method("projection", "cvode")
    with pytest.raises(lw.MethodError, match="no option 'growth'"):
        StateSpace(build_pendulum(), growth=2.0)


# ---------------------------------------------------------------------------------------------------------------
# codes reproduce native results
# ---------------------------------------------------------------------------------------------------------------
REFERENCES: dict = {}


def find_reference(case):
    """Native results at a tight tolerance."""
    if case.name in REFERENCES:
        return REFERENCES[case.name]
    result = case.build().simulate(case.t_end, method="partitioning/dop853", rtol=1e-11, atol=1e-11)
    assert result.status.success
    REFERENCES[case.name] = result
    return result


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("case", MACHINES, ids=name_of)
def test_a_code_reproduces_the_native_result(case, code: str, formulation: str) -> None:
    tolerance = 1e-7
    result = case.build().simulate(case.t_end, method=f"{formulation}/{code}", rtol=tolerance, atol=tolerance)
    assert result.status.name == "success", result.status
    assert result.t[-1] == case.t_end and result.method == f"{formulation}/{code}"
    assert measure(result, find_reference(case)) < REACHED[code] * tolerance
    assert result.violations.largest[1] < 1e-9
    s = result.statistics
    assert s.steps == len(result.t) - 1 and s.steps < 2000
    if case.dof > 0:
        assert s.evaluations > 0 and (s.jacobians > 0 or code == "scipy:LSODA"), (
            "LSODA may stay with its Adams formulas"
        )


DAE = ("index2/ida", "ggl/ida", "index1/ida")


@NEEDS_SUNDIALS
@pytest.mark.parametrize("method", DAE)
@pytest.mark.parametrize("case", MACHINES, ids=name_of)
def test_ida_reproduces_the_native_result_with_the_multipliers_in_x(case, method: str) -> None:
    tolerance = 1e-6
    result = case.build().simulate(case.t_end, method=method, rtol=tolerance, atol=tolerance)
    assert result.status.name == "success", result.status
    reference = find_reference(case)
    assert measure(result, reference) < 2000 * tolerance
    size = 1 + np.abs(reference.lambda_[-1]).max()
    assert np.abs(result.lambda_[-1] - reference.lambda_[-1]).max() < 1e-3 * size
    limit = {"index2/ida": 1e-10, "ggl/ida": 10 * tolerance, "index1/ida": 1e-4}[method]
    assert result.violations.largest[1] < limit
    assert result.statistics.steps < 2000 and result.statistics.jacobians > 0


@NEEDS_SUNDIALS
@pytest.mark.parametrize("method", DAE)
def test_events_and_outputs_of_ida_are_those_of_native_codes(method: str) -> None:
    model, times = lw.models.four_bar(form="spatial"), np.linspace(0, 1, 21)
    level = lw.Event("level", lambda t, state: state["crank"].velocity[1], action="record")
    halt = lw.Event("halt", lambda t, state: t - 0.77, action="stop")
    runs = [
        model.simulate(1.0, method=m, rtol=tol, atol=tol, output=times, events=[level, halt])
        for m, tol in (("partitioning/dop853", 1e-10), (method, 1e-7))
    ]
    exact, result = runs
    assert result.status.name == "stopped" and result.steps.t[-1] == pytest.approx(0.77, abs=1e-12)
    assert [hit.name for hit in result.events] == [hit.name for hit in exact.events]
    assert np.allclose([hit.t for hit in result.events], [hit.t for hit in exact.events], atol=1e-5)
    assert np.allclose(result["crank"].position, exact["crank"].position, atol=1e-5)
    assert np.allclose(result["crank"].acceleration, exact["crank"].acceleration, atol=1e-3)


class ImplicitEulerOfResiduals(ImplicitEuler):
    """The same on B w' = f, for which the driver hands over B and the entries without a derivative."""

    mass = algebraic = None

    def step(self):
        h = self.t_end - self.t if self.t_end - self.t < 1.001 * self.h else self.h
        B = np.eye(len(self.w)) if self.mass is None else self.mass
        old, t, w = (self.t, self.w), self.t + h, self.w.copy()
        for _ in range(20):
            change = np.linalg.solve(B / h - self.jac(t, w), self.fun(t, w) - B @ (w - old[1]) / h)
            w = w + change
            self.iterations += 1
            if np.abs(change[~self.algebraic]).max() < 1e-12:
                break
        self.old, self.t, self.w = old, t, w
        return old[0], t


@pytest.mark.parametrize("formulation", ("index2", "ggl"))
def test_a_code_of_ones_own_may_take_residuals(formulation: str) -> None:
    model = lw.models.four_bar(form="spatial")
    exact = model.simulate(0.2, rtol=1e-10, atol=1e-10)
    errors = []
    for h in (2e-3, 1e-3):
        result = model.simulate(0.2, method=(formulation, ImplicitEulerOfResiduals(h)))
        assert result.status.success
        errors.append(np.abs(result.q[-1] - exact.q[-1]).max())
    assert errors[0] == pytest.approx(2 * errors[1], rel=0.1), "backward Euler has order 1 in positions [arnold (5)]"


def test_codes_for_ordinary_equations_are_refused_where_b_is_singular() -> None:
    with pytest.raises(lw.MethodError, match="ImplicitEuler, which has no member 'mass'"):
        lw.Method("ggl", ImplicitEuler)
    with pytest.raises(lw.MethodError, match=r"'ggl' cannot be integrated by 'cvode'; its integrators: bdf, .*ida"):
        lw.Method("ggl", "cvode")


@pytest.mark.parametrize("code", CODES)
def test_tighter_tolerances_give_smaller_errors(code: str) -> None:
    model = build_pendulum()
    reference = model.simulate(1.0, method="partitioning/dop853", rtol=1e-12, atol=1e-12)
    errors = [
        measure(model.simulate(1.0, method=f"partitioning/{code}", rtol=r, atol=r), reference)
        for r in (1e-4, 1e-6, 1e-8)
    ]
    assert errors[0] > 5 * errors[1] and errors[0] > 50 * errors[2]


@pytest.mark.parametrize("code", CODES)
def test_a_stiff_machine_takes_few_steps(code: str) -> None:
    model = lw.models.double_pendulum(form="planar")
    embedded = model.simulate(0.5, method=f"partitioning/{code}", rtol=1e-5, atol=1e-5)
    explicit = model.simulate(0.05, rtol=1e-5, atol=1e-5)
    assert embedded.status.success
    assert embedded.statistics.steps / 0.5 < 0.5 * explicit.statistics.steps / 0.05


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    ("machine", "options"),
    [("four_bar", {"angular_velocity": -8.0}), ("slider_crank", {}), ("slider_crank", {"form": "spatial"})],
)
def test_many_turns_force_many_charts_without_a_jump(machine: str, options: dict, code: str, formulation: str) -> None:
    model = getattr(lw.models, machine)(**options)
    growth = {"repartition_growth": 1.01} if formulation == "partitioning" else {}
    method = lw.Method(formulation, code, **growth)
    result = model.simulate(3.0, method=method, rtol=1e-8, atol=1e-8)
    native = model.simulate(3.0, method="partitioning/dop853", rtol=1e-10, atol=1e-10, output=list(result.t))
    assert result.status.success and result.statistics.restarts > 3
    assert not any("jump" in text for text in result.warnings)
    assert np.abs(result.q - native.q).max() < 1e-3
    drift = result.energy.total - result.energy.total[0]
    assert np.abs(drift).max() < 2e-4 * np.abs(result.energy.kinetic).max()


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("code", CODES)
def test_the_stiff_vehicle_passes_its_bump(code: str, formulation: str) -> None:
    model = lw.models.hmmwv(stiff=True)
    arguments = {"output": np.linspace(0, 1.0, 51), "max_step": 0.02}
    native = model.simulate(1.0, method="partitioning/sdirk4", rtol=1e-6, atol=1e-6, **arguments)
    result = model.simulate(1.0, method=f"{formulation}/{code}", rtol=1e-4, atol=1e-4, **arguments)
    assert native.status.success and result.status.success and result.statistics.steps < 1000
    assert np.abs(result["chassis"].position - native["chassis"].position).max() < 2e-3
    assert np.ptp(native["chassis"].position[:, 2]) > 0.01, "the bump was met"


# ---------------------------------------------------------------------------------------------------------------
# outputs, events, hooks
# ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("code", CODES)
def test_outputs_come_from_the_codes_own_extension(code: str) -> None:
    model = build_pendulum()
    times = [0.0, 0.1, 0.1 + 1e-9, 0.77, 1.0]
    result = model.simulate(1.0, method=f"partitioning/{code}", rtol=1e-8, atol=1e-8, output=times)
    native = model.simulate(1.0, method="partitioning/dop853", rtol=1e-11, atol=1e-11, output=times)
    assert result.t.tolist() == times and np.allclose(result.q, native.q, atol=2e-6)
    plain = model.simulate(1.0, method=f"partitioning/{code}", rtol=1e-8, atol=1e-8)
    assert result.statistics.steps == plain.statistics.steps, "steps are not shortened for outputs"


@pytest.mark.parametrize("code", CODES)
def test_events_are_recorded_stop_and_change(code: str) -> None:
    def bounce(t: float, state: State) -> None:
        state["ball"].velocity = -0.5 * state["ball"].velocity

    model = build_ball()
    model.add(lw.Event("half", lambda state: state["ball"].position[2] - 0.5))
    floor = lw.Event("floor", "ball.position.z", direction=-1, action=bounce)
    last = lw.Event("last", lambda t, state: t - 1.0, action="stop")
    arguments = {"events": [floor, last], "rtol": 1e-9, "atol": 1e-9}
    result = model.simulate(5.0, method=f"partitioning/{code}", **arguments)
    native = model.simulate(5.0, **arguments)
    assert [hit.name for hit in result.events] == [hit.name for hit in native.events]
    assert np.allclose([hit.t for hit in result.events], [hit.t for hit in native.events], atol=1e-7)
    assert result.status.name == "stopped" and result.t[-1] == pytest.approx(1.0, abs=1e-12)
    fall = np.sqrt(2 / 9.81)
    assert np.isclose(result.events[1].t, fall, atol=1e-8)
    assert np.isclose(result.at(1.5 * fall)["ball"].position[2], 0.25, atol=1e-6), "dense output across the bounce"
    assert result.statistics.restarts >= 1


@pytest.mark.parametrize("code", CODES)
def test_events_on_a_stiff_model_in_changing_charts(code: str) -> None:
    model = lw.models.slider_crank()
    bodies = list(model.simulate(0.01).bodies)
    event = lw.Event("turn", f"{bodies[0]}.position.x")
    result = model.simulate(2.0, method=f"tangent_plane/{code}", rtol=1e-9, atol=1e-9, events=[event])
    native = model.simulate(2.0, method="partitioning/dop853", rtol=1e-11, atol=1e-11, events=[event])
    assert len(native.events) > 2 and len(result.events) == len(native.events)
    assert np.allclose([hit.t for hit in result.events], [hit.t for hit in native.events], atol=1e-4)
    for hit in result.events:
        assert abs(hit.state[bodies[0]].position[0]) < 1e-10


def test_two_events_at_one_instant_both_act() -> None:
    seen = []
    events = [
        lw.Event(name, lambda t, state: t - 0.3, action=lambda t, state, name=name: seen.append((name, t)))
        for name in ("first", "second")
    ]
    result = build_ball().simulate(0.5, method="partitioning/scipy:Radau", events=events)
    assert [name for name, _ in seen] == ["first", "second"] and seen[0][1] == seen[1][1]
    assert result.status.success and result.statistics.restarts == 1


def test_the_callback_sees_every_step_and_may_stop() -> None:
    seen = []
    model = build_pendulum()
    result = model.simulate(1.0, method="partitioning/scipy:Radau", callback=lambda state: seen.append(state.t))
    assert seen == result.t[1:].tolist()
    result = model.simulate(1.0, method="partitioning/scipy:Radau", callback=lambda state: state.t > 0.3)
    assert result.status.name == "stopped" and 0.3 < result.t[-1] < 1.0


@pytest.mark.parametrize("code", CODES)
def test_ctrl_c_in_a_force_or_a_callback_keeps_the_part_computed(code: str) -> None:
    def press(t: float, *rest: object) -> dict:
        if t > 0.2:
            raise KeyboardInterrupt
        return {}

    pressed = {"method": f"partitioning/{code}", "max_step": 0.05}
    forced = build_ball()
    forced.add(lw.UserForce("wind", ["ball"], press))
    for result in (
        build_ball().simulate(1.0, callback=lambda state: press(state.t) and None, **pressed),
        forced.simulate(1.0, **pressed),
    ):
        assert result.status.name == "interrupted" and 0.1 < result.t[-1] < 1.0


def test_bounds_of_steps_are_kept() -> None:
    result = build_ball().simulate(1.0, method="partitioning/scipy:Radau", max_step=0.05, first_step=0.001)
    assert result.statistics.largest_step <= 0.05 * (1 + 1e-9)
    assert np.isclose(result.t[1], 0.001)
    result = build_pendulum().simulate(1.0, method="partitioning/scipy:Radau", max_steps=5)
    assert result.status.name == "too_many_steps" and len(result.t) >= 2
    with pytest.raises(InputError, match="'scipy:BDF' chooses its own steps"):
        build_ball().simulate(1.0, method="partitioning/scipy:BDF", step=0.1)
    with pytest.raises(lw.MethodError, match="it brings its own; leave the solver out"):
        build_ball().simulate(1.0, method="partitioning/cvode/newton")


# ---------------------------------------------------------------------------------------------------------------
# failures
# ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("code", CODES)
def test_the_end_of_the_range_is_told(code: str, capfd) -> None:
    model = lw.Model("reach", gravity=(0, 0, 0))
    model.add(lw.PointMass("swing", 1.0, position=(5, 0, 0), velocity=(0, 1, 0)))
    model.add(lw.Distance("rod", model.ground, "swing", point_a=(0, 0, 0)))
    model.add(lw.PlanarBody("arm", 1.0, 0.1, (0, 0), 0.0))
    model.add(lw.Revolute("pin", model.ground, "arm", point=(0, 0.5, 0), axis=(0, 0, 1)))
    model.add(lw.Driver("pull", on="arm.x", function="0.3*t + 0.05*t**2"))
    native = model.simulate(5.0)
    result = model.simulate(5.0, method=f"partitioning/{code}")
    assert native.status.name in ("position_lost", "singular_position", "step_too_small")
    assert result.status.name in ("position_lost", "singular_position", "step_too_small"), result.status
    assert np.isclose(result.t[-1], native.t[-1], atol=1e-3)
    assert capfd.readouterr() == ("", ""), "nothing is printed"


@pytest.mark.parametrize("code", CODES)
def test_what_a_force_raises_is_in_the_status(code: str) -> None:
    def wind(t: float, bodies: object) -> dict:
        if t > 0.2:
            raise RuntimeError("no wind left")
        return {"ball": ((1, 0, 0), (0, 0, 0))}

    model = build_ball()
    model.add(lw.UserForce("wind", ["ball"], wind))
    result = model.simulate(1.0, method=f"partitioning/{code}", max_step=0.05)
    assert result.status.name == "user_error" and isinstance(result.status.exception, RuntimeError)
    assert "no wind left" in result.status.message and 0 < result.t[-1] <= 0.2
    with pytest.raises(lw.SimulationError, match="no wind left"):
        model.simulate(1.0, method=f"partitioning/{code}", raise_on_failure=True)


@pytest.mark.parametrize("code", CODES)
def test_a_force_that_is_no_number_is_told(code: str, capfd) -> None:
    model = build_ball()
    model.add(lw.PointForce("push", "ball", force=("sqrt(0.2 - t)", 0, 0)))
    result = model.simulate(1.0, method=f"partitioning/{code}")
    assert result.status.name == "not_finite" and 0.15 < result.t[-1] <= 0.2
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("code", CODES)
def test_a_jump_of_a_force_is_passed(code: str) -> None:
    model = build_ball()
    model.add(lw.PointForce("push", "ball", force=("where(t < 0.3, 0, 1000)", 0, 0)))
    result = model.simulate(0.5, method=f"partitioning/{code}", rtol=1e-6, atol=1e-6)
    assert result.status.success
    assert np.isclose(result["ball"].position[-1, 0], 0.5 * 1000 * 0.2**2, rtol=1e-3)


# ---------------------------------------------------------------------------------------------------------------
# codes of others
# ---------------------------------------------------------------------------------------------------------------
def test_a_home_made_implicit_euler_is_of_order_one() -> None:
    model = lw.models.four_bar()
    exact = model.simulate(0.5, method="partitioning/dop853", rtol=1e-11, atol=1e-11)
    errors = []
    for h in (0.005, 0.0025, 0.00125):
        result = model.simulate(0.5, method=("partitioning", functools.partial(ImplicitEuler, h)), first_step=h)
        assert result.status.success and result.statistics.iterations > 0
        errors.append(measure(result, exact))
    ratios = np.array(errors[:-1]) / errors[1:]
    assert np.all(np.abs(ratios - 2) < 0.2), ratios


def test_a_class_an_object_and_a_function_serve_as_integrators() -> None:
    model = build_pendulum()
    for given in (ImplicitEuler, ImplicitEuler(1e-3), functools.partial(ImplicitEuler, 1e-3)):
        method = lw.Method("tangent_plane", given)
        result = model.simulate(0.2, method=method, linear="augmented_dense", output=0.05)
        assert result.status.success and len(result.t) == 5
        assert str(method).startswith("tangent_plane/") and method.code is given
    assert result.options["linear"] == "augmented_dense"
    assert lw.Method("partitioning", ImplicitEuler) == lw.Method.parse(("partitioning", ImplicitEuler))


def test_a_class_without_the_protocol_is_refused() -> None:
    class Half:
        def start(self): ...

    with pytest.raises(lw.MethodError, match="integrator Half has no step, interpolate"):
        lw.Method("partitioning", Half)


def test_a_code_that_gives_up_or_misbehaves_ends_the_run_with_a_status() -> None:
    class GivesUp(ImplicitEuler):
        def step(self):
            if self.t > 0.1:
                raise StepFailed("no_convergence", self.t)
            return super().step()

    class Runs(ImplicitEuler):
        def step(self):
            old, self.t = self.t, self.t + 10.0
            return old, self.t

    result = build_pendulum().simulate(1.0, method=("partitioning", GivesUp))
    assert result.status.name == "no_convergence" and 0.1 < result.t[-1] < 0.11
    result = build_pendulum().simulate(1.0, method=("partitioning", Runs))
    assert result.status.name == "user_error" and "not past t_end = 1" in result.status.message


def test_a_code_may_let_failures_through() -> None:
    """A step too long for the mechanism is repeated with shorter ones."""

    class Bold(ImplicitEuler):
        failures = 0

        def start(self, *arguments):
            super().start(*arguments)
            fun = self.fun

            def failing(t, w):
                if 0.1 < t < 0.11 and t - self.t > 1e-3:
                    Bold.failures += 1
                    raise EvaluationError("position_lost", t)
                return fun(t, w)

            self.fun = failing

    result = build_pendulum().simulate(0.3, method=("partitioning", functools.partial(Bold, 4e-3)))
    assert result.status.success and Bold.failures > 0
    assert result.statistics.rejected == Bold.failures


def test_a_first_step_is_found_where_the_equations_end_nearby() -> None:
    def fun(t, w):
        if t > 1e-9:
            raise EvaluationError("not_finite", t)
        return -w

    step = find_first_step(fun, 0.0, np.ones(2), 1.0, 1e-6, np.full(2, 1e-6), 4)
    assert 0 < step <= 1e-7


def test_a_missing_package_is_named_with_the_command(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sksundae", None)
    monkeypatch.setitem(sys.modules, "sksundae.cvode", None)
    with pytest.raises(ImportError, match=r"'cvode' needs scikit-sundae.*pip install \"linkwork\[sundials\]\""):
        build_ball().simulate(1.0, method="partitioning/cvode")


def test_a_state_that_cannot_be_factorized_is_left_by_a_shorter_step():
    """CVODE asks for one when the wheels of the soft vehicle meet the bump."""
    pytest.importorskip("sksundae")
    model = lw.models.hmmwv(stiff=True, bushing_factor=0.01)
    result = model.simulate(1.0, method="partitioning/cvode", rtol=1e-5, atol=1e-5)
    assert result.status.success and result.violations.position.max() < 1e-9
