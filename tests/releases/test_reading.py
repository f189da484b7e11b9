"""Which table is read: that of the budget's owner, and nothing of an engine is opened for any other request."""

import json
import shutil

import duckdb
import pandas
import pyarrow as pa
import pytest
from support.cases import slow_but, thinned

import dpqr
from dpqr.kernel.errors import BudgetRefused, DataError, DocumentError, UsageFault
from dpqr.releases.reading import OTHER_TABLE_REFUSED, TABLE_FROM_MEMORY, UNREGISTERED
from dpqr.releases.record.plan_document import seal_document
from dpqr.tables.engines.address import EngineAddress
from dpqr.tables.engines.known import ENGINES, engine_of

LEDGER = ("--ledger", "l.sqlite")
PAID = ("--dataset", "survey", *LEDGER)
ASKED = ("--queries", "q.json", "--eps", "1")
PEOPLE = "duckdb:t.duckdb?table=people"
OTHERS = (
    "duckdb:t.duckdb?table=viewed",
    "duckdb:other.duckdb?table=people",
    "duckdb:missing.duckdb?table=people",
    "duckdb:*.parquet",
    "postgresql://127.0.0.1:1/b?table=people",
    "table.csv",
    "missing.csv",
    ".",
    "-",
)
LEARNED = ("--target", "sex", "--learner", "aggregate", "--parts", "2", "--domain", "d.json", "--eps", "1")
VOUCHED = "the owner vouches that it gives each person at most the stated rows"


@pytest.fixture
def connections(monkeypatch):
    """Every connection to a database, by its place."""
    met = []

    def recorded(connect):
        def connected(*given, **more):
            met.append(given)
            return connect(*given, **more)

        return connected

    monkeypatch.setattr(duckdb, "connect", recorded(duckdb.connect))
    psycopg = pytest.importorskip("psycopg")
    monkeypatch.setattr(psycopg, "connect", recorded(psycopg.connect))
    return met


@pytest.fixture
def engine(desk, connections):
    """A desk whose table lies in a database too, with a view of it and a budget that knows of neither."""
    with duckdb.connect("t.duckdb") as made:
        made.execute("CREATE TABLE people AS SELECT * FROM 'table.csv'")
        made.execute("CREATE VIEW viewed AS SELECT people.* FROM people, range(1000)")
    shutil.copy("t.duckdb", "other.duckdb")
    desk.write(d__json=json.loads((desk.path / "q.json").read_text())["domain"], points__csv="age,income\n31,100\n")
    assert desk.run("budget", "init", "survey", "--eps", "50", *LEDGER).code == 0
    connections.clear()
    return desk


@pytest.fixture
def registered(engine, connections):
    """The same with the owner's source."""
    ended = engine.run("budget", "policy", "survey", "--source", PEOPLE, *LEDGER)
    assert ended.code == 0, ended.err
    assert not connections, "registering opens nothing"
    return engine


def said(error):
    return f"dpqr: {error}\n"


def entries(desk):
    return len(desk.run("budget", "history", "--json", *LEDGER).json)


def test_the_owner_registers_a_source_and_everybody_sees_it(registered):
    shown = registered.run("budget", "show", "survey", *LEDGER)
    address = f"duckdb:{registered.path}/t.duckdb?table=people"
    assert address in "".join(shown.out.split())
    assert VOUCHED in " ".join(shown.out.split())
    (found,) = registered.run("budget", "show", "survey", "--json", *LEDGER).json
    assert found["policy"]["source"] == {"address": address}
    other = registered.run("budget", "policy", "survey", "--source", PEOPLE.replace("t.", "other."), *LEDGER)
    assert other.code == 0, "the source is the owner's to change"
    history = registered.run("budget", "history", "survey", "--json", *LEDGER).json
    named = [each["policy"]["source"]["address"] for each in history if each["entry"] == "policy"]
    assert named == [address, address.replace("t.duckdb", "other.duckdb")]
    assert registered.run("budget", "policy", "survey", "--source", "files", *LEDGER).code == 0
    assert registered.release(*PAID).code == 0
    assert registered.run("budget", "verify", *LEDGER).code == 0


