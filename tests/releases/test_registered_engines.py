"""Releases of registered sources on PostgreSQL and Spark; refused requests reach neither."""

import importlib.util
import json
import shutil
import subprocess
import sys

import pandas
import pytest
from support.postgres_server import missing, running

import dpqr
from dpqr.releases.reading import OTHER_TABLE_REFUSED, UNREGISTERED
from dpqr.tables.engines.known import ENGINES

LEDGER = ("--ledger", "l.sqlite")
PAID = ("--dataset", "survey", *LEDGER)
ASKED = ("--queries", "q.json", "--eps", "1")


@pytest.fixture(scope="module")
def server():
    """A server with a table of people, and a view of it."""
    with running() as made:
        made.execute("CREATE TABLE people AS SELECT 'F' AS sex, 31 AS age, 100.5::float8 AS income")
        made.execute("CREATE VIEW viewed AS SELECT people.* FROM people, generate_series(1, 1000)")
        yield f"postgresql://owner@{str(made.folder).replace('/', '%2F')}/postgres"


@pytest.fixture
def connections(monkeypatch):
    import psycopg

    met, connect = [], psycopg.connect

    def connected(*given, **more):
        met.append(given)
        return connect(*given, **more)

    monkeypatch.setattr(psycopg, "connect", connected)
    return met


def bind(desk, *source):
    assert desk.run("budget", "init", "survey", "--eps", "50", *LEDGER).code == 0
    ended = desk.run("budget", "policy", "survey", "--source", *source, *LEDGER)
    assert ended.code == 0, ended.err


@pytest.mark.slow
@pytest.mark.parametrize("what", ["table", "view", "query"])
def test_a_registered_table_view_or_query_of_postgresql_is_released(desk, server, connections, what):
    desk.write(s__sql="SELECT * FROM public.people WHERE age < 50;")
    named = {"table": "?table=people", "view": "?table=viewed", "query": ""}[what]
    bind(desk, f"{server}{named}", *(("--source-query", "s.sql") if what == "query" else ()))
    assert not connections, "registering opens nothing"
    ended = desk.run("release", *ASKED, *PAID, "--out", "o")
    assert ended.code == 0, ended.err
    record = json.loads((desk.path / "o" / "release.json").read_text())
    table = record["plan"]["request"]["reading"]["table"]
    shown = "postgresql:?query=SELECT * FROM public.people WHERE age < 50" if what == "query" else f"postgresql:{named}"
    assert table == shown
    assert "%2F" not in json.dumps(record["plan"])
    assert desk.run("verify", "o", *LEDGER).code == 0


def test_requests_that_are_refused_do_not_reach_the_server(desk, connections):
    server = "postgresql://owner@%2Fnowhere/postgres"
    assert desk.run("budget", "init", "survey", "--eps", "50", *LEDGER).code == 0
    ended = desk.run("release", f"{server}?table=people", *ASKED, *PAID)
    assert (ended.code, ended.err) == (4, f"dpqr: {UNREGISTERED}\n")
    source = ("--source", f"{server}?table=people")
    assert desk.run("budget", "policy", "survey", *source, *LEDGER).code == 0
    for data in (f"{server}?table=viewed", f"{server.replace('owner@', 'other@')}?table=people", "table.csv"):
        ended = desk.run("release", data, *ASKED, *PAID)
        assert (ended.code, ended.err) == (4, f"dpqr: {OTHER_TABLE_REFUSED}\n")
    assert desk.run("release", "--queries", "q.json", "--eps", "51", *PAID).code == 4
    assert desk.run("budget", "policy", "survey", "--require-approval", *LEDGER).code == 0
    assert desk.run("release", *ASKED, *PAID).code == 4
    assert not connections


@pytest.mark.slow
def test_whatever_the_server_refuses_has_one_sentence(desk, server):
    met = set()
    for place in (f"{server}?table=nobody", f"{server.replace('owner@', 'stranger@')}?table=people"):
        desk.run("budget", "init", "survey", "--eps", "50", *LEDGER)
        assert desk.run("budget", "policy", "survey", "--source", place, *LEDGER).code == 0
        ended = desk.run("release", *ASKED, *PAID)
        assert ended.code == 5
        met.add(ended.err)
    assert met == {f"dpqr: {ENGINES['postgresql'].before}\n"}


@pytest.fixture
def lake(desk):
    """A folder of Parquet files."""
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        missing("there is no Spark here: pip install 'dpqr[spark]', apt-get install default-jre-headless")
    (desk.path / "lake").mkdir()
    pandas.DataFrame({"sex": ["F", "M"], "age": [31, 40], "income": [1.5, 2.5]}).to_parquet("lake/p.parquet")
    return desk


@pytest.mark.slow  # pyspark is no part of the test extra
def test_requests_that_are_refused_start_no_session(lake, monkeypatch):
    def started():
        raise AssertionError("a session is started")

    monkeypatch.setattr("dpqr.tables.engines.spark.spark_session", started)
    bind(lake, f"spark:{lake.path}/lake/")
    for data in ("spark:people", "spark:lake/", f"spark:{lake.path}/lake/*.parquet"):
        ended = lake.run("release", data, *ASKED, *PAID)
        assert (ended.code, ended.err) == (4, f"dpqr: {OTHER_TABLE_REFUSED}\n"), ended.err
    assert lake.run("release", "--queries", "q.json", "--eps", "51", *PAID).code == 4
    assert lake.run("budget", "policy", "survey", "--require-approval", *LEDGER).code == 0
    assert lake.run("release", *ASKED, *PAID).code == 4
    with pytest.raises(dpqr.BudgetRefused):
        dpqr.release(queries="q.json", eps=1, dataset="survey", ledger="l.sqlite")


ONE_AFTER_ANOTHER = """
import json, sys
from dpqr.cli.main import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as ended:
        if ended.code:
            raise
"""
"""Commands in one process, up to the first that fails."""


@pytest.mark.slow
def test_registered_files_and_a_query_of_them_are_released_by_spark(lake):
    """In a process of its own: its session is dpqr's."""
    lake.write(s__sql="SELECT * FROM source WHERE age < 35")
    bind(lake, f"spark:{lake.path}/lake/")
    commands = []
    for out, query in (("o", ()), ("p", ("--source-query", "s.sql"))):
        source = ("--source", f"spark:{lake.path}/lake/", *query)
        commands.append(("budget", "policy", "survey", *source, *LEDGER))
        commands.append(("release", *ASKED, *PAID, "--out", out))
    command = [sys.executable, "-c", ONE_AFTER_ANOTHER, json.dumps(commands)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    for out in ("o", "p"):
        assert lake.run("verify", out, *LEDGER).code == 0
