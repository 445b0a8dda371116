"""The comparison of every formulation with every integrator, and of this package with another, on small settings."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from linkwork import models
from linkwork.bench import formulations, peers
from linkwork.bench.figure import save_figure
from linkwork.bench.runs import RunFailure, find_start, run_timed
from linkwork.methods import LEGAL

PENDULUM = formulations.MACHINES[0]


def test_every_legal_pair_is_compared():
    pairs = formulations.list_pairs()
    assert pairs == [f"{f}/{i}" for f, integrators in LEGAL.items() for i in integrators]


def test_errors_of_a_pair_fall_with_the_steps_by_its_order():
    curves = formulations.measure_machine(PENDULUM, ["partitioning/radau5", "projection/dop853"], (1e-5, 1e-8))
    for curve in curves.values():
        loose, tight = curve.points
        assert not curve.missing and tight["error"] < 0.1 * loose["error"] and tight["steps"] > loose["steps"]
        assert curve.slope > 3.0


def test_fixed_steps_show_the_order_and_methods_of_variable_order_are_left_out():
    orders = formulations.measure_orders(["partitioning/sdirk4", "index1/dopri5", "projection/adams"])
    assert orders == {"partitioning/sdirk4": pytest.approx(4.0, abs=0.5), "index1/dopri5": pytest.approx(5.3, abs=0.7)}
    assert formulations.find_nominal_order("partitioning", "dop853") == "8"
    assert formulations.find_nominal_order("ggl", "bdf") == "1-5"
    assert (
        formulations.find_nominal_order("ggl", "sdirk4")
        == "2"
        != formulations.find_nominal_order("partitioning", "sdirk4")
    )


def test_a_run_that_takes_too_long_is_given_up_and_said_so():
    start = find_start(models.hmmwv(stiff=True))
    with pytest.raises(RunFailure, match=r"more than 0\.05 s at t = "):
        run_timed(start, "projection/dopri5", 1e-3, 1.0, seconds=0.05)
    curve = formulations.measure_pair(start, "projection/dopri5", 1.0, None, (1e-3, 1e-5), 0.05)
    assert not curve.points and len(curve.missing) == 1 and np.isnan(curve.slope)


def test_embedded_codes_are_timed_like_others():
    done = run_timed(find_start(PENDULUM.build()), "partitioning/scipy:BDF", 1e-4, 0.2, seconds=60.0)
    assert done.cpu > 0.0 and done.statistics["steps"] > 3


def test_the_comparison_prints_costs_winners_and_what_is_missing_and_draws(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    points = [{"tolerance": 10.0**-k, "error": 10.0**-k, "cpu": 1e-3 * k, "steps": 10.0 * k} for k in (2, 7)]
    curves = {
        "partitioning/bdf": formulations.Curve(points),
        "projection/dopri5": formulations.Curve([], ["1e-03: more than 2 s at t = 0.1 s"]),
    }
    formulations.show_machine("a machine", curves)
    printed = capsys.readouterr().out
    assert "least for 1e-05: partitioning/bdf" in printed
    assert "left out  projection/dopri5 at 1e-03: more than 2 s" in printed
    figures = {"one": curves}
    assert save_figure("f.png", lambda panels: formulations.draw_machines(panels, figures), rows=2, columns=3)


def test_without_the_peer_the_comparison_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert peers.run() == {"exudyn": None}
    assert peers.INSTALL in capsys.readouterr().out


@pytest.mark.parametrize("form", ("planar", "spatial"))
def test_the_peer_moves_the_same_mechanism(form):
    pytest.importorskip("exudyn")
    model = models.andrews(form=form)
    reference = peers.find_reference(model)
    coarse, fine = peers.measure_peer(model, reference, "GeneralizedAlpha", "EXUdense", (1000, 2000))
    assert fine["error"] < 1e-3 and coarse["error"] / fine["error"] == pytest.approx(4.0, abs=1.5)
    curves = {"ours": [{"error": e, "cpu": 1e-3} for e in (1e-2, 1e-9)], "Exudyn": [fine, coarse][::-1]}
    assert peers.find_gain(curves, fine["error"]) == pytest.approx(1e3 * fine["cpu"])
