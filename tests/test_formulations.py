"""Every formulation with every integrator it may be paired with gives one motion and one set of reactions.

Orders, constraint drift, partitions and the work spent are tested on whole runs through the public interface.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from catalogue import MACHINES, Case, list_machines, name_of
from linkwork.methods import EMBEDDED, LEGAL, LOW_ORDER, MULTIPLIERS

EXPLICIT = ("dopri5", "dop853", "adams")
PAIRS = [
    f"{formulation}/{integrator}"
    for formulation, integrators in LEGAL.items()
    for integrator in integrators
    if integrator not in EMBEDDED  # codes of others: test_embed.py
]
ODES = [formulation for formulation, integrators in LEGAL.items() if "dopri5" in integrators]
FIRST_ORDER = "half_explicit_euler"  # too coarse for the tolerances of the others: test_half_explicit.py
EXACT = ("partitioning", "tangent_plane", "recursive", "projection")  # these keep the constraints
SHORT = {"hmmwv-soft": 0.02}  # before the tires meet the edge of the road, where no method shows its order


def find_case(name: str) -> Case:
    return next(case for case in MACHINES if case.name == name)


@cache
def build(name: str) -> lw.Model:
    return find_case(name).build()


@cache
def calc_reference(name: str, t_end: float) -> lw.Result:
    grid = np.linspace(0.0, t_end, 9)
    result = build(name).simulate(t_end, method="tangent_plane/dop853", rtol=1e-12, atol=1e-12, output=grid)
    assert result.status.success, result.status
    return result


def calc_difference(result: lw.Result, reference: lw.Result) -> tuple[float, float, float]:
    """Largest differences of positions, velocities, and reactions by name, relative to the largest of their kind."""
    position = velocity = reaction = 0.0
    for body in result.bodies:
        position = max(position, float(np.abs(result[body].position - reference[body].position).max()))
        speed = max(1.0, float(np.abs(reference[body].velocity).max()))
        velocity = max(velocity, float(np.abs(result[body].velocity - reference[body].velocity).max()) / speed)
    forces = [np.abs(reference[joint].force).max() for joint in reference.joints]
    size = max(1.0, max(forces, default=0.0))
    for joint in result.joints:
        for got, wanted in (
            (result[joint].force, reference[joint].force), (result[joint].torque, reference[joint].torque)
        ):  # fmt: skip
            reaction = max(reaction, float(np.abs(got - wanted).max()) / size)
    return position, velocity, reaction


# --- one motion -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", [pair for pair in PAIRS if not pair.endswith(FIRST_ORDER)])
@pytest.mark.parametrize("case", list_machines(without=("stiff",)), ids=name_of)
def test_all_pairs_agree(case: Case, method: str) -> None:
    t_end = SHORT.get(case.name, case.t_end)
    reference = calc_reference(case.name, t_end)
    tolerance = 1e-9 if method.endswith(EXPLICIT) else 1e-5 if method.endswith(LOW_ORDER) else 1e-7
    result = build(case.name).simulate(t_end, method=method, rtol=tolerance, atol=tolerance, output=reference.t)
    assert result.status.success, result.status
    position, velocity, reaction = calc_difference(result, reference)
    low = 300 if method.endswith(("bdf", "sdirk4", "rodas", "radau5")) else 1000
    assert position < low * tolerance and velocity < 20 * low * tolerance and reaction < 2000 * low * tolerance


@pytest.mark.parametrize(
    "method", ("partitioning/radau5", "tangent_plane/radau5", "partitioning/dopri5", "projection/adams")
)
@pytest.mark.parametrize("case", list_machines("stiff"), ids=name_of)
def test_stiff_machines_agree_too(case: Case, method: str) -> None:
    reference = calc_reference(case.name, case.t_end)
    result = build(case.name).simulate(case.t_end, method=method, rtol=1e-8, atol=1e-8, output=reference.t)
    assert result.status.success, result.status
    position, velocity, _ = calc_difference(result, reference)
    assert position < 1e-6 and velocity < 1e-4


# --- orders -----------------------------------------------------------------------------------------------------------
STEPS = {
    "dopri5": (10, 20, 40),
    "phem56": (10, 20, 40),
    "dop853": (2, 3, 5),
    "sdirk4": (20, 40, 80),
    "radau5": (5, 10, 20),
    "rodas": (20, 40, 80),
    **dict.fromkeys(LOW_ORDER, (40, 80, 160)),
}
# stage order 1 leaves order 2 where multipliers are unknowns [Hairer, Lubich, Roche 1989, table 2.3]
REDUCED = {f"{formulation}/sdirk4": 2 for formulation in (*MULTIPLIERS, "projected_invariants")}
ORDERS = {"dopri5": 5, "phem56": 5, "dop853": 8, "sdirk4": 4, "radau5": 5, "rodas": 4, **dict.fromkeys(LOW_ORDER, 2)}


@pytest.mark.parametrize("method", [pair for pair in PAIRS if pair.split("/")[1] in ORDERS])
@pytest.mark.parametrize("name", ("double_pendulum-free", "four_bar-spatial"))
def test_fixed_steps_show_the_order_of_the_integrator(name: str, method: str) -> None:
    integrator, t_end = method.split("/")[1], 0.25
    reference = calc_reference(name, t_end)
    counts = STEPS[integrator]
    runs = [
        build(name).simulate(t_end, method=method, step=t_end / n, output=reference.t[[-1]], rtol=1e-11, atol=1e-11)
        for n in counts
    ]
    errors = [
        max(np.abs(run[body].velocity[-1] - reference[body].velocity[-1]).max() for body in run.bodies) for run in runs
    ]
    orders = [np.log(a / b) / np.log(m / n) for (a, b), (n, m) in zip(pairwise(errors), pairwise(counts), strict=True)]
    assert errors[-1] < (1e-2 if integrator in LOW_ORDER else 1e-4 if method in REDUCED else 1e-5)
    # a repartition between two step sizes moves the error about; round-off ends the convergence, that of the difference
    # by which rodas finds f_t earlier than that of the others
    floor = 3e-8 if method == "tangent_plane/rodas" else 1e-11
    order = REDUCED.get(method, ORDERS[integrator])
    assert max(orders) > order - 0.7 or errors[-1] < floor, (errors, orders)
    assert method not in REDUCED or max(orders) < order + 0.5, "the order is the one of the theory, no higher"


@pytest.mark.parametrize("formulation", ODES)
def test_adams_gains_digits_with_smaller_tolerances(formulation: str) -> None:
    reference = calc_reference("double_pendulum-free", 0.5)
    errors = []
    for tolerance in (1e-4, 1e-6, 1e-8, 1e-10):
        run = build("double_pendulum-free").simulate(
            0.5, method=f"{formulation}/adams", rtol=tolerance, atol=tolerance, output=reference.t
        )
        errors.append(calc_difference(run, reference)[0])
        assert errors[-1] < 300 * tolerance
    assert errors[-1] < 1e-3 * errors[0]


# --- constraints ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("integrator", EXPLICIT)
@pytest.mark.parametrize("name", ("four_bar", "four_bar-spatial", "slider_crank-spatial", "bricard", "andrews-spatial"))
def test_constraints_hold_or_drift_as_the_formulation_says(name: str, integrator: str) -> None:
    t_end = 0.03 if name.startswith("andrews") else 5.0
    gaps = {}
    for formulation in ODES:
        result = build(name).simulate(t_end, method=f"{formulation}/{integrator}", rtol=1e-5, atol=1e-5)
        assert result.status.success, result.status
        assert not [text for text in result.warnings if "redundant" in text]
        gaps[formulation] = result.violations.largest[1], result.violations.largest_velocity[1]
    for formulation in EXACT:
        assert gaps[formulation][0] < 1e-10 and gaps[formulation][1] < 1e-9, (formulation, gaps[formulation])
    assert gaps["index1"][0] > 1e-9 and gaps["index1"][1] > 1e-8, gaps
    if t_end > 1.0:  # feedback needs some of its time constants
        assert gaps["baumgarte"][0] < 0.5 * gaps["index1"][0]


@pytest.mark.parametrize("method", ("index1/dopri5", "index1/adams", "baumgarte/dop853", "baumgarte/adams"))
def test_drift_does_not_make_redundant_rows_independent(method: str) -> None:
    """Off its constraints an overconstrained loop has full rank; taken at its word it would lock."""
    for name in ("bricard", "four_bar-spatial"):
        result = build(name).simulate(3.0, method=method, rtol=1e-4, atol=1e-4)
        assert result.status.success and result.statistics.rank_changes == 0, (name, result.status)
        exact = build(name).simulate(3.0, rtol=1e-9, atol=1e-9)
        for body in result.bodies:
            assert np.allclose(result[body].position[-1], exact[body].position[-1], atol=0.05), (name, body)


# --- partitions -------------------------------------------------------------------------------------------------------
def calc_largest_jump(result: lw.Result) -> float:
    """Largest step of q that q' does not explain, relative to the size of the steps."""
    s = result.steps
    rate = np.array([s.compiled.system.position_rate(q, v) for q, v in zip(s._q, s._v, strict=True)])
    h = np.diff(s._t)[:, None]
    moved, explained = np.diff(s._q, axis=0), 0.5 * h * (rate[1:] + rate[:-1])
    return float((np.abs(moved - explained).max(axis=1) / (0.01 + np.abs(explained).max(axis=1))).max())