@pytest.mark.slow
def test_a_budget_is_opened_with_a_source_in_python_too(engine):
    ledger = dpqr.Ledger("l.sqlite")
    made = ledger.init("more", eps=5, source=PEOPLE)
    assert made.record["policy"]["source"] == {"address": f"duckdb:{engine.path}/t.duckdb?table=people"}
    assert dpqr.release(queries="q.json", eps=1, dataset="more", ledger=ledger).trust
    engine.write(s__sql="SELECT * FROM people")
    changed = ledger.policy("more", source="duckdb:t.duckdb", source_query=engine.path / "s.sql")
    assert changed.record["policy"]["source"]["query"] == "SELECT * FROM people"
    assert "source" not in ledger.policy("more", source="files").record["policy"]
    assert "source" not in ledger.init("others", eps=5, source="files").record["policy"]


@pytest.mark.parametrize(
    ("address", "query"),
    slow_but(
        {0, 2, 4},
        [
            ("table.csv", None),
            ("duckdb:t.duckdb", None),
            ("postgresql://u:HIDDEN@db/b?table=t", None),
            ("mysql://u:HIDDEN@db/b", None),
            ("duckdb:t.duckdb", "SELECT * FROM postgres_scan('host=db password=HIDDEN', 'public', 't')"),
            ("duckdb:t.duckdb", "SELECT * FROM f($$dbname=b pass%77ord=HIDDEN$$)"),
        ],
    ),
)
def test_what_is_no_source_and_no_source_holds_a_password(engine, address, query):
    """All forms: `tests/tables/engines/test_known.py`."""
    engine.write(s__sql=query or "")
    asked = ("--source", address, *(() if query is None else ("--source-query", "s.sql")))
    for command in (("policy", "survey"), ("init", "more", "--eps", "1")):
        ended = engine.run("budget", *command, *asked, *LEDGER)
        assert (ended.code, "HIDDEN" in ended.err + ended.out) == (2, False), ended.err
    with pytest.raises(UsageFault) as met:
        dpqr.Ledger("l.sqlite").policy("survey", source=address, source_query="s.sql" if query else None)
    assert "HIDDEN" not in str(met.value)


def test_a_column_named_like_a_password_is_none(engine):
    engine.write(s__sql="SELECT * FROM people WHERE token = 'x' AND passwords <> 'y' ;\n")
    asked = ("--source", "duckdb:t.duckdb", "--source-query", "s.sql")
    assert engine.run("budget", "policy", "survey", *asked, *LEDGER).code == 0


def test_without_a_source_files_are_read_and_engines_are_refused(engine, connections):
    assert engine.release(*PAID).code == 0
    for address in (PEOPLE, "duckdb:missing.duckdb?table=people", "duckdb:*.parquet", *OTHERS[4:5]):
        before = entries(engine)
        ended = engine.release(*PAID, data=address)
        assert (ended.code, ended.err) == (4, said(UNREGISTERED)), address
        assert entries(engine) == before
    ended = engine.run("plan", *ASKED, "--runs", "1", "--source", PEOPLE, *PAID)
    assert (ended.code, ended.err) == (4, said(UNREGISTERED))
    assert not connections


