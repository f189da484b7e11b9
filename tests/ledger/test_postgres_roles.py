"""What a role of jobs can do to a ledger on a server: add entries, and nothing else. Whatever it tries, in SQL.

The role may create objects in the schema `public`, as every role could by default up to PostgreSQL 14.
"""

import json
import os
import threading
from contextlib import contextmanager, suppress
from fractions import Fraction

import psycopg
import pytest
from support.ledger_jobs import SERVER, another, draws, ledger_in, read, reserve, rows, tamper, terms
from support.old_postgres import GRANTS, made_by
from support.paid_releases import lay, run, unsound
from support.role_statements import WAITED, may_do, of_jobs, rights

from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import BudgetRefused, DpqrError, LedgerError
from dpqr.kernel.events import ExponentialEvent
from dpqr.ledger import chained_ledger as transaction
from dpqr.ledger import postgres as postgres_schema
from dpqr.ledger import postgres as postgres_store
from dpqr.ledger.budgets import ledger_store
from dpqr.ledger.chain import Anchor, claim_of, digest, seal
from dpqr.ledger.chained_ledger import ChainedLedger, move, new_key
from dpqr.ledger.codec import canonical, encode_entry
from dpqr.ledger.ledger import LedgerEntry
from dpqr.ledger.postgres import PostgresSession
from dpqr.ledger.record import entry_line, read_export
from dpqr.ledger.store import KEY_BYTES, SqliteStore, sealed_key
from dpqr.report.budget import history_view

pytestmark = pytest.mark.slow
pytest.importorskip("psycopg")

TIME = "2026-11-22T10:00:00+00:00"
KEY = sealed_key(bytes(range(KEY_BYTES)))
HALF = ExponentialEvent(epsilon=Fraction(1, 2))
APPEND = "SELECT {}.append(%s::bigint, %s::text, %s::text, %s::bytea)"
ROLES = ("jobs", "other", "stranger", "squatter")


@pytest.fixture(autouse=True)
def roles(server, monkeypatch):
    """jobs and other may pay; stranger may connect; squatter may make schemas."""
    for role in ROLES:
        if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", role):
            server.execute(f"CREATE ROLE {role} LOGIN")
            server.execute(f"GRANT CREATE ON SCHEMA public TO {role}")
    monkeypatch.setenv(SERVER, f"postgresql://owner@/postgres?host={server.folder}")


@pytest.fixture
def ledger(tmp_path):
    made = ledger_in(tmp_path)
    made.open(terms(epsilon="5"))
    made.grant("jobs")
    made.grant("other")
    return made


def as_role(ledger, role, wait=5, schema=None, options=""):
    address = ledger.store.address
    place = os.environ[SERVER].replace("owner@", f"{role}@") + f"&schema={schema or address.schema}{options}"
    return ChainedLedger(store=ledger_store(place), anchor=ledger.anchor, unanchored=not ledger.anchor, wait=wait)


@contextmanager
def sql_of(ledger, role):
    """A connection of a role that does without dpqr; each statement is a transaction of its own."""
    with psycopg.connect(os.environ[SERVER].replace("owner@", f"{role}@"), autocommit=True) as connection:
        yield connection


def appended(ledger, role, entry, *, key=None, number=None, sealed=None, text=None):
    """Call the ledger's function with an entry of one's own making; its number."""
    stored = rows(ledger.store)
    number = len(stored) if number is None else number
    text = canonical({"number": number, "time": TIME, **entry}) if text is None else text
    sealed = seal(stored[-1][2], text) if sealed is None else sealed
    with sql_of(ledger, role) as connection:
        connection.execute(
            APPEND.format(ledger.store.address.schema),
            (number, text, sealed, key),
        )
    return number


def reserving(**changed):
    """A reservation as dpqr writes it, but for what is changed."""
    plain = {"entry": "reserve", "dataset": "survey", "cost": "1", "note": "a test"}
    events = [{"count": 1, "epsilon": "1", "kind": "exponential"}]
    return {**plain, "events": events, **changed}


def on(kind, run, **changed):
    """A draw, a record or a settlement of a run."""
    which = {"settles": run, "cost": "0", "events": [], "note": ""} if kind == "settle" else {"run": run}
    drawn = {"events": [{"count": 1, "epsilon": "1/2", "kind": "exponential"}]} if kind == "draw" else {}
    hashed = {} if kind == "settle" else {"transcript": "1" * 64}
    return {"entry": kind, "dataset": "survey", **which, **drawn, **hashed, **changed}


