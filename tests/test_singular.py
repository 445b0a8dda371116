"""Singular positions: a run continues on a branch and says so with time and joints, or ends with a status that does.

Never a silent wrong answer. The right branch of each machine is known: a parallelogram stays one, the slider-crank with
rod and crank of one length goes straight through.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import linkwork as lw
from linkwork.methods import LEGAL

Z = (0.0, 0.0, 1.0)
FAMILIES = ("dopri5", "dop853", "adams", "phem56", "mexx", "sdirk4", "radau5", "rodas", "bdf", "hht")
METHODS = [f"{formulation}/{name}" for formulation, legal in LEGAL.items() for name in FAMILIES if name in legal]
STEADY = ("partitioning/dopri5", "partitioning/dop853", "partitioning/adams", "projection/dopri5", "projection/adams",
          "recursive/dopri5", "recursive/dop853")  # fmt: skip


def build_parallelogram(
    speed: float = -6.0, start: float = 0.5 * np.pi, links: int = 2, error: float = 0.0
) -> lw.Model:
    """Cranks of 1 m that stay parallel, pinned 1 m apart; lying flat, the couplers may fold. error: of one coupler."""
    model = lw.Model("parallelogram", gravity=(0, -9.81, 0))
    along, across = np.array([np.cos(start), np.sin(start)]), np.array([-np.sin(start), np.cos(start)])
    frame = lw.Frame
    for k in range(links):
        at = np.array([k, 0.0])
        model.add(lw.PlanarBody(f"crank{k}", 1.0, 0.1, at + 0.5 * along, start, 0.5 * speed * across, speed))
        model.add(lw.Revolute(f"pin{k}", frame(model.ground, (k, 0, 0)), frame(f"crank{k}", (-0.5, 0, 0))))
    for k in range(1, links):
        long = 1.0 + (error if k == 1 else 0.0)
        model.add(lw.PlanarBody(f"coupler{k}", 1.0, 0.1, along + np.array([k - 0.5, 0.0]), 0.0, speed * across))
        model.add(lw.Revolute(f"left{k}", frame(f"crank{k - 1}", (0.5, 0, 0)), frame(f"coupler{k}", (-0.5, 0, 0))))
        right = frame(f"coupler{k}", (long - 0.5, 0, 0))
        model.add(lw.Revolute(f"right{k}", right, frame(f"crank{k}", (0.5, 0, 0))))
    return model


def build_change_point(speed: float = 6.0, angle: float = 0.6) -> lw.Model:
    """A slider-crank whose rod is as long as its crank: with both upright, the slider may stay at the pivot."""
    model, frame = lw.Model("change point", gravity=(0, -9.81, 0)), lw.Frame
    c, s, w = np.cos(angle), np.sin(angle), speed
    model.add(lw.PlanarBody("crank", 1.0, 0.1, (0.5 * c, 0.5 * s), angle, (-0.5 * w * s, 0.5 * w * c), w))
    model.add(lw.PlanarBody("rod", 1.0, 0.1, (1.5 * c, 0.5 * s), -angle, (-1.5 * w * s, 0.5 * w * c), -w))
    model.add(lw.PlanarBody("slider", 1.0, 0.1, (2.0 * c, 0.0), 0.0, (-2.0 * w * s, 0.0)))
    model.add(lw.Revolute("A", model.ground, frame("crank", (-0.5, 0, 0))))
    model.add(lw.Revolute("B", frame("crank", (0.5, 0, 0)), frame("rod", (-0.5, 0, 0))))
    model.add(lw.Revolute("C", frame("rod", (0.5, 0, 0)), frame("slider")))
    model.add(lw.Translational("guide", model.ground, "slider", point=(2.0 * c, 0, 0), axis=(1, 0, 0)))
    return model


def find_warning(result: lw.Result) -> tuple[float, list[str]]:
    """Time and joints of the warning of a singular position."""
    text = next(text for text in result.warnings if "passed a singular" in text or "came near a singular" in text)
    return float(re.search(r"t = (\S+) s", text)[1]), re.findall(r"'(\w+)'", text)


def check_told(result: lw.Result, expected: float, joints: set[str]) -> None:
    """The run says when it was singular, and which joints took part, in a warning or in its status."""
    if result.t[-1] < expected - 1e-3:
        assert not result.status.success
        text = result.status.message
        assert all(f"'{joint}'" in text for joint in joints), text
        return
    t, named = find_warning(result)
    assert t == pytest.approx(expected, abs=2e-4)
    assert joints <= set(named)


@pytest.mark.parametrize("form", ("planar", "spatial"))
@pytest.mark.parametrize("method", METHODS)
def test_two_four_bars_pass_flat_where_rank_is_lost_twice_at_once(form: str, method: str) -> None:
    if form == "spatial" and method not in STEADY:
        return
    result = lw.models.n_four_bar(2, form=form).simulate(1.0, method=method, rtol=1e-7, atol=1e-7)
    # with steps as long as those of index3 the share of A1 is not large enough to name it
    joints = {"left1", "right1", "left2", "right2"} | (set() if method.startswith("index3") else {"A1"})
    check_told(result, 0.714355, joints)
    if method in STEADY:
        # own route, see test_reference.py
        assert np.allclose(result["link0"].point((0.5, 0, 0))[-1], (-0.195020302, -0.980799206, 0), atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_a_parallelogram_passes_flat(method: str) -> None:
    result = build_parallelogram().simulate(0.5, method=method, rtol=1e-7, atol=1e-7)
    crank = result["crank0"].angle
    check_told(result, 0.237957, {"pin0", "left1", "right1", "pin1"})
    if method in STEADY:
        assert result.status.success
        assert np.allclose(result["crank1"].angle, crank, atol=1e-6), "the cranks stay parallel"
        assert np.allclose(result["coupler1"].angle, 0.0, atol=1e-6)


def test_no_warning_without_a_reason() -> None:
    for model, t_end in (
        (build_parallelogram(), 0.15), (lw.models.four_bar(form="spatial"), 10.0), (lw.models.slider_crank(), 1.0),
        (lw.models.bricard(), 10.0), (lw.models.andrews(form="spatial"), 0.03), (lw.models.hmmwv(), 0.3),
        (lw.models.double_pendulum(), 0.01),
    ):  # fmt: skip
        for method in ("partitioning/dopri5", "projection/dop853"):
            result = model.simulate(t_end, method=method)
            assert result.status.success and not result.warnings, (model.name, method, result.warnings)


@pytest.mark.parametrize("tolerance", (1e-3, 1e-5, 1e-9))
@pytest.mark.parametrize("method", ("projection/dop853", "partitioning/dop853", "baumgarte/dopri5"))
def test_long_steps_do_not_jump_over_a_singular_position_unnoticed(method: str, tolerance: float) -> None:
    for speed in (-3.0, -4.5, -7.5, -9.0):
        result = build_parallelogram(speed).simulate(1.0, method=method, rtol=tolerance, atol=tolerance)
        turns = np.floor(result["crank0"].angle / np.pi)
        assert np.ptp(turns) > 0
        find_warning(result)


@pytest.mark.parametrize("method", METHODS)
def test_a_slider_crank_with_equal_lengths_goes_through_its_change_point(method: str) -> None:
    result = build_change_point().simulate(0.5, method=method, rtol=1e-7, atol=1e-7)
    check_told(result, 0.232525, {"A", "B", "C", "guide"})
    if method in STEADY:
        assert result.status.success
        assert np.allclose(result["rod"].angle, -result["crank"].angle, atol=1e-6)
        assert np.allclose(result["slider"].position[:, 0], 2 * np.cos(result["crank"].angle), atol=1e-6)
        assert result["slider"].position[-1, 0] < 0


@pytest.mark.parametrize("method", (*STEADY, "tangent_plane/dopri5", "index1/dopri5", "baumgarte/adams"))
def test_a_run_may_begin_in_a_singular_position_and_says_so(method: str) -> None:
    """Flat at the start, two rows depend on the others; they are taken up again when the cranks leave the ground."""
    model = build_parallelogram(speed=-2.0, start=0.0, links=3)
    assert model.check().dof == 3
    result = model.simulate(0.4, method=method, rtol=1e-7, atol=1e-7)
    assert result.status.success and result.statistics.rank_changes == 1
    (text,) = (text for text in result.warnings if "began in a singular position" in text)
    assert "'right1'" in text and "'right2'" in text
    assert result.violations.largest[1] < (1e-3 if method.startswith(("index1", "baumgarte")) else 1e-6)


@pytest.mark.parametrize("method", (*STEADY, "tangent_plane/dop853", "partitioning/radau5", "partitioning/scipy:LSODA"))
def test_a_run_from_a_singular_position_is_the_motion_of_its_branch(method: str) -> None:
    """Cranks that stay parallel are one pendulum, however many; the accelerations lying flat are a limit."""
    links, speed = 4, -2.0
    model = build_parallelogram(speed=speed, start=0.0, links=links)
    result = model.simulate(0.3, method=method, rtol=1e-9, atol=1e-9, output=[0.0, 0.3])
    inertia, moment = links * (0.1 + 0.25) + (links - 1) * 1.0, -9.81 * (links * 0.5 + (links - 1) * 1.0)

    def calc_rate(_: float, y: NDArray[np.float64]) -> list[float]:
        return [y[1], moment / inertia * np.cos(y[0])]

    exact = solve_ivp(calc_rate, (0.0, 0.3), [0.0, speed], rtol=1e-12, atol=1e-13, method="DOP853").y[0, -1]
    assert result.status.success and len(result.t) == 2
    for k in range(links):
        assert result[f"crank{k}"].angle[-1] == pytest.approx(exact, abs=3e-8)
        assert result[f"crank{k}"].angular_acceleration[0, 2] == pytest.approx(moment / inertia, rel=1e-4)
    assert result["pin0"].violation.max() < 1e-9 and result["right2"].violation.max() < 1e-8


def test_a_near_miss_is_told() -> None:
    """A coupler 20 micrometres too long: the mechanism cannot lie quite flat, but nearly."""
    model = build_parallelogram(error=2e-5)
    result = model.simulate(0.5, rtol=1e-8, atol=1e-8)
    if result.status.success:
        t, joints = find_warning(result)
        assert np.sin(result.at(t)["crank0"].angle) == pytest.approx(0.0, abs=2e-2)
        assert {"pin0", "pin1"} <= set(joints)
    else:
        assert "'pin0'" in result.status.message


def test_a_driver_that_asks_for_the_impossible_is_a_failure() -> None:
    """A slider driven beyond the length of rod and crank."""
    model = lw.models.slider_crank()
    model.add(lw.Driver("pull", on="slider.x", function=f"{model['slider'].position[0]!r} + 0.2*t"))
    for method in ("partitioning/dopri5", "projection/dopri5", "tangent_plane/dop853"):
        result = model.simulate(2.0, method=method)
        assert not result.status.success and result.status.name in (
            "position_lost",
            "singular_position",
            "step_too_small",
        )
        reach = 0.55 - model["slider"].position[0]
        assert result.t[-1] == pytest.approx(reach / 0.2, abs=0.02)
        assert any(f"'{joint}'" in result.status.message for joint in model.joints)
