"""The guide's topic `sources`: every result has a row, and every file, test and command that it names exists."""

from __future__ import annotations

import re

import click
import pytest
from support.command_desk import DOMAIN, TABLE, Desk
from support.guide_pages import ROOT, topic

from dpqr.cli.main import main

PAGE = topic("sources")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.text.splitlines()
    if line.startswith("|") and not line.startswith("|---")
]
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
ERRATA = {f"E{number}" for number in range(1, 21)}


def results(heading: str) -> list[str]:
    """First cells of the rows below a heading that starts with these words."""
    part = PAGE.text.partition(f"\n## {heading}")[2].partition("\n## ")[0]
    return [line.strip("|").split("|")[0].strip() for line in part.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("source", NUMBERED)
def test_every_numbered_result_has_a_row(source):
    found = results(source)
    missing = [wanted for wanted in NUMBERED[source] if not any(wanted in cell for cell in found)]
    assert not missing


def test_every_erratum_has_a_row():
    assert {name for cell in results("What the sources print") for name in re.findall(r"E\d+", cell)} == ERRATA


def test_every_file_and_test_that_is_named_exists():
    for place in re.findall(r"`((?:dpqr|tests)/[^`]+)`", PAGE.text):
        path, _, name = place.partition("::")
        assert (ROOT / path).is_file(), place
        assert not name or f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"), place


def test_every_row_names_a_test_or_says_why_it_is_not_built():
    for row in ROWS:
        if row[0] not in ("short", "result", "erratum") and not re.fullmatch(r"S\d", row[0]):
            assert "`tests/" in row[-1] or any("not built" in cell for cell in row), row


def test_every_command_that_is_named_exists():
    for command in re.findall(r"`dpqr (\w+)", PAGE.text):
        assert command in main.list_commands(click.Context(main)), command


NUMBERS = ("least-squares", "online", "quantile")
COMMANDS = sorted(set(re.findall(r"`dpqr ((?:predict|release|strategies) [^`]*--[^`]*)`", PAGE.text)))
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


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - PACKAGES))
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
