"""Initial conditions: reports name everything, assembly moves least and keeps locks, kinematics follows drivers."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from catalogue import MACHINES


def build_loop(gap: float = 0.0, form: str = "planar") -> lw.Model:
    """A four-bar whose rocker's ground pin is off by `gap` in x."""
    model = lw.Model("loop", gravity=(0, -9.81, 0))

    def add(name: str, x: float, y: float, angle: float) -> lw.PlanarBody | lw.Body:
        if form == "planar":
            return model.add(lw.PlanarBody(name, 1.0, 0.1, (x, y), angle))
        turn = (np.cos(angle / 2), 0, 0, np.sin(angle / 2))
        return model.add(lw.Body(name, 1.0, (0.01, 0.1, 0.1), (x, y, 0), turn))

    crank, coupler, rocker = add("crank", 0, 0.5, np.pi / 2), add("coupler", 1, 1, 0), add("rocker", 2, 0.5, np.pi / 2)
    frame = lw.Frame
    model.add(lw.Revolute("A", model.ground, frame(crank, (-0.5, 0, 0)), axis=(0, 0, 1)))
    model.add(lw.Revolute("B", frame(crank, (0.5, 0, 0)), frame(coupler, (-1, 0, 0))))
    model.add(lw.Revolute("C", frame(coupler, (1, 0, 0)), frame(rocker, (0.5, 0, 0))))
    model.add(lw.Revolute("D", frame(model.ground, (2 + gap, 0, 0)), frame(rocker, (-0.5, 0, 0))))
    return model


def build_driven(function: str = "0.3*t") -> lw.Model:
    model = build_loop()
    model.add(lw.Driver("motor", on="A", function=function))
    return model


@pytest.mark.parametrize("case", MACHINES, ids=lambda case: case.name)
def test_the_report_counts_every_machine_of_the_catalogue(case) -> None:
    report = case.build().check()
    assert (report.coordinates, report.rows, report.rank, report.dof) == (
        case.nq,
        case.rows - case.off,
        case.rank,
        case.dof,
    )
    assert len(report.redundant) == case.redundant
    assert report.ok, report.problems
    assert all(joint.acceleration < 1e-6 * (1 + report.balance) for joint in report.joints)


def test_the_vehicle_has_98_coordinates_and_11_degrees_of_freedom() -> None:
    report = lw.models.hmmwv().check()
    assert report.counting == "98 coordinates, 73 + 14 constraint rows, 11 degrees of freedom"


def test_redundant_rows_are_named_with_those_they_follow_from() -> None:
    report = build_loop(form="spatial").check()
    assert report.dof == 1 and len(report.redundant) == 3
    text = str(report)
    for row in report.redundant:
        assert row.joint in "ABCD"
        assert {joint for joint, _ in row.depends_on} - {row.joint}, "it depends on other joints"
        assert f"joint '{row.joint}', {row.label}: follows from" in text


def test_a_doubled_joint_depends_on_its_twin_alone() -> None:
    model = lw.Model("twin")
    model.add(lw.Body("arm", 1.0, (1, 1, 1), position=(1, 0, 0)))
    model.add(lw.Spherical("one", model.ground, "arm", point=(0, 0, 0)))
    model.add(lw.Spherical("two", model.ground, "arm", point=(0, 0, 0)))
    for k, row in enumerate(model.check().redundant):
        assert (row.joint, row.depends_on) == ("two", (("one", f"{'xyz'[k]} of the common point"),))


def test_all_problems_come_in_one_report() -> None:
    model = build_loop(gap=0.1)
    model.add(lw.PlanarBody("stray", 1.0, 1.0, (5, 5), velocity=(0, 1)))
    model.add(lw.Fixed("glue", model.ground, "stray"))
    report = model.check()
    assert not report.ok
    text = str(report)
    assert "joint 'D' is open by 0.1" in text
    assert "joint 'glue': the initial velocities violate it by 1" in text