def test_any_other_table_is_refused_in_one_sentence_before_anything_is_opened(registered, connections):
    before = entries(registered)
    doors = [
        lambda data: registered.run("release", data, *ASKED, *PAID),
        lambda data: registered.run("release", data, *ASKED, *PAID, "--dry-run"),
        lambda data: registered.run("release", data, *ASKED, *PAID, "--out", "o", "--resume"),
        lambda data: registered.run("predict", data, *LEARNED, "--points", "points.csv", *PAID),
        lambda data: registered.run("interactive", "open", "a", data, "--domain", "d.json", "--eps", "1", *PAID),
        lambda data: registered.run("predict", "open", "a", data, *LEARNED, *PAID),
        lambda data: registered.run(
            "interactive", "open", "a", data, "--domain", "d.json", "--eps", "1", *PAID, "--dry-run"
        ),
        lambda data: registered.run("predict", data, *LEARNED, *PAID, "--dry-run"),
        lambda data: registered.run("predict", data, *LEARNED, *PAID, "--lock", "lock.json"),
        lambda data: registered.run("domain", data, *PAID),
    ]
    for data in OTHERS:
        for place, door in enumerate(doors):
            ended = door(data)
            assert (ended.code, ended.err) == (4, said(OTHER_TABLE_REFUSED)), (data, place, ended.err)
    tables = [pandas.DataFrame({"sex": ["F"]}), pa.table({"sex": ["F"]}), OTHERS[0], ["table.csv"], Lines()]
    for table in tables:
        with pytest.raises(BudgetRefused) as met:
            dpqr.release(table, queries="q.json", eps=1, dataset="survey", ledger="l.sqlite")
        assert str(met.value) == OTHER_TABLE_REFUSED
        with pytest.raises(BudgetRefused):
            dpqr.predict(table, target="sex", domain="d.json", eps=1, n=5, points="points.csv", **KEPT)
        with pytest.raises(BudgetRefused):
            dpqr.open_session(table, name="a", eps=1, domain="d.json", **KEPT)
        with pytest.raises(BudgetRefused):
            dpqr.open_predictions(table, name="a", target="sex", domain="d.json", eps=1, n=5, **KEPT)
    assert (entries(registered), connections) == (before, [])


SEX = {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}}
KEPT = {"dataset": "survey", "ledger": "l.sqlite"}


class Lines:
    name, public, names = "lines", None, ("sex",)

    def kind(self, name):
        raise AssertionError("a refused engine is asked")

    def count(self, asked):
        raise AssertionError("a refused engine counts")


@pytest.mark.slow
def test_the_dataset_names_the_table(registered):
    ended = registered.run("release", *ASKED, *PAID, "--out", "o")
    assert ended.code == 0, ended.err
    note = f"the table is the source that the budget's owner registered; {VOUCHED}: duckdb:?table=people"
    assert note in " ".join((ended.out + ended.err).split())
    record = json.loads((registered.path / "o" / "release.json").read_text())
    assert note in record["trust"]
    reading = record["plan"]["request"]["reading"]
    assert reading["table"] == "duckdb:?table=people"
    assert len(reading["source"]) == 64
    assert str(registered.path) not in json.dumps(record["plan"])
    assert registered.run("verify", "o", *LEDGER).code == 0
    assert registered.run("show", "o").code == 0


@pytest.mark.slow
def test_a_request_may_repeat_the_address_and_a_registered_view_is_read(registered):
    for data in (PEOPLE, f"duckdb:{registered.path}/t.duckdb?table=people", "DUCKDB:./t.duckdb?table=people"):
        ended = registered.run("release", data, *ASKED, *PAID)
        assert ended.code == 0, ended.err
    view = ("--source", "duckdb:t.duckdb?table=viewed")
    assert registered.run("budget", "policy", "survey", *view, *LEDGER).code == 0
    assert registered.run("release", *ASKED, *PAID).code == 0


@pytest.mark.slow
def test_every_door_takes_the_registered_table(registered):
    ended = registered.run("predict", *LEARNED, "--points", "points.csv", *PAID)
    assert ended.code == 0, ended.err
    assert registered.run("plan", *ASKED, "--runs", "1", *PAID, "--out", "plan.json").code == 0
    plan = json.loads((registered.path / "plan.json").read_text())
    assert plan["request"]["reading"]["table"] == "duckdb:?table=people"
    ended = registered.run("release", "--plan", "plan.json", *PAID)
    assert ended.code == 0, ended.err
    assert registered.run("release", *ASKED, *PAID, "--rehearse").code == 0
    assert '"sex"' in registered.run("domain", *PAID).out
    found = dpqr.release(queries="q.json", eps=1, dataset="survey", ledger="l.sqlite")
    assert len(found.answers)
    made = dpqr.predict(target="sex", learner="aggregate", parts=2, points="points.csv", domain="d.json", eps=1, **KEPT)
    assert len(made.table) == 1
    for command in ("interactive open a --domain d.json --eps 1", f"predict open a {' '.join(LEARNED)}"):
        ended = registered.run(*command.split(), *PAID)
        assert (ended.code, "every question reads the table again" in ended.err) == (2, True), ended.err


