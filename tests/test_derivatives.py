"""Every derivative of every element agrees with differences of the quantity it belongs to, to third order."""

import numpy as np
import pytest

from catalogue import ELEMENTS, build_everything, name_of
from linkwork.compile import compile_model
from states import differentiate, random_state

TOLERANCE = 2e-8  # relative; differences are extrapolated to O(h^6)


def assert_close(analytic, differences, what, tolerance=TOLERANCE):
    scale = max(1.0, np.abs(differences).max(initial=0.0))
    worst = np.abs(analytic - differences).max(initial=0.0) / scale
    assert worst < tolerance, f"{what}: relative difference {worst:.2e}"


class State:
    """One random state of a model with the queries that derivatives are checked against."""

    def __init__(self, model, seed=3):
        compiled = compile_model(model)
        self.system = compiled.system
        self.t, self.q, self.v, self.memory = random_state(compiled, seed)
        random = np.random.default_rng(seed + 1)
        self.x = random.uniform(-1, 1, self.system.nv)
        self.lambda_ = random.uniform(-1, 1, self.system.rows)
        self.analytic = self.system.derivatives(self.t, self.q, self.v, self.memory, self.x, self.lambda_)

    def jacobian(self, d):
        return self.system.jacobian(self.t, self.system.move(self.q, d), self.memory)


@pytest.fixture(scope="module")
def everything():
    return State(build_everything())


STATES = [pytest.param(element, id=name_of(element)) for element in ELEMENTS]


@pytest.fixture(params=STATES, scope="module")
def state(request):
    return State(request.param.build())


def check_first_order(s):
    n = s.system.nv
    J = s.jacobian(np.zeros(n))
    rows = differentiate(lambda d: s.system.constraints(s.t, s.system.move(s.q, d), s.memory), n)
    assert_close(J, rows, "Jacobian")


def check_second_order(s):
    n = s.system.nv
    assert_close(s.analytic["Jx_q"], differentiate(lambda d: s.jacobian(d) @ s.x, n), "(J x)_q")
    assert_close(s.analytic["JtL_q"], differentiate(lambda d: s.jacobian(d).T @ s.lambda_, n), "(J^T lambda)_q")


def check_gamma(s):
    n = s.system.nv

    def gamma(d=0.0, u=0.0):
        q = s.system.move(s.q, d) if np.ndim(d) else s.q
        return s.system.gamma(s.t, q, s.v + u, s.memory)

    assert_close(s.analytic["gamma_q"], differentiate(lambda d: gamma(d), n), "gamma_q", 1e-7)
    assert_close(s.analytic["gamma_v"], differentiate(lambda d: gamma(u=d), n), "gamma_v", 1e-7)


def check_third_order(s):
    n = s.system.nv

    def contracted(d):
        q = s.system.move(s.q, d)
        return s.system.derivatives(s.t, q, s.v, s.memory, s.x, s.lambda_)["JtL_q"] @ s.x

    assert_close(s.analytic["JtLx_q"], differentiate(contracted, n), "((J^T lambda)_q x)_q")


def check_forces(s, tolerance=TOLERANCE):
    n = s.system.nv

    def force(d=None, u=0.0):
        q = s.q if d is None else s.system.move(s.q, d)
        return s.system.forces(s.t, q, s.v + u, s.memory)

    assert_close(s.analytic["f_q"], differentiate(force, n), "f_q", tolerance)
    assert_close(s.analytic["f_v"], differentiate(lambda u: force(u=u), n), "f_v", tolerance)


def test_jacobian_of_an_element_is_the_derivative_of_its_constraints(state):
    check_first_order(state)


def test_second_derivatives_of_an_element(state):
    check_second_order(state)


def test_acceleration_side_of_an_element_and_its_derivatives(state):
    check_gamma(state)


def test_third_derivatives_of_an_element(state):
    check_third_order(state)


@pytest.mark.parametrize("element", [e for e in ELEMENTS if "force" in e.tags], ids=name_of)
def test_force_derivatives_of_an_element(element):
    s = State(element.build())
    # functions without derivatives are differenced inside, to about 1e-8
    check_forces(s, 2e-6 if "python" in element.tags else TOLERANCE)


def test_all_derivatives_of_a_model_with_every_element(everything):
    check_first_order(everything)
    check_second_order(everything)
    check_forces(everything, 2e-6)


@pytest.mark.parametrize("element", [e for e in ELEMENTS if e.rows], ids=name_of)
def test_constraint_accelerations_are_the_second_time_derivative(element):
    """d^2/dt^2 Phi(t, q(t)) = J a - gamma along a path with velocity v and constant a: two routes to gamma."""
    s = State(element.build())
    a = s.x
    t0, v0 = s.t, s.v

    def rate(h):  # Phi' = J v - target at (t0 + h, q(h), v0 + h a), q(h) integrated by many midpoint steps
        q, steps = s.q, 64
        for k in range(steps):
            middle = v0 + (k + 0.5) * h / steps * a
            q = s.system.move(q, h / steps * middle)
        return s.system.jacobian(t0 + h, q, s.memory) @ (v0 + h * a) - s.system.velocity_target(t0 + h, q, s.memory)

    h = 2e-4
    quotients = [(rate(step) - rate(-step)) / (2 * step) for step in (h, h / 2)]
    second = (4 * quotients[1] - quotients[0]) / 3
    J = s.system.jacobian(t0, s.q, s.memory)
    assert_close(J @ a - s.system.gamma(t0, s.q, v0, s.memory), second, "gamma", 2e-6)