def test_compile_errors_are_part_of_the_report() -> None:
    model = lw.Model("bad")
    model.add(lw.Body("arm", 1.0, (1, 1, 1)))
    model.add(lw.Revolute("pin", model.ground, "arn", point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(lw.Driver("motor", on="pim", function="t"))
    report = model.check()
    assert not report.ok and len(report.problems) == 2
    assert "arn" in str(report) and "pim" in str(report)


def test_assembly_closes_the_joints_and_tells_what_it_moved() -> None:
    model = build_loop(gap=0.1)
    assembly = model.assemble()
    assert max(assembly.remaining.values()) < 1e-12
    assert np.isclose(assembly.gaps["D"], 0.1)
    assert 0 < assembly.displacement["coupler"][0] < 0.2
    assert "assembled" in str(assembly) and "'coupler' moved" in str(assembly)


def test_assembly_keeps_locked_bodies_coordinates_and_joint_angles() -> None:
    start = build_loop(gap=0.1)
    kept = start.assemble(keep=("crank",))
    assert kept.displacement["crank"] == (0.0, 0.0)
    kept = start.assemble(keep=("rocker.x",))
    result = start.simulate(0.01, start=kept)
    assert result["rocker"].position[0, 0] == 2.0
    kept = start.assemble(keep=("A.angle",))
    assert np.isclose(start.simulate(0.01)["A"].angle[0], 0.0, atol=1e-12)
    assert kept.displacement["rocker"][0] > 0.01
    for keep, reason in {
        "cranc": "did you mean 'crank'",
        "crank.w": "no coordinate 'w'",
        "A.length": "no coordinate 'length'; its coordinates: angle",
    }.items():
        with pytest.raises(lw.ModelError, match=reason):
            start.assemble(keep=(keep,))


def test_heavier_weights_move_less() -> None:
    model = lw.Model("pair")
    model.add(lw.PointMass("a", 1.0, (0, 0, 0)))
    model.add(lw.PointMass("b", 1.0, (1, 0, 0)))
    model.add(lw.Distance("rod", "a", "b", length=2.0))
    equal, heavy = model.assemble(), model.assemble(weights={"a": 3.0})
    assert np.allclose([equal.displacement["a"][0], equal.displacement["b"][0]], [0.5, 0.5])
    assert np.allclose([heavy.displacement["a"][0], heavy.displacement["b"][0]], [0.25, 0.75])
    with pytest.raises(lw.ModelError, match="there is no body 'rocket'"):
        model.assemble(weights={"rocket": 2.0})


def test_a_start_that_satisfies_the_joints_is_not_moved() -> None:
    model = build_loop()
    assembly = model.assemble()
    assert assembly.largest == 0.0 and assembly.iterations == 0


def test_what_cannot_be_closed_is_named_with_its_gaps() -> None:
    model = build_loop(gap=5.0)
    with pytest.raises(lw.AssemblyError, match=r"cannot be closed, open stay .*'D' by .*check lengths") as caught:
        model.assemble()
    assert "D" in caught.value.gaps and caught.value.gaps["D"] > 0.01
    with pytest.raises(lw.AssemblyError, match="held fixed: crank, coupler"):
        build_loop(gap=0.1).assemble(keep=("crank", "coupler"))


def test_velocities_are_the_nearest_ones_that_fit() -> None:
    model = lw.models.four_bar(form="spatial")
    assembly = model.assemble()
    assert max(assembly.velocity_gaps.values()) < 1e-9
    loose = lw.Model("loose")
    loose.add(lw.Body("arm", 2.0, (1, 1, 1), position=(1, 0, 0), velocity=(1, 1, 0)))
    loose.add(lw.Spherical("ball", loose.ground, "arm", point=(0, 0, 0)))
    assembly = loose.assemble()
    assert np.isclose(assembly.velocity_gaps["ball"], 1.0)
    # size = 1 m: v = (0, a, 0) and w = a about z, nearest to (1, 1, 0) and 0, so a = 1/2
    assert np.allclose(assembly.v, (0, 0.5, 0, 0, 0, 0.5))
    assert np.allclose(assembly.velocity_correction["arm"], (np.hypot(1, 0.5), 0.5))


def test_drivers_that_contradict_each_other_are_found() -> None:
    model = lw.Model("clash")
    model.add(lw.Body("arm", 1.0, (1, 1, 1), position=(1, 0, 0)))
    model.add(lw.Revolute("pin", model.ground, "arm", point=(0, 0, 0), axis=(0, 0, 1)))
    model.add(lw.Driver("slow", on="pin", function="t"))
    model.add(lw.Driver("fast", on="pin", function="2*t"))
    with pytest.raises(lw.AssemblyError, match=r"no velocities satisfy all joints, in conflict are .*'(slow|fast)'"):
        model.assemble()
    assert "no velocities satisfy" in str(model.check())


def test_simulate_starts_from_the_last_assembly_until_the_model_changes() -> None:
    model = build_loop(gap=0.1)
    assembly = model.assemble(keep=("crank",))
    assert np.allclose(model.simulate(0.01).q[0], assembly.q)
    model.add(lw.PointForce("push", "crank", force=(1, 0, 0)))
    assert not np.allclose(model.simulate(0.01).q[0], assembly.q)


def test_kinematics_gives_motion_and_the_driving_torque() -> None:
    model = build_driven("0.5*t**2")
    t = np.linspace(0, 1, 21)
    motion = model.kinematics(t)
    assert motion.status.success and np.array_equal(motion.t, t)
    assert np.allclose(motion["A"].angle, 0.5 * t**2, atol=1e-12)
    assert np.allclose(motion["crank"].angular_velocity[:, 2], t, atol=1e-12)
    assert np.allclose(motion["crank"].angular_acceleration[:, 2], 1.0, atol=1e-10)
    # the motor's power is the rate of the total energy
    fine = model.kinematics(np.linspace(0, 1, 2001))
    power = fine["motor"].effort[:, 0] * fine["A"].rate
    assert np.allclose(np.gradient(fine.energy.total, fine.t)[1:-1], power[1:-1], atol=1e-4)


@pytest.mark.parametrize("count", [2, 3, 101])
def test_kinematics_stays_on_its_branch_however_far_apart_the_times(count: int) -> None:
    model = lw.models.slider_crank(driven=True)
    fine, rough = model.kinematics(np.linspace(0, 1, 501)), model.kinematics(np.linspace(0, 1, count))
    assert np.allclose(rough.q[-1], fine.q[-1], atol=1e-9)
    assert np.isclose(rough["crank_pin"].angle[-1], fine["crank_pin"].angle[-1])


@pytest.mark.parametrize("method", ["partitioning/dopri5", "tangent_plane/adams", "projection/dop853"])
def test_simulation_of_a_driven_mechanism_agrees_with_its_kinematics(method: str) -> None:
    model = lw.models.slider_crank(driven=True)
    run = model.simulate(1.0, method=method)
    exact = model.kinematics(run.t[run.t > 0])
    assert np.allclose(run.q[1:], exact.q, atol=1e-4)
    assert np.allclose(run["crank_pin"].angle[1:], exact["crank_pin"].angle, atol=1e-4)
    assert not run.warnings and run.violations.largest[1] < 1e-6


def test_kinematics_needs_every_freedom_driven_and_names_the_free_ones() -> None:
    with pytest.raises(lw.ModelError, match=r"1 degree\(s\) of freedom are free, which move .*'A.angle'.*add a Driver"):
        build_loop().kinematics([0, 1])
    with pytest.raises(lw.ModelError, match="times must be finite, ascending"):
        build_driven().kinematics([1, 0])


def test_a_position_out_of_reach_is_told_with_time_and_joints() -> None:
    model = lw.Model("reach", gravity=(0, 0, 0))
    model.add(lw.PointMass("tip", 1.0, position=(1, 0, 0)))
    model.add(lw.Distance("rod", model.ground, "tip", point_a=(0, 0, 0), point_b=(1, 0, 0)))
    model.add(lw.Driver("push", on="tip.y", function="0.5*t"))
    model.add(lw.Driver("flat", on="tip.z", function=0.0))
    with pytest.raises(
        lw.AssemblyError, match=r"position at t = 2\.\d+ s cannot be reached, open stay .*rod"
    ) as caught:
        model.kinematics(np.linspace(0, 3, 31))
    result = caught.value.result
    assert result.status.name == "position_lost" and 1.8 < result.t[-1] <= 2.0
    assert np.allclose(result["tip"].position[:, 1], 0.5 * result.t)


def test_the_sparse_route_assembles_like_the_dense_one(monkeypatch) -> None:
    dense = build_loop(gap=0.1, form="spatial").assemble()
    for module in ("initial", "jacobian"):
        monkeypatch.setattr(f"linkwork.{module}.DENSE_ROWS", 0)
    sparse = build_loop(gap=0.1, form="spatial").assemble()
    assert np.allclose(dense.q, sparse.q, atol=1e-9)
    report = build_loop(form="spatial").check()
    assert len(report.redundant) == 3 and all(row.depends_on for row in report.redundant)


def test_large_models_are_checked_without_dense_matrices() -> None:
    model = lw.models.chain(n=700, form="spatial")
    report = model.check()
    assert report.rows == 3500 and report.ok and report.rank + report.dof == 6 * 700