def test_a_run_without_any_table_says_what_to_name(engine):
    for command in (("release", *ASKED), ("predict", *LEARNED, "--points", "points.csv")):
        ended = engine.run(*command, *PAID)
        assert (ended.code, "DATA names the private table" in ended.err) == (2, True), ended.err
    ended = engine.run("release", *ASKED)
    assert (ended.code, "DATA" in ended.err) == (2, True)
    with pytest.raises(UsageFault, match="None is no table"):
        dpqr.release(queries="q.json", eps=1)


@pytest.mark.slow
def test_a_registered_query_is_a_document_of_the_policy(registered):
    registered.write(s__sql="SELECT *\nFROM people\nWHERE age < 50;\n")
    asked = ("--source", "duckdb:t.duckdb", "--source-query", "s.sql")
    ended = registered.run("budget", "policy", "survey", *asked, *LEDGER)
    text = "SELECT * FROM people WHERE age < 50"
    assert (ended.code, text in " ".join(ended.out.split())) == (0, True), ended.err
    assert VOUCHED in " ".join(ended.out.split())
    ended = registered.run("release", *ASKED, *PAID, "--out", "o")
    assert ended.code == 0, ended.err
    assert f"{VOUCHED}: duckdb:?query={text}" in " ".join((ended.out + ended.err).split())
    record = json.loads((registered.path / "o" / "release.json").read_text())
    assert record["plan"]["request"]["reading"]["table"] == "duckdb:?query=SELECT *\nFROM people\nWHERE age < 50"
    assert any(text in each for each in record["trust"])
    assert registered.run("verify", "o", *LEDGER).code == 0
    ended = registered.run("release", PEOPLE, *ASKED, *PAID)
    assert (ended.code, ended.err) == (4, said(OTHER_TABLE_REFUSED)), "the table behind it is another source"


@pytest.mark.slow
def test_a_finished_release_is_skipped_where_its_source_is_the_same(registered, connections):
    skip = ("release", *ASKED, *PAID, "--out", "o", "--if-exists", "skip")
    assert registered.run(*skip).code == 0
    connections.clear()
    ended = registered.run(*skip)
    assert (ended.code, "holds this release already" in ended.err) == (0, True), ended.err
    ended = registered.run(skip[0], "table.csv", *skip[1:])
    assert (ended.code, ended.err) == (4, said(OTHER_TABLE_REFUSED))
    other = ("--source", PEOPLE.replace("t.duckdb", "other.duckdb"))
    assert registered.run("budget", "policy", "survey", *other, *LEDGER).code == 0
    ended = registered.run(*skip)
    assert (ended.code, "source" in ended.err) == (8, True), ended.err
    assert not connections


@pytest.mark.parametrize(
    ("eps", "asked", "policy"),
    slow_but(
        {0, 2},
        [
            ("51", {}, ()),
            ("1", {"max_records": 7}, ()),
            ("1", {"unit": "age", "max_rows": 1}, ()),
            ("1", {"counts": "age"}, ()),
            ("1", {}, ("--require-approval",)),
        ],
    ),
)
def test_what_the_budget_would_not_pay_never_connects(registered, connections, eps, asked, policy):
    if policy:
        assert registered.run("budget", "policy", "survey", *policy, *LEDGER).code == 0
    income = {"name": "income", "type": "string", "constraints": {"enum": ["1"]}}
    domain = {"malformed": "drop", "fields": [SEX, income]}
    registered.write(q2__json={"queries": [{"marginal": ["sex"]}]}, d2__json=domain)
    before = entries(registered)
    options = [part for name, value in asked.items() for part in (f"--{name.replace('_', '-')}", value)]
    public = ("--domain", "d2.json", "--eps", eps, *options)
    learned = ("--target", "sex", "--learner", "aggregate", "--parts", "2", *public, "--points", "points.csv")
    for command in (
        ("release", "--queries", "q2.json", *public),
        ("release", "--queries", "q2.json", *public, "--out", "o"),
        ("predict", *learned),
    ):
        ended = registered.run(*command, *PAID)
        assert ended.code == 4, (command, ended.err)
    with pytest.raises(BudgetRefused):
        dpqr.release(queries="q2.json", domain="d2.json", eps=eps, **KEPT, **asked)
    assert (entries(registered), connections) == (before, [])