class TestStatementByStatement:
    def test_a_job_reads_three_tables_and_calls_three_functions(self, server, ledger):
        schema = ledger.store.address.schema
        before = read(ledger.store, "SELECT * FROM entries ORDER BY number")
        found = rights(server, schema, "jobs")
        assert may_do(found) == of_jobs(schema)
        assert len(found) > 300
        assert may_do(rights(server, schema, "stranger")) == {}
        assert read(ledger.store, "SELECT * FROM entries ORDER BY number") == before

    def test_before_during_and_after_each_step_of_a_release(self, server, tmp_path, monkeypatch):
        """While the job holds the lock, and has appended what it has not committed, too."""
        owner = lay(tmp_path)
        owner.grant("jobs")
        schema, moments = owner.store.address.schema, []

        def look(moment):
            """Whatever does not wait for the job's lock; nothing does outside its transactions."""
            moments.append(moment)
            found = rights(server, schema, "jobs")
            waited = {statement for statement, outcome in found.items() if outcome == WAITED}
            assert bool(waited) == ("append" in moment)
            assert {k: v for k, v in may_do(found).items() if k not in waited} == {
                k: v for k, v in of_jobs(schema).items() if k not in waited
            }, moment

        def watched(owner_of, name):
            original = getattr(owner_of, name)

            def call(*given, **stated):
                look(f"before {name}")
                found = original(*given, **stated)
                look(f"after {name}")
                return found

            monkeypatch.setattr(owner_of, name, call)

        for name in ("reserve", "begin", "record", "settle", "key"):
            watched(ChainedLedger, name)
        watched(PostgresSession, "append")
        monkeypatch.setenv(SERVER, os.environ[SERVER].replace("owner@", "jobs@"))
        run(tmp_path, rounds=1)
        monkeypatch.undo()
        monkeypatch.setenv(SERVER, f"postgresql://owner@/postgres?host={server.folder}")
        for name in ("reserve", "begin", "append"):
            assert {f"before {name}", f"after {name}"} < {*moments}
        assert len(moments) > 16
        assert unsound(tmp_path) is None
        assert {job for (job,) in read(owner.store, "SELECT job FROM entries")} == {"owner", "jobs"}

    @pytest.mark.parametrize(
        "statement",
        [
            *GRANTS[1:],
            "GRANT INSERT ON {0}.entries TO {1}",
            "GRANT UPDATE (seal) ON {0}.entries TO {1}",
            "GRANT SELECT ON {0}.keys TO {1}",
            "GRANT SELECT (reservation) ON {0}.keys TO PUBLIC",
            "GRANT DELETE ON {0}.keys TO PUBLIC",
            "GRANT TRUNCATE ON {0}.state TO {1}",
            "GRANT TRIGGER ON {0}.entries TO {1}",
            "GRANT REFERENCES ON {0}.ledger TO {1}",
            "GRANT CREATE ON SCHEMA {0} TO {1}",
            "ALTER FUNCTION {0}.take_lock() OWNER TO {1}",
            "CREATE SEQUENCE {0}.numbers; GRANT USAGE ON SEQUENCE {0}.numbers TO {1}",
            "CREATE VIEW {0}.all_keys AS SELECT * FROM {0}.keys; GRANT SELECT ON {0}.all_keys TO {1}",
            "CREATE FUNCTION {0}.clear() RETURNS void LANGUAGE sql SECURITY DEFINER AS 'DELETE FROM {0}.state'",
        ],
    )
    def test_a_schema_that_grants_more_is_found_by_this_test(self, server, ledger, statement):
        """The older version's rights among them."""
        schema = ledger.store.address.schema
        server.execute(statement.replace("{0}", schema).replace("{1}", "jobs"))
        assert may_do(rights(server, schema, "jobs")) != of_jobs(schema)

    def test_rights_of_others_that_are_given_by_default_are_taken_back(self, server, tmp_path):
        """ALTER DEFAULT PRIVILEGES gives rights to whatever is made later; EXECUTE is everybody's from the start."""
        server.execute("ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT ALL ON TABLES TO PUBLIC, stranger")
        server.execute("ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT ALL ON SCHEMAS TO stranger")
        try:
            made = ledger_in(tmp_path)
            made.open(terms())
        finally:
            server.execute("ALTER DEFAULT PRIVILEGES FOR ROLE owner REVOKE ALL ON TABLES FROM PUBLIC, stranger")
            server.execute("ALTER DEFAULT PRIVILEGES FOR ROLE owner REVOKE ALL ON SCHEMAS FROM stranger")
        assert may_do(rights(server, made.store.address.schema, "stranger")) == {}

    def test_no_function_is_everybodys(self, server, ledger):
        """As every new function is, to whoever may use the schema."""
        asked = "SELECT count(*) FROM pg_proc WHERE pronamespace = %s::regnamespace AND "
        asked += "has_function_privilege(%s, oid, %s)"
        schema = ledger.store.address.schema
        assert server.execute(asked, schema, "stranger", "EXECUTE") == [(0,)]
        assert server.execute(asked, schema, "jobs", "EXECUTE") == [(len(postgres_schema.FUNCTIONS),)]

    def test_a_role_whose_grant_is_taken_back_can_do_nothing(self, server, ledger):
        ledger.store.revoke("jobs")
        assert may_do(rights(server, ledger.store.address.schema, "jobs")) == {}
        with pytest.raises(LedgerError, match="role 'jobs' may not use it"):
            reserve(as_role(ledger, "jobs"), 1)
        assert reserve(as_role(ledger, "other"), 1)
        for use in (as_role(ledger, "other").store.revoke, as_role(ledger, "other").grant):
            with pytest.raises(LedgerError, match="role 'other' may not do that"):
                use("jobs")


class TestForgedCheckpoint:
    """A state in which nothing is spent and a plan is approved, with the checkpoint's entry that proves it."""

    def forged(self, ledger):
        state = ledger.walk().state
        state.accounts["survey"].spent.clear()
        state.accounts["survey"].approvals.append(("a" * 64, "M. Lee"))
        number, text = state.length, state.text
        entry = encode_entry(LedgerEntry(number=number, kind="checkpoint", time=TIME, state=digest(text)))
        return number, text, entry, seal(state.seal, entry)

    def test_while_a_reservation_waits_for_the_lock(self, ledger):
        """The attack of version 0.10: hold the lock until a job waits, forge, let go; it paid 50 from a budget of 5."""
        met, schema = [], ledger.store.address.schema
        reserve(as_role(ledger, "jobs"), 1)
        anchor = ledger.anchor.read()

        def ask():
            try:
                met.append(reserve(as_role(ledger, "jobs"), 50))
            except DpqrError as error:
                met.append(error)

        number, text, entry, sealed = self.forged(ledger)
        with psycopg.connect(os.environ[SERVER].replace("owner@", "jobs@")) as connection:
            connection.execute(f"SELECT {schema}.take_lock()")
            waiting = threading.Thread(target=ask)
            waiting.start()
            for statement, values in (
                (f"SELECT {schema}.append(%s::bigint, %s::text, %s::text, NULL)", (number, entry, sealed)),
                (f"INSERT INTO {schema}.state VALUES (%s, %s)", (number, text)),
            ):
                with suppress(psycopg.Error), connection.transaction():
                    connection.execute(statement, values)
            connection.commit()
        waiting.join()
        assert isinstance(met[0], BudgetRefused)
        assert ledger.anchor.read() == anchor
        assert ledger.account("survey").spent == 1

    @pytest.mark.parametrize("version", [1, 2])
    def test_one_that_an_older_version_let_through_is_found_by_the_owner(self, server, ledger, version):
        reserve(ledger, 1)
        number, text, entry, sealed = self.forged(ledger)
        old = made_by(version, server, ledger, "jobs")
        schema = old.store.address.schema
        with sql_of(ledger, "jobs") as connection:
            connection.execute(
                f"INSERT INTO {schema}.entries (number, entry, seal) VALUES (%s, %s, %s)", (number, entry, sealed)
            )
            connection.execute(f"DELETE FROM {schema}.state")
            connection.execute(f"INSERT INTO {schema}.state VALUES (%s, %s)", (number, text))
        for use in (lambda: old.grant("jobs"), lambda: reserve(old, 1), lambda: as_role(old, "jobs").accounts()):
            with pytest.raises(LedgerError, match=f"entry {number} breaks the rules|may not use it"):
                use()
        with pytest.raises(LedgerError):
            reserve(as_role(old, "jobs"), 50)


