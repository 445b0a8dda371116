"""Large models: what is chosen, factorized and searched for grows with their size, and gives what small ones give."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

MACHINES = {
    "a planar chain": lambda: lw.models.chain(200),
    "a chain of revolutes in space": lambda: lw.models.chain(40, form="spatial"),
    "a chain of spherical joints": lambda: lw.models.chain(30, form="spatial", joint="spherical"),
    "a row of parallelograms": lambda: lw.models.n_four_bar(25),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_a_partition_chosen_sparsely_gives_the_motion_of_other_formulations(machine: str) -> None:
    """Beyond 150 coordinates the independent ones are found by sparse elimination (dependent_columns.hpp)."""
    model = MACHINES[machine]()
    assert model.check().coordinates > 150
    runs = [
        model.simulate(0.3, method=method, rtol=1e-9, atol=1e-10, output=[0.3])
        for method in ("partitioning/dop853", "projection/dop853")
    ]
    assert all(run.status.success for run in runs)
    for body in runs[0].bodies:
        np.testing.assert_allclose(runs[0][body].position[-1], runs[1][body].position[-1], atol=1e-7)
    assert runs[0].violations.position.max() < 1e-10


def test_a_large_partition_serves_for_a_whole_fall() -> None:
    """A chain of revolutes keeps its angles independent: no other partition could be better."""
    result = lw.models.chain(200).simulate(0.5, method="partitioning/dop853", rtol=1e-6, atol=1e-6)
    assert result.status.success and result.statistics.repartitions == 0