@pytest.mark.parametrize("integrator", EXPLICIT)
def test_a_four_bar_turns_many_times_without_a_jump(integrator: str) -> None:
    """Spatial and planar form, 20 turns of the crank: no coordinate jumps where the partition changes."""
    t_end = 20.0
    ends = []
    for form in ("planar", "spatial"):
        model = lw.models.four_bar(form=form, angular_velocity=-6.0)
        result = model.simulate(t_end, method=f"partitioning/{integrator}", rtol=1e-8, atol=1e-8)
        assert result.status.success and not result.warnings
        assert abs(result["A"].angle[-1] - result["A"].angle[0]) > 2 * np.pi * 15
        assert calc_largest_jump(result) < 0.2
        assert np.ptp(result.energy.total) < 1e-5 * abs(result.energy.total).max()
        if form == "spatial":
            assert 10 < result.statistics.repartitions < 400, "an Euler parameter cannot serve for a whole turn"
        ends.append(result["crank"].position[-1])
    assert np.allclose(*ends, atol=2e-4)


@pytest.mark.parametrize("method", ("partitioning/dopri5", "partitioning/radau5", "tangent_plane/dop853"))
def test_a_slider_crank_passes_its_dead_centres(method: str) -> None:
    model, t_end = lw.models.slider_crank(form="spatial"), 3.0
    result = model.simulate(t_end, method=method, rtol=1e-7, atol=1e-7)
    assert result.status.success and not result.warnings
    assert calc_largest_jump(result) < 0.2
    other = lw.models.slider_crank(form="planar").simulate(t_end, method="projection/dop853", rtol=1e-10, atol=1e-10)
    turns = (other["crank_pin"].angle[-1] - other["crank_pin"].angle[0]) / (2 * np.pi)
    assert turns > 3
    times = np.linspace(0, t_end, 101)
    assert np.allclose(result.at(times)["slider"].position, other.at(times)["slider"].position, atol=1e-4)
    assert np.allclose(result.at(times)["crank_pin"].angle, other.at(times)["crank_pin"].angle, atol=1e-3)