class TestEntriesOfOnesOwnMaking:
    @pytest.mark.parametrize(
        "kind",
        ["open", "anchor", "checkpoint", "move", "arrive", "init", "policy", "approve", "reject", "void", "", None],
    )
    def test_only_four_kinds_are_taken(self, ledger, kind):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            appended(ledger, "jobs", reserving(entry=kind), key=KEY)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            appended(ledger, "jobs", reserving(entry=[kind]), key=KEY)
        assert len(rows(ledger.store)) == 2

    @pytest.mark.parametrize(
        "text",
        [
            '{"entry":"reserve","number":2,"dataset":"survey","entry":"checkpoint"}',
            '{"entry":"checkpoint","number":2,"dataset":"survey","entry":"reserve"}',
            '{"entry":"reserve","number":2,"dataset":"survey","\\u0065ntry":"policy"}',
            '{"entry":"reserve","number":2,"dataset":"survey","number":7}',
            '{"entry":"reserve","number":"2","dataset":"survey"}',
            '{"entry":"reserve","number":2.0,"dataset":"survey"}',
            '{"entry":"reserve","number":2}',
            '{"entry":"reserve","number":2,"dataset":null}',
            '{"entry":"reserve",\n"number":2,"dataset":"survey"}',
            '{"entry":"reserve","number":2,"dataset":"survey","note":"\u00e9"}',
            '{"entry":"reserve","number":3,"dataset":"survey"}',
            '{"entry":"reserve","number":2,"dataset":"survey","note":"\\ud800"}',
            '{"entry":"reserve","number":2,"dataset":"survey","note":"\\u0000"}',
            '["reserve"]',
            '"reserve"',
            "null",
            "",
            "reserve",
            "[" * 100_000,
        ],
    )
    def test_a_text_that_could_be_read_in_two_ways_is_none(self, ledger, text):
        with pytest.raises(psycopg.Error):
            appended(ledger, "jobs", {}, text=text, key=KEY)
        assert len(rows(ledger.store)) == 2

    def test_the_number_and_the_seal_are_those_that_follow(self, ledger):
        entry = canonical({"number": 2, "time": TIME, **reserving()})
        right = seal(rows(ledger.store)[-1][2], entry)
        for number, sealed in (
            (1, right),
            (3, right),
            (-1, right),
            (2, ""),
            (2, "0" * 64),
            (2, right.upper()),
            (2, None),
        ):
            with pytest.raises(psycopg.Error), sql_of(ledger, "jobs") as connection:
                connection.execute(
                    APPEND.format(ledger.store.address.schema),
                    (number, entry, sealed, KEY),
                )
        assert appended(ledger, "jobs", reserving(), key=KEY) == 2
        with pytest.raises(psycopg.Error):
            appended(ledger, "jobs", reserving(), key=KEY, number=2)

    @pytest.mark.parametrize("key", [None, b"", bytes(40), KEY[:-1], KEY + b"\0", KEY[::-1]])
    def test_a_key_is_whole_or_its_reservation_is_refused(self, ledger, key):
        with pytest.raises(psycopg.Error):
            appended(ledger, "jobs", reserving(), key=key)
        assert read(ledger.store, "SELECT * FROM keys") == []

    @pytest.mark.parametrize("kind", ["draw", "record", "settle"])
    def test_a_run_is_continued_by_the_role_that_pays_for_it(self, ledger, kind):
        paid = reserve(as_role(ledger, "other"), 1)
        of_owner = reserve(ledger, 1)
        for reservation in (paid, of_owner):
            with pytest.raises(psycopg.Error) as met:
                appended(ledger, "jobs", on(kind, reservation.number))
            assert met.value.sqlstate == "DP003"
            with pytest.raises(LedgerError, match=r"role '(other|owner)' has paid for reservation"):
                as_role(ledger, "jobs").key(reservation)
            with pytest.raises(LedgerError, match="another role of the database has paid for that run"):
                as_role(ledger, "jobs").settle(reservation, (), note="")
        assert as_role(ledger, "other").key(paid) == ledger.key(paid)
        assert appended(ledger, "other", on("settle", paid.number)) == 4
        with pytest.raises(psycopg.Error):
            appended(ledger, "other", on(kind, paid.number))

    def test_a_claim_is_found_by_the_role_that_pays_and_by_the_owner(self, ledger):
        """Another role may not see the key, so it cannot tell whether the run was paid, and says so."""
        reserve(as_role(ledger, "other"), 1)
        job, key = as_role(ledger, "jobs"), new_key()
        stated = ("survey", claim_of(key), job.identity)
        assert job.claimed_run(*stated) is None
        paid = reserve(job, 1, key=key)
        for one in (job, ledger):
            assert one.claimed_run(*stated).reservation.number == paid.number
        with pytest.raises(LedgerError, match="by another role, 'jobs'"):
            as_role(ledger, "other").claimed_run(*stated)

    @pytest.mark.parametrize("kind", ["draw", "record", "settle"])
    @pytest.mark.parametrize("run_of", [0, 1, 2, 99, -1, None, "3", 3.5, True, [3], 10**30])
    def test_a_run_that_does_not_wait_is_continued_by_nobody(self, ledger, kind, run_of):
        job = as_role(ledger, "jobs")
        job.settle(reserve(job, 1), (), note="")
        reserve(job, 1)
        assert len(rows(ledger.store)) == 5
        for dataset in ("survey", "other"):
            with pytest.raises(psycopg.Error):
                appended(ledger, "jobs", on(kind, run_of, dataset=dataset))
        with pytest.raises(psycopg.Error):
            appended(ledger, "jobs", on(kind, 4, dataset="other"))
        with pytest.raises(psycopg.Error):
            appended(ledger, "jobs", on(kind, 4), key=KEY)

    def test_nothing_is_appended_to_a_ledger_that_was_moved(self, ledger, tmp_path):
        target = ChainedLedger(store=SqliteStore(tmp_path / "moved.sqlite"), anchor=ledger.anchor)
        move(ledger, target)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            appended(ledger, "jobs", reserving(), key=KEY)
        with pytest.raises(LedgerError, match="was moved to"):
            reserve(as_role(ledger, "jobs"), 1)

    def test_settings_of_a_connection_change_nothing(self, ledger):
        entry = canonical({"number": 2, "time": TIME, **reserving()})
        wrong = seal("", entry)
        for setting in (
            "search_path = public",
            "transform_null_equals = on",
            "standard_conforming_strings = off",
            "row_security = off",
            "bytea_output = escape",
            "quote_all_identifiers = on",
            "array_nulls = off",
            "plpgsql.extra_errors = none",
        ):
            with sql_of(ledger, "jobs") as connection:
                connection.execute(f"SET {setting}")
                for values in ((2, entry, wrong, KEY), (2, entry, None, KEY), (2, entry, wrong, None)):
                    with pytest.raises(psycopg.Error):
                        connection.execute(
                            APPEND.format(ledger.store.address.schema),
                            values,
                        )
        assert len(rows(ledger.store)) == 2


