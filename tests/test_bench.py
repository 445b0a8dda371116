"""The benchmarks' pieces on small settings, and the figures of the negrut paper that do not depend on the machine.

No test asserts a time.
"""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from linkwork import models
from linkwork.bench import accuracy, double_pendulum, hmmwv, linear, recursive, work_precision
from linkwork.bench.figure import save_figure
from linkwork.bench.runs import RunFailure, find_start, run_in_pieces, run_timed
from linkwork.cli import find_benches


@pytest.fixture(scope="module")
def vehicle():
    return find_start(models.hmmwv(stiff=True))


def test_the_command_finds_every_benchmark_with_a_name_and_a_description():
    benches = find_benches()
    assert {"linear", "chain", "accuracy", "double-pendulum", "hmmwv", "work-precision", "recursive"} <= set(benches)
    assert all(bench.DESCRIPTION and callable(bench.run) for bench in benches.values())


# --- timed runs -------------------------------------------------------------------------------------------------------
def test_a_timed_run_that_fails_says_where(vehicle):
    with pytest.raises(RunFailure, match="too_many_steps at t = 0"):
        run_timed(vehicle, "partitioning/sdirk4", 1e-3, 1.0, max_steps=3)


def test_pieces_of_a_run_reach_the_same_state_as_the_whole():
    start = find_start(models.pendulum(angular_velocity=2.0, stiffness=40, damping=3))
    whole = run_timed(start, "partitioning/dopri5", 1e-10, 0.4).states
    taken = run_in_pieces(start, "partitioning/dopri5", 1e-10, (0.2, 0.4), 0.1)
    assert len(taken) == 2 and taken[0] <= taken[1]
    half = run_timed(start, "partitioning/dopri5", 1e-10, 0.2).states
    again = run_timed(
        type(start)(start.compiled, half._q[-1], half._v[-1], start.memory), "partitioning/dopri5", 1e-10, 0.4,
        t_start=0.2,
    )  # fmt: skip
    assert np.allclose(again.states._q[-1], whole._q[-1], atol=1e-9)


# --- the double pendulum ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("angular_velocity", (0.0, 10.0))
def test_the_reference_run_meets_the_reference_points(angular_velocity):
    assert double_pendulum.measure_reference(angular_velocity) < 1e-9


@pytest.mark.parametrize("form", ("planar", "spatial"))
def test_errors_are_at_most_those_of_table_2(form):
    for k, figures in double_pendulum.measure_errors(form, double_pendulum.PAPER_2).items():
        angle, rate = double_pendulum.PAPER_2[k]
        assert figures["angle"] <= angle and figures["rate"] <= rate, k


def test_two_angles_take_the_steps_of_table_3_to_within_one():
    for k, paper in zip(range(-2, -9, -1), double_pendulum.PAPER_3_ANGLES, strict=True):
        planar = double_pendulum.count_steps("planar", 10.0**k)
        assert abs(double_pendulum.count_angle_steps(10.0**k) - paper) <= 1
        assert abs(planar - paper) <= 1, "the planar form has the same two coordinates"


def test_the_spatial_form_takes_the_steps_of_table_3_to_within_a_tenth():
    for k, paper in zip(range(-2, -9, -1), double_pendulum.PAPER_3_SPACE, strict=True):
        assert abs(double_pendulum.count_steps("spatial", 10.0**k) / paper - 1.0) <= 0.1, k


def test_derivatives_of_the_two_angles_fit_their_rate():
    x, h = np.array([6.2, 6.0, 0.3, -0.4]), 1e-6
    numbers = [
        (double_pendulum.calc_angle_rate(0, x + h * e) - double_pendulum.calc_angle_rate(0, x - h * e)) / (2 * h)
        for e in np.eye(4)
    ]
    exact = double_pendulum.calc_angle_jacobian(0.0, x)
    assert np.allclose(exact, np.transpose(numbers), rtol=1e-6, atol=1e-4 * np.abs(exact).max())


# --- the vehicle ------------------------------------------------------------------------------------------------------
def test_the_stiff_vehicle_has_the_size_and_the_spectrum_of_the_paper(vehicle):
    size = hmmwv.measure_size(vehicle)
    assert (size["coordinates"], size["equations"], size["degrees of freedom"]) == (98, 80, 18)
    assert size["dominant eigenvalue"] == pytest.approx(-2.6e5, rel=0.02)
    assert size["its imaginary part"] < 1e-4


def test_the_implicit_run_needs_far_fewer_steps_than_stability_asks_of_an_explicit_one(vehicle):
    implicit = hmmwv.measure_implicit(vehicle, 1e-3, (0.02,), repeats=1)
    explicit = run_timed(vehicle, "partitioning/adams", 1e-3, 0.02)
    assert 100 * implicit["steps"] < explicit.statistics["steps"]


