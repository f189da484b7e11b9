"""What is PostgreSQL's own: lost connections, roles, versions, restarts. Its rules are tested with those of files."""

import os
import random
import re
import shlex
import signal
import tempfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.cut_connections import AFTER, BEFORE, DURING, Door
from support.guide_pages import ROOT, topic
from support.ledger_jobs import SERVER, draws, ledger_in, publish, read, reserve, rows, start, tamper, terms, unsound
from support.old_postgres import made_by

from dpqr.cli.main import main
from dpqr.kernel.budget import PURE
from dpqr.kernel.errors import LedgerError, UsageFault
from dpqr.kernel.events import ExponentialEvent
from dpqr.ledger.budgets import ledger_store
from dpqr.ledger.chain import Anchor, Link
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.ledger.postgres import VERSION
from dpqr.ledger.store import NoLedger

pytestmark = pytest.mark.slow
pytest.importorskip("psycopg")

MANY = {"epsilon": "1000"}
HALF = ExponentialEvent(epsilon=draws("1/2")[0][0].epsilon)


@pytest.fixture
def ledger(server, tmp_path, monkeypatch):
    monkeypatch.setenv(SERVER, f"postgresql://owner@/postgres?host={server.folder}")
    made = ledger_in(tmp_path)
    made.open(terms(**MANY))
    return made


@pytest.fixture
def door(server):
    with tempfile.TemporaryDirectory(prefix="dpqr-door-", dir="/tmp") as folder:
        yield Door(Path(folder), server.folder)


def through(door, ledger, wait=5):
    """The same ledger, reached through the door."""
    address = f"postgresql://owner@/postgres?host={door.folder}&schema={ledger.store.address.schema}"
    return ChainedLedger(store=ledger_store(address), anchor=ledger.anchor, wait=wait)


def as_role(server, ledger, role, wait=5):
    return ChainedLedger(
        store=ledger_store(server.address(ledger.store.address.schema, user=role)), unanchored=True, wait=wait
    )


@pytest.fixture
def jobs(server, ledger):
    """A role that may do what jobs do."""
    if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = 'jobs'"):
        server.execute("CREATE ROLE jobs LOGIN")
    ledger.store.grant("jobs")
    return as_role(server, ledger, "jobs")


def life(ledger, published):
    """One run from its reservation to its settlement; what was published had been paid when it was."""
    paid = reserve(ledger, 1)
    published.append((paid.number, paid.receipt))
    ledger.begin(paid, HALF, number=0, transcript="1" * 64)
    ledger.record(paid, number=0, transcript="2" * 64)
    ledger.settle(paid, draws("1/2"), note="released")


class TestLostConnections:
    @pytest.mark.parametrize("when", [BEFORE, DURING, AFTER])
    def test_at_every_message_of_a_run_nothing_is_published_without_pay(self, ledger, door, when):
        published, far, at = [], through(door, ledger), 0
        while True:
            door.cut(at, when)
            try:
                life(far, published)
                whole = door.passed <= at
            except LedgerError:
                whole = False
            paid = {(number, seal) for number, text, seal in rows(ledger.store) if '"entry":"reserve"' in text}
            assert set(published) <= paid
            if whole:
                break
            at += 1
        assert at > 30
        assert ledger.verify().mark.entries > at
        began = time.monotonic()
        reserve(ledger, 1)
        assert time.monotonic() - began < 5

    def test_a_commit_whose_answer_is_lost_is_looked_up(self, ledger, door):
        assert self.at_the_commit(ledger, door, AFTER).receipt == rows(ledger.store)[-1][2]

    def test_a_commit_that_never_came_spends_nothing(self, ledger, door):
        with pytest.raises(LedgerError, match="nothing was spent"):
            self.at_the_commit(ledger, door, BEFORE)
        assert ledger.account("survey").spent == 0

    def test_where_the_server_stays_away_what_was_asked_counts_as_spent(self, ledger, door):
        with pytest.raises(LedgerError, match="counts as spent"):
            self.at_the_commit(ledger, door, AFTER, close=True)
        assert ledger.account("survey").spent == 1

    def at_the_commit(self, ledger, door, when, **options):
        """Find the message that commits, and cut the same run there."""
        door.cut(None, when)
        reserve(through(door, ledger), "0.001")
        ledger.settle(self.newest(ledger), (), note="")
        # the last message of a connection says goodbye; the one before it commits
        door.cut(door.passed - 2, when, **options)
        return reserve(through(door, ledger, wait=0.5), 1)

    def newest(self, ledger):
        (run,) = ledger.walk().state.accounts["survey"].runs.values()
        return run.public().reservation

    def test_no_words_of_the_server_are_shown(self, server, ledger):
        away = ChainedLedger(store=ledger_store(server.address(host="/nonexistent", user="somebody")), unanchored=True)
        with pytest.raises(LedgerError) as met:
            away.accounts()
        assert "No such file" not in str(met.value)
        assert met.value.__cause__ is None
        assert met.value.__suppress_context__


