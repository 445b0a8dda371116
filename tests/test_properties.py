"""Properties of random mechanisms: trees and closed loops with every joint type, redundant and overconstrained ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import linkwork as lw
from linkwork.compile import compile_model
from mechanisms import mechanisms
from states import consistent_velocity

few = settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
TIGHT = {"rtol": 1e-9, "atol": 1e-9, "progress": False}


def run(model, method="projection/dop853", t_end=0.1, **options):
    result = model.simulate(t_end, method=method, output=[0.0, 0.5 * t_end, t_end], **{**TIGHT, **options})
    assert result.status.success, result.status.message
    return result


def assume_moves(model):
    """Keeps mechanisms that have a freedom and are not next to a singular position."""
    compiled = compile_model(model)
    J = compiled.system.jacobian(0.0, compiled.q, compiled.memory)
    values = np.linalg.svd(J, compute_uv=False)
    rank = int(np.sum(values > 1e-9 * values[0])) if values.size else 0
    assume(0 < rank < J.shape[1])
    assume(values[rank - 1] > 1e-3 * values[0])
    return rank


@few
@given(mechanisms())
def test_the_check_counts_rank_and_freedoms_as_singular_values_do(model):
    rank = assume_moves(model)
    report = model.check()
    compiled = compile_model(model)
    assert report.dof == compiled.system.nv - rank
    assert len(report.redundant) == compiled.system.rows - rank


@few
@given(mechanisms(planar=True))
def test_the_check_counts_planar_freedoms_too(model):
    rank = assume_moves(model)
    assert model.check().dof == compile_model(model).system.nv - rank


@few
@given(mechanisms())
def test_every_linear_solver_gives_the_accelerations_and_shortest_multipliers_of_the_pseudo_inverse(model):
    assume_moves(model)
    compiled = compile_model(model)
    s, q, memory = compiled.system, compiled.q, compiled.memory
    v = consistent_velocity(s, 0.0, q, compiled.v, memory)
    M, J = s.mass(), s.jacobian(0.0, q, memory)
    f, gamma = s.forces(0.0, q, v, memory), s.gamma(0.0, q, v, memory)
    n, m = J.shape[1], J.shape[0]
    active = s.active_rows(0.0, q, memory)[1]
    whole = np.block([[M, J.T], [J, np.zeros((m, m))]])
    answer = np.linalg.lstsq(whole, np.concatenate([f, gamma]), rcond=1e-11)[0]
    for linear in ("topology", "reduced_band", "augmented_sparse", "augmented_dense"):
        a, lambda_ = s.accelerations(0.0, q, v, memory, active, linear=linear)[:2]
        assert np.allclose(a, answer[:n], rtol=1e-7, atol=1e-7 * (1 + abs(answer[:n]).max())), linear
        assert np.allclose(J.T @ lambda_, J.T @ answer[n:], atol=1e-6 * (1 + abs(answer[n:]).max())), linear


@few
@given(mechanisms())
def test_formulations_agree_on_random_mechanisms(model):
    assume_moves(model)
    one, other = run(model, "partitioning/dop853"), run(model, "projection/dop853")
    for name in one.bodies:
        assert np.allclose(one[name].position, other[name].position, atol=1e-7), name
        assert np.allclose(one[name].angular_velocity, other[name].angular_velocity, atol=1e-5), name


@few
@given(mechanisms())
def test_energy_stays_and_constraints_hold(model):
    assume_moves(model)
    result = run(model, "partitioning/dop853")
    assert np.ptp(result.energy.total) < 1e-6 * (1 + np.ptp(result.energy.kinetic))
    assert np.max(result.violations.position) < 1e-10
    assert np.max(result.violations.velocity) < 1e-8


@few
@given(mechanisms(floating=True, gravity=(0.0, 0.0, 0.0)))
def test_momentum_stays_where_nothing_holds_on_to_the_ground(model):
    assume_moves(model)
    result = run(model, "projection/dop853")
    for values in (result.momentum.linear, result.momentum.angular):
        assert np.ptp(values, axis=0).max() < 1e-7


@few
@given(mechanisms(moving=False))
def test_a_joint_given_twice_changes_reactions_but_not_the_motion(model):
    rank = assume_moves(model)
    twice = lw.Model("twice", gravity=model.gravity)
    for record in model.records.values():
        twice.add(record)
    doubled = model.joints[-1]
    twice.add(replace(model[doubled], name="once more"))
    assert model.check().dof == twice.check().dof
    one, other = run(model), run(twice)
    for name in one.bodies:
        assert np.allclose(one[name].position, other[name].position, atol=1e-8), name
    if rank == compile_model(model).system.rows:  # nothing else shares: each of the two carries half
        force = one[doubled].force
        for half in (other[doubled].force, other["once more"].force):
            assert np.allclose(2 * half, force, atol=1e-5 * (1 + abs(force).max()))


@few
@given(mechanisms())
def test_the_order_of_bodies_and_joints_does_not_matter(model):
    assume_moves(model)
    records = list(model.records.values())
    bodies = [record for record in records if record.name in model.bodies]
    others = [record for record in records if record.name not in model.bodies]
    turned = lw.Model("turned", gravity=model.gravity)
    for record in [*reversed(bodies), *reversed(others)]:
        turned.add(record)
    one, other = run(model), run(turned)
    for name in one.bodies:
        assert np.allclose(one[name].position, other[name].position, atol=1e-8), name


@pytest.mark.parametrize("method", ["partitioning/dop853", "projection/dop853"])
@few
@given(model=mechanisms(planar=True, most_loops=1))
def test_planar_mechanisms_agree_with_index_1(method, model):
    assume_moves(model)
    one, other = run(model, method), run(model, "index1/dop853")
    for name in one.bodies:
        assert np.allclose(one[name].position, other[name].position, atol=1e-6), name
