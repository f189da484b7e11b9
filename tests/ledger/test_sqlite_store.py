"""A key that is settled is in no file: not in the ledger, nor in a journal that a killed job has left."""

import os
import random
import signal
import sqlite3

import pytest
from support.cases import in_one_test
from support.ledger_jobs import draws, ledger_in, reserve, tamper, terms

from dpqr.kernel.errors import LedgerError
from dpqr.ledger.chain import Anchor
from dpqr.ledger.store import KEY_BYTES, SqliteSession, SqliteStore

WAIT = 0.05


def entries(session):
    return session.chain().links if session.is_begun() else ()


@pytest.fixture
def path(tmp_path):
    ledger_in(tmp_path).open(terms())
    return tmp_path / "ledger.sqlite"


def test_a_failure_rolls_back(path):
    def fail(session):
        session.rows("DELETE FROM entries")
        raise RuntimeError

    with pytest.raises(RuntimeError), SqliteStore(path).writing(WAIT) as session:
        fail(session)
    with SqliteStore(path).reading(WAIT) as session:
        assert len(entries(session)) == 2


def test_the_lock_outlasts_the_commit(path):
    """So that the anchor is renewed before anybody else sees the new entry."""
    with SqliteStore(path).writing(WAIT) as session:
        session.rows("PRAGMA user_version = 7")
        session.commit(None)
        with pytest.raises(LedgerError, match="other jobs"), SqliteStore(path).reading(WAIT):
            raise AssertionError
    with SqliteStore(path).reading(WAIT) as session:
        assert session.rows("PRAGMA user_version") == [(7,)]


def test_a_job_that_waits_for_its_turn_does_not_hold_up_the_one_before_it(path):
    with SqliteStore(path).writing(WAIT) as session:
        session.rows("PRAGMA user_version = 7")
        with pytest.raises(LedgerError), SqliteStore(path).writing(WAIT):
            raise AssertionError
        session.commit(None)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE more (x)",
        "CREATE VIEW more AS SELECT 1",
        "CREATE INDEX more ON entries (seal)",
        "CREATE TRIGGER more AFTER INSERT ON entries BEGIN DELETE FROM entries; END",
        "ALTER TABLE entries ADD COLUMN more",
        "DROP TABLE entries",
        "PRAGMA application_id = 7",
        "UPDATE entries SET entry = CAST(x'ff' AS TEXT) WHERE number = 1",
        "UPDATE entries SET entry = x'00' WHERE number = 1",
        "UPDATE entries SET seal = NULL || 'x' || seal WHERE number = 0 AND 0; DELETE FROM entries WHERE number = 0",
    ],
)
def test_a_changed_file_is_no_ledger(path, statement):
    for part in statement.split("; ") if "TRIGGER" not in statement else [statement]:
        tamper(SqliteStore(path), (part, ()))
    with pytest.raises(LedgerError, match="--ledger"), SqliteStore(path).reading(WAIT) as session:
        entries(session)


@in_one_test("content", [b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 5000, b"%PDF-1.4"])
def test_garbage_is_no_ledger(tmp_path, content):
    path = tmp_path / "ledger"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="damaged, or is no ledger"), SqliteStore(path).reading(WAIT) as session:
        entries(session)


def test_another_programs_database_is_not_taken_over(tmp_path):
    path = tmp_path / "ledger"
    tamper(SqliteStore(path), ("CREATE TABLE mine (x)", ()))
    with pytest.raises(LedgerError, match="no ledger of dpqr"), SqliteStore(path).writing(WAIT) as session:
        entries(session)


def test_a_commit_is_synced_through_a_rollback_journal_even_where_the_file_was_put_in_wal_mode(path):
    for mode in ("delete", "wal"):
        connection = sqlite3.connect(path)
        assert connection.execute(f"PRAGMA journal_mode = {mode}").fetchone() == (mode,)
        connection.close()
        with SqliteStore(path).writing(WAIT) as session:
            assert session.rows("PRAGMA journal_mode") == [("delete",)]
            assert session.rows("PRAGMA synchronous") == [(3,)]
            assert len(entries(session)) == 2


def test_a_path_with_signs_of_an_address_is_taken_as_it_is(tmp_path):
    odd = tmp_path / "a?mode=memory#x% y"
    odd.mkdir()
    ledger = ledger_in(odd)
    ledger.open(terms())
    assert ledger.account("survey").left == 5
    assert sorted(path.name for path in odd.iterdir()) == ["ledger.sqlite", "outside.anchor"]


@pytest.fixture
def ledger(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms(epsilon="1000"))
    return ledger


def holding(directory, key):
    """Names of the files whose bytes hold the key."""
    return {path.name for path in directory.iterdir() if key in path.read_bytes()}


def settle(ledger, paid):
    ledger.settle(paid, draws("1/2"), note="released")


def killed(owner, name, ledger, paid, *, after):
    """Settle in a child that is killed before or after its only call of owner.name; which files are left."""
    child = os.fork()
    if child == 0:
        original = getattr(owner, name)

        def fatal(*given):
            if after:
                original(*given)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(owner, name, fatal)
        try:
            settle(ledger, paid)
        finally:
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    return {path.name for path in ledger.store.path.parent.iterdir()}


@pytest.mark.parametrize(("owner", "name", "after"), [(SqliteSession, "commit", True), (Anchor, "publish", False)])
def test_a_job_that_is_killed_after_its_commit_leaves_no_key(ledger, tmp_path, owner, name, after):
    """The journal is there until the connection closes, and the commit has cut it to nothing."""
    paid = reserve(ledger, 1)
    key = ledger.key(paid)
    assert "ledger.sqlite-journal" in killed(owner, name, ledger, paid, after=after)
    assert holding(tmp_path, key) == set()
    ledger.verify()


def test_a_job_that_is_killed_before_its_commit_has_settled_nothing_and_the_next_erases(ledger, tmp_path):
    paid = reserve(ledger, 1)
    key = ledger.key(paid)
    killed(SqliteSession, "commit", ledger, paid, after=False)
    assert holding(tmp_path, key) == {"ledger.sqlite", "ledger.sqlite-journal"}
    assert ledger.account("survey").unsettled == 1
    assert ledger.key(paid) == key
    settle(ledger, paid)
    assert holding(tmp_path, key) == set()


def test_no_key_outlives_its_reservation_whatever_pages_it_was_moved_through(ledger, tmp_path):
    """More keys than two pages hold, erased in any order: pages split, are moved and are given back."""
    keys = {number: random.Random(number).randbytes(KEY_BYTES) for number in range(2, 220)}
    order = random.Random(0).sample(sorted(keys), len(keys))
    with SqliteStore(ledger.store.path).writing(5) as session:
        for number in order:
            session.store_key(number, keys[number])
        session.commit(None)
    for part in range(0, 200, 25):
        with SqliteStore(ledger.store.path).writing(5) as session:
            for number in order[part : part + 25]:
                session.rows("DELETE FROM keys WHERE reservation = ?", number)
            session.commit(None)
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert {number for number, key in keys.items() if key in content} == set(order[part + 25 :])