class TestLocks:
    def test_a_job_that_says_nothing_more_loses_its_lock(self, ledger, monkeypatch):
        monkeypatch.setattr("dpqr.ledger.postgres.IDLE", 1)

        def fall_silent():
            with ledger.store.writing(1) as session:
                assert reserve(ChainedLedger(store=ledger.store, anchor=ledger.anchor, wait=20), 1)
                session.rows("SELECT 1")

        with pytest.raises(LedgerError, match="has gone"):
            fall_silent()

    def test_the_number_of_an_entry_is_there_once_even_without_the_lock(self, ledger):
        """Two writers that saw the same state: the second is refused by the database."""
        (*_, (number, text, seal)) = rows(ledger.store)
        with pytest.raises(LedgerError, match="another job has written the same entry"), ledger.store.writing(1) as one:
            one.append(number, Link(text=text, seal=seal))

    def test_a_ledger_waits_for_no_other(self, server, ledger):
        other = ChainedLedger(store=ledger_store(server.address("other")), unanchored=True, wait=1)
        with ledger.store.writing(1):
            other.open(terms())
            reserve(other, 1)
        tamper(other.store, ("DROP SCHEMA other CASCADE", ()))


class TestRoles:
    def test_a_role_without_a_grant_sees_nothing(self, server, jobs, ledger):
        if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = 'stranger'"):
            server.execute("CREATE ROLE stranger LOGIN")
        for use in (as_role(server, ledger, "stranger").accounts, as_role(server, ledger, "stranger").verify):
            with pytest.raises(LedgerError, match=r"role 'stranger' may not use it.*dpqr budget grant stranger"):
                use()
        elsewhere = ChainedLedger(store=ledger_store(server.address("fresh", user="stranger")), unanchored=True)
        with pytest.raises(LedgerError, match=r"role 'stranger' may not make it; .* grants CREATE on the database"):
            elsewhere.open(terms())

    def test_a_role_that_is_not_there_is_named_so(self, ledger):
        with pytest.raises(LedgerError, match="there is no such role"):
            ledger.store.grant('no"body')


class TestPasswords:
    @pytest.fixture
    def guarded(self, server):
        """A database that asks for a password."""
        if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = 'guarded'"):
            server.execute("CREATE ROLE guarded LOGIN PASSWORD 'open sesame'")
            server.execute("GRANT CREATE ON DATABASE postgres TO guarded")
        return server.address("kept", user="guarded")

    def test_a_password_comes_from_the_environment_and_is_in_no_file_or_message(
        self, server, guarded, monkeypatch, tmp_path
    ):
        with pytest.raises(LedgerError, match=r"~/\.pgpass"):
            ChainedLedger(store=ledger_store(guarded), unanchored=True).accounts()
        monkeypatch.setenv("PGPASSWORD", "open sesame")
        ledger = ChainedLedger(store=ledger_store(guarded), anchor=Anchor(path=tmp_path / "anchor"))
        ledger.open(terms())
        reserve(ledger, 1)
        stored = repr((ledger, rows(ledger.store), read(ledger.store, "SELECT text FROM state")))
        assert "sesame" not in stored + (tmp_path / "anchor").read_text()
        tamper(ledger.store, ("DROP SCHEMA kept CASCADE", ()))

    def test_a_password_comes_from_pgpass(self, guarded, monkeypatch, tmp_path):
        (tmp_path / "pgpass").write_text("*:*:*:guarded:open sesame\n")
        (tmp_path / "pgpass").chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
        with pytest.raises(NoLedger):
            ChainedLedger(store=ledger_store(guarded), unanchored=True).accounts()