def test_a_tight_growth_limit_repartitions_no_less_often() -> None:
    model = lw.models.four_bar(form="spatial", angular_velocity=-6.0)
    counts = []
    for growth in (1.05, 1.25, 4.0):
        result = model.simulate(5.0, method=lw.Method("partitioning", "dopri5", repartition_growth=growth))
        assert result.status.success
        counts.append(result.statistics.repartitions)
    # half a turn of the crank, after which its other Euler parameter has the better grip, is the least
    assert counts[0] >= counts[1] >= counts[2] > 0, counts


# --- work -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("formulation", ODES)
@pytest.mark.parametrize(("integrator", "stages"), (("dopri5", 6), ("dop853", 11)))
def test_the_rate_at_an_accepted_state_is_not_computed_twice(formulation: str, integrator: str, stages: int) -> None:
    """Evaluations per step are those of the method; the last stage of a step is the first of the next one.

    Projection moves the state and must evaluate anew; dop853 has a twelfth stage only in its dense output.
    """
    steps = 64
    result = build("bricard").simulate(0.5, method=f"{formulation}/{integrator}", step=0.5 / steps)
    s = result.statistics
    assert s.steps == steps and s.rejected == 0
    own = stages + (1 if integrator == "dop853" else 0)
    extra = 1 if formulation == "projection" else 0
    changes = s.repartitions
    assert steps * own <= s.evaluations + 1 <= steps * (own + extra) + 3 * changes + 4, s.evaluations


@pytest.mark.parametrize("formulation", ODES)
def test_adams_evaluates_twice_per_step(formulation: str) -> None:
    result = build("bricard").simulate(2.0, method=f"{formulation}/adams", rtol=1e-7, atol=1e-7)
    s = result.statistics
    extra = 1 if formulation == "projection" else 0
    assert s.evaluations <= (2 + extra) * s.steps + 2 * s.rejected + 6 * (s.repartitions + 1)


def test_factorizations_are_counted_and_kept() -> None:
    """One factorization per evaluation; a second one for the pins of a partition, once more where it is renewed."""
    name = "four_bar-spatial"
    for formulation, most in (("index1", 1.0), ("baumgarte", 1.0), ("projection", 1.0), ("partitioning", 2.6)):
        s = build(name).simulate(3.0, method=f"{formulation}/dopri5", rtol=1e-7, atol=1e-7).statistics
        assert s.evaluations <= s.factorizations <= most * s.evaluations + 5 * s.repartitions + 5, formulation
    # the tangent plane keeps the factorization of its base point
    s = build(name).simulate(3.0, method="tangent_plane/dopri5", rtol=1e-7, atol=1e-7).statistics
    assert s.factorizations == s.evaluations


def test_positions_are_found_in_few_iterations() -> None:
    for method, most in (("partitioning/dopri5", 6.0), ("tangent_plane/dopri5", 10.0), ("partitioning/adams", 4.0)):
        s = build("four_bar-spatial").simulate(5.0, method=method, rtol=1e-6, atol=1e-6).statistics
        assert s.position_iterations < most * s.evaluations, method


@pytest.mark.parametrize("integrator", ("sdirk4", "radau5", "bdf"))
def test_implicit_methods_keep_their_jacobian(integrator: str) -> None:
    s = build("double_pendulum").simulate(0.05, method=f"partitioning/{integrator}", rtol=1e-6, atol=1e-6).statistics
    assert 0 < s.jacobians < 0.9 * (s.steps + s.rejected), s
