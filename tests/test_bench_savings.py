"""The figures of `linkwork bench savings` that do not depend on the machine: sweeps, Jacobians, iterations."""

from __future__ import annotations

import pytest

from linkwork import models
from linkwork.bench import savings
from linkwork.bench.runs import find_start


@pytest.fixture(scope="module")
def vehicle():
    return find_start(models.hmmwv(stiff=True))


def test_grouped_differences_take_a_tenth_of_the_evaluations_on_a_chain_and_a_third_on_the_vehicle(vehicle):
    chain = savings.measure_differences(find_start(models.chain(n=100)), t_end=1e-4)
    for formulation in ("ggl", "partitioning"):
        grouped, whole = (chain[f"{formulation}, {way}"]["sweeps"] for way in ("grouped", "one by one"))
        assert 0 < grouped <= 0.1 * whole
    figures = savings.measure_differences(vehicle, t_end=1e-4)
    assert 0 < figures["ggl, grouped"]["sweeps"] <= figures["ggl, one by one"]["sweeps"] / 3
    assert figures["ggl, derivatives"]["sweeps"] == 0


@pytest.mark.parametrize("integrator", savings.INTEGRATORS)
def test_kept_jacobians_are_at_least_thirty_percent_fewer_on_the_vehicle(vehicle, integrator):
    figures = savings.measure_kept(vehicle, "ggl", integrator)
    assert figures["saved"] > 0.3, figures
    assert abs(figures["steps"] - figures["steps renewed"]) < 0.1 * figures["steps"]


def test_every_formalism_is_timed_and_iterates_alike(vehicle):
    assert all(seconds > 0 for seconds in savings.measure_formalisms(vehicle, repeats=2).values())
    iterations = savings.measure_iterations(vehicle, "bdf", t_end=0.3)
    assert iterations["residual"] == pytest.approx(iterations["explicit, by masses"], rel=0.1)
