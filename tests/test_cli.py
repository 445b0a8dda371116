"""The command: exit status 0, 1 or 2, one line for bad input, JSON for scripts."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from linkwork import cli


def run(monkeypatch, capsys, *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["linkwork", *words])
    status = 0
    try:
        cli.main()
    except SystemExit as stop:
        status = int(stop.code or 0)
    out = capsys.readouterr()
    return status, out.out, out.err


@pytest.fixture
def linkwork(monkeypatch, capsys):
    return lambda *words: run(monkeypatch, capsys, *words)


def test_models_and_methods_are_listed(linkwork) -> None:
    status, out, _ = linkwork("models")
    assert status == 0 and "hmmwv" in out and "andrews" in out
    entries = json.loads(linkwork("models", "--json")[1])
    assert {"name", "description", "settings", "parameters"} == set(entries[0])
    status, out, _ = linkwork("methods")
    assert status == 0 and "partitioning" in out and "adams" in out
    rows = json.loads(linkwork("methods", "--json")[1])
    assert [row["method"] for row in rows if row["default"]] == ["partitioning/auto"]


def test_run_prints_the_summary_and_writes_csv(linkwork, tmp_path) -> None:
    out_file = tmp_path / "out.csv"
    status, out, err = linkwork(
        "run", "pendulum", "--t-end", "0.5", "--method", "tangent_plane/dop853", "--rtol", "1e-8",
        "--out", str(out_file), "--set", "mass=2.5", "--quiet",
    )  # fmt: skip
    assert status == 0 and err == ""
    assert "status          success" in out and "tangent_plane/dop853" in out and "real-time" in out
    assert out_file.read_text().startswith("t,pin.coordinate,arm.position.y")


def test_a_misspelt_channel_is_found_before_the_run(linkwork) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    status, out, err = linkwork("run", "pendulum", "--plot", "arm.positon.y")
    assert status == 2 and "no quantity 'positon'" in err and out == ""


def test_the_bare_command_shows_its_help_and_its_version(linkwork) -> None:
    status, out, err = linkwork()
    assert status == 0 and "Commands:" in out and err == ""
    assert linkwork("--version")[1].startswith("linkwork ")


def test_a_figure_without_channels_draws_the_usual_ones(linkwork, tmp_path) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    figure = tmp_path / "usual.png"
    assert linkwork("run", "pendulum", "--t-end", "0.1", "--figure", str(figure))[0] == 0
    assert figure.stat().st_size > 1000


def test_run_plots_to_a_file(linkwork, tmp_path) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    figure = tmp_path / "out.png"
    status, _, _ = linkwork("run", "pendulum", "--t-end", "0.2", "--plot", "arm.position.y", "--figure", str(figure))
    assert status == 0 and figure.stat().st_size > 1000


SCRIPT = """
import linkwork as lw
model = lw.Model("mine", gravity=(0, 0, -9.81))
model.add(lw.PointMass("ball", 1.0))
settings = {"t_end": 0.25}
"""


def test_a_script_is_run_and_checked(linkwork, tmp_path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SCRIPT)
    status, out, _ = linkwork("run", str(path))
    assert status == 0 and "model           mine" in out and "0 to 0.25 s" in out
    assert linkwork("check", str(path))[0] == 0
    path.write_text("import linkwork as lw\ndef build(n=1):\n    return lw.models.chain(n=n, form='spatial')\n")
    status, out, _ = linkwork("check", str(path), "--set", "n=3")
    assert status == 0 and "15 + 3 constraint rows" in out


def test_check_lists_problems_and_exits_with_2(linkwork, tmp_path) -> None:
    path = tmp_path / "open.py"
    path.write_text(
        SCRIPT + 'model.add(lw.Distance("rod", model.ground, "ball", point_b=(0, 0, 0), point_a=(0, 1, 0), length=3))\n'
    )
    status, out, err = linkwork("check", str(path))
    assert status == 2 and "joint 'rod' is open by 2" in out and err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("run", "hmwv"), "did you mean 'hmmwv'"),
        (("run", "nothing.py"), "there is no file 'nothing.py'"),
        (("run", "pendulum", "--method", "partitioning/rk4"), "unknown integrator 'rk4'"),
        (("run", "pendulum", "--set", "mas=1"), "did you mean 'mass'"),
        (("run", "pendulum", "--set", "mass"), "give KEY=VALUE"),
        (("run", "pendulum", "--set", "mass=-1"), "mass"),
        (("run", "pendulum", "--rtol", "-1"), "rtol = -1.0 must be a finite positive number"),
        (("run", "pendulum", "--t-end", "0.1", "--plot", "leg.position"), "no element 'leg'"),
        (("run", "pendulum", "--rtol", "much"), "--rtol"),
        (("run", "hmmwv", "--set", "stiff=maybe"), "--set stiff=maybe: give true or false, such as --set stiff=false"),
        (("run", "chain", "--set", "n=2.5"), "--set n=2.5: give a whole number, such as --set n=10"),
        (("run", "pendulum", "--set", "mass=heavy"), "--set mass=heavy: give a number"),
        (("run", "pendulum", "--set", "form=flat"), "linkwork: pendulum: form='flat' is unknown"),
        (("run", "pendulum", "--figure", "/no/folder/out.png"), "--figure /no/folder/out.png: there is no folder"),
        (("run", "pendulum", "--out", "/no/folder/out.csv"), "there is no folder"),
        (("walk",), "walk"),
        (("bench", "nothing"), "there is no benchmark 'nothing'"),
    ],
)
def test_bad_input_is_one_line_and_status_2(linkwork, words: tuple[str, ...], reason: str) -> None:
    status, _, err = linkwork(*words)
    assert status == 2
    assert reason in err and err.count("\n") == 1 and "Traceback" not in err


def test_a_script_that_raises_is_bad_input(linkwork, tmp_path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("x = 1 / 0\n")
    status, _, err = linkwork("run", str(path))
    assert status == 2 and "ZeroDivisionError" in err and err.count("\n") == 1
    path.write_text("x = 1\n")
    assert "defines neither `model`" in linkwork("run", str(path))[2]


def test_a_failed_simulation_exits_with_1(linkwork, tmp_path) -> None:
    path = tmp_path / "fails.py"
    path.write_text(
        SCRIPT
        + 'model.add(lw.UserForce("wind", ["ball"], lambda t, b: {"ball": ((1 / (t < 0.1), 0, 0), (0, 0, 0))}))\n'
    )
    status, out, err = linkwork("run", str(path))
    assert status == 1 and "user_error" in out and "ZeroDivisionError" in out and err == ""


def test_the_module_runs_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "linkwork", "methods", "--json"], capture_output=True, text=True)
    assert done.returncode == 0 and json.loads(done.stdout)