BAD = {
    "a price above the limit": reserving(cost="50"),
    "no such dataset": reserving(dataset="census"),
    "a name that is none": reserving(dataset="\x1b[2J"),
    "a price below nothing": reserving(cost="-1"),
    "a price that is no figure": reserving(cost="1e999999999"),
    "no price": {key: value for key, value in reserving().items() if key != "cost"},
    "events that are none": reserving(events=[{"kind": "nothing", "count": 1}]),
    "an endless count": reserving(events=[{"kind": "exponential", "epsilon": "1", "count": "x"}]),
    "another shape": reserving(events={"a": 1}),
    "a note with control characters": reserving(note="\x1b[2Jspent 0"),
    "a rejection within": reserving(cost=None, more={"entry": "reject", "rejects": [2]}),
    "no time": reserving(time="now"),
    "a month that is none": reserving(time="2026-13-01T00:00:00+00:00"),
    "priced in vain": reserving(accountant="zcdp", delta="1/1000"),
    "a layer": reserving(layer={"column": "a", "first": "2026-01", "rows": 1, "read": "", "number": 0}),
    "deep": reserving(note=[[[[[[]]]]]]),
}


class TestBadEntries:
    """What the database lets through, and the rules refuse."""

    def check(self, ledger, number, spent):
        """Everybody is stopped, and told by whom and what the owner runs; then all go on, and the budget is whole."""
        jobs, other = as_role(ledger, "jobs"), as_role(ledger, "other")
        for use in (lambda: reserve(other, 1), other.accounts, other.verify, lambda: reserve(ledger, 1), ledger.verify):
            with pytest.raises(LedgerError, match=f"entry {number} breaks the rules .* role 'jobs' has") as met:
                use()
            assert "`dpqr budget reject`" in str(met.value)
        for role in (jobs, other):
            with pytest.raises(LedgerError, match="may not do that"):
                role.reject()
        assert ledger.reject() == (number,)
        assert ledger.account("survey").spent == spent
        assert ledger.reject() == ()
        assert ledger.verify().entries[number].kind == "void"
        assert reserve(other, "0.5")
        assert other.account("survey").spent == spent + Fraction(1, 2)
        ledger.verify()

    @pytest.mark.parametrize("what", BAD)
    def test_a_reservation(self, ledger, tmp_path, what):
        reserve(as_role(ledger, "jobs"), 1)
        number = appended(ledger, "jobs", BAD[what], key=KEY)
        self.check(ledger, number, 1)
        with pytest.raises(LedgerError, match="holds no reservation"):
            ledger.run("survey", number, rows(ledger.store)[number][2])
        history_view(ledger.entries())
        exported = tmp_path / "export"
        exported.write_text("".join(f"{entry_line(entry)}\n" for entry in ledger.entries()))
        assert read_export(exported).entries == ledger.entries()
        target = ChainedLedger(store=SqliteStore(tmp_path / "moved.sqlite"), anchor=ledger.anchor)
        move(ledger, target)
        assert target.verify().state.account("survey").spent == Fraction(3, 2)
        move(target, ledger)
        assert reserve(as_role(ledger, "other"), "0.5")

    @pytest.mark.parametrize(
        "entry",
        [
            on("draw", 2, events=[{"count": 2, "epsilon": "1/2", "kind": "exponential"}]),
            on("draw", 2, events=[{"count": 1, "epsilon": "2", "kind": "exponential"}]),
            on("draw", 2, transcript="none"),
            on("record", 2),
            on("settle", 2, cost="2"),
            on("settle", 2, cost="x"),
        ],
    )
    def test_of_a_run(self, ledger, entry):
        paid = reserve(as_role(ledger, "jobs"), 1)
        number = appended(ledger, "jobs", entry)
        self.check(ledger, number, 1)
        if entry["entry"] != "settle":  # its key went with the settlement, though that counts for nothing
            as_role(ledger, "jobs").settle(paid, (), note="")
            assert ledger.account("survey").spent == Fraction(1, 2)

    def test_one_that_is_too_deep_to_be_read(self, ledger):
        reserve(as_role(ledger, "jobs"), 1)
        number = len(rows(ledger.store))
        text = canonical({"number": number, "time": TIME, **reserving(note="@")})
        appended(ledger, "jobs", {}, text=text.replace('"@"', "[" * 2000 + "]" * 2000), key=KEY)
        self.check(ledger, number, 1)

    def test_several_and_what_follows_from_them(self, ledger):
        number = appended(ledger, "jobs", reserving(cost="50"), key=KEY)
        assert appended(ledger, "jobs", on("draw", number)) == number + 1
        assert appended(ledger, "jobs", on("settle", number)) == number + 2
        good = appended(ledger, "jobs", reserving(), key=KEY)
        assert ledger.reject() == (number, number + 1, number + 2)
        assert ledger.account("survey").spent == 1
        assert ledger.walk().entries[good].kind == "reserve"

    @pytest.mark.parametrize(
        "now", ["1970-01-01T00:00:12+00:00", "3000-01-01T00:00:00+00:00", "2026-02-30T00:00:00+00:00"]
    )
    def test_a_job_whose_clock_is_wrong_pays_nothing_and_draws_nothing(self, ledger, now):
        """Others would find its entry void, and its owner would reject it: a release that has cost nothing."""
        good = as_role(ledger, "jobs")
        paid, wrong = (
            reserve(good, 1),
            ChainedLedger(store=good.store, unanchored=True, anchor=good.anchor, clock=lambda: now),
        )
        for step in (
            lambda: reserve(wrong, 1),
            lambda: wrong.begin(paid, HALF, number=0, transcript="a" * 64),
            lambda: wrong.settle(paid, (), note=""),
        ):
            with pytest.raises(LedgerError, match="set it right"):
                step()
        assert reserve(as_role(ledger, "other"), "0.5")
        assert ledger.account("survey").spent == Fraction(3, 2)
        assert ledger.reject() == ()

    def test_nothing_that_was_paid_is_taken_back_by_rejecting_it(self, ledger):
        paid = reserve(as_role(ledger, "jobs"), 1)
        with ledger.transaction() as made:
            made.add("reject", rejected=(paid.number,))
        assert ledger.account("survey").spent == 1
        assert another(ledger).verify().state.account("survey").spent == 1

    @pytest.mark.parametrize("text", ["{}", "x", '{"entry":"reject","number":2,"rejects":[1],"time":""}'])
    def test_one_that_no_job_has_appended_is_never_rejected(self, ledger, text):
        """A ledger that was edited stays damaged."""
        sealed = seal(rows(ledger.store)[-1][2], text)
        tamper(ledger.store, ("INSERT INTO entries (number, entry, seal) VALUES (2, ?, ?)", (text, sealed)))
        if "reject" in text:
            assert ledger.verify()
            return
        with pytest.raises(LedgerError):
            ledger.reject()

    def test_a_price_below_its_events_is_found_by_verify_and_pays_for_nothing(self, server, tmp_path):
        owner = ledger_in(tmp_path)
        owner.open(terms(epsilon="5", delta="1/1000", accountant="basic"))
        owner.grant("jobs")
        forged = reserving(
            cost=["1/1000", "1/100000"],
            accountant="zcdp",
            delta="1/100000",
            events=[{"count": 50, "epsilon": "1", "kind": "exponential"}],
        )
        number = appended(owner, "jobs", forged, key=KEY)
        receipt = rows(owner.store)[number][2]
        with pytest.raises(LedgerError, match="states less than its events cost, so it pays for nothing"):
            as_role(owner, "jobs").run("survey", number, receipt)
        for look in (owner.verify, as_role(owner, "jobs").verify):
            with pytest.raises(LedgerError, match=r"role 'jobs' has appended it past dpqr\n.*`dpqr budget reject`"):
                look()
        assert owner.reject() == (number,)
        assert owner.verify().chain.rejected == {number}
        assert owner.account("survey").spent == Cost(Fraction(1, 1000), Fraction(1, 100000))
        with pytest.raises(LedgerError, match="pays for nothing"):
            as_role(owner, "jobs").run("survey", number, receipt)

    @pytest.mark.parametrize(
        "statement",
        [
            "INSERT INTO {0}.keys VALUES (77, 'x')",
            "INSERT INTO {0}.state VALUES (0, 'x'), (1, '')",
            "DELETE FROM {0}.state",
        ],
    )
    def test_what_an_older_version_let_a_job_spoil(self, server, ledger, monkeypatch, statement):
        monkeypatch.setattr(transaction, "STRIDE", 2)
        reserve(ledger, 1)
        assert read(ledger.store, "SELECT count(*) FROM state") == [(1,)]
        old = made_by(2, server, ledger, "jobs")
        with sql_of(ledger, "jobs") as connection:
            connection.execute(statement.replace("{0}", old.store.address.schema))
        old.grant("jobs")
        assert old.verify().state.account("survey").spent == 1
        assert reserve(as_role(old, "jobs"), 1)


