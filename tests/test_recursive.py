"""Recursive coordinates: the same motion and reactions as the Cartesian formulations on every joint, tree and loop."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import linkwork as lw
from catalogue import ELEMENTS, MACHINES, build_everything, name_of
from elements import build_body
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


def compare_motion(model, h=1e-6, tolerance=1e-8):
    """Accelerations of the recursion itself, seen in the velocities a moment later, are those of partitioning."""
    compiled = compile_model(model)
    random, system = np.random.default_rng(1), compiled.system
    v = consistent_velocity(system, 0.0, compiled.q, random.uniform(-1, 1, system.nv), compiled.memory)
    one, other = (take_step(compiled, formulation, v, h) for formulation in ("partitioning", "recursive"))
    a = lift(compiled, "partitioning", v)[2]
    assert np.abs(other - one).max(initial=0) < tolerance * h * (1 + np.abs(a).max(initial=0))


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
    if element.name in ("gap", "point_on_curve"):
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


SPATIAL_PAIR = ("Revolute", "Spherical", "Universal", "Distance", "RevoluteSpherical", "InLine", "Screw", "Planar")
POINT_SIDE = ("Spherical", "Distance", "InLine", "InPlane", "RevoluteSpherical")


def build_mixed(seed):
    """A tree of rigid, planar and point bodies hung on each other at random, with a rod or two across."""
    random = np.random.default_rng(seed)
    model = lw.Model("mixed", gravity=(0.3, -9.7, -0.4))
    bodies, kinds = [model.ground], ["ground"]
    for k in range(6):
        kind = str(random.choice(["rigid", "planar", "point"]))
        body = model.add(build_body(f"body{k}", int(random.integers(1, 15)) + 15 * k, kind))
        parent = int(random.integers(0, len(bodies)))
        free = kinds[parent] == "point" or (kind == "planar" and kinds[parent] in ("planar", "ground"))
        names = POINT_SIDE if kind == "point" else SPATIAL_PAIR
        name = "Distance" if free else str(random.choice(names))
        at = find_center(body)
        near = at if "point" in (kind, kinds[parent]) else at + random.uniform(-0.1, 0.1, 3)
        axis, across = np.linalg.qr(random.normal(size=(3, 3)))[0][:2]
        keys = {
            "Universal": {"point": near, "axis_a": axis, "axis_b": across},
            "Spherical": {"point": near},
            "Distance": {"point_a": find_center(bodies[parent]) + (0.2 if parent == 0 else 0.0), "point_b": at},
            "RevoluteSpherical": {"point_a": at + 0.3 * across, "axis": axis, "point_b": at},
            "Screw": {"point": near, "axis": axis, "pitch": 0.1},
        }.get(name, {"point": near, "axis": axis})
        model.add(getattr(lw, name)(f"joint{k}", bodies[parent], body, **keys))
        bodies.append(body)
        kinds.append(kind)
    for k in range(int(random.integers(0, 3))):
        a, b = random.choice(len(bodies) - 1, 2, replace=False) + 1
        model.add(lw.Distance(f"rod{k}", bodies[a], bodies[b]))
    return model


def find_center(body):
    return np.resize(np.append(getattr(body, "position", (0.0, 0.0, 0.0)), 0.0), 3)


def test_rigid_planar_and_point_bodies_meet_in_one_tree():
    seen = {"point": 0, "planar on rigid": 0, "closed": 0}
    for seed in range(60):
        model = build_mixed(seed)
        compiled = compile_model(model)
        values = np.linalg.svd(compiled.system.jacobian(0.0, compiled.q, compiled.memory), compute_uv=False)
        if values.min() < 1e-3 * values.max():
            continue
        compare(model, seed)
        compare_motion(model, 1e-4, 1e-6)
        kinds = compiled.tables["bodies"]["kind"]
        links = compiled.tables["links"]
        seen["point"] += int(np.any(kinds[links["parent"]] == 3))
        seen["planar on rigid"] += int(np.any((kinds[links["body"]] == 1) & (kinds[links["parent"]] == 2)))
        seen["closed"] += int(len(compiled.tables["closures"]) > 0)
    assert min(seen.values()) > 5, seen


def test_a_tree_needs_no_factorization_and_no_iteration():
    result = lw.models.chain(n=6, form="spatial").simulate(0.2, method="recursive/dop853", progress=False)
    spent = result.statistics
    assert spent.evaluations > 50
    assert spent.factorizations == spent.linear_solves == spent.position_iterations == spent.repartitions == 0
    assert result.violations.largest[1] < 1e-14


@pytest.mark.parametrize(
    ("integrator", "order", "steps"),
    [("dopri5", 5, 16), ("sdirk4", 4, 16), ("radau5", 5, 16), ("rodas", 4, 32), ("park", 2, 40), ("hht", 2, 40)],
)
def test_integrators_keep_their_order_on_closed_loops(integrator, order, steps):
    model = lw.models.four_bar(form="spatial", angular_velocity=-4.0)
    times = np.linspace(0.0, 0.4, steps + 1)
    exact = model.simulate(0.4, method="partitioning/dop853", rtol=1e-13, atol=1e-13, output=times, progress=False)
    errors = []
    for n in (steps, 2 * steps):
        run = model.simulate(
            0.4, method=f"recursive/{integrator}", step=0.4 / n, rtol=1e-10, atol=1e-10, progress=False
        )
        assert run.status.success, run.status.message
        every = n // steps
        gaps = [np.abs(run[name].position[::every] - exact[name].position).max() for name in run.bodies]
        errors.append(max(gaps))
    assert order - 0.4 < np.log2(errors[0] / errors[1]) < order + 1.2, errors
