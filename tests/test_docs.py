"""The pages are true: their examples run, the files they name exist, the method table is that of the code.

``python tests/test_docs.py`` rewrites the method table of the README from ``linkwork.methods``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BEGIN, END = "<!-- methods: written by tests/test_docs.py -->", "<!-- end of methods -->"


def find_blocks(page: Path) -> list[tuple[int, str]]:
    """First line and text of every python block of a page."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start()) + 1, match.group(1)) for match in found]


def build_method_tables() -> str:
    """The tables of formulations, integrators and linear solvers as Markdown."""
    from linkwork import methods

    lines = []
    for title, column, known in (
        ("formulation", "integrators", methods.FORMULATIONS),
        ("integrator", "", methods.INTEGRATORS),
        ("`linear=`", "", methods.LINEAR),
    ):
        head = ["", title, "what it is", *([column] if column else [])]
        lines += [" | ".join(head).strip() + " |", "|---" * (len(head) - 1) + "|"]
        for name, text in known.items():
            cells = ["", f"`{name}`", text]
            if column:
                cells.append(", ".join(f"`{integrator}`" for integrator in methods.LEGAL[name]))
            lines.append(" | ".join(cells).strip() + " |")
        lines.append("")
    return "\n".join(lines)


def replace_method_tables(text: str) -> str:
    """The README with the tables between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{build_method_tables()}\n{END}{after}"


@pytest.mark.parametrize("page", [p for p in PAGES if find_blocks(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict[str, object] = {"__name__": "__main__"}
    for line, block in find_blocks(page):
        # blank lines before the block, so that a traceback names the line of the page
        exec(compile("\n" * line + block, str(page), "exec"), names)


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda p: p.name)
def test_an_example_runs(script, tmp_path):
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout and not done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_files_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"(?<![\w/])(?:src|tests|docs|examples|changelog\.d)/[\w./-]*\w/?", text):
        assert (ROOT / path).exists(), f"{page.name} names {path}"
    for link in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", text):
        assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_the_tree_of_the_architecture_page_has_every_folder_and_layer():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = text[text.index("```\n") :].split("```")[1]
    for folder in (*(ROOT / "src/core").rglob("*/"), *(ROOT / "src/linkwork").glob("*/")):
        if folder.is_dir() and not folder.name.startswith(("_", ".")):
            assert f"{folder.name}/" in tree, folder
    words = set(re.findall(r"\w+", tree))
    for module in (ROOT / "src/linkwork").glob("[a-z]*.py"):
        known = module.stem in words or module.stem.split("_")[0] in words
        assert known, f"{module.name} is not in the tree of docs/architecture.md: add it to its layer"


def test_the_method_table_of_the_readme_is_that_of_the_code():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert replace_method_tables(text) == text, "run python tests/test_docs.py"


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(replace_method_tables(readme.read_text(encoding="utf-8")), encoding="utf-8")