class TestHeldLocks:
    def test_a_job_that_holds_the_lock_is_named_with_what_ends_it(self, server, ledger):
        schema = ledger.store.address.schema
        with psycopg.connect(os.environ[SERVER].replace("owner@", "jobs@")) as connection:
            connection.execute(f"SELECT {schema}.take_lock()")
            process = connection.info.backend_pid
            for waiting in (as_role(ledger, "other", wait=0.2), as_role(ledger, "owner", wait=0.2)):
                with pytest.raises(LedgerError, match=r"other jobs have held it for 0\.2 seconds") as met:
                    reserve(waiting, 1)
                assert "role 'jobs' holds it now; " in str(met.value)
                assert f"SELECT pg_terminate_backend({process})" in str(met.value)
            assert as_role(ledger, "other").account("survey").spent == 0
            server.execute("SELECT pg_terminate_backend(%s)", process)
            assert reserve(as_role(ledger, "other"), 1)
            with suppress(psycopg.Error):
                connection.rollback()

    def test_a_prepared_transaction_that_holds_the_lock(self, server, ledger):
        server.execute("ALTER SYSTEM SET max_prepared_transactions = 5")
        server.stop("fast")
        server.start()
        try:
            with psycopg.connect(os.environ[SERVER].replace("owner@", "jobs@"), autocommit=True) as connection:
                connection.execute("BEGIN")
                connection.execute(f"SELECT {ledger.store.address.schema}.take_lock()")
                connection.execute("PREPARE TRANSACTION 'mine'")
            with pytest.raises(LedgerError, match=r"a prepared transaction holds it; .* by ROLLBACK PREPARED"):
                reserve(as_role(ledger, "other", wait=0.2), 1)
            server.execute("ROLLBACK PREPARED 'mine'")
            assert reserve(as_role(ledger, "other"), 1)
        finally:
            server.execute("ALTER SYSTEM RESET max_prepared_transactions")
            server.stop("fast")
            server.start()

    @pytest.mark.parametrize("role", ["jobs", "stranger"])
    def test_no_advisory_lock_and_no_reading_keeps_a_job_waiting(self, ledger, role):
        """Nor can it keep the owner waiting for ever who changes tables."""
        with psycopg.connect(os.environ[SERVER].replace("owner@", f"{role}@")) as connection:
            connection.execute("SELECT pg_advisory_lock(%s::bigint)", (postgres_store._MAKING,))
            if role == "jobs":
                connection.execute(f"SELECT * FROM {ledger.store.address.schema}.entries")
            assert reserve(as_role(ledger, "other"), 1)

    def test_whoever_makes_tables_waits_for_a_while_only(self, ledger, monkeypatch):
        monkeypatch.setattr(postgres_store, "MAKE", 1)
        with psycopg.connect(os.environ[SERVER].replace("owner@", "stranger@")) as connection:
            connection.execute("SELECT pg_advisory_lock(%s::bigint)", (postgres_store._MAKING,))
            with pytest.raises(LedgerError, match="have held it for 1 seconds"):
                ledger.store.make()

    def test_entries_that_are_appended_without_the_lock_wait_for_it(self, ledger):
        """`append` takes it itself: two that saw the same state are not both admitted."""
        schema, met = ledger.store.address.schema, []

        def add():
            try:
                appended(ledger, "other", reserving(), key=KEY, number=2)
            except psycopg.Error as error:
                met.append(error.sqlstate)

        with psycopg.connect(os.environ[SERVER].replace("owner@", "jobs@")) as connection:
            text = canonical({"number": 2, "time": TIME, **reserving()})
            connection.execute(
                f"SELECT {schema}.append(2, %s::text, %s::text, %s::bytea)",
                (text, seal(rows(ledger.store)[-1][2], text), KEY),
            )
            second = threading.Thread(target=add)
            second.start()
            second.join(0.3)
            assert second.is_alive()
            connection.commit()
            second.join()
        assert met == ["DP001"]
        assert len(rows(ledger.store)) == 3


