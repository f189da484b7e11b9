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


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 2),
        (("--where", "age < 50", "--queries", "q.json"), 2),
        (("--sql", "SELECT COUNT(*) FROM t", "--queries", "q.json"), 2),
        (("--sql", "SELECT MIN(age) FROM t"), 3),
        (("--where", "age < 33"), 3),
        (("--by", "sex", "--out", "new.txt"), 2),
        (("--by", "sex", "--out", "q.json"), 8),
    ],
)
def test_refusals(released, options, code):
    ended = released.run("answer", "out", *options)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith("dpqr: ")
    assert len(ended.err.splitlines()) <= 2


def test_nowhere_is_no_release(desk):
    assert desk.run("answer", "nowhere", "--by", "sex").code == 2


def test_json_is_written_whole_too(released):
    assert released.run("answer", "out", "--by", "sex", "--out", "new.json").code == 0
    assert [one["sex"] for one in json.loads((released.path / "new.json").read_text())] == ["F", "M"]


# `dpqr export`: what is said, and the exit codes.


@pytest.fixture
def exported(desk):
    assert desk.release("--out", "out").code == 0
    return desk


def test_an_export_says_what_it_wrote(exported):
    ended = exported.run("export", "out", "--duckdb", "out.db")
    assert (ended.code, ended.out) == (0, "")
    said = ended.err.splitlines()
    assert said[0] == "note: no table of synthetic rows: the release holds none; make it with --synthetic rows"
    assert said[1].startswith("exported to out.db: answers (13 rows), columns (3 rows), cells (10 rows), facts (")
    again = exported.run("export", "out", "--duckdb", "out.db")
    assert again.code == 8
    assert "--duckdb out.db: the file exists" in again.err
    assert exported.run("export", "out", "--duckdb", "out.db", "--if-exists", "skip").err == (
        "note: out.db holds this release already\n"
    )


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


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (("one",), 2),
        (("one", "nowhere"), 2),
        (("one", "two", "--query", "nothing"), 2),
        (("one", "two", "--out", "new.txt"), 2),
        (("one", "two", "--out", "q.json"), 8),
    ],
)
def test_refusals_of_series(several, given, code):
    ended = several.run("series", *given)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith("dpqr: ")
    assert len(ended.err.splitlines()) <= 2
