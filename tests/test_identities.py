"""Physical identities on random states: virtual work, power, momentum, symmetry - on a model with every element."""

import numpy as np
import pytest

from catalogue import ELEMENTS, MACHINES, build_everything, list_machines, name_of
from linkwork.compile import compile_model
from states import consistent_velocity, random_state


@pytest.fixture(scope="module")
def everything():
    return compile_model(build_everything())


@pytest.mark.parametrize("case", MACHINES, ids=name_of)
def test_mass_matrix_is_symmetric_and_positive(case):
    M = compile_model(case.build()).system.mass()
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


@pytest.mark.parametrize("case", MACHINES, ids=name_of)
def test_machine_has_the_rank_of_the_catalogue(case):
    compiled = compile_model(case.build())
    s = compiled.system
    assert (s.nq, s.nv, s.rows) == (case.nq, case.nv, case.rows)
    rank, active = s.active_rows(0.0, compiled.q, compiled.memory)
    assert rank == case.rank == active.sum()
    J = s.jacobian(0.0, compiled.q, compiled.memory)[compiled.engaged != 0]
    assert len(J) == case.rows - case.off
    assert rank == (np.linalg.matrix_rank(J, tol=1e-8 * np.linalg.norm(J, 2)) if len(J) else 0)


def test_energy_is_the_integral_of_the_power_of_conservative_forces():
    """-dV/dt equals the power of the forces where only springs, bushings and gravity act."""
    names = ("spring_on_joint", "bushing", "spring", "rotational_spring", "tire")
    for element in ELEMENTS:
        if element.name not in names:
            continue
        compiled = compile_model(element.build())
        for table in ("coordinate_forces", "bushings", "tires"):
            if len(compiled.tables[table]):
                compiled.tables[table]["damping"] = 0.0
        s = type(compiled.system)(compiled.tables, compiled.callables)
        t, q, v, memory = random_state(compiled, 5)
        power = s.forces(t, q, v, memory) @ v  # gyroscopic forces have none
        h = 1e-5

        def potential(step, s=s, t=t, q=q, v=v, memory=memory):
            return s.energy(t, s.move(q, step * v), v, memory)[1]

        slope = (8 * (potential(h) - potential(-h)) - (potential(2 * h) - potential(-2 * h))) / (12 * h)
        assert abs(power + slope) < 1e-7 * max(1.0, abs(power)), element.name


@pytest.mark.parametrize(
    "element", [e for e in ELEMENTS if "dissipative" in e.tags and not {"time", "kink"} & e.tags], ids=name_of
)
def test_dissipative_forces_take_energy_away(element):
    """f(v) . v is not larger than what is left when the velocity-dependent part is switched off."""
    compiled = compile_model(element.build())
    s = compiled.system
    t, q, v, memory = random_state(compiled, 6)
    zero = np.zeros_like(v)
    moving = s.wrenches(t, q, v, memory)
    resting = s.wrenches(t, q, zero, memory)
    difference = 0.0
    for body in range(1, len(moving)):
        first = compiled.tables["bodies"][body]["v"]
        count = compiled.tables["bodies"][body]["nv"]
        columns = compiled.tables["bodies"][body]["columns"][:count]
        difference += (moving[body] - resting[body])[columns] @ v[first : first + count]
    assert difference <= 1e-12


def test_internal_elements_keep_linear_and_angular_momentum():
    """Joints, springs and bushings between two bodies: forces add up to zero, torques about any point too."""
    for element in ELEMENTS:
        if element.name.startswith(("point_force", "point_torque", "tire", "driver_body", "user_force")):
            continue
        compiled = compile_model(element.build())
        s = compiled.system
        t, q, v, memory = random_state(compiled, 7, spread=0.0)  # points of joints coincide
        bodies = compiled.tables["bodies"]
        total = np.zeros(6)
        lambda_ = np.random.default_rng(1).uniform(-1, 1, s.rows)
        joint = -s.jacobian(t, q, memory).T @ lambda_
        wrenches = s.wrenches(t, q, v, memory)
        for i in range(1, len(bodies)):
            b = bodies[i]
            weight = b["mass"] * compiled.tables["gravity"]
            first = b["v"]
            force = wrenches[i, :3] - weight + joint[first : first + 3]
            torque = rotation(q[b["q"] + 3 : b["q"] + 7]) @ (wrenches[i, 3:] + joint[first + 3 : first + 6])
            total[:3] += force
            total[3:] += torque + np.cross(q[b["q"] : b["q"] + 3], force)
        assert np.abs(total).max() < 1e-10, (element.name, total)


def rotation(p):
    e0, e1, e2, e3 = p / np.linalg.norm(p)
    return np.array(
        [
            [e0 * e0 + e1 * e1 - e2 * e2 - e3 * e3, 2 * (e1 * e2 - e0 * e3), 2 * (e1 * e3 + e0 * e2)],
            [2 * (e1 * e2 + e0 * e3), e0 * e0 - e1 * e1 + e2 * e2 - e3 * e3, 2 * (e2 * e3 - e0 * e1)],
            [2 * (e1 * e3 - e0 * e2), 2 * (e2 * e3 + e0 * e1), e0 * e0 - e1 * e1 - e2 * e2 + e3 * e3],
        ]
    )


def test_constraint_forces_do_no_work(everything):
    s = everything.system
    t, q, v, memory = random_state(everything, 8)
    J = s.jacobian(t, q, memory)
    v = consistent_velocity(s, t, q, v, memory)
    lambda_ = np.random.default_rng(2).uniform(-1, 1, s.rows)
    power = (J.T @ lambda_) @ v
    assert abs(power - lambda_ @ s.velocity_target(t, q, memory)) < 1e-9 * np.abs(lambda_).sum()


@pytest.mark.parametrize("linear", ["topology", "reduced_band", "augmented_sparse", "augmented_dense"])
@pytest.mark.parametrize("case", list_machines(without=("stiff",)), ids=name_of)
def test_accelerations_satisfy_the_equations(case, linear):
    """Every linear solver gives M a + J^T lambda = f and J a = gamma, as a dense pseudo-inverse does."""
    compiled = compile_model(case.build())
    s = compiled.system
    q, memory = compiled.q, compiled.memory
    v = consistent_velocity(s, 0.0, q, random_state(compiled, 9)[2], memory)
    _, active = s.active_rows(0.0, q, memory)
    a, lambda_ = s.accelerations(0.0, q, v, memory, active, linear)
    M, J = s.mass(), compiled.engaged[:, None] * s.jacobian(0.0, q, memory)
    f, gamma = s.forces(0.0, q, v, memory), compiled.engaged * s.gamma(0.0, q, v, memory)
    K = np.block([[M, J.T], [J, np.zeros((s.rows, s.rows))]])
    dense = np.linalg.lstsq(K, np.concatenate([f, gamma]), rcond=1e-13)[0]
    assert np.abs(a - dense[: s.nv]).max() < 1e-8 * max(1.0, np.abs(dense[: s.nv]).max())
    # the multipliers are the shortest of all with this effect
    shortest = np.linalg.lstsq(J.T, f - M @ a, rcond=1e-9)[0]
    assert np.abs(lambda_ - shortest).max() < 1e-6 * max(1.0, np.abs(shortest).max())