FUNCTIONS = (
    *(("pg_advisory_xact_lock", kind, "void") for kind in ("bigint", "integer", "smallint")),
    *(("to_regclass", "text", "regclass"), ("to_regnamespace", "text", "regnamespace")),
    *(("has_schema_privilege", "oid, text", "boolean"), ("has_schema_privilege", "regnamespace, text", "boolean")),
    *(("has_function_privilege", "oid, text", "boolean"), ("pg_get_userbyid", "oid", "name")),
    *(("aclexplode", "aclitem[]", "text"), ("acldefault", '"char", oid', "aclitem[]")),
    *(("current_setting", "text", "text"), ("current_database", "", "name"), ("sha256", "bytea", "bytea")),
    *(("encode", "bytea, text", "text"), ("convert_to", "text, name", "bytea"), ("chr", "integer", "text")),
    *(("json_object_keys", "json", "text"), ("json_typeof", "json", "text")),
    *(("octet_length", "text", "integer"), ("length", "text", "integer")),
    *(("take_lock", "", "void"), ("append", "bigint, text, text, bytea", "void"), ("key_of", "bigint", "bytea")),
)
"""Names of everything in the catalogue that the ledger's SQL could call, with types that fit better or as well."""


OPERATORS = (
    *(("=", "name", "name"), ("=", "name", "text"), ("=", "text", "text"), ("<>", "oid", "oid")),
    *(("=", "bigint", "smallint"), ("=", "bigint", "integer"), ("+", "bigint", "integer")),
    *((">=", "bigint", "smallint"), (">=", "bigint", "integer"), (">=", "bigint", "bigint")),
    *(("->>", "json", "text"), ("->", "json", "text"), ("||", "text", "text")),
)


@pytest.fixture
def trapped(server):
    """`public` is full of functions, operators and tables of the role `jobs` that note by whom they are run."""
    with psycopg.connect(os.environ[SERVER].replace("owner@", "jobs@"), autocommit=True) as connection:
        connection.execute("CREATE TABLE public.caught (who name, what text)")
        connection.execute("GRANT INSERT ON public.caught TO PUBLIC")
        for name, types, result in FUNCTIONS:
            noted = f"INSERT INTO public.caught VALUES (current_user, '{name}');"
            given = "" if result == "void" else "NULL"
            connection.execute(
                f"CREATE FUNCTION public.{name}({types}) RETURNS {result} LANGUAGE plpgsql AS "
                f"$$ BEGIN {noted} RETURN {given}; END $$"
            )
        for number, (name, left, right) in enumerate(OPERATORS):
            connection.execute(
                f"CREATE FUNCTION public.operator{number}({left}, {right}) RETURNS boolean LANGUAGE plpgsql AS "
                f"$$ BEGIN INSERT INTO public.caught VALUES (current_user, 'operator {number}'); RETURN true; END $$"
            )
            connection.execute(
                f"CREATE OPERATOR public.{name} "
                f"(LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = public.operator{number})"
            )
        for table in ("entries", "state", "keys", "ledger", "pg_class", "pg_namespace", "pg_proc", "pg_locks"):
            connection.execute(
                f"CREATE VIEW public.{table} AS SELECT public.convert_to('', '') AS number, 1 AS version, 1 AS oid"
            )
        connection.execute("CREATE TYPE public.mine AS (x text)")
        connection.execute(
            "CREATE FUNCTION public.cast_mine(public.mine) RETURNS text LANGUAGE plpgsql AS "
            "$$ BEGIN INSERT INTO public.caught VALUES (current_user, 'cast'); RETURN ''; END $$"
        )
        connection.execute("CREATE CAST (public.mine AS text) WITH FUNCTION public.cast_mine(public.mine) AS IMPLICIT")
        connection.execute("CREATE DOMAIN public.bigint AS pg_catalog.int8 CHECK (public.octet_length('') IS NULL)")
        for role in ("owner", "other"):
            server.execute(f"ALTER ROLE {role} SET search_path = public, pg_catalog")
        try:
            yield lambda: server.execute("SELECT who::text, what FROM public.caught WHERE who <> 'jobs'")
        finally:
            for role in ("owner", "other"):
                server.execute(f"ALTER ROLE {role} RESET search_path")
            server.execute("SET search_path = pg_catalog; DROP OWNED BY jobs CASCADE")
            server.execute("GRANT CREATE ON SCHEMA public TO jobs")