def test_jacobians_are_measured_both_ways(vehicle):
    assert set(hmmwv.measure_jacobians(vehicle, repeats=1)) == {"analytic", "differences"}


# --- error against work -----------------------------------------------------------------------------------------------
def test_curves_of_error_and_work_fall_with_the_tolerance():
    start = find_start(models.double_pendulum(form="planar"))
    curves = work_precision.measure_curves(start, 0.2, ("partitioning/radau5",), (1e-3, 1e-6), 1e-10, repeats=1)
    loose, tight = curves["partitioning/radau5"]
    assert tight["error"] < 0.1 * loose["error"] and tight["steps"] > loose["steps"]


def test_the_cost_of_an_error_is_read_between_runs():
    curve = [{"error": e, "cpu": c} for e, c in ((1e-2, 1.0), (1e-4, 4.0), (1e-3, 9.0), (1e-6, 16.0))]
    assert work_precision.find_cost(curve, 1e-3) == pytest.approx(2.0)
    assert work_precision.find_cost(curve, 1e-5) == pytest.approx(8.0)
    assert work_precision.find_cost(curve, 1e-1) == 1.0
    assert np.isnan(work_precision.find_cost(curve, 1e-8))


# --- tables and figures -----------------------------------------------------------------------------------------------
def test_tables_and_figures_of_a_whole_benchmark(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    double_pendulum.run()
    printed = capsys.readouterr().out
    assert "Table II" in printed and "Table III" in printed and "wrote double_pendulum.png" in printed
    assert (tmp_path / "double_pendulum.png").stat().st_size > 10_000
    assert set(double_pendulum.run(json=True)) == {"reference_error", "errors", "steps"}
    assert capsys.readouterr().out == ""


def test_tables_of_the_vehicle_print_ratios_beside_the_papers(vehicle, capsys):
    cpu = [0.01, 0.02, 0.03, 0.04]
    one = {"cpu": cpu, "wall": 0.05, "steps": 100, "rejected": 10, "evaluations": 1, "jacobians": 1}
    hmmwv.show_times({1e-3: one}, {1e-3: [4.0]})
    hmmwv.show_size(hmmwv.measure_size(vehicle), {"analytic": 1e-4, "differences": 5e-4, "evaluation": 1e-5})
    printed = capsys.readouterr().out
    assert "400" in printed and "173.4" in printed and "differences / analytic: 5" in printed


def test_error_and_work_are_printed_with_the_winner_and_drawn(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    points = [{"tolerance": 10.0**-k, "error": 10.0**-k, "cpu": 1e-3 * k, "steps": 10 * k} for k in (2, 9)]
    slower = [{**point, "cpu": 2 * point["cpu"]} for point in points]
    machine = {"explicit": 1.0, "curves": {"partitioning/bdf": points, "tangent_plane/sdirk4": slower[:1]}}
    work_precision.show_machine("a machine", machine)
    assert "least for 1e-05: partitioning/bdf" in capsys.readouterr().out
    figures = {"one": machine, "two": machine}
    assert save_figure("w.png", lambda panels: work_precision.draw_machines(panels, figures), columns=2)


def test_a_figure_is_left_out_without_matplotlib(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    assert not save_figure("nothing.png", lambda panels: None)
    assert "needs matplotlib" in capsys.readouterr().out


def test_the_other_benchmarks_measure_on_small_settings(monkeypatch, capsys):
    figures = linear.measure_solvers(models.andrews(form="planar"), repeats=2)
    assert set(figures) == set(linear.SOLVERS) and all(f["residual"] < 1e-8 for f in figures.values())
    linear.show_solvers("small", figures, linear.PAPER_2)
    assert "topology" in capsys.readouterr().out
    assert dict((name, value) for name, value, _ in accuracy.run_andrews())["largest error of the angles [rad]"] < 1e-4
    chain = importlib.import_module("linkwork.bench.chain")
    assert chain.NAME == "chain"


# --- recursive coordinates --------------------------------------------------------------------------------------------
def test_recursive_and_cartesian_evaluations_are_timed_side_by_side(capsys):
    figures = recursive.run(lengths=(4,), rounds=1, work=20, long_chain=4)
    chain = figures.pop("long chain")
    assert chain["error"] < 1e-6 and chain["links"] == 4
    for name, parts in figures.items():
        assert {"recursive", "partitioning", "cartesian", "total"} <= set(parts), name
        assert min(parts.values()) > 0, name
    assert "chain, spatial, 4" in capsys.readouterr().out
