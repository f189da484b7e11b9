"""The tutorial: every command in it is run, in its order, and prints what the text quotes."""

from __future__ import annotations

import shlex

import pytest
from support.guide_pages import FENCED, screen_lines

import dpqr

REFUSED = 4


@pytest.fixture
def folder(desk, monkeypatch):
    ended = desk.run("tutorial", "steps")
    assert ended.code == 0, ended.err
    monkeypatch.chdir(desk.path / "steps")
    return ended.out


@pytest.mark.slow
def test_every_command_runs_and_prints_what_the_text_quotes(desk, folder):
    printed, commands = "", 0
    for language, content in FENCED.findall(folder + "\n"):
        if language == "screen":
            assert [line for line in screen_lines(content) if line not in printed] == []
            continue
        printed = ""
        for line in content.replace("\\\n", " ").splitlines():
            program, *arguments = shlex.split(line)
            assert program == "dpqr"
            ended = desk.run(*arguments)
            assert ended.code == (REFUSED if language == "refused" else 0), (line, ended.err)
            printed += " ".join(f"{ended.out} {ended.err}".split()) + " "
            commands += 1
    assert commands == 12
    assert "--sql" not in folder  # which needs an extra that a first installation lacks


def test_the_text_on_the_screen_is_that_of_the_folder(desk, folder):
    steps = desk.path / "steps"
    assert folder.strip() == (steps / "README.md").read_text().strip()
    assert sorted(path.name for path in steps.iterdir()) == ["README.md", "domain.json", "queries.json", "visits.csv"]
    table = (steps / "visits.csv").read_text()
    assert len(table) < 100_000
    dpqr.tutorial(desk.path / "again")
    assert (desk.path / "again" / "visits.csv").read_text() == table


def test_nothing_is_overwritten(desk):
    desk.put("full/mine.txt", "mine")
    (desk.path / "empty").mkdir()
    for name, code, said in (
        ("full", 8, "full: is not an empty folder"),
        ("table.csv", 8, "table.csv: is not an empty folder"),
        ("none/there", 2, "cannot be made"),
        ("", 2, "a file name is empty"),
        ("empty", 0, "wrote empty/README.md"),
    ):
        before = desk.everything()
        ended = desk.run("tutorial", name)
        assert ended.code == code, ended.err
        assert said in ended.err
        assert code == 0 or (ended.out == "" and desk.everything() == before)
        assert "\n" not in ended.err.rstrip("\n") or code == 2