class TestSearchPath:
    def test_the_trap_catches_who_looks_there(self, server, trapped):
        server.execute("SELECT pg_advisory_xact_lock(1::pg_catalog.int8)")
        assert ("owner", "pg_advisory_xact_lock") in trapped()

    def test_no_command_of_an_owner_or_a_job_runs_what_lies_in_public(self, server, tmp_path, trapped, monkeypatch):
        """Nor where the address itself asks for it."""
        monkeypatch.setattr(transaction, "STRIDE", 4)
        asking = "&options=-c%20search_path%3Dpublic%2Cpg_catalog"
        monkeypatch.setenv(SERVER, os.environ[SERVER] + asking)
        owner = ledger_in(tmp_path)
        owner.open(terms(epsilon="5"))
        for role in ("jobs", "other"):
            owner.grant(role)
        other = as_role(owner, "other")
        assert server.execute("SHOW search_path") == [("public, pg_catalog",)]
        for ledger in (owner, other):
            paid = reserve(ledger, "1/2")
            ledger.begin(paid, HALF, number=0, transcript="1" * 64)
            ledger.record(paid, number=0, transcript="2" * 64)
            assert ledger.key(paid)
            ledger.settle(paid, draws("1/2"), note="released")
            ledger.verify()
        for refused in (lambda: other.open(terms("more")), other.checkpoint, lambda: reserve(other, 50)):
            with pytest.raises(DpqrError):
                refused()
        number = appended(owner, "jobs", reserving(cost="50"), key=KEY)
        assert owner.reject() == (number,)
        owner.checkpoint()
        with other.store.writing(5), pytest.raises(LedgerError, match="role 'other' holds it now"):
            reserve(as_role(owner, "owner", wait=0.2), 1)
        owner.store.revoke("jobs")
        old = made_by(2, server, another(owner, anchored=False), "other")
        old.grant("other")
        move(owner, ChainedLedger(store=SqliteStore(tmp_path / "moved.sqlite"), anchor=owner.anchor))
        assert trapped() == []

    def test_in_an_older_ledger_too(self, server, ledger, trapped):
        """The tables of a version whose policy looks at entries."""
        old = made_by(2, server, ledger, "jobs")
        for use in (old.accounts, lambda: reserve(old, 1)):
            with pytest.raises(LedgerError, match="older version"):
                use()
        old.grant("jobs")
        assert reserve(as_role(old, "jobs"), 1)
        assert trapped() == []


