"""`dpqr answer`: questions on a release from a shell."""

from __future__ import annotations

import json
import sys

import pytest
from support.command_desk import QUERIES, TABLE, Desk


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A release of marginal(sex,age) and prefix(income), in the directory "out" of a desk."""
    with pytest.MonkeyPatch.context() as patch:
        made = Desk(tmp_path_factory.mktemp("desk"))
        patch.chdir(made.path)
        made.write(table__csv=TABLE, q__json=QUERIES)
        assert made.release("--out", "out").code == 0
        yield made


def test_answers_on_the_screen_and_in_a_file(released):
    ended = released.run("answer", "out", "--where", "age < 50", "--by", "sex", "--out", "new.csv")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("where(age < 50) by sex: 2 answers\nsex  estimate")
    header, *lines = (released.path / "new.csv").read_text().splitlines()
    assert header == '"query","sex","detail","estimate","error","measured","noise_deviation","lower","upper","basis"'
    assert len(lines) == 2


def test_the_release_s_own_answers_in_json(released):
    ended = released.run("answer", "out", "--sql", "SELECT sex, age, COUNT(*) AS n FROM t GROUP BY sex, age", "--json")
    held = released.run("show", "out", "--query", "marginal(sex,age)", "--json").json
    assert ended.json["answers"] == [{**one, "query": "n"} for one in held]
    assert ended.json["released"] == ["n"]


def test_what_cannot_be_known_is_noted(released):
    ended = released.run("answer", "out", "--by", "sex", "--by", "income")
    assert ended.code == 0
    assert ended.err.startswith("note: marginal(sex,income): 'sex' and 'income' were never measured together")


def test_json_is_written_whole_too(released):
    assert released.run("answer", "out", "--by", "sex", "--out", "new.json").code == 0
    assert [one["sex"] for one in json.loads((released.path / "new.json").read_text())] == ["F", "M"]


# `dpqr export`: what is said, and the exit codes.


@pytest.fixture
def exported(desk):
    assert desk.release("--out", "out").code == 0
    return desk


def test_without_duckdb_one_line_says_what_to_install(exported, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    ended = exported.run("export", "out", "--duckdb", "out.db")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "pip install 'dpqr[duckdb]'" in ended.err


# `dpqr series`: releases in a row, from a shell.


PAIR = "marginal(sex,age)"


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """Two releases of one table, in the directories "one" and "two" of a desk."""
    with pytest.MonkeyPatch.context() as patch:
        made = Desk(tmp_path_factory.mktemp("desk"))
        patch.chdir(made.path)
        made.write(table__csv=TABLE, q__json=QUERIES)
        for name in ("one", "two"):
            assert made.release("--out", name).code == 0
        yield made


def test_a_table_on_the_screen_and_files(several):
    ended = several.run("series", "one", "two", "--query", PAIR, "--out", "new.csv")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{PAIR}: 10 answers\ncells")
    header, *lines = (several.path / "new.csv").read_text().splitlines()
    assert header == ('"query","point","sex","age","detail","estimate","error","lower","upper","change","change_error"')
    assert len(lines) == 20


def test_json_and_curves(several):
    ended = several.run("series", "one", "two", "--json")
    assert ended.json["points"] == ["one", "two"]
    assert {one["point"] for one in ended.json["answers"]} == {"one", "two"}
    assert "two" in several.run("series", "one", "two", "--as", "curve").out