class TestTables:
    @pytest.mark.parametrize("version", [1, 2])
    def test_older_tables_are_brought_up_to_date_by_their_owner(self, server, ledger, version):
        reserve(ledger, 1)
        old = made_by(version, server, ledger)
        for use in (old.accounts, lambda: reserve(old, 1)):
            with pytest.raises(LedgerError, match="older version of dpqr; the owner brings them up to date"):
                use()
        old.store.make()
        assert reserve(old, 1)
        assert read(old.store, "SELECT version FROM ledger") == [(VERSION,)]
        tamper(old.store, ("UPDATE ledger SET version = ?", (VERSION + 1,)))
        with pytest.raises(LedgerError, match="newer version"):
            old.accounts()

    def test_a_schema_without_tables_is_no_ledger(self, server, ledger, tmp_path):
        empty = ChainedLedger(store=ledger_store(server.address("nowhere")), unanchored=True)
        for use in (empty.accounts, empty.verify, lambda: reserve(empty, 1)):
            with pytest.raises(NoLedger, match="`dpqr budget init` makes one"):
                use()

    def test_a_ledger_that_was_dropped_is_gone(self, ledger):
        tamper(ledger.store, (f"DROP SCHEMA {ledger.store.address.schema} CASCADE", ()))
        for use in (ledger.accounts, lambda: ledger.open(terms())):
            with pytest.raises(LedgerError, match="is gone"):
                use()

    def test_a_server_that_could_forget_a_payment_is_refused(self, server, ledger):
        server.execute("ALTER SYSTEM SET fsync = off")
        server.execute("SELECT pg_reload_conf()")
        try:
            _until(lambda: server.execute("SHOW fsync") == [("off",)])
            with pytest.raises(LedgerError, match="fsync = off"):
                reserve(ledger, 1)
        finally:
            server.execute("ALTER SYSTEM RESET fsync")
            server.execute("SELECT pg_reload_conf()")
            _until(lambda: server.execute("SHOW fsync") == [("on",)])
        assert reserve(ledger, 1)

    def test_a_table_that_a_crash_would_empty_is_refused(self, server, ledger):
        table = f"{ledger.store.address.schema}.entries"
        server.execute(f"ALTER TABLE {table} SET UNLOGGED")
        with pytest.raises(LedgerError, match="none that dpqr has made"):
            reserve(ledger, 1)
        server.execute(f"ALTER TABLE {table} SET LOGGED")
        assert reserve(ledger, 1)

    def test_a_server_that_takes_no_writes_is_named_so(self, server, ledger):
        address = f"{server.address(ledger.store.address.schema)}&options=-c%20default_transaction_read_only%3Don"
        standby = ChainedLedger(store=ledger_store(address), anchor=ledger.anchor)
        assert standby.account("survey").spent == 0  # a transaction that writes asks for it in so many words
        assert reserve(standby, 1)

    def test_an_address_that_libpq_does_not_know_is_a_wrong_option(self, server):
        wrong = ChainedLedger(store=ledger_store(f"{server.address()}&colour=red"), unanchored=True)
        with pytest.raises(UsageFault, match="no address that PostgreSQL knows"):
            wrong.accounts()


def _until(true):
    for _ in range(100):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError


def test_restarts_and_dropped_connections_and_kills_leave_it_sound(server, ledger, tmp_path):
    """Jobs without end, while the server is stopped at once and started, connections are ended and jobs are killed."""
    (tmp_path / "published").mkdir()
    moments, children = random.Random(22), [start(tmp_path, full=False, pricing=PURE) for _ in range(4)]
    try:
        for turn in range(12):
            time.sleep(moments.uniform(0.2, 1))
            if turn % 3 == 0:
                server.stop("immediate")
                server.start()
            elif turn % 3 == 1:
                server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
            else:
                os.kill(children.pop(0), signal.SIGKILL)
                children.append(start(tmp_path, full=False, pricing=PURE))
            assert unsound(tmp_path) is None
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert len(list((tmp_path / "published").iterdir())) > 10
    began = time.monotonic()
    paid = reserve(ledger, 1)
    publish(tmp_path, paid)
    assert unsound(tmp_path) is None
    assert time.monotonic() - began < 10


def test_the_commands_of_the_guide(server, tmp_path, monkeypatch):
    """Every block that names a server, in order, with this one's socket for the example's name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = 'jobs'"):
        server.execute("CREATE ROLE jobs LOGIN")
    address = rf"postgresql://\1@/postgres?host={server.folder}&schema=guide"
    blocks = "".join(topic("ledger").all_of("postgres")).replace("\\\n", " ")
    for line in re.sub(r"postgresql://(\w+)@db\.example\.org/budgets", address, blocks).splitlines():
        done = CliRunner().invoke(main, shlex.split(line)[1:])
        assert done.exit_code == 0, (line, done.output)
    shown = CliRunner().invoke(main, ["budget", "show", "--ledger", "copy.sqlite"])
    assert re.search(r"epsilon (1|0\.995) in 1 reservation", shown.output)  # the less where no errors were bought
    server.execute("DROP SCHEMA guide CASCADE")