class TestSchemaOfAnotherOwner:
    @pytest.fixture
    def schema(self, server, tmp_path):
        server.execute("GRANT CREATE ON DATABASE postgres TO squatter")
        name = f"of_squatter_{digest(str(tmp_path))[:12]}"
        with psycopg.connect(os.environ[SERVER].replace("owner@", "squatter@"), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
            connection.execute(f"GRANT ALL ON SCHEMA {name} TO PUBLIC")
            connection.execute(f"CREATE TABLE public.ran_{name} (who name)")
            connection.execute(f"GRANT INSERT ON public.ran_{name} TO PUBLIC")
            connection.execute(
                f"CREATE FUNCTION {name}.note() RETURNS integer LANGUAGE plpgsql AS "
                f"$$ BEGIN INSERT INTO public.ran_{name} VALUES (current_user); RETURN 1; END $$"
            )
            yield name, connection

    def ran(self, server, name):
        return server.execute(f"SELECT who::text FROM public.ran_{name} WHERE who <> 'squatter'")

    def test_no_ledger_is_made_in_it(self, server, ledger, schema):
        name, _ = schema
        owner = ChainedLedger(store=ledger_store(server.address(name)), unanchored=True)
        with pytest.raises(LedgerError, match="belongs to role 'squatter', who could drop whatever is in it"):
            owner.open(terms())
        assert server.execute("SELECT count(*) FROM pg_class WHERE relnamespace = %s::regnamespace", name) == [(0,)]

    @pytest.mark.parametrize("role", ["owner", "jobs"])
    @pytest.mark.parametrize(
        "made",
        [
            "CREATE VIEW {0}.ledger AS SELECT true AS lock, {0}.note() * {1} AS version",
            "CREATE VIEW {0}.entries AS SELECT {0}.note()::bigint AS number, '' AS entry, '' AS seal, ''::name AS job",
            "CREATE TABLE {0}.entries (number bigint, entry text, seal text, job name); "
            "ALTER TABLE {0}.entries ENABLE ROW LEVEL SECURITY; "
            "CREATE POLICY p ON {0}.entries USING ({0}.note() = 1); GRANT ALL ON {0}.entries TO PUBLIC",
            "CREATE TABLE {0}.entries (number bigint) PARTITION BY LIST (number)",
            "ALTER TABLE {0}.ledger ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON {0}.ledger USING ({0}.note() = 1)",
            "CREATE FUNCTION {0}.take_lock() RETURNS void LANGUAGE sql AS 'SELECT {0}.note()'",
            "CREATE FUNCTION {0}.key_of(bigint) RETURNS bytea LANGUAGE sql AS 'SELECT {0}.note()::text::bytea'",
        ],
    )
    def test_nothing_is_run_in_it_with_the_rights_of_whoever_looks(self, server, ledger, schema, made, role):
        """A ledger of the squatter's own, in whose place something runs."""
        name, connection = schema
        if "ledger AS" not in made:
            connection.execute(f"CREATE TABLE {name}.ledger (lock boolean, version integer)")
            connection.execute(f"INSERT INTO {name}.ledger VALUES (true, {postgres_schema.VERSION})")
            connection.execute(f"GRANT ALL ON {name}.ledger TO PUBLIC")
        connection.execute(made.replace("{0}", name).replace("{1}", str(postgres_schema.VERSION)))
        with suppress(psycopg.Error):
            connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO PUBLIC")
        there = as_role(ledger, role, schema=name)
        for use in (
            there.accounts,
            lambda: reserve(there, 1),
            lambda: there.open(terms()),
            lambda: there.grant("jobs"),
        ):
            with pytest.raises(LedgerError, match=r"none that dpqr has made; nothing in it was run"):
                use()
        assert self.ran(server, name) == []

    @pytest.mark.parametrize("part", ["TABLE {0}.entries", "TABLE {0}.state", "FUNCTION {0}.take_lock()"])
    def test_a_part_that_belongs_to_another_role(self, server, ledger, part):
        name = ledger.store.address.schema
        server.execute(f"ALTER {part.replace('{0}', name)} OWNER TO other")
        for there in (ledger, as_role(ledger, "jobs")):
            with pytest.raises(LedgerError, match="a ledger's schema, tables and functions have one owner"):
                reserve(there, 1)
        server.execute(f"ALTER {part.replace('{0}', name)} OWNER TO owner")
        assert reserve(as_role(ledger, "jobs"), 1)

    def test_a_member_of_the_owner_acts_as_it_where_it_asks_for_that(self, server, tmp_path):
        for role in ("keeper", "lee"):
            if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", role):
                server.execute(f"CREATE ROLE {role} LOGIN")
        server.execute("GRANT CREATE ON DATABASE postgres TO keeper")
        server.execute("GRANT keeper TO lee")
        name = f"kept_{digest(str(tmp_path))[:12]}"
        keeper = ChainedLedger(store=ledger_store(server.address(name, user="keeper")), unanchored=True)
        keeper.open(terms())
        for user in ("lee", "owner"):  # the second is a superuser
            alone = ChainedLedger(store=ledger_store(server.address(name, user=user)), unanchored=True)
            with pytest.raises(LedgerError, match="need the owner of the tables, 'keeper'"):
                alone.open(terms(user))
            asking = f"{server.address(name, user=user)}&options=-c%20role%3Dkeeper"
            ChainedLedger(store=ledger_store(asking), unanchored=True).open(terms(user))
        assert {each.terms.dataset for each in keeper.accounts()} == {"survey", "lee", "owner"}


class TestJobsWithoutTheOwner:
    def test_jobs_keep_no_state_and_the_owner_does(self, ledger, monkeypatch):
        monkeypatch.setattr(transaction, "STRIDE", 4)
        job = as_role(ledger, "jobs")
        for _ in range(6):
            job.settle(reserve(job, "0.01"), draws("0.01"), note="")
        stored = read(ledger.store, "SELECT number FROM state")
        assert job.walk().replayed >= 12
        with pytest.raises(LedgerError, match="role 'jobs' may not do that"):
            job.checkpoint()
        assert read(ledger.store, "SELECT number FROM state") == stored
        mark = ledger.checkpoint()
        assert read(ledger.store, "SELECT number FROM state") == [(mark.entries - 1,)]
        assert as_role(ledger, "other").walk().replayed == 1
        assert reserve(as_role(ledger, "other"), "0.01")

    def test_the_replay_comes_before_the_lock(self, ledger, monkeypatch):
        """Others do not wait for it."""
        order, original = [], transaction.LedgerState.replay

        def replayed(state, chain, refusable=()):
            order.extend(["replay"] * bool(chain.links))
            return original(state, chain, refusable)

        def lock(store, *given):
            order.append("lock")
            return taken(store, *given)

        taken = postgres_store.PostgresStore._lock
        reserve(as_role(ledger, "jobs"), "0.01")
        monkeypatch.setattr(transaction.LedgerState, "replay", replayed)
        monkeypatch.setattr(postgres_store.PostgresStore, "_lock", lock)
        reserve(as_role(ledger, "jobs"), "0.01")
        assert order[0] == "replay"
        assert order[order.index("lock") :] == ["lock"]

    def test_runs_of_a_ledger_that_was_moved_here_are_continued_by_any_job(self, ledger, tmp_path):
        """No role of this server has paid for them."""
        paid = reserve(ledger, 1)
        key = ledger.key(paid)
        file = ChainedLedger(store=SqliteStore(tmp_path / "moved.sqlite"), anchor=ledger.anchor)
        move(ledger, file)
        move(file, ledger)
        job = as_role(ledger, "jobs")
        assert job.key(paid) == key
        job.settle(paid, (), note="")
        own = reserve(ledger, 1)
        with pytest.raises(LedgerError, match="role 'owner' has paid"):
            job.key(own)

    def test_an_older_ledger_goes_on_and_its_runs_with_it(self, server, ledger):
        """Old rights are gone; runs that were paid before are continued by any job, as they could be."""
        paid = reserve(ledger, 1)
        old = made_by(2, server, ledger, "jobs", "stranger")
        schema = old.store.address.schema
        assert "INSERT INTO" in str(may_do(rights(server, schema, "jobs")))
        with pytest.raises(LedgerError, match="older version of dpqr"):
            reserve(as_role(old, "jobs"), 1)
        old.grant("jobs")
        assert may_do(rights(server, schema, "jobs")) == of_jobs(schema)
        assert may_do(rights(server, schema, "stranger")) == {}
        job = as_role(old, "jobs")
        assert job.key(paid) == ledger.key(paid)
        job.begin(paid, HALF, number=0, transcript="1" * 64)
        job.record(paid, number=0, transcript="2" * 64)
        job.settle(paid, draws("1/2"), note="released")
        assert old.verify().state.account("survey").spent == Fraction(1, 2)
        assert json.loads(rows(old.store)[-1][1])["entry"] == "settle"


class TestFullDisk:
    """The server says 53100; by a trigger of the owner's here, at the statement and at the commit."""

    @pytest.mark.parametrize("when", ["BEFORE INSERT ON", "AFTER INSERT ON"])
    def test_nothing_is_spent_and_all_goes_on_when_there_is_room(self, server, ledger, tmp_path, when):
        name = ledger.store.address.schema
        deferred = when.startswith("AFTER")
        server.execute(
            f"CREATE FUNCTION {name}.full() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$"
        )
        server.execute(
            f"CREATE {'CONSTRAINT ' if deferred else ''}TRIGGER full_disk {when} {name}.entries "
            f"{'DEFERRABLE INITIALLY DEFERRED ' if deferred else ''}FOR EACH ROW EXECUTE FUNCTION {name}.full()"
        )
        job, before = as_role(ledger, "jobs"), Anchor(path=tmp_path / "outside.anchor").read()
        with pytest.raises(LedgerError, match="nothing was spent") as met:
            reserve(job, 1)
        assert "full" not in str(met.value).replace("disk is full", "")
        assert ledger.anchor.read() == before
        assert job.account("survey").spent == 0
        server.execute(f"DROP TRIGGER full_disk ON {name}.entries")
        assert reserve(job, 1)
        assert ledger.verify().state.account("survey").spent == 1
