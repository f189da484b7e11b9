"""`dpqr answer`, `export` and `series`: questions on releases, from a shell and from Python."""

from __future__ import annotations

import json
import sys

import pandas as pd
import pytest
from support.command_desk import QUERIES, TABLE, Desk

import dpqr

PAIR = "marginal(sex,age)"


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Two releases of marginal(sex,age) and prefix(income), in the directories "one" and "two" of a desk."""
    with pytest.MonkeyPatch.context() as patch:
        made = Desk(tmp_path_factory.mktemp("desk"))
        patch.chdir(made.path)
        made.write(table__csv=TABLE, q__json=QUERIES)
        for name in ("one", "two"):
            assert made.release("--out", name).code == 0
        yield made


def test_answers_on_the_screen_and_in_a_file(released):
    ended = released.run("answer", "one", "--where", "age < 50", "--by", "sex", "--out", "new.csv")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("where(age < 50) by sex: 2 answers\nsex  estimate")
    written = (released.path / "new.csv").read_text()
    header, *lines = written.splitlines()
    assert header == '"query","sex","detail","estimate","error","measured","noise_deviation","lower","upper","basis"'
    assert len(lines) == 2
    found = dpqr.answer("one", where="age < 50", by="sex", out="again.csv")
    assert (released.path / "again.csv").read_text() == written
    assert list(found.answers.columns[:2]) == ["query", "sex"]
    assert "<table" in found._repr_html_()
    assert len(dpqr.answer("one", by=["sex"]).answers) == 2


def test_the_release_s_own_answers_in_json(released):
    asked = "SELECT sex, age, COUNT(*) AS n FROM t GROUP BY sex, age"
    ended = released.run("answer", "one", "--sql", asked, "--json")
    held = released.run("show", "one", "--query", PAIR, "--json").json
    assert ended.json["answers"] == [{**one, "query": "n"} for one in held]
    assert ended.json["released"] == ["n"]
    assert dpqr.answer(dpqr.read_release("one"), queries=dpqr.sql(asked)).document()["answers"] == ended.json["answers"]


def test_figures_alone_make_a_table_without_rows_beside_theirs(released):
    found = dpqr.answer("one", queries=dpqr.sql("SELECT sex, AVG(income) AS pay FROM t GROUP BY sex"))
    assert (len(found.answers), list(found.answers.columns[:2])) == (0, ["query", "detail"])
    assert found.figures["sex"].tolist() == ["F", "M"]
    assert found._repr_html_().count("<table") == 1


@pytest.mark.slow
def test_a_release_in_memory_answers_as_its_files_do(tmp_path):
    table = pd.DataFrame({"a": [0, 1, 2, 1] * 50, "b": [0, 1] * 100})
    made = dpqr.release(table, queries=dpqr.queries().marginal("a", "b"), domain={"a": 3, "b": 2}, eps=1)
    made.save(tmp_path / "out")
    asked = dpqr.sql(
        "SELECT b, COUNT(*) AS n FROM t WHERE a >= 1 GROUP BY b; SELECT a, b, COUNT(*) FROM t GROUP BY a, b"
    )
    found = dpqr.answer(made, queries=asked)
    pd.testing.assert_frame_equal(found.answers, dpqr.answer(tmp_path / "out", queries=asked).answers)
    assert found.released == {"marginal(a,b)"}
    assert found.answers["estimate"].tolist()[2:] == made.answers["estimate"].tolist()


@pytest.mark.parametrize("options", [{}, {"where": "age = 1", "queries": {"queries": []}}, {"where": 3}])
def test_one_way_of_asking(released, options):
    with pytest.raises(dpqr.UsageFault):
        dpqr.answer("one", **options)


def test_what_cannot_be_known_is_noted(released):
    ended = released.run("answer", "one", "--by", "sex", "--by", "income")
    assert ended.code == 0
    assert ended.err.startswith("note: marginal(sex,income): 'sex' and 'income' were never measured together")


def test_json_is_written_whole_too(released):
    assert released.run("answer", "one", "--by", "sex", "--out", "new.json").code == 0
    assert [one["sex"] for one in json.loads((released.path / "new.json").read_text())] == ["F", "M"]


# `dpqr export`.


def test_without_duckdb_one_line_says_what_to_install(released, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    ended = released.run("export", "one", "--duckdb", "none.db")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "pip install 'dpqr[duckdb]'" in ended.err


def test_a_release_becomes_tables(released):
    assert dpqr.export("one", duckdb="out.db").tables["answers"] == len(dpqr.read_release("one").answers)
    with pytest.raises(dpqr.AlreadyThere):
        dpqr.export("one", duckdb="out.db")
    with pytest.raises(dpqr.UsageFault):
        dpqr.export("one", duckdb="out.db", if_exists="maybe")


# `dpqr series`: releases in a row.


def test_a_table_on_the_screen_and_files(released):
    ended = released.run("series", "one", "two", "--query", PAIR, "--out", "row.csv")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{PAIR}: 10 answers\ncells")
    header, *lines = (released.path / "row.csv").read_text().splitlines()
    assert header == ('"query","point","sex","age","detail","estimate","error","lower","upper","change","change_error"')
    assert len(lines) == 20
    found = dpqr.series(["one", "two"], query=PAIR)
    assert str(found).startswith(f"{PAIR}: 10 answers")
    found.save("row2.csv")
    assert (released.path / "row2.csv").read_text() == (released.path / "row.csv").read_text()
    with pytest.raises(dpqr.AlreadyThere):
        found.save("row2.csv")


def test_json_and_curves(released):
    ended, found = released.run("series", "one", "two", "--json"), dpqr.series(["one", "two"])
    assert found.document() == ended.json
    assert ended.json["points"] == list(found.points) == ["one", "two"]
    assert {one["point"] for one in ended.json["answers"]} == {"one", "two"}
    assert "two" in released.run("series", "one", "two", "--as", "curve").out


def test_the_frame_holds_every_point(released):
    found = dpqr.series(["one", "two"], query=PAIR)
    assert found.frame["change"].isna().tolist() == [True] * 10 + [False] * 10
    moved = found.frame["estimate"].to_numpy()
    assert found.frame["change"].to_numpy()[10:].tolist() == (moved[10:] - moved[:10]).tolist()
    assert found.frame["point"].cat.ordered
    assert found._repr_html_()


def test_releases_that_were_read_or_made(released):
    made = dpqr.release(pd.DataFrame({"a": [0]}), queries=dpqr.queries().marginal("a"), domain={"a": 3}, eps=1)
    assert dpqr.series([dpqr.read_release("one"), "two"]).points[0] == "one"
    with pytest.raises(dpqr.UsageFault, match="save it"):
        dpqr.series([made, "one"])
    with pytest.raises(dpqr.UsageFault, match="give a list"):
        dpqr.series("one")
