"""Proves that records refuse what cannot be, that models keep names straight, and that joints become the right rows."""

from __future__ import annotations

import math
import pickle
import re
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork import tables as tb
from linkwork.compile import compile_model
from linkwork.rotations import calc_axes, calc_matrix, calc_quaternion, calc_rotation_about, calc_shortest_turn

UNIT = (1.0, 1.0, 1.0)


def free_pair(a_kind=lw.Body, b_kind=lw.Body):
    """A model of two bodies apart from each other."""
    model = lw.Model("pair")
    for name, kind, x in (("a", a_kind, 0.0), ("b", b_kind, 1.0)):
        if kind is lw.Body:
            model.add(lw.Body(name, 1, UNIT, position=(x, 0.2, 0)))
        elif kind is lw.PlanarBody:
            model.add(lw.PlanarBody(name, 1, 1, position=(x, 0.2)))
        else:
            model.add(lw.PointMass(name, 1, position=(x, 0.2, 0)))
    return model


def refuse(call, *messages):
    with pytest.raises(lw.ModelError) as caught:
        call()
    text = str(caught.value)
    for message in messages:
        assert message in text
    return caught.value


# --- records ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lw.Body("b", -1, UNIT), "Body 'b': mass -1 must be positive"),
        (lambda: lw.Body("b", 0, UNIT), "mass 0 must be positive"),
        (lambda: lw.Body("b", "heavy", UNIT), "mass 'heavy' is not made of numbers"),
        (lambda: lw.Body("b", math.nan, UNIT), "NaN"),
        (lambda: lw.Body("", 1, UNIT), "name '' is empty"),
        (lambda: lw.Body("a.b", 1, UNIT), "contain a dot"),
        (lambda: lw.Body("ground", 1, UNIT), "the name 'ground' is that of model.ground"),
        (lambda: lw.Body("b", 1, (1, 1, 3)), "triangle inequality"),
        (lambda: lw.Body("b", 1, (1, 1, 0)), "all must be positive"),
        (lambda: lw.Body("b", 1, [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        (lambda: lw.Body("b", 1, (1, 1)), "inertia (3 diagonal entries or 3x3) has shape (2,)"),
        (lambda: lw.Body("b", 1, UNIT, position=(1, 2)), "position has shape (2,); give 3 numbers"),
        (lambda: lw.Body("b", 1, UNIT, orientation=(0, 0, 0, 0)), "give a unit quaternion"),
        (lambda: lw.Body("b", 1, UNIT, orientation=2 * np.eye(3)), "not a rotation matrix"),
        (lambda: lw.Body("b", 1, UNIT, velocity=(0, math.inf, 0)), "infinity"),
        (lambda: lw.PlanarBody("b", 1, 0), "inertia 0 must be positive"),
        (lambda: lw.PointMass("b", -2), "mass -2"),
        (lambda: lw.Frame(3), "body 3 is not a body"),
        (lambda: lw.Revolute("r", "a", "b", point=(0, 0, 0), axis=(0, 0, 0)), "axis (0.0, 0.0, 0.0) has no length"),
        (lambda: lw.Revolute("r", "a", "b", axis=(0, 0, 1), reference=(0, 0, 2)), "reference is parallel"),
        (lambda: lw.Screw("s", "a", "b", pitch=0), "pitch 0 does not advance"),
        (lambda: lw.Distance("d", "a", "b", length=0), "length 0 must be positive"),
        (lambda: lw.PointOnCurve("c", "a", "b", curve=[(0, 0)]), "curve has shape (1, 2)"),
        (lambda: lw.PointOnCurve("c", "a", "b", curve=[(0, 0), (0, 0), (1, 1)]), "neighbouring points must differ"),
        (lambda: lw.Gear("g", "a", "b", ratio=0), "ratio 0 couples nothing"),
        (lambda: lw.RackAndPinion("g", "a", "b", radius=0), "radius 0 couples nothing"),
        (
            lambda: lw.Coupler("c", on=("a", "b"), coefficients=(1,)),
            "coefficients (one per coordinate of on) has shape",
        ),
        (lambda: lw.Driver("d", on=3, function=0), "on 3 does not name a coordinate"),
        (lambda: lw.Driver("d", on="pin", function="x"), "Driver 'd': function: expression 'x': unknown name 'x'"),
        (lambda: lw.Spring("s", "a", stiffness=1), "give two bodies a and b, or on="),
        (lambda: lw.Spring("s", "a", "b", force="T"), "unknown name 'T'; allowed names: t, length, rate"),
        (lambda: lw.JointFriction("f", "pin", level=-1), "level -1 must not be negative"),
        (lambda: lw.JointFriction("f", "pin", slip_velocity=0), "slip_velocity 0 must be positive"),
        (lambda: lw.Bushing("q", "a", "b", stiffness=(1, 2)), "stiffness has shape (2,); give 6 numbers"),
        (lambda: lw.PointForce("f", "ground", (0, 0, 1)), "acts on the ground"),
        (lambda: lw.PointForce("f", "a", (0, 1)), "needs three components"),
        (lambda: lw.PointForce("f", "a", (0, 0, 1), frame="boddy"), "frame 'boddy' is not one of"),
        (lambda: lw.Tire("t", "a", radius=0), "radius 0 must be positive"),
        (lambda: lw.Road(bumps=[(0, -1)]), "bump radius -1 must be positive"),
        (lambda: lw.UserForce("u", [], lambda t, s: 0), "acts on 0 bodies"),
        (lambda: lw.UserForce("u", ["a"], 3), "function 3 is not callable"),
        (lambda: lw.Event("e", 3), "function 3 is not callable"),
        (lambda: lw.Event("e", abs, direction=2), "direction 2 is not one of -1, 0, 1"),
        (lambda: lw.Event("e", abs, action="halt"), "action 'halt' is not 'record', 'stop'"),
        (lambda: lw.Model("m", gravity=(0, 1)), "gravity has shape (2,)"),
    ],
)
def test_a_record_refuses_bad_fields_with_name_value_and_cure(make, message):
    refuse(make, message)


def test_a_record_reports_all_its_problems_at_once():
    error = refuse(lambda: lw.Body("b", -1, (1, 1, 9), velocity=(0, 0)))
    assert len(error.problems) == 3


def test_records_are_frozen_comparable_and_picklable():
    body = lw.Body("b", 2, np.diag([1.0, 2.0, 2.5]), position=np.array([1, 2, 3]))
    assert body == lw.Body("b", 2.0, (1, 2, 2.5), position=[1, 2, 3])
    assert pickle.loads(pickle.dumps(body)) == body
    with pytest.raises(FrozenInstanceError):
        body.mass = 3


def test_orientations_may_be_matrices_or_nearly_unit_quaternions():
    A = calc_rotation_about((1, 2, 3), 0.7)
    body = lw.Body("b", 1, UNIT, orientation=A)
    assert np.allclose(calc_matrix(body.orientation), A, atol=1e-15)
    assert np.linalg.norm(lw.Body("b", 1, UNIT, orientation=(1.003, 0, 0, 0)).orientation) == 1


def test_rotations_agree_with_each_other():
    random = np.random.default_rng(3)
    for _ in range(50):
        p = random.normal(size=4)
        A = calc_matrix(p)
        assert np.allclose(A @ A.T, np.eye(3), atol=1e-14) and np.linalg.det(A) > 0
        assert np.allclose(calc_matrix(calc_quaternion(A)), A, atol=1e-14)
        a, b = random.normal(size=(2, 3))
        assert np.allclose(calc_shortest_turn(a, b) @ a / np.linalg.norm(a), b / np.linalg.norm(b), atol=1e-14)
        axes = calc_axes(a, b)
        assert np.allclose(axes.T @ axes, np.eye(3), atol=1e-14) and axes[:, 0] @ b > 0
    for angle in (math.pi, -math.pi, 0.0):  # the square roots of the diagonal vanish one after the other
        for axis in np.eye(3):
            A = calc_rotation_about(axis, angle)
            assert np.allclose(calc_matrix(calc_quaternion(A)), A, atol=1e-14)
    assert np.allclose(calc_shortest_turn((0, 0, 1), (0, 0, -1)) @ (0, 0, 1), (0, 0, -1))


# --- models -----------------------------------------------------------------------------------------------------------


def test_a_model_returns_lists_and_finds_its_records():
    model = free_pair()
    pin = model.add(lw.Revolute("pin", "a", "b", point=(0, 0, 0), axis=(0, 0, 1)))
    coil = model.add(lw.RotationalSpring("coil", on=pin, stiffness=1))
    model.add(lw.Event("hit", lambda t, state: t - 1))
    assert model["pin"] is pin and model["coil"] is coil and model["ground"] is model.ground
    assert (model.bodies, model.joints, model.forces, model.events) == (["a", "b"], ["pin"], ["coil"], ["hit"])
    assert repr(model) == "Model('pair': 2 bodies, 1 joint, 1 force, 1 event)"
    assert "pin" in model and len(model) == 5 and list(model) == ["a", "b", "pin", "coil", "hit"]
    with pytest.raises(KeyError, match="did you mean 'pin'"):
        model["pim"]


def test_a_model_refuses_doubled_names_and_what_is_not_a_record():
    model = free_pair()
    refuse(lambda: model.add(lw.PointMass("a", 1)), "PointMass 'a': the name is taken by a Body")
    refuse(lambda: model.add(lw.Body), "the class Body cannot be added")
    refuse(lambda: model.add(lw.Frame("a")), "a Frame is not added")
    refuse(lambda: compile_model(lw.Model("void")), "model 'void': it has no bodies")


def test_bodies_of_another_model_are_refused():
    model, other = free_pair(), lw.Body("c", 1, UNIT)
    model.add(lw.Spherical("ball", "a", other, point=(0, 0, 0)))
    refuse(lambda: compile_model(model), "Spherical 'ball': body 'c' does not belong to this model; add it first")
    changed = lw.Body("b", 5, UNIT)
    model = free_pair()
    model.add(lw.Spherical("ball", "a", changed, point=(0, 0, 0)))
    refuse(lambda: compile_model(model), "body 'b' does not belong to this model")


def test_compilation_reports_every_problem_of_the_model():
    model = free_pair()
    model.add(lw.PointMass("p", 1, position=(2, 0, 0)))
    add = model.add
    add(lw.Revolute("j1", "aa", "b", point=(0, 0, 0), axis=(0, 0, 1)))
    add(lw.Revolute("j2", "a", "p", axis=(0, 0, 1)))
    add(lw.Revolute("j3", "a", "b", point=(0, 0, 0)))
    add(lw.Revolute("j4", "a", "b", axis=(0, 0, 1)))
    add(lw.Revolute("j5", "a", lw.Frame("a"), axis=(0, 0, 1)))
    add(lw.Universal("j6", "a", "b", point=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(1, 1, 0)))
    add(lw.Spherical("j7", "a", "p", point=(2, 1, 0)))
    add(lw.Distance("j8", "a", "b", point_a=(1, 1, 1), point_b=(1, 1, 1)))
    add(lw.Distance("j9", model.ground, "b"))
    add(lw.Fixed("k0", lw.Frame("a"), lw.Frame("b"), point=(0, 0, 0)))
    add(lw.Cylindrical("ok", "a", "b", point=(0, 0, 0), axis=(1, 0, 0)))
    add(lw.Driver("k1", on="ok", function="t"))
    add(lw.Driver("k2", on="a.angle", function="t"))
    add(lw.Driver("k3", on="okk", function="t"))
    add(lw.Gear("k4", on_a="j1", on_b="ok.angle", ratio=2))
    add(lw.RotationalSpring("k5", on="ok.displacement", stiffness=1))
    add(lw.PointTorque("k6", "p", (0, 0, 1)))
    add(lw.Bushing("k7", "p", "a", point=(2, 0, 0), stiffness=(1,) * 6))
    add(lw.UserForce("k8", ["a", "a"], lambda t, s: 0))
    add(lw.Spring("k9", "a", "b", stiffness=lw.Table((0, 1), (0, 1)), force=lambda t, s, r: 0))
    error = refuse(
        lambda: compile_model(model),
        "model 'pair': 19 problems",
        "Revolute 'j1': unknown body 'aa'",
        "Revolute 'j2': it needs directions on the point mass 'p'",
        "Revolute 'j3': give axis",
        "Revolute 'j4': give point",
        "Revolute 'j5': both sides are 'a'",
        "Universal 'j6': axis_a and axis_b make 45 deg",
        "Spherical 'j7': its point lies 1 m from the point mass 'p'",
        "Distance 'j8': its two points coincide",
        "Distance 'j9': give point_a, the point on the ground",
        "Fixed 'k0': both sides are Frames",
        "Driver 'k1': 'ok' is not one coordinate; use 'ok.angle', 'ok.displacement'",
        "Driver 'k2': 'a.angle' is not a coordinate; use 'a.x', 'a.y', 'a.z'",
        "Driver 'k3': unknown joint or body 'okk'; did you mean 'ok'?",
        "Gear 'k4': joint 'j1', on which it acts, has a problem of its own",
        "RotationalSpring 'k5': 'ok.displacement' is not an angle",
        "PointTorque 'k6': a torque cannot act on the point mass 'p'",
        "Bushing 'k7': the point mass 'p' has no orientation",
        "UserForce 'k8': it names a body twice",
        "Spring 'k9': a callable cannot be added to tables",
    )
    assert len(error.problems) == 19


def test_a_changed_model_is_compiled_anew_and_an_unchanged_one_is_not():
    model = free_pair()
    first = compile_model(model)
    assert compile_model(model) is first
    model.add(lw.Spherical("ball", "a", "b", point=(0.5, 0, 0)))
    second = compile_model(model)
    assert second is not first and second.hash != first.hash
    model.gravity = (0, -9.81, 0)
    assert compile_model(model).hash not in (first.hash, second.hash)


def test_models_and_compiled_models_survive_pickling():
    model = free_pair()
    model.add(lw.Revolute("pin", "a", "b", point=(0.5, 0, 0), axis=(0, 0, 1)))
    model.add(lw.Driver("drive", on="pin", function=lw.Expression("w*t", w=2)))
    twin = pickle.loads(pickle.dumps(model))
    compiled = compile_model(twin)
    assert compiled.hash == compile_model(model).hash
    assert pickle.loads(pickle.dumps(compiled)).hash == compiled.hash


# --- joints -----------------------------------------------------------------------------------------------------------


def constraints(model, t=0.0):
    compiled = compile_model(model)
    return compiled, compiled.system.constraints(t, compiled.q, compiled.memory)


def test_a_frame_fixes_one_side_and_the_other_coincides():
    model = free_pair()
    frame = lw.Frame("a", position=(0.3, 0, 0), orientation=calc_rotation_about((1, 1, 0), 0.4))
    model.add(lw.Revolute("pin", frame, "b"))
    compiled, phi = constraints(model)
    assert np.abs(phi).max() < 1e-15
    (s, p), (s_b, p_b) = compiled.joints["pin"].frame_a, compiled.joints["pin"].frame_b
    assert np.allclose(s, (0.3, 0, 0)) and np.allclose(calc_matrix(p), calc_matrix(frame.orientation))
    assert np.allclose(s_b, (-0.7, 0, 0)) and np.allclose(p, p_b)


def test_two_frames_need_not_be_assembled_and_define_the_angle():
    model = free_pair()
    turned = calc_rotation_about((0, 0, 1), 0.25)
    model.add(lw.Revolute("pin", lw.Frame("a"), lw.Frame("b", orientation=turned)))
    compiled, phi = constraints(model)
    assert np.allclose(phi, (1, 0, 0, 0, 0))
    label, record = compiled.joints["pin"].coordinates[0]
    values, _ = compiled.system.coordinates(np.array([record]), compiled.q, compiled.v, compiled.memory)
    assert label == "angle" and values[0] == pytest.approx(0.25)


def test_joint_coordinates_follow_the_motion_of_b():
    """Turning b by 0.3 about the axis and moving it 0.2 along it changes angle and displacement by just that."""
    axis, point = np.array([2.0, -1, 2]) / 3, np.array([0.4, 0.1, -0.2])
    expected = {"angle": 0.3, "displacement": 0.2}
    for kind, labels in (
        (lw.Cylindrical, ("angle", "displacement")),
        (lw.InLine, ("displacement",)),
        (lw.Parallel, ("angle",)),
    ):
        model = free_pair()
        model.add(kind("joint", "a", "b", point=point, axis=axis))
        compiled = compile_model(model)
        turn = calc_rotation_about(axis, 0.3)
        q = compiled.q.copy()
        q[7:10] = point + turn @ (q[7:10] - point) + 0.2 * axis
        q[10:14] = calc_quaternion(turn)
        assert np.abs(compiled.system.constraints(0, q, compiled.memory)).max(initial=0) < 1e-15
        records = np.array([record for _, record in compiled.joints["joint"].coordinates])
        values, _ = compiled.system.coordinates(records, q, compiled.v, compiled.memory)
        assert [label for label, _ in compiled.joints["joint"].coordinates] == list(labels)
        assert values == pytest.approx([expected[label] for label in labels], abs=1e-15)


def test_a_universal_joint_measures_the_turns_about_both_of_its_axes():
    model = free_pair()
    model.add(lw.Universal("cross", "a", "b", point=(0.5, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 1, 0)))
    compiled = compile_model(model)
    q = compiled.q.copy()
    turn = calc_rotation_about((0, 0, 1), 0.4) @ calc_rotation_about((0, 1, 0), -0.7)  # about a's axis last
    q[7:10] = (0.5, 0, 0) + turn @ (q[7:10] - (0.5, 0, 0))
    q[10:14] = calc_quaternion(turn)
    assert np.abs(compiled.system.constraints(0, q, compiled.memory)).max() < 1e-15
    records = np.array([record for _, record in compiled.joints["cross"].coordinates])
    values, _ = compiled.system.coordinates(records, q, compiled.v, compiled.memory)
    assert values == pytest.approx((0.4, -0.7), abs=1e-14)


def test_a_bent_constant_velocity_joint_passes_turns_on_unchanged():
    model = free_pair()
    bent = calc_rotation_about((1, 0, 0), 0.6) @ (0, 0, 1)
    model.add(lw.ConstantVelocity("cv", "a", "b", point=(0.5, 0, 0), axis_a=(0, 0, 1), axis_b=bent))
    compiled = compile_model(model)
    for turn in (0.0, 0.5, 2.0):
        q = compiled.q.copy()
        for i, axis in ((0, (0, 0, 1)), (7, bent)):
            A = calc_rotation_about(axis, turn)
            q[i : i + 3] = (0.5, 0, 0) + A @ (q[i : i + 3] - (0.5, 0, 0))
            q[i + 3 : i + 7] = calc_quaternion(A)
        assert np.abs(compiled.system.constraints(0, q, compiled.memory)).max() < 1e-15


def test_couplings_tie_coordinates_with_the_constants_of_the_start():
    model = lw.Model("train")
    for name, x in (("g1", 0.0), ("g2", 1.0), ("rack", 2.0)):
        model.add(lw.Body(name, 1, UNIT, position=(x, 0, 0)))
    for name, x in (("g1", 0.0), ("g2", 1.0)):
        tilted = calc_rotation_about((0, 0, 1), 0.5)
        model.add(lw.Revolute(f"pin_{name}", lw.Frame(model.ground, (x, 0, 0)), lw.Frame(name, orientation=tilted)))
    model.add(lw.Translational("rail", model.ground, "rack", point=(2, 0, 0), axis=(1, 0, 0)))
    model.add(lw.Gear("gear", on_a="pin_g1", on_b="pin_g2", ratio=-2))
    model.add(lw.RackAndPinion("mesh", rack="rail", pinion="pin_g1", radius=0.3))
    model.add(lw.Coupler("sum", on=("pin_g1", "pin_g2.angle", "rail"), coefficients=(1, 2, 3), constant=0.0))
    compiled, phi = constraints(model)
    rows = {name: compiled.joints[name].rows.start for name in ("gear", "mesh", "sum")}
    assert phi[rows["gear"]] == pytest.approx(0, abs=1e-15) and phi[rows["mesh"]] == pytest.approx(0, abs=1e-15)
    assert phi[rows["sum"]] == pytest.approx(1.5)
    q = compiled.q.copy()
    for i, turn in ((3, 0.1), (10, -0.2)):
        q[i : i + 4] = calc_quaternion(calc_rotation_about((0, 0, 1), turn))
    q[14] += 0.03
    phi = compiled.system.constraints(0, q, compiled.memory)
    assert abs(phi[rows["gear"]]) < 1e-15 and abs(phi[rows["mesh"]]) < 1e-15


def test_a_driven_angle_starts_on_the_turn_of_its_function():
    model = free_pair()
    model.add(lw.Revolute("pin", "a", "b", point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(lw.Driver("drive", on="pin", function="6*pi + t"))
    _, phi = constraints(model)
    assert abs(phi[-1]) < 1e-14


def test_a_cam_follows_its_closed_curve_over_many_turns():
    angles = np.linspace(0, 2 * np.pi, 73)[:-1]
    circle = 0.5 * np.column_stack([np.cos(angles), np.sin(angles)])
    model = lw.Model("cam")
    model.add(lw.PlanarBody("cam", 1, 1))
    model.add(lw.PlanarBody("roller", 1, 1, position=(0.4, 0)))
    model.add(lw.PointOnCurve("contact", "cam", "roller", curve=circle, closed=True, offset=0.1))
    compiled = compile_model(model)
    memory = compiled.memory
    for turn in np.arange(0, 14, 0.1):
        q = np.array([0, 0, turn, 0.4, 0, 0])
        memory = compiled.system.update_memory(0.0, q, memory)
        assert abs(compiled.system.constraints(0.0, q, memory)[0]) < 1e-6


# --- planar motion ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("add", "labels"),
    [
        (lambda m: lw.Revolute("j", "a", "b", point=(0, 0, 0), axis=(0, 0, 1)), ["x of the common point", "y of the"]),
        (lambda m: lw.Spherical("j", "a", "b", point=(0, 0, 0)), ["x of the common point", "y of the common point"]),
        (lambda m: lw.Fixed("j", "a", "b"), ["x of the common point", "y of the common point", "no turn"]),
        (
            lambda m: lw.Translational("j", "a", "b", point=(0, 0, 0), axis=(1, 2, 0)),
            ["axis of b", "point of b on the"],
        ),
        (lambda m: lw.InLine("j", "a", "b", point=(0, 0, 0), axis=(1, 2, 0)), ["point of b on the line"]),
        (lambda m: lw.InPlane("j", "a", "b", point=(0, 0, 0), axis=(0, 0, 1)), []),
        (lambda m: lw.Planar("j", "a", "b", point=(0, 0, 0), axis=(0, 0, 1)), []),
        (lambda m: lw.Distance("j", "a", "b"), ["length"]),
        (lambda m: lw.Driver("j", on="a.angle", function="t"), ["prescribed coordinate"]),
    ],
)
def test_rows_that_planar_motion_cannot_change_are_left_out(add, labels):
    model = free_pair(lw.PlanarBody, lw.PlanarBody)
    model.add(add(model))
    compiled, phi = constraints(model)
    found = compiled.joints["j"].labels
    assert len(found) == len(labels) == len(phi) and all(a.startswith(b) for a, b in zip(found, labels, strict=True))
    rank, _ = compiled.system.active_rows(0.0, compiled.q, compiled.memory)
    assert rank == len(labels)


def test_planar_joints_that_cannot_close_are_refused():
    model = free_pair(lw.PlanarBody, lw.PlanarBody)
    model.add(lw.Spherical("j", lw.Frame("a"), lw.Frame("b", (0, 0, 0.1))))
    model.add(lw.InPlane("k", lw.Frame("a"), lw.Frame("b", (0, 0, 0.2))))
    model.add(lw.Driver("l", on=("a", "b"), function="t"))
    model.add(lw.InPlane("m", lw.Frame("a"), lw.Frame("b")))
    model.add(lw.Cylindrical("n", "a", "b", point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(lw.Driver("o", on="n.displacement", function="t"))
    refuse(
        lambda: compile_model(model),
        "Spherical 'j': its points on the two planar bodies differ by 0.1 m in z",
        "InPlane 'k': 'point of b in the plane' is off by 0.2",
        "Driver 'o': 'n.displacement' is not one coordinate; use 'n.angle'",
    )


def test_a_planar_body_may_meet_a_spatial_one():
    model = free_pair(lw.PlanarBody, lw.Body)
    model.add(lw.Revolute("j", "a", "b", point=(0, 0, 0), axis=(0, 0, 1)))
    compiled, phi = constraints(model)
    assert len(phi) == 5 and np.abs(phi).max() == 0
    assert compiled.tables["bodies"]["nv"].tolist() == [0, 3, 6]


def test_point_masses_meet_joints_at_their_position():
    model = free_pair(lw.PointMass, lw.PointMass)
    model.add(lw.Body("c", 1, UNIT))
    model.add(lw.Distance("rod", "a", "b"))
    model.add(lw.Spherical("ball", "c", "a"))
    model.add(lw.InLine("wire", model.ground, "b", axis=(0, 0, 1)))
    _, phi = constraints(model)
    assert len(phi) == 1 + 3 + 2 and np.abs(phi).max() < 1e-15


# --- tables -----------------------------------------------------------------------------------------------------------


def test_tables_are_laid_out_as_the_core_expects():
    model = free_pair(lw.Body, lw.PlanarBody)
    model.add(lw.Distance("rod", model.ground, "b", point_a=(1, 1, 1)))
    model.add(lw.Fixed("weld", model.ground, "a"))
    model.add(lw.Spring("slide", on="rod", stiffness=2, free_length=0.5))
    model.add(lw.RotationalSpring("wind", on="b.angle", stiffness=3))
    model.add(lw.JointFriction("rub", on="b.x", level=1))
    tables = compile_model(model).tables
    assert (np.diff(tables["primitives"]["kind"]) >= 0).all()
    assert tables["coordinate_forces"]["coordinate"]["kind"].tolist() == [tb.DOT2, tb.DISTANCE, tb.ANGLE]
    infos = compile_model(model).forces
    assert [infos[name].index for name in ("slide", "wind", "rub")] == [1, 2, 0]
    used = 0
    for part in tables["parts"]:
        nv = tables["bodies"]["nv"][part["body"]]
        if nv:
            assert part["offset"] == used
            used += tables["blocks"]["rows"][part["block"]] * nv
    scratch = tables["parts"]["offset"][tables["bodies"]["nv"][tables["parts"]["body"]] == 0]
    assert len(scratch) == 2 and (scratch >= used).all()
    assert tables["blocks"]["rows"].max() <= 6
    for p in tables["primitives"]:
        block = tables["rows"]["block"][p["row"]]
        for part, body in ((p["part_a"], p["body_a"]), (p["part_b"], p["body_b"])):
            assert tables["parts"]["block"][part] == block and tables["parts"]["body"][part] == body


def test_coordinates_share_one_memory_entry():
    model = free_pair()
    model.add(lw.Revolute("pin", "a", "b", point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(lw.RotationalSpring("coil", on="pin", stiffness=3))
    model.add(lw.Driver("drive", on="pin.angle", function="t"))
    tables = compile_model(model).tables
    assert tables["memory_size"] == 1
    assert tables["coordinate_forces"]["coordinate"]["memory"].tolist() == [0]


# --- forces -----------------------------------------------------------------------------------------------------------


def force_of(model, name, t=0.0):
    compiled = compile_model(model)
    states = compiled.system.coordinate_forces(t, compiled.q, compiled.v, compiled.memory)
    return states[compiled.forces[name].index]


def test_a_spring_adds_up_tables_and_expressions():
    model = lw.Model("drop")
    model.add(lw.Body("b", 1, UNIT, position=(0, 0, 2), velocity=(0, 0, 0.5)))
    model.add(
        lw.Spring(
            "s", model.ground, "b", point_a=(0, 0, 0), stiffness=lw.Table((-1, 0, 1), (-30, 0, 10), "linear"),
            damping=((-1, 0, 1), (-4, 0, 2)), free_length=1.4, force="t + 0.1*length*rate",
        )
    )  # fmt: skip
    damper = lw.Table((-1, 0, 1), (-4, 0, 2))
    s, rate, h = force_of(model, "s", t=3.0)
    assert (s, rate) == (2.0, 0.5)
    assert h == pytest.approx(6.0 + damper(0.5) + 3.0 + 0.1, rel=1e-14)


def test_free_lengths_default_to_the_start_and_callables_get_time_length_and_rate():
    model = lw.Model("drop")
    model.add(lw.PointMass("b", 1, position=(0, 3, 4), velocity=(0, 0, 1)))
    model.add(lw.Spring("s", model.ground, "b", point_a=(0, 0, 0), stiffness=7))
    model.add(lw.Spring("u", model.ground, "b", point_a=(0, 0, 0), force=lambda t, length, rate: t + length * rate))
    assert force_of(model, "s") == pytest.approx((5, 0.8, 0))
    assert force_of(model, "u", t=2.0)[2] == pytest.approx(2 + 5 * 0.8)


def test_loads_act_in_their_axes_and_at_their_points():
    turn = calc_rotation_about((0, 0, 1), np.pi / 2)
    for frame, force in (("ground", (1, 0, 0)), ("body", (0, -1, 0))):
        model = lw.Model("push", gravity=(0, 0, 0))
        model.add(lw.Body("b", 1, UNIT, position=(1, 1, 0), orientation=turn))
        model.add(lw.PointForce("f", "b", force, point=(1, 2, 0), frame=frame))
        compiled = compile_model(model)
        wrench = compiled.system.wrenches(0.0, compiled.q, compiled.v, compiled.memory)[1]
        assert wrench == pytest.approx((1, 0, 0, 0, 0, -1), abs=1e-15)


def test_loads_take_expressions_and_vector_callables():
    model = lw.Model("push", gravity=(0, 0, 0))
    model.add(lw.Body("b", 1, UNIT))
    model.add(lw.PointForce("f", "b", ("2*t", 1, lambda t: t**2)))
    model.add(lw.PointTorque("n", "b", lambda t: (t, 0, -t)))
    compiled = compile_model(model)
    wrench = compiled.system.wrenches(3.0, compiled.q, compiled.v, compiled.memory)[1]
    assert wrench == pytest.approx((6, 1, 9, 3, 0, -3))


def test_a_tire_feels_bumps_as_its_wheel_rolls_over_them():
    R, r = 0.5, 0.05
    for x, height in ((0.0, 0.0), (1.0, r), (1.1, math.sqrt((R + r) ** 2 - 0.01) - R), (1.3, 0.0)):
        model = lw.Model("roll", gravity=(0, 0, 0))
        model.add(lw.Body("wheel", 1, UNIT, position=(x, 0, 0.6)))
        road = lw.Road("0.02*y + 0.1", bumps=[(1.0, r)])
        model.add(lw.Tire("tire", "wheel", stiffness=1000, radius=R, road=road))
        compiled = compile_model(model)
        wrench = compiled.system.wrenches(0.0, compiled.q, compiled.v, compiled.memory)[1]
        assert wrench[2] == pytest.approx(1000 * height, abs=1e-9)


@pytest.mark.parametrize("form", ["list", "dict"])
def test_user_forces_see_bodies_and_return_wrenches(form):
    seen = {}

    def push(t, state):
        a = state["a"]
        seen.update(t=t, order=list(state), spin=a.angular_velocity, p=a.orientation, tip=a.point((1, 0, 0)))
        seen.update(rate=a.point_velocity((1, 0, 0)), second=state[1].position)
        wrench = ((1, 2, 3), (4, 5, 6))
        return {"a": wrench} if form == "dict" else [wrench, np.zeros((2, 3))]

    model = lw.Model("push", gravity=(0, 0, 0))
    turn = calc_rotation_about((0, 0, 1), np.pi / 2)
    model.add(lw.Body("a", 1, UNIT, orientation=turn, velocity=(0, 0, 1), angular_velocity=(0, 0, 2)))
    model.add(lw.PointMass("p", 1, position=(7, 8, 9)))
    model.add(lw.UserForce("u", ["a", "p"], push))
    compiled = compile_model(model)
    wrenches = compiled.system.wrenches(1.5, compiled.q, compiled.v, compiled.memory)
    assert wrenches[1] == pytest.approx((1, 2, 3, 5, -4, 6))
    assert seen["t"] == 1.5 and seen["order"] == ["a", "p"]
    assert seen["spin"] == pytest.approx((0, 0, 2)) and seen["tip"] == pytest.approx((0, 1, 0))
    assert seen["rate"] == pytest.approx((-2, 0, 1)) and seen["second"] == pytest.approx((7, 8, 9))
    assert calc_matrix(seen["p"]) == pytest.approx(turn)


# --- methods ----------------------------------------------------------------------------------------------------------


def test_methods_are_parsed_and_printed_in_one_grammar():
    assert str(lw.Method.parse("auto")) == "partitioning/auto"
    assert str(lw.Method.parse("tangent_plane")) == "tangent_plane/auto"
    assert str(lw.Method.parse("index1/adams")) == "index1/adams"
    method = lw.Method("baumgarte", "dop853", linear="augmented_dense", baumgarte_alpha=5)
    assert lw.Method.parse(method) is method
    assert dict(method.options) == {"baumgarte_alpha": 5, "linear": "augmented_dense"}
    assert pickle.loads(pickle.dumps(method)) == method
    assert {row["method"] for row in lw.method_table()} >= {"projection/adams"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lw.Method.parse("partitoning"), "did you mean 'partitioning'"),
        (lambda: lw.Method.parse("dopri5"), "it is an integrator: write partitioning/dopri5"),
        (lambda: lw.Method.parse("index1/dopri"), "unknown integrator 'dopri'; did you mean 'dopri5'"),
        (lambda: lw.Method.parse("index1/dopri5/newton"), "has no solver 'newton'; it is explicit"),
        (lambda: lw.Method.parse("a/b/c/d"), "has 4 parts"),
        (lambda: lw.Method.parse(3), "is not a text"),
        (lambda: lw.Method("index1", baumgarte_alpha=3), "'index1/dopri5' has no option 'baumgarte_alpha'"),
        (lambda: lw.Method("baumgarte", baumgarte_alpha=-3), "must be a positive number"),
        (lambda: lw.Method(linear="dense"), "unknown linear='dense'"),
    ],
)
def test_unknown_methods_are_refused_with_the_nearest_one(make, message):
    with pytest.raises(lw.MethodError) as caught:
        make()
    assert message in str(caught.value)


def test_the_public_names_exist():
    for name in lw.__all__:
        assert getattr(lw, name) is not None


# --- the page of the model language -----------------------------------------------------------------------------------


def test_the_examples_of_the_model_page_run():
    text = (Path(__file__).parents[1] / "docs" / "model.md").read_text()
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, "docs/model.md", "exec"), scope)
    assert "sweep" in scope


def test_the_model_page_names_every_record():
    text = (Path(__file__).parents[1] / "docs" / "model.md").read_text()
    records = [name for name in lw.__all__ if hasattr(getattr(lw, name), "__dataclass_fields__")]
    assert [name for name in records if name not in text and name not in ("Ground", "Method", "Result", "Status")] == []
