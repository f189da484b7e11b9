"""SQL in place of a queries file, at every command that takes one."""

from __future__ import annotations

import json
import sys

import pytest
from support.command_desk import DOMAIN

SQL = "SELECT sex, COUNT(*) AS n FROM data WHERE age < 50 GROUP BY sex; SELECT SUM(income) AS pay FROM data"
TWIN = [{"where": "age < 50", "by": ["sex"], "name": "n"}, {"sum": "income", "name": "pay"}]


@pytest.fixture
def sql_desk(desk):
    desk.write(domain__json=DOMAIN, q__sql=SQL)
    return desk


def test_the_translated_document_can_be_seen(sql_desk):
    for name, asked in (("one.json", ("--queries", "q.sql")), ("two.json", ("--sql", SQL))):
        ended = sql_desk.run("check", *asked, "--domain", "domain.json", "--out", name)
        assert ended.code == 0
        assert json.loads((sql_desk.path / name).read_text()) == {"dpqr": "queries/1", "queries": TWIN}
    assert sql_desk.run("check", "--sql", SQL, "--domain", "domain.json", "--out", "one.json").code == 8


def test_a_release_of_sql_keeps_its_twin(sql_desk):
    options = ("--domain", "domain.json", "--eps", "1", "--schedule", "strategy", "--out", "out")
    assert sql_desk.run("release", "table.csv", "--sql", SQL, *options).code == 0
    record = json.loads((sql_desk.path / "out/release.json").read_text())
    assert record["plan"]["request"]["queries"] == {"queries": TWIN}


def test_sql_and_a_file_are_two_questions(sql_desk):
    ended = sql_desk.run("check", "--sql", SQL, "--queries", "q.sql", "--domain", "domain.json")
    assert (ended.code, ended.err.splitlines()[0]) == (2, "dpqr: --sql and --queries both ask; give one of them")


def test_a_queries_file_of_the_settings_gives_way(sql_desk, monkeypatch):
    monkeypatch.delenv("DPQR_SETTINGS", raising=False)
    sql_desk.write(dpqr__toml='queries = "q.json"\ndomain = "domain.json"\n')
    ended = sql_desk.run("check", "--sql", "SELECT COUNT(*) AS everybody FROM t", "--json")
    assert ended.json["queries"] == 1


def test_faults_say_line_and_column(sql_desk):
    sql_desk.write(
        bad__sql="SELECT sex, COUNT(*)\nFROM data GROUP BY sex\nHAVING COUNT(*) > 3; SELECT AVG(day) FROM data"
    )
    ended = sql_desk.run("check", "--queries", "bad.sql", "--domain", "domain.json")
    assert ended.code == 3
    assert "bad.sql: line 3, column 1: HAVING: " in ended.err
    assert "bad.sql: line 3, column 33: the domain has no column 'day'" in ended.err
    ended = sql_desk.run("check", "--sql", "SELECT COUNT(*) FROM t WHERE sex = 'X'", "--domain", "domain.json")
    assert ended.err.startswith("dpqr: SQL: line 1, column 30: column 'sex' has no label 'X'")
    ended = sql_desk.run("check", "--sql", SQL)
    assert (ended.code, ended.err) == (3, "dpqr: SQL names no domain; give --domain FILE\n")


def test_without_sqlglot_one_line_says_what_to_install(sql_desk, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    ended = sql_desk.run("check", "--queries", "q.sql", "--domain", "domain.json")
    assert (ended.code, ended.err) == (
        2,
        "dpqr: q.sql: SQL is read by the package sqlglot; pip install 'dpqr[sql]'\n",
    )
