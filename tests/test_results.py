"""Results: what is read by name obeys Newton's and Euler's laws, follows turns, is dense in time, and travels."""

from __future__ import annotations

import csv
import pickle

import numpy as np
import pytest

import linkwork as lw
from linkwork.channels import ChannelError
from linkwork.errors import LinkworkError

G = np.array([0.0, -9.81, 0.0])


def build_pendulum(speed: float = 0.0) -> lw.Model:
    model = lw.Model("pendulum", gravity=G)
    arm = lw.Body("arm", mass=3.0, inertia=(0.01, 1.0, 1.0), position=(1, 0, 0), velocity=(0, speed, 0),
                  angular_velocity=(0, 0, speed))  # fmt: skip
    model.add(arm)
    model.add(lw.Revolute("pin", model.ground, arm, point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(lw.RotationalSpring("coil", on="pin", stiffness=4.0, damping=0.5, free_angle=-0.5))
    return model


@pytest.fixture(scope="module")
def pendulum() -> lw.Result:
    return build_pendulum().simulate(2.0, rtol=1e-9, atol=1e-9)


def calc_joint_load(model: lw.Model, result: lw.Result, body: str) -> tuple[np.ndarray, np.ndarray]:
    """Sum of all joint reactions on a body, ground axes, the moment about its centre of mass."""
    from linkwork.compile import compile_model
    from linkwork.states import calc_rotations

    compiled = compile_model(model)
    index = compiled.bodies[body]
    names = {k: name for name, k in compiled.bodies.items()}
    force, moment = np.zeros((result.count, 3)), np.zeros((result.count, 3))
    for name, info in compiled.joints.items():
        if index not in (info.body_a, info.body_b):
            continue
        sign = 1.0 if index == info.body_b else -1.0
        axes = np.eye(3) if info.body_a == 0 else result[names[info.body_a]].rotation
        axes = axes @ calc_rotations(np.asarray(info.frame_a[1]))
        axes = np.broadcast_to(axes, (result.count, 3, 3))
        f = sign * np.einsum("nij,nj->ni", axes, result[name].force)
        m = sign * np.einsum("nij,nj->ni", axes, result[name].torque)
        point = result[names[info.body_b]].point(info.frame_b[0]) if info.body_b else np.asarray(info.frame_b[0])
        force += f
        moment += m + np.cross(point - result[body].position, f)
    return force, moment


@pytest.mark.parametrize("form", ["planar", "spatial"])
def test_reactions_of_a_closed_loop_balance_every_body(form: str) -> None:
    model = lw.models.four_bar(form=form)
    result = model.simulate(0.5, rtol=1e-8, atol=1e-8)
    assert result.status.success
    for body in result.bodies:
        force, moment = calc_joint_load(model, result, body)
        record = model[body]
        expected = record.mass * (result[body].acceleration - np.asarray(model.gravity))
        assert np.allclose(force, expected, atol=1e-8 * np.abs(expected).max())
        inertia = np.asarray(record.inertia)
        if inertia.ndim == 0:
            inertia = np.diag([0.0, 0.0, float(inertia)])
        A = result[body].rotation
        w, w1 = result[body].angular_velocity, result[body].angular_acceleration
        about = np.einsum("nij,jk,nlk->nil", A, inertia, A)
        expected = np.einsum("nij,nj->ni", about, w1) + np.cross(w, np.einsum("nij,nj->ni", about, w))
        scale = max(np.abs(expected).max(), np.abs(force).max())
        assert np.allclose(moment[:, 2], expected[:, 2], atol=1e-8 * scale)
        if form == "spatial":
            assert np.allclose(moment, expected, atol=1e-8 * scale)


def test_the_pin_carries_weight_and_inertia_of_the_arm(pendulum: lw.Result) -> None:
    force = pendulum["pin"].force  # the joint frame's axes are the ground's up to a turn about z
    expected = 3.0 * (pendulum["arm"].acceleration - G)
    assert np.allclose(np.linalg.norm(force, axis=1), np.linalg.norm(expected, axis=1))
    assert np.allclose(pendulum["pin"].torque, 0.0, atol=1e-9)


def test_velocities_and_accelerations_are_rates_of_positions(pendulum: lw.Result) -> None:
    t, h = np.linspace(0.1, 1.9, 7), 1e-4
    before, after, here = pendulum.at(t - h)["arm"], pendulum.at(t + h)["arm"], pendulum.at(t)["arm"]
    assert np.allclose((after.position - before.position) / (2 * h), here.velocity, atol=1e-6)
    assert np.allclose((after.velocity - before.velocity) / (2 * h), here.acceleration, atol=1e-4)
    assert np.allclose((after.point((1, 0.2, 0)) - before.point((1, 0.2, 0))) / (2 * h),
                       here.point_velocity((1, 0.2, 0)), atol=1e-6)  # fmt: skip
    assert np.allclose((after.point_velocity((1, 0.2, 0)) - before.point_velocity((1, 0.2, 0))) / (2 * h),
                       here.point_acceleration((1, 0.2, 0)), atol=1e-4)  # fmt: skip
    assert np.allclose(
        (after.angular_velocity - before.angular_velocity) / (2 * h), here.angular_acceleration, atol=1e-4
    )
    assert np.allclose(here.rotation @ here.rotation.transpose(0, 2, 1), np.eye(3), atol=1e-14)


def test_dense_output_agrees_with_a_tight_run_and_with_the_output_grid() -> None:
    grid = np.linspace(0, 2, 41)
    exact = build_pendulum().simulate(2.0, method="partitioning/dopri5", rtol=1e-11, atol=1e-11, output=grid)
    rough = build_pendulum().simulate(2.0, rtol=1e-7, atol=1e-7)
    assert np.array_equal(exact.t, grid)
    assert exact["arm"].position.shape == (41, 3)
    assert np.allclose(rough.at(grid)["arm"].position, exact["arm"].position, atol=2e-6)
    assert np.allclose(exact.at(grid)["arm"].position, exact["arm"].position, atol=1e-8)
    assert np.allclose(exact.at(grid)["pin"].force, exact["pin"].force, atol=1e-5)
    assert np.allclose(exact.at(grid)["pin"].angle, exact["pin"].angle, atol=1e-8)


def test_one_time_gives_one_state_and_times_outside_are_refused(pendulum: lw.Result) -> None:
    state = pendulum.at(0.7315)
    assert state["arm"].position.shape == (3,) and state["arm"].rotation.shape == (3, 3)
    assert state["pin"].force.shape == (3,) and np.ndim(state["pin"].angle) == 0
    assert np.isclose(state.energy.total, state.energy.kinetic + state.energy.potential)
    with pytest.raises(ValueError, match=r"outside the run; choose a time in \[0, 2\]"):
        pendulum.at(2.5)
    assert np.allclose(pendulum.at(pendulum.t)["arm"].position, pendulum["arm"].position, atol=1e-14)


def test_angles_are_counted_over_turns() -> None:
    model = build_pendulum(speed=15.0)
    result = model.simulate(3.0, rtol=1e-8, atol=1e-8)
    angle, rate = result["pin"].angle, result["pin"].rate
    assert angle.max() > 2 * np.pi
    assert np.all(np.abs(np.diff(angle)) < np.pi)
    assert np.allclose(rate, result["arm"].angular_velocity[:, 2])
    assert np.allclose(result.at(result.t[5:9])["pin"].angle, angle[5:9])
    assert np.allclose(result["pin"].coordinates[:, 0], result["pin"].coordinate)


def test_energy_falls_by_what_the_damper_takes(pendulum: lw.Result) -> None:
    t = np.linspace(0, 2, 2001)
    states = pendulum.at(t)
    power = -0.5 * states["pin"].rate ** 2
    work = np.concatenate([[0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(t))])
    assert np.allclose(states.energy.total - states.energy.total[0], work, atol=1e-4)
    assert np.allclose(pendulum["coil"].torque, 4.0 * (pendulum["pin"].angle + 0.5) + 0.5 * pendulum["pin"].rate)


def test_momenta_of_a_free_body_stay() -> None:
    model = lw.Model("free", gravity=(0, 0, 0))
    model.add(lw.Body("top", 2.0, (1, 2, 2.5), position=(1, 2, 3), velocity=(1, 0, 2), angular_velocity=(1, 5, 0.3)))
    result = model.simulate(3.0, rtol=1e-9, atol=1e-9)
    assert np.allclose(result.momentum.linear, (2, 0, 4))
    assert np.allclose(result.momentum.angular, result.momentum.angular[0], atol=1e-6)


def test_springs_and_loads_report_their_forces() -> None:
    model = lw.Model("spring", gravity=(0, 0, -9.81))
    model.add(lw.Body("box", 2.0, (1, 1, 1), position=(0, 0, -1)))
    model.add(lw.Spring("coil", model.ground, "box", point_a=(0, 0, 0), point_b=(0, 0, -1), stiffness=100, damping=3))
    model.add(lw.PointForce("push", "box", force=(1, 2, 3), point=(0, 0, -1)))
    model.add(lw.UserForce("wind", ["box"], lambda t, bodies: {"box": ((t, 0, 0), (0, 0, 1))}))
    result = model.simulate(0.3)
    assert result.status.success, result.status
    spring = result["coil"]
    assert np.allclose(spring.force, 100 * (spring.length - 1.0) + 3 * spring.rate)
    assert np.allclose(np.linalg.norm(spring.wrench("box")[:, :3], axis=1), np.abs(spring.force))
    assert np.allclose(result["push"].force, (1, 2, 3))
    assert np.allclose(result["wind"].wrench("box")[:, 0], result.t)
    total = sum(result[name].wrench("box")[:, :3] for name in result.forces)
    assert np.allclose(2.0 * (result["box"].acceleration - np.array([0, 0, -9.81])), total)


def test_channels_and_their_errors(pendulum: lw.Result) -> None:
    assert np.array_equal(pendulum.channel("arm.position.y"), pendulum["arm"].position[:, 1])
    assert np.array_equal(pendulum.channel("arm.orientation.w"), pendulum["arm"].orientation[:, 0])
    assert np.array_equal(pendulum.channel("energy.total"), pendulum.energy.total)
    assert pendulum.channel("pin.coordinates.0").shape == pendulum.t.shape
    for text, reason in {
        "leg.position": "no element 'leg'; did you mean 'arm'|no element 'leg'",
        "arm.speed": "'arm' has no quantity 'speed'",
        "arm.position.w": "'w' is not a component",
        "pin.angle.x": "'x' is not a component",
        "arm.point": "needs an argument",
        "arm": "no quantity",
    }.items():
        with pytest.raises(ChannelError, match=reason):
            pendulum.channel(text)


def test_violations_are_small_and_named(pendulum: lw.Result) -> None:
    assert pendulum.violations.largest[0] == "pin"
    assert pendulum.violations.largest[1] < 1e-9
    assert max(pendulum["pin"].violation) == pendulum.violations["pin"][0]
    assert "pin" in str(pendulum.violations)


def test_the_summary_tells_how_the_run_went(pendulum: lw.Result) -> None:
    text = str(pendulum)
    for word in (
        "success",
        "partitioning/auto",
        "adams to 2 s",
        "accepted",
        "factorizations",
        "repartitions",
        "real-time",
        "'pin'",
    ):
        assert word in text
    assert pendulum.statistics.steps > 5
    assert pendulum.version == lw.__version__
    assert len(pendulum.model_hash) == 64


def test_csv_has_a_column_per_component(pendulum: lw.Result, tmp_path) -> None:
    pendulum.to_csv(tmp_path / "out.csv", ["arm.position", "pin.angle"])
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["t", "arm.position.x", "arm.position.y", "arm.position.z", "pin.angle"]
    values = np.array(rows[1:], dtype=float)
    assert np.array_equal(values[:, 1:4], pendulum["arm"].position)


def test_plots_have_a_panel_per_channel(pendulum: lw.Result, tmp_path) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    figure = pendulum.plot("arm.position", "pin.angle", path=tmp_path / "out.png")
    assert len(figure.axes) == 2
    assert (tmp_path / "out.png").stat().st_size > 1000


@pytest.mark.parametrize("output", [None, 0.1])
def test_a_result_survives_pickling(output: float | None) -> None:
    result = build_pendulum().simulate(1.0, output=output)
    forces = result["pin"].force  # builds the live system first
    twin = pickle.loads(pickle.dumps(result))
    assert np.array_equal(twin["pin"].force, forces)
    assert np.array_equal(twin.at(0.33)["arm"].position, result.at(0.33)["arm"].position)
    assert str(twin) == str(result)


def test_a_pickled_result_names_the_function_it_lost() -> None:
    model = build_pendulum()
    model.add(lw.UserForce("wind", ["arm"], lambda t, bodies: {"arm": ((0, t, 0), (0, 0, 0))}))
    result = model.simulate(0.2)
    twin = pickle.loads(pickle.dumps(result))
    assert np.array_equal(twin["pin"].force, result["pin"].force)
    with pytest.raises(LinkworkError, match="was not saved with the result"):
        _ = twin.at(0.1).a


def test_only_actions_may_set_a_state(pendulum: lw.Result) -> None:
    with pytest.raises(AttributeError, match="only inside the action of an Event"):
        pendulum["arm"].velocity = (0, 0, 0)
