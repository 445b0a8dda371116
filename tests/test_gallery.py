"""Proves that every machine of the gallery is what it says: sizes, closed joints, consistent velocities."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import linkwork as lw
from catalogue import ELEMENTS, MACHINES, build_everything, name_of
from linkwork.channels import find_channel
from linkwork.compile import compile_model


@pytest.mark.parametrize("case", MACHINES, ids=name_of)
def test_a_machine_has_the_coordinates_and_rows_of_its_paper(case):
    compiled = compile_model(case.build())
    bodies = compiled.tables["bodies"]
    assert (int(bodies["nq"].sum()), int(bodies["nv"].sum())) == (case.nq, case.nv)
    assert len(compiled.tables["rows"]) == case.rows


@pytest.mark.parametrize("case", MACHINES, ids=name_of)
def test_a_machine_starts_assembled_and_with_the_freedoms_it_should_have(case):
    compiled = compile_model(case.build())
    system, q, v, memory = compiled.system, compiled.q, compiled.v, compiled.memory
    assert np.abs(compiled.engaged * system.constraints(0.0, q, memory)).max() < 1e-12
    gap_rate = system.jacobian(0.0, q, memory) @ v - system.velocity_target(0.0, q, memory)
    assert np.abs(compiled.engaged * gap_rate).max() < 1e-11
    rank, _ = system.active_rows(0.0, q, memory)
    assert (rank, case.nv - rank) == (case.rank, case.dof)


@pytest.mark.parametrize("case", MACHINES, ids=name_of)
def test_a_machine_runs_and_keeps_its_constraints(case):
    if case.dof == 0:
        pytest.skip("no freedom: a case for kinematics")
    result = case.build().simulate(case.t_end, method="partitioning/dopri5", rtol=1e-8, atol=1e-8, progress=False)
    assert result.status.success, result.status.message
    assert result.violations.largest[1] < 1e-9 and result.violations.largest_velocity[1] < 1e-8
    if "conservative" in case.tags:
        energy = result.energy
        scale = max(np.ptp(energy.potential), np.max(energy.kinetic))
        assert np.ptp(energy.total) < 1e-5 * scale


def test_the_driven_slider_crank_follows_its_motor():
    motion = lw.models.slider_crank(driven=True).kinematics(np.linspace(0.0, 0.6, 7))
    angle = 0.25 * math.pi + 10.0 * motion.t
    x = 0.15 * np.cos(angle) + np.sqrt(0.4**2 - (0.15 * np.sin(angle)) ** 2)
    assert np.allclose(motion["slider"].position[:, 0], x, atol=1e-10)


@pytest.mark.parametrize("name", ("four_bar", "n_four_bar", "andrews", "double_pendulum"))
def test_the_planar_and_the_spatial_form_of_a_machine_move_alike(name):
    machine = lw.models.machines[name]
    t_end = {"andrews": 0.01, "double_pendulum": 0.01}.get(name, 0.4)
    ends = []
    for form in ("planar", "spatial"):
        result = machine.build(form=form).simulate(
            t_end, method="partitioning/dopri5", rtol=1e-9, atol=1e-9, progress=False
        )
        ends.append([result[body].position[-1] for body in result.bodies if body != "ground"])
    assert np.allclose(ends[0], ends[1], atol=1e-6)


@pytest.mark.parametrize(
    "options", ({}, {"stiff": True}, {"stiff": True, "bushing_factor": 0.01}), ids=("A", "B", "soft B")
)
def test_the_vehicle_rests_on_its_springs(options):
    compiled = compile_model(lw.models.hmmwv(bump=False, **options))
    _, active = compiled.system.active_rows(0.0, compiled.q, compiled.memory)
    a, _ = compiled.system.accelerations(0.0, compiled.q, compiled.v, compiled.memory, active)
    # m/s^2 and rad/s^2; the equilibrium is given to about 1e-10 m, the arms weigh 6 kg
    assert np.abs(a).max() < 1e-4


def test_the_stiff_vehicle_has_the_dominant_eigenvalue_of_the_negrut_paper():
    compiled = compile_model(lw.models.hmmwv(stiff=True, bump=False))
    system, q, v, memory = compiled.system, compiled.q, compiled.v, compiled.memory
    rank, active = system.active_rows(0.0, q, memory)
    free = np.linalg.svd(system.jacobian(0.0, q, memory))[2][rank:]

    # accelerations over velocities, both along the 18 freedoms; damping so rules the fast modes that positions add
    # only k / c = 10 1/s to them
    def calc_accelerations(rate):
        return free @ system.accelerations(0.0, q, v + rate @ free, memory, active)[0]

    step = 1e-4
    damping = [(calc_accelerations(e) - calc_accelerations(-e)) / (2.0 * step) for e in step * np.eye(len(free))]
    # "approximately -2.6e5" [negrut 5.2]
    assert np.linalg.eigvals(np.array(damping).T).real.min() == pytest.approx(-2.6e5, rel=0.02)


def test_the_vehicle_has_the_joints_of_the_serban_paper():
    kinds = [joint.kind for joint in compile_model(lw.models.hmmwv()).joints.values()]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "revolute": 8, "spherical": 8, "distance": 4, "translational": 1,
    }  # fmt: skip
    assert len([name for name in compile_model(lw.models.hmmwv()).bodies if name != "ground"]) == 14


def test_andrews_mechanism_starts_at_the_published_angles():
    compiled = compile_model(lw.models.andrews())
    starts = {"O": -0.06171389001427645, "F": 0.0, "B": 0.45527981916307037, "G": 0.22266839016588588}
    starts |= {"A1": 0.48736497954384256, "H": -0.22266839016588588, "A2": 1.2305474445498212}
    records = np.array([compiled.joints[name].coordinates[0][1] for name in starts])
    values, _ = compiled.system.coordinates(records, compiled.q, compiled.v, compiled.memory)
    assert np.allclose(values, list(starts.values()), atol=1e-14)


def test_every_builder_is_listed_with_a_description_and_channels():
    names = [machine.name for machine in lw.models.list_models()]
    assert names == list(lw.models.machines) and len(set(names)) == len(names)
    for machine in lw.models.list_models():
        assert machine.description and machine.channels and machine.t_end > 0
        assert inspect.getdoc(machine.build) and getattr(lw.models, machine.name) is machine.build
        assert set(machine.settings) == {"t_end", "method", "rtol", "atol"}


@pytest.mark.parametrize("name", list(lw.models.machines))
def test_the_channels_of_a_machine_exist_in_its_result(name):
    machine = lw.models.machines[name]
    result = machine.build().simulate(1e-3, method="partitioning/dopri5", progress=False)
    for channel in machine.channels:
        assert np.shape(find_channel(result, channel)) == np.shape(result.t), channel


@pytest.mark.parametrize("element", ELEMENTS, ids=name_of)
def test_an_element_of_the_catalogue_starts_assembled_with_independent_rows(element):
    compiled = compile_model(element.build())
    system, q, memory = compiled.system, compiled.q, compiled.memory
    assert len(q) == element.nv // 6 * 7 and len(compiled.v) == element.nv
    assert np.abs(system.constraints(0.0, q, memory)).max(initial=0.0) < 1e-12
    assert np.abs(system.velocity_target(0.0, q, memory)).max(initial=0.0) < 1e-12
    assert len(compiled.tables["rows"]) == system.active_rows(0.0, q, memory)[0] == element.rows


def test_the_model_of_everything_has_every_kind_of_record_and_no_redundant_row():
    model = build_everything()
    compiled = compile_model(model)
    used = {type(record) for record in compiled.records.values()}
    public = {value for name, value in vars(lw).items() if inspect.isclass(value) and not name.startswith("_")}
    records = {
        value
        for value in public
        if {"name", "a", "on", "body", "bodies"} & set(getattr(value, "__dataclass_fields__", ()))
    }
    assert records - used - {lw.Frame, lw.Ground, lw.Event, lw.Stop, lw.Switch} == set()
    rank, _ = compiled.system.active_rows(0.0, compiled.q, compiled.memory)
    assert rank == len(compiled.tables["rows"])


@pytest.mark.parametrize(
    ("build", "message"),
    (
        (lambda: lw.models.four_bar(form="flat"), "form='flat' is unknown"),
        (lambda: lw.models.four_bar(lengths=(1.0, 1.0, 1.0, 9.0)), "do not close"),
        (lambda: lw.models.chain(n=0), "n=0 must be a positive number"),
        (lambda: lw.models.chain(joint="spherical"), 'needs form="spatial"'),
        (lambda: lw.models.chain(joint="glue"), "choose one of revolute, spherical"),
        (lambda: lw.models.slider_crank(rod=0.1), "must be longer than crank"),
        (lambda: lw.models.andrews(numbering="worst"), "choose one of good, bad"),
        (lambda: lw.models.spinning_top(spin=5.0, precession=None), "no steady precession"),
        (lambda: lw.models.hmmwv(bushing_factor=-1.0), "must be a positive number"),
    ),
)
def test_a_builder_refuses_what_it_cannot_build_and_says_why(build, message):
    with pytest.raises(ValueError) as error:
        build()
    assert message in str(error.value)
