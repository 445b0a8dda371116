"""The layers of docs/architecture.md hold: every file uses lower layers only, and stays readable in size."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "src" / "core"
PACKAGE = ROOT / "src" / "linkwork"

# rooms of the core, lowest first; a room may include itself and lower ones
ROOMS = ["kernels", "system", "formulations", "integrators", "bindings"]

# layers of the package by module name; everything else is P4
P0 = {
    "bodies", "calls", "cams", "checks", "coordinates", "couplings",
    "errors", "events", "forces", "functions", "joints",
    "methods", "model", "motions", "rotations", "sides", "status", "stops", "tables", "tree", "version", "words",
}  # fmt: skip
P1 = {"compile", "compile_forces"}
P2 = {
    "departure", "embed", "embed_contract", "embed_cvode", "embed_driver", "embed_equations", "embed_events",
    "embed_ida", "embed_kinks", "embed_scipy", "hooks", "impacts", "initial", "jacobian", "kinematics", "progress",
    "report", "run_warnings", "simulate", "states", "switching",
}  # fmt: skip
P3 = {"results", "views", "channels"}
LEVEL = {name: level for level, names in enumerate((P0, P1, P2, P3)) for name in names}


def core_files():
    return sorted(CORE.rglob("*.hpp")) + sorted(CORE.rglob("*.cpp"))


@pytest.mark.parametrize("path", core_files(), ids=lambda p: str(p.relative_to(CORE)))
def test_core_files_include_only_their_own_room_and_lower_ones(path):
    room = ROOMS.index(path.relative_to(CORE).parts[0])
    text = path.read_text()
    for include in re.findall(r'#include "([^"]+)"', text):
        target = (path.parent / include).resolve().relative_to(CORE)
        # the tables are the one record kernels may read of the room above them
        if target == Path("system/tables.hpp"):
            continue
        assert ROOMS.index(target.parts[0]) <= room, f"{path.name} includes {include} from a higher room"
    if room >= ROOMS.index("integrators") and room < ROOMS.index("bindings") and path.name.startswith(("dop", "adams")):
        assert "equations.hpp" not in text, "integrators see the formulation contract, never the system"
    if room < ROOMS.index("bindings"):
        assert "nanobind" not in text


def package_files():
    return sorted(PACKAGE.glob("*.py"))


@pytest.mark.parametrize("path", package_files(), ids=lambda p: p.name)
def test_package_modules_import_only_lower_layers_at_import_time(path):
    level = LEVEL.get(path.stem, 4)
    tree = ast.parse(path.read_text())
    for node in tree.body:  # imports inside functions are late and allowed upwards
        if isinstance(node, ast.ImportFrom) and (node.level == 1 or (node.module or "").startswith("linkwork")):
            names = (
                [node.module.split(".")[-1]]
                if node.module and node.module != "linkwork"
                else [a.name for a in node.names]
            )
            for name in names:
                if (PACKAGE / f"{name}.py").exists() or name == "_core":
                    target = 2 if name == "_core" else LEVEL.get(name, 4)
                    assert target <= level, f"{path.name} (P{level}) imports {name} (P{target})"


@pytest.mark.parametrize("path", core_files() + package_files(), ids=lambda p: p.name)
def test_files_stay_within_a_readable_size(path):
    assert len(path.read_text().splitlines()) <= 440
