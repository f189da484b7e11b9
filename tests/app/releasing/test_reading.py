"""Reading of tables in engines: whose query it is, and what plan, approval and record say of it."""

import json

import duckdb
import pytest

PAID = ("--dataset", "survey", "--ledger", "l.sqlite")
QUERY = "duckdb:t.duckdb?query=SELECT * FROM people WHERE age < 50"


@pytest.fixture
def engine(desk):
    """A desk whose table lies in a database too. The budget of "survey" asks for approvals, that of "free" does not."""
    with duckdb.connect(str(desk.path / "t.duckdb")) as made:
        made.execute("CREATE TABLE people AS SELECT * FROM 'table.csv'")
    for dataset, *more in (("survey", "--require-approval"), ("free",)):
        assert desk.run("budget", "init", dataset, "--eps", "5", *more, "--ledger", "l.sqlite").code == 0
    return desk


def release(desk, source, *options):
    return desk.run("release", source, "--queries", "q.json", "--eps", "1", *options)


def test_a_query_warns_without_a_ledger(engine):
    ended = release(engine, QUERY, "--dry-run")
    assert ended.code == 0, ended.err
    assert "the table is the result of a query" in " ".join(ended.out.split())
    assert "result of a query" not in release(engine, "duckdb:t.duckdb?table=people", "--dry-run").out


def test_a_query_is_not_paid_by_a_budget_that_asks_for_no_approval(engine):
    ended = release(engine, QUERY, "--dataset", "free", "--ledger", "l.sqlite")
    assert (ended.code, "its owner must decide that" in " ".join(ended.err.split())) == (4, True), ended.err
    ended = release(engine, "duckdb:t.duckdb?table=people", "--dataset", "free", "--ledger", "l.sqlite", "--out", "o")
    assert ended.code == 0, ended.err


def test_an_approved_query_is_paid_and_no_other(engine):
    planned = ("plan", "--queries", "q.json", "--eps", "1", "--runs", "1", "--source", QUERY, *PAID)
    ended = engine.run(*planned, "--out", "plan.json")
    assert ended.code == 0, ended.err
    plan = json.loads((engine.path / "plan.json").read_text())
    assert plan["request"]["reading"]["table"] == "duckdb:?query=SELECT * FROM people WHERE age < 50"
    ended = engine.run("budget", "approve", "survey", "plan.json", "--by", "M. Lee", "--ledger", "l.sqlite")
    assert ended.code == 0, ended.err
    others = (QUERY.replace("50", "51"), "duckdb:t.duckdb?table=people", "table.csv")
    for other in others:
        ended = engine.run("release", other, "--plan", "plan.json", *PAID, "--by", "Ann")
        assert (ended.code, "$.request.reading.table" in ended.err) == (3, True), (other, ended.err)
    ended = engine.run("release", QUERY, "--plan", "plan.json", *PAID, "--by", "Ann", "--out", "out")
    assert ended.code == 0, ended.err
    record = json.loads((engine.path / "out" / "release.json").read_text())
    assert record["plan"]["sha256"] == plan["sha256"]
    assert engine.run("verify", "out", "--ledger", "l.sqlite").code == 0
