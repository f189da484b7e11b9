"""The guide's topic and the notebook of the sample tell what they say: every cell runs, in order, in one process."""

from __future__ import annotations

import ast
import json
import re
import shutil
from pathlib import Path

import pytest
from support.guide_pages import ROOT, topic

import dpqr

NOTEBOOK = json.loads((ROOT / "sample_data" / "story.ipynb").read_text(encoding="utf-8"))
CELLS = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def shown(source, space):
    """Run a cell; what a notebook would show of its last line, as HTML or text."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), space)
    if last is None:
        return ""
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), space)
    return value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)


@pytest.fixture
def sample(tmp_path, monkeypatch):
    """A folder that looks like a fresh clone, and no ledger of this user's."""
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.mark.slow
def test_the_notebook_tells_the_story(sample, monkeypatch, capsys):
    monkeypatch.chdir(sample / "sample_data")
    space: dict[str, object] = {}
    pages = [shown("".join(cell["source"]), space) for cell in CELLS]
    release, ledger = space["release"], space["ledger"]
    assert isinstance(release, dpqr.Release)
    assert isinstance(ledger, dpqr.Ledger)
    assert 3.5 <= ledger.budget("survey").left < 3.51, "what was not drawn comes back"
    assert "Guarantee" in pages[1]
    assert "Guarantee" in pages[3]
    assert all("<table" in page for page in (pages[2], *pages[4:9]))
    assert re.search(r"spent 1\.(5|49\d*) of 5", capsys.readouterr().out)
    names = {path.name for path in Path(str(space["folder"]), "story").iterdir()}
    assert [name for name in names if len(name) == len(f"{'0' * 64}.csv")], "the file of coefficients, by its content"
    assert {name for name in names if len(name) < 64} == {
        "answers.csv",
        "release.json",
        "synthetic.parquet",
    }


def test_the_notebook_is_stored_without_outputs():
    """What it shows is drawn anew in each run."""
    assert [(cell["outputs"], cell["execution_count"]) for cell in CELLS] == [([], None)] * len(CELLS)
    assert NOTEBOOK["nbformat"] == 4


@pytest.mark.slow
def test_the_guide_runs_as_printed(sample, monkeypatch, capsys):
    monkeypatch.chdir(sample)
    space: dict[str, object] = {}
    for block in topic("python").all_of("python"):
        exec(compile(block, "python.md", "exec"), space)
    assert capsys.readouterr().out.rstrip().partition("\n4 dataset 'survey'")[2]
    assert space["ledger"].budget("survey").request == "--eps 1"
    assert repr(space["same"]) == repr(space["release"])


def test_every_public_name_is_in_the_guide():
    text = topic("python").text
    shown_as_values = {"Budget", "Domain", "Plan", "Queries", "Receipt", "Release", "__version__"}
    functions = [name for name in dpqr.__all__ if name not in shown_as_values and not name.endswith("__")]
    errors = {name for name in functions if isinstance(getattr(dpqr, name), type) and name != "Ledger"}
    assert [name for name in functions if name not in errors and f"dpqr.{name}" not in text] == []
