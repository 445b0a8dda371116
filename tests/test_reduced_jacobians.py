"""J1 and J2 of the state-space equations equal extrapolated differences of the solved equations, on every model."""

import numpy as np
import pytest

from catalogue import ELEMENTS, MACHINES, build_everything, name_of
from linkwork import _core
from linkwork.compile import compile_model
from states import consistent_velocity

FORMULATIONS = ("partitioning", "tangent_plane", "recursive")


def open_state_space(model, formulation, seed=0, **options):
    """A chart at consistent random velocities, and a state a little away from its base point: the chart, t, x."""
    compiled = compile_model(model)
    system = compiled.system
    random = np.random.default_rng(seed)
    t = 0.0
    v = consistent_velocity(system, t, compiled.q, random.uniform(-1, 1, system.nv), compiled.memory)
    space = _core.StateSpace(system, formulation, options)
    status, x = space.start(t, compiled.q, v, compiled.memory)
    assert status == 0
    return space, t, x + 3e-3 * random.uniform(-1, 1, len(x))


def difference(space, t, x):
    """f_x by central differences extrapolated to O(h^6), the best of three step sizes per column."""
    n = len(x)
    columns = []
    for j in range(n):
        best = None
        for base in (2e-3, 5e-4):
            quotients = []
            for h in (base, base / 2, base / 4):
                e = np.zeros(n)
                e[j] = h
                (s1, plus), (s2, minus) = space.rate(t, x + e), space.rate(t, x - e)
                assert s1 == s2 == 0
                quotients.append((plus - minus) / (2 * h))
            first = [(4 * quotients[k + 1] - quotients[k]) / 3 for k in range(2)]
            second = (16 * first[1] - first[0]) / 15
            change = np.abs(second - first[1]).max()
            if best is None or change < best[0]:
                best = (change, second)
        columns.append(best[1])
    return np.stack(columns, axis=1)


def check(model, formulation, tolerance=1e-8):
    space, t, x = open_state_space(model, formulation)
    if not len(x):
        return
    status, J = space.jacobian(t, x)
    assert status == 0
    n = len(x) // 2
    assert np.array_equal(J[:n], np.hstack([np.zeros((n, n)), np.eye(n)]))
    D = difference(space, t, x)
    assert np.abs(J - D).max() < tolerance * np.abs(D).max()


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("case", MACHINES, ids=name_of)
def test_reduced_jacobians_of_machines(case, formulation):
    check(case.build(), formulation, 5e-8)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("element", ELEMENTS, ids=name_of)
def test_reduced_jacobians_of_elements(element, formulation):
    # Python functions are differenced inside, to about 1e-8; the kink of a bump has no slope
    check(element.build(), formulation, 2e-6 if "python" in element.tags else 5e-8)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_reduced_jacobians_of_a_model_with_every_element(formulation):
    check(build_everything(python=False), formulation, 5e-8)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_differenced_jacobians_are_near_the_analytic_ones(formulation):
    case = next(c for c in MACHINES if c.name == "hmmwv-soft")
    analytic, t, x = open_state_space(case.build(), formulation)
    differenced, _, _ = open_state_space(case.build(), formulation, solver="newton_fd")
    J, D = analytic.jacobian(t, x)[1], differenced.jacobian(t, x)[1]
    assert np.abs(J - D).max() < 1e-3 * np.abs(J).max()
    assert not np.array_equal(J, D)  # the two routes are really taken
