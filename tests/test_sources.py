"""The guide's topic `sources`: every result has a row, and every file, test and command that it names exists."""

from __future__ import annotations

import re

import pytest
from support.cases import thinned
from support.command_desk import DOMAIN, TABLE, Desk
from support.guide_pages import ROOT, topic

PAGE = topic("sources")
NUMBERED = {
    "S1": ("Section 4.2", "Definition 5.3", "Definition 5.4", "Definition 5.5", "5.4", "5.6", "Theorem 5.7"),
    "S2": ("Lemma 1", "Lemma 2", "Proposition 1", "Theorem 1", "Theorem 2", "Theorem 3"),
    "S3": ("Lemma 1", "Theorem 1", "Proposition 1", "Section 5", "Theorem 4"),
    "S4": ("Definition 2", "Lemma 1", "Lemma 2", "Equations 12 and 17", "Theorem 2"),
    "S5": (
        *("Section 3.1", "Section 3.2", "Lemma 2", "Theorem 1", "Theorem 2", "Theorem 4"),
        *("Corollary 1", "Corollary 3", "Corollary 4"),
    ),
}
TESTED = [
    line.split(" | ")[:3]
    for line in (ROOT / "tests" / "support" / "source_results.txt").read_text(encoding="utf-8").splitlines()
]
"""Part of the page, result, and a test of it."""
ERRATA = {f"E{number}" for number in range(1, 21)}


def section(heading: str) -> list[str]:
    """Rows below a heading that starts with these words."""
    part = PAGE.text.partition(f"\n## {heading}")[2].partition("\n## ")[0]
    return [line for line in part.splitlines() if line.startswith("|")]


def results(heading: str) -> list[str]:
    """First cells of these rows."""
    return [line.strip("|").split("|")[0].strip() for line in section(heading)]


@pytest.mark.parametrize("source", NUMBERED)
def test_every_numbered_result_has_a_row(source):
    found = results(source)
    missing = [wanted for wanted in NUMBERED[source] if not any(wanted in cell for cell in found)]
    assert not missing


def test_every_erratum_has_a_row():
    assert {name for cell in results("What the sources print") for name in re.findall(r"E\d+", cell)} == ERRATA


def test_every_file_and_test_that_is_named_exists():
    named = re.findall(r"`((?:dpqr|tests)/[^`]+)`", PAGE.text) + [test for _, _, test in TESTED]
    for place in named:
        path, _, name = place.partition("::")
        assert (ROOT / path).is_file(), place
        assert not name or f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"), place


@pytest.mark.parametrize("part", [*NUMBERED, "Neighbours", "What the sources print"])
def test_every_row_has_a_test_or_says_that_it_is_not_built(part):
    tested = {result for heading, result, _ in TESTED if heading == (part if "sources" not in part else "Errata")}
    rows = [line for line in section(part) if not line.startswith(("|---", "| result "))]
    assert tested
    for row in rows:
        name = row.split("|")[1].partition(" (")[0].strip()
        assert (name in tested) != ("not built" in row), row


NUMBERS = ("least-squares", "online", "quantile")
COMMANDS = (
    "predict --dry-run --learner aggregate",
    "predict --dry-run --learner least-squares --radius 0.5",
    "predict --dry-run --learner online",
    "predict --dry-run --learner svm --smoothness 0.5",
    "predict --dry-run --smoothness 0.5 --radius 3",
    "predict --kernel gaussian --neighbours replace --points FILE",
    "predict --kernel gaussian --release function",
    "predict --lambda 0.00001",
    "predict --lambda 0.01",
    "predict --learner NAME --trust NAME",
    "predict --learner aggregate",
    "predict --learner aggregate --target-error 0.1",
    "predict --learner aggregate --vote randomised",
    "predict --learner least-squares",
    "predict --learner least-squares --radius 0.5 --decay 2",
    "predict --learner least-squares --smoothness 0.5",
    "predict --learner online",
    "predict --learner online --slots COLUMN",
    "predict --learner online --theta 0.75",
    "predict --learner quantile --method exact",
    "predict --learner svm",
    "predict --learner svm --smoothness 0.5",
    "predict --method descent",
    "predict --n 20000",
    "predict --parts 10",
    "predict --points FILE",
    "predict --radius 3",
    "predict --release function --method objective",
    "release --certify 0.05",
    "release --distinguisher exponential",
    "release --schedule theory",
    "release --schedule theory --update maximum-entropy",
    "release --schedule theory --update median",
    "release --schedule theory --update perceptron",
    "release --schedule theory --variant printed",
    "strategies --explain",
)
"""Commands that use the results: each makes a plan."""
PACKAGES = {command for command in COMMANDS if "NAME" in command}
"""They need a learner of another package; see `test_third_party.py`."""


def completed(command):
    """A command of a row, with what else it needs at the desk; nothing is paid, and no table is opened."""
    asked = [{"FILE": "points.csv", "COLUMN": "age"}.get(word, word) for word in command.split()]
    name, options = asked[0], dict.fromkeys(asked)
    if name == "strategies":
        return [*asked, "--queries", "q.json", "--eps", "1"]
    if "--dry-run" not in options:
        asked.append("--dry-run")
    if name == "release":
        number = ["--n", "100000"] if "theory" in options else []
        return [*asked, "table.csv", "--queries", "q.json", "--eps", "1", *number]
    learner = asked[asked.index("--learner") + 1] if "--learner" in options else ""
    target = ["--target", "income"] if learner in NUMBERS else ["--target", "sex"]
    target += [] if learner in (*NUMBERS, "aggregate") else ["--positive", "F"]
    if "--kernel" in options and "--points" in options:
        target = ["--target", "income", "--learner", "least-squares", "--delta", "1e-6"]
    number = [] if "--n" in options else ["--n", "20000"]
    related = ["--neighbours", "replace"] if learner == "online" and "--slots" not in options else []
    return [*asked, *target, "--domain", "d.json", "--eps", "1", *number, *related]


@pytest.mark.parametrize("command", thinned(sorted(set(COMMANDS) - PACKAGES), 6))
def test_every_command_of_a_row_makes_a_plan(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    desk, queries = Desk(tmp_path), [{"marginal": ["sex", "age"]}]
    desk.write(table__csv=TABLE, d__json=DOMAIN, q__json={"domain": DOMAIN, "queries": queries})
    desk.write(points__csv="age,income,sex\n30,100,F\n")
    ended = desk.run(*completed(command))
    assert ended.code == 0, ended.err


def test_no_constant_saves_theorem_2_of_online_learning():
    """E16: on one point, y = 1 and kappa = 1, where nothing is random, the error hardly falls from step 2^10 to 2^16.

    f converges to 1 / (1 + lambda_t), so the error is about lambda_t / (1 + lambda_t) with lambda_t = t^-(1 - theta).
    """
    theta, offset, value, errors = 0.99, 3, 0.0, []
    for step in range(2**16):
        time = float(step + offset)
        value -= time**-theta * (value - 1 + time ** (theta - 1) * value)
        if step + 1 in (2**10, 2**16):
            errors.append(1 - value)
    assert offset**theta >= 2, "the source's condition on t0"
    assert errors[1] > 0.97 * errors[0]
    assert 64 ** -(theta - 0.5) < 0.14, "what the theorem says of the same two errors, whatever its constant"