def test_a_run_that_nobody_paid_is_not_continued_and_never_connects(registered, connections):
    ended = registered.run("release", *ASKED, "--out", "o", "--resume", *PAID)
    assert (ended.code, "no killed release waits" in ended.err) == (2, True), ended.err
    assert not connections


def test_an_engine_refuses_in_one_sentence_and_nothing_is_reserved(registered):
    before, met = entries(registered), set()
    with duckdb.connect("empty.duckdb") as made:
        made.execute("CREATE TABLE other AS SELECT 1 AS x")
    registered.write(broken__duckdb="no database")
    for place in ("missing.duckdb?table=people", "empty.duckdb?table=people", "broken.duckdb?table=people"):
        assert registered.run("budget", "policy", "survey", "--source", f"duckdb:{place}", *LEDGER).code == 0
        ended = registered.run("release", *ASKED, *PAID)
        assert ended.code == 5, ended.err
        met.add(ended.err)
        with pytest.raises(DataError) as raised:
            dpqr.release(queries="q.json", eps=1, dataset="survey", ledger="l.sqlite")
        met.add(said(raised.value))
    assert met == {said(ENGINES["duckdb"].before)}
    assert entries(registered) == before + 3, "the three policies"


@pytest.mark.slow
def test_an_approved_plan_runs_on_its_source_and_no_other(registered):
    assert registered.run("budget", "policy", "survey", "--require-approval", *LEDGER).code == 0
    assert registered.run("plan", *ASKED, "--runs", "1", *PAID, "--out", "plan.json").code == 0
    plan = json.loads((registered.path / "plan.json").read_text())
    approved = ("budget", "approve", "survey", "plan.json", "--by", "M. Lee", *LEDGER)
    assert registered.run(*approved).code == 0
    followed = ("release", "--plan", "plan.json", *PAID, "--by", "Ann")
    other = PEOPLE.replace("t.duckdb", "other.duckdb")
    assert registered.run("budget", "policy", "survey", "--source", other, *LEDGER).code == 0
    for ended in (registered.run(*followed), registered.run(*approved)):
        assert (ended.code, "$.request.reading.source" in ended.err) == (3, True), ended.err
    forged = seal_document(
        {**plan, "request": {**plan["request"], "reading": {**plan["request"]["reading"], "source": "0"}}}
    )
    registered.write(forged__json=forged)
    assert registered.run("release", "--plan", "forged.json", *PAID, "--by", "Ann").code == 3
    assert registered.run("budget", "policy", "survey", "--source", PEOPLE, *LEDGER).code == 0
    ended = registered.run(*followed, "--out", "out")
    assert ended.code == 0, ended.err
    record = json.loads((registered.path / "out" / "release.json").read_text())
    assert record["plan"]["sha256"] == plan["sha256"]
    assert registered.run("verify", "out", *LEDGER, "--plan", "plan.json").code == 0


@pytest.mark.slow
def test_a_plan_for_an_engine_is_approved_by_no_budget_without_a_source(engine, connections):
    ended = engine.run("plan", *ASKED, "--runs", "1", "--source", PEOPLE, "--out", "plan.json")
    assert ended.code == 0, ended.err
    ended = engine.run("budget", "approve", "survey", "plan.json", "--by", "M. Lee", *LEDGER)
    assert (ended.code, ended.err) == (4, said(UNREGISTERED))
    assert not connections


