"""Recursive coordinates: the same motion and reactions as the Cartesian formulations on every joint, tree and loop."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import linkwork as lw
from catalogue import ELEMENTS, MACHINES, build_everything, name_of
from linkwork import _core
from linkwork.compile import compile_model
from mechanisms import mechanisms
from states import consistent_velocity

few = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def lift(compiled, formulation, v, t=0.0, x_of=None):
    """Position, velocity, acceleration and multipliers of a state that a chart of this formulation opens at."""
    space = _core.StateSpace(compiled.system, formulation, {})
    status, x = space.start(t, compiled.q, v, compiled.memory)
    assert status == 0, formulation
    status, *motion = space.lift(t, x)
    assert status == 0, formulation
    return motion


def compare(model, seed=0):
    compiled = compile_model(model)
    random = np.random.default_rng(seed)
    system = compiled.system
    v = consistent_velocity(system, 0.0, compiled.q, random.uniform(-1, 1, system.nv), compiled.memory)
    one, other = lift(compiled, "partitioning", v), lift(compiled, "recursive", v)
    # Euler parameters of either sign
    assert np.allclose(system.jacobian(0.0, one[0], compiled.memory), system.jacobian(0.0, other[0], compiled.memory),
                       atol=1e-9)  # fmt: skip
    assert np.allclose(one[1], other[1], atol=1e-9 * (1 + np.abs(one[1]).max(initial=0)))
    for name, a, b in (("accelerations", one[2], other[2]), ("multipliers", one[3], other[3])):
        assert np.abs(a - b).max(initial=0) < 1e-9 * (1 + np.abs(a).max(initial=0)), name


@pytest.mark.parametrize("case", MACHINES, ids=name_of)
def test_accelerations_and_reactions_of_machines_are_those_of_partitioning(case):
    compare(case.build())


@pytest.mark.parametrize("element", ELEMENTS, ids=name_of)
def test_accelerations_and_reactions_of_elements_are_those_of_partitioning(element):
    compare(element.build())


def test_accelerations_and_reactions_of_everything_at_once_are_those_of_partitioning():
    compare(build_everything())


def assume_moves(model):
    """Keeps mechanisms that are not next to a singular position."""
    compiled = compile_model(model)
    J = compiled.system.jacobian(0.0, compiled.q, compiled.memory)
    values = np.linalg.svd(J, compute_uv=False)
    rank = int(np.sum(values > 1e-9 * values[0])) if values.size else 0
    assume(0 < rank < J.shape[1])
    assume(values[rank - 1] > 1e-3 * values[0])


@few
@given(mechanisms(most_loops=0))
def test_random_trees_have_the_accelerations_and_reactions_of_partitioning(model):
    assume_moves(model)
    compare(model)


@few
@given(mechanisms())
def test_random_loops_have_the_accelerations_and_reactions_of_partitioning(model):
    assume_moves(model)
    compare(model)


@few
@given(mechanisms(planar=True))
def test_random_planar_mechanisms_have_the_accelerations_and_reactions_of_partitioning(model):
    assume_moves(model)
    compare(model)


@pytest.mark.parametrize("case", MACHINES, ids=name_of)
def test_bodies_move_as_the_accelerations_say(case):
    compare_motion(case.build())


@pytest.mark.parametrize("element", ELEMENTS, ids=name_of)
def test_bodies_of_elements_move_as_the_accelerations_say(element):
    compare_motion(element.build())


def take_step(compiled, formulation, v, h):
    """Velocities after one step of the classical Runge-Kutta method on x' = f."""
    space = _core.StateSpace(compiled.system, formulation, {})
    status, x = space.start(0.0, compiled.q, v, compiled.memory)
    assert status == 0

    def rate(t, x):
        status, f = space.rate(t, x)
        assert status == 0
        return f

    k1 = rate(0.0, x)
    k2 = rate(h / 2, x + h / 2 * k1)
    k3 = rate(h / 2, x + h / 2 * k2)
    k4 = rate(h, x + h * k3)
    status, _, v, _, _ = space.lift(h, x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    assert status == 0
    return v


def compare_motion(model):
    """Accelerations of the recursion itself, seen in the velocities a moment later, are those of partitioning."""
    compiled = compile_model(model)
    random, system, h = np.random.default_rng(1), compiled.system, 1e-6
    v = consistent_velocity(system, 0.0, compiled.q, random.uniform(-1, 1, system.nv), compiled.memory)
    one, other = (take_step(compiled, formulation, v, h) for formulation in ("partitioning", "recursive"))
    a = lift(compiled, "partitioning", v)[2]
    assert np.abs(other - one).max(initial=0) < 1e-8 * h * (1 + np.abs(a).max(initial=0))


JOINTS = [e for e in ELEMENTS if "joint" in e.tags]


@pytest.mark.parametrize("form", ["forward", "backward"])
@pytest.mark.parametrize("element", JOINTS, ids=name_of)
def test_motions_and_equations_of_a_joint_describe_the_same_joint(element, form):
    """The motions span the null space of the equations that they satisfy, from a to b and from b to a."""
    model = element.build()
    held = lw.Model("held", gravity=model.gravity)
    for record in model.records.values():
        held.add(record)
    held.add(lw.Fixed("hold", held.ground, {"forward": "a", "backward": "b"}[form]))  # the joint carries the other
    compiled = compile_model(held)
    system, tables = compiled.system, compiled.tables
    J = system.jacobian(0.0, compiled.q, compiled.memory)
    closing = set(tables["closures"].tolist())
    satisfied = [row for row in range(len(J)) if row not in closing]
    motions = int(tables["links"]["motions"].sum())
    assert motions == J.shape[1] - np.linalg.matrix_rank(J[satisfied])
    space = _core.StateSpace(system, "recursive", {})
    status, x = space.start(0.0, compiled.q, np.zeros(system.nv), compiled.memory)
    assert status == 0
    n = len(x) // 2
    moved = []
    for k in range(n):
        status, _, v, _, _ = space.lift(0.0, x + np.eye(2 * n)[n + k])
        moved.append(v)
    moved = np.array(moved).reshape(n, system.nv)
    assert np.linalg.matrix_rank(moved) == n == motions - len(closing)
    assert np.abs(J @ moved.T).max(initial=0) < 1e-12
    record = held[element.name]
    if element.name == "point_on_curve":
        assert compiled.tree_joints[0].path is None
    else:
        assert compiled.tree_joints[0].path is not None
        assert len(closing) == len(compiled.tree_joints[0].path.rest), record


@few
@given(mechanisms(planar=True, most_loops=1))
def test_any_joint_of_a_loop_may_be_cut(model):
    assume_moves(model)
    runs = []
    for cut in ((), (model.joints[0],), (model.joints[-1],)):
        method = lw.Method("recursive", "dop853", cut=cut)
        runs.append(model.simulate(0.05, method=method, rtol=1e-10, atol=1e-10, output=[0.05], progress=False))
        assert runs[-1].status.success, runs[-1].status.message
    for name in runs[0].bodies:
        for run in runs[1:]:
            assert np.allclose(run[name].position, runs[0][name].position, atol=1e-9), name


@pytest.mark.parametrize(
    ("cut", "text"),
    [
        (("pinn",), "cut: there is no joint 'pinn'; did you mean 'pin'?"),
        (("wind",), "cut: 'wind' closes a loop in any case; name joints between two bodies"),
    ],
)
def test_cutting_what_is_no_joint_is_refused_by_name(cut, text):
    model = lw.Model("arm")
    model.add(lw.Body("arm", mass=1, inertia=(1, 1, 1), position=(1, 0, 0)))
    model.add(lw.Revolute("pin", model.ground, "arm", point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(lw.Driver("wind", on="pin", function="t"))
    with pytest.raises(lw.ModelError, match=text.replace("?", r"\?")):
        model.simulate(0.1, method=lw.Method("recursive", "dopri5", cut=cut))
    with pytest.raises(lw.MethodError, match="must be the names of joints"):
        lw.Method("recursive", "dopri5", cut=(1,))


def test_a_hinge_counts_its_turns_and_a_ball_takes_new_zeros():
    model = lw.models.spinning_top()
    top = model.simulate(1.0, method="recursive/dop853", rtol=1e-9, atol=1e-9, progress=False)
    assert top.status.success and top.statistics.repartitions == 0
    rotor = lw.Model("rotor", gravity=(0, 0, 0))
    wheel = rotor.add(lw.Body("wheel", mass=1, inertia=(1, 1, 2), angular_velocity=(0, 0, 100)))
    rotor.add(lw.Revolute("axle", rotor.ground, wheel, point=(0, 0, 0), axis=(0, 0, 1)))
    result = rotor.simulate(1.0, method="recursive/adams", rtol=1e-6, atol=1e-6, max_step=0.01, progress=False)
    assert abs(result["axle"].angle[-1] - 100) < 1e-9


@pytest.mark.parametrize(
    "integrator",
    ["adams", "sdirk4", "radau5", "rodas", "bdf", "park/krylov", "hht/newton", "sdirk4/krylov", "bdf/newton_fd"],
)
@pytest.mark.parametrize("machine", ["four_bar", "chain"])
def test_every_kind_of_integrator_gives_the_motion_of_partitioning(machine, integrator):
    model = getattr(lw.models, machine)(form="spatial")
    low = integrator.startswith(("park", "hht"))
    keys = {"rtol": 1e-5 if low else 1e-8, "atol": 1e-5 if low else 1e-8, "output": [0.1, 0.2], "progress": False}
    result = model.simulate(0.2, method=f"recursive/{integrator}", **keys)
    exact = model.simulate(0.2, method="partitioning/dop853", **{**keys, "rtol": 1e-11, "atol": 1e-11})
    assert result.status.success, result.status.message
    for name in result.bodies:
        assert np.allclose(result[name].position, exact[name].position, atol=2e-3 if low else 1e-6), name