@pytest.mark.slow
def test_a_table_that_a_caller_passes_is_noted(engine):
    table = pandas.read_csv("table.csv", dtype=str)
    found = dpqr.release(table, queries="q.json", eps=1, dataset="survey", ledger="l.sqlite", out="o")
    assert TABLE_FROM_MEMORY in found.trust
    assert engine.run("verify", "o", *LEDGER).code == 0
    assert TABLE_FROM_MEMORY not in dpqr.release(table, queries="q.json", eps=1).trust
    assert (
        TABLE_FROM_MEMORY
        not in dpqr.release("table.csv", queries="q.json", eps=1, dataset="survey", ledger="l.sqlite").trust
    )
    planned = dpqr.plan(queries="q.json", eps=1, dataset="survey", ledger="l.sqlite")
    planned.save("plan.json")
    dpqr.release(table, plan="plan.json", dataset="survey", ledger="l.sqlite", out="p")
    assert engine.run("verify", "p", *LEDGER, "--plan", "plan.json").code == 0


@pytest.mark.slow
def test_without_a_ledger_an_address_is_read_as_before(engine):
    ended = engine.release(data=PEOPLE)
    assert ended.code == 0, ended.err
    for data in ("duckdb:t.duckdb?query=SELECT * FROM people", "duckdb:?query=SELECT 1"):
        ended = engine.release(data=data)
        assert (ended.code, "--source-query FILE" in ended.err) == (2, True), ended.err


@pytest.mark.slow
def test_records_of_queries_that_no_owner_registered_still_verify(engine):
    """As dpqr 0.10 and before released them, where an address could hold a query."""
    query = "SELECT * FROM people WHERE age < 50"
    old = engine_of(EngineAddress(scheme="duckdb", place="t.duckdb", query=query, registered=True))
    found = dpqr.release(old, queries="q.json", eps=1, out="o")
    assert any("the result of a query" in each for each in found.trust)
    record = json.loads((engine.path / "o" / "release.json").read_text())
    assert record["plan"]["request"]["reading"]["table"] == f"duckdb:?query={query}"
    assert "source" not in record["plan"]["request"]["reading"]
    assert engine.run("verify", "o").code == 0
    assert "the result of a query" in " ".join(engine.run("show", "o").out.split())


@pytest.mark.parametrize(
    "query", thinned(["", " ; ", "SELECT \x1b[2J", "SELECT 1 \0", "x" * 2**16 + "y", b"\xff", None], 3)
)
def test_what_is_no_registered_query(engine, query):
    """None: there is no such file. Nor has a query a place where no table of an engine is named."""
    engine.write(**({} if query is None else {"s__sql": query}))
    asked = ("--source", "duckdb:t.duckdb", "--source-query", "s.sql")
    ended = engine.run("budget", "policy", "survey", *asked, *LEDGER)
    assert (ended.code, "--source-query" in ended.err) == (2, True), ended.err
    engine.write(s__sql="SELECT 1")
    for source in ((), ("--source", "files"), ("--source", PEOPLE), ("--source", "table.csv")):
        ended = engine.run("budget", "policy", "survey", *source, "--source-query", "s.sql", *LEDGER)
        assert ended.code == 2, ended.err


@pytest.mark.slow
def test_what_plans_of_older_versions_say_of_their_query_is_said_again(engine, connections):
    assert engine.run("plan", *ASKED, "--runs", "1", "--out", "plan.json").code == 0
    plan = json.loads((engine.path / "plan.json").read_text())
    plan["request"]["reading"]["table"] = "duckdb:?query=SELECT * FROM people"
    engine.write(old__json=seal_document(plan))
    shown = engine.run("release", "table.csv", "--plan", "old.json")
    assert (shown.code, "$.request.reading.table" in shown.err) == (3, True), shown.err
    with pytest.raises(DocumentError):
        dpqr.release("table.csv", plan="old.json")
    assert not connections
