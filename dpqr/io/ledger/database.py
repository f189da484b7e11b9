"""The ledger's SQLite file: one transaction at a time, its tables, and its faults in words.

Rollback journal, never WAL: WAL keeps committed entries in a second file, so a copy of the ledger alone loses them, and
it needs memory that all jobs share. Synchronous EXTRA, not FULL: in DELETE mode a transaction commits when its journal
is unlinked, and only EXTRA syncs the directory after that. With FULL a power loss can bring the journal back and roll
back a budget that was already paid (sqlite.org, "PRAGMA synchronous"; the order of the system calls was checked).
A settlement erases its reservation's key. secure_delete overwrites it in the file; a journal limit of 0 cuts the
journal to nothing at the commit, else a job that is killed before it closes its connection leaves the page as it was.
What a disk keeps of blocks that a file has given back is beyond this. Every transaction has a new connection, so none
is carried through a fork.

Keys: one random secret for each reservation that is not settled, beside the chain and never in it. It marks the table
of a run, so that the run can be continued on that table only. An export of the record shows no key; after the
settlement the key is gone. A check beside each key distinguishes a damaged key from another table.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dpqr.errors import LedgerError
from dpqr.io.ledger.chain import BEGINNING, ChainSegment, Link, chain_segment

TABLE = "CREATE TABLE entries (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, seal TEXT NOT NULL)"
KEYS = "CREATE TABLE keys (reservation INTEGER PRIMARY KEY, key BLOB NOT NULL)"
"""Secrets of reservations that wait for their settlement; the chain does not hold them and no export shows them."""
STATE = "CREATE TABLE state (number INTEGER PRIMARY KEY, text TEXT NOT NULL)"
"""One row: the newest checkpoint, and the state whose digest it holds."""
APPLICATION = 0x64707172
"""The application id in the file's header: "dpqr"."""

_SETTINGS = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA fullfsync = ON",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA journal_size_limit = 0",
    "PRAGMA synchronous = EXTRA",
)
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk failed or is full",
    sqlite3.SQLITE_READONLY: "it, or its directory, is read-only",
    sqlite3.SQLITE_CANTOPEN: "it, or a file beside it, cannot be opened",
    sqlite3.SQLITE_PERM: "permission denied",
}


@contextmanager
def reading(path: Path, wait: float) -> Iterator[sqlite3.Connection]:
    """A transaction that sees one state of the file and changes nothing."""
    with _faults(path, wait), _connected(path, wait) as connection:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        yield connection


@contextmanager
def writing(path: Path, wait: float) -> Iterator[sqlite3.Connection]:
    """A transaction that holds the only right to write from its first look at the file on.

    It is rolled back unless the block calls `commit`. The lock is kept after that until the block ends, so that
    nobody comes between a commit and what belongs to it (the anchor).
    """
    with _faults(path, wait), _connected(path, wait) as connection:
        connection.execute("BEGIN IMMEDIATE")
        # Not before BEGIN: a connection that waits in this mode would keep its shared lock meanwhile,
        # and the writer before it could never commit.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        yield connection


def commit(connection: sqlite3.Connection) -> None:
    """Make the transaction durable: when this returns, no loss of power undoes it."""
    connection.execute("COMMIT")


def stored_chain(connection: sqlite3.Connection, first: int = 0, before: str = BEGINNING) -> ChainSegment:
    """The entries from `first` on, their chain checked. LedgerError where it is broken."""
    rows = connection.execute("SELECT number, entry, seal FROM entries WHERE number >= ? ORDER BY number", (first,))
    return chain_segment(rows.fetchall(), first, before)


def stored_seal(connection: sqlite3.Connection, entries: int) -> object:
    """The seal that is stored for the chain of so many entries; BEGINNING for none, None where it is missing."""
    if not entries:
        return BEGINNING
    found = connection.execute("SELECT seal FROM entries WHERE number = ?", (entries - 1,)).fetchone()
    return None if found is None else found[0]


def stored_state(connection: sqlite3.Connection) -> tuple[int, str] | None:
    """Number and text of the newest checkpoint; None before the first. LedgerError for anything else."""
    found = connection.execute("SELECT number, text FROM state").fetchall()
    if not found:
        return None
    if len(found) > 1 or not isinstance(found[0][1], str):
        raise LedgerError("the ledger was edited or is damaged: its state is not one text; restore it from a backup")
    number, text = found[0]
    return number, text


def store_state(connection: sqlite3.Connection, number: int, text: str) -> None:
    """Keep the state of a new checkpoint in the place of the older one."""
    connection.execute("DELETE FROM state")
    connection.execute("INSERT INTO state (number, text) VALUES (?, ?)", (number, text))


def is_begun(connection: sqlite3.Connection) -> bool:
    """Whether the file holds a ledger; False: it is still empty. LedgerError: it is something else."""
    schema = connection.execute("SELECT sql FROM sqlite_master").fetchall()
    mark = connection.execute("PRAGMA application_id").fetchone()[0]
    if not schema and not mark:
        return False
    if schema != [(TABLE,), (KEYS,), (STATE,)] or mark != APPLICATION:
        raise LedgerError("the file is no ledger of dpqr, or was changed by another program; give a ledger's path")
    return True


def append(connection: sqlite3.Connection, number: int, link: Link) -> None:
    """Add one entry, and what a new file needs before its first."""
    if number == 0:
        connection.execute(TABLE)
        connection.execute(KEYS)
        connection.execute(STATE)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute("INSERT INTO entries (number, entry, seal) VALUES (?, ?, ?)", (number, link.text, link.seal))


def require_integrity(connection: sqlite3.Connection) -> None:
    """LedgerError where SQLite finds its own structures damaged."""
    if connection.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
        raise LedgerError("the ledger's file is damaged; restore it from a backup")


@contextmanager
def _connected(path: Path, wait: float) -> Iterator[sqlite3.Connection]:
    address = f"{path.as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=wait, isolation_level=None)) as connection:
        for setting in _SETTINGS:
            connection.execute(setting)
        yield connection


@contextmanager
def _faults(path: Path, wait: float) -> Iterator[None]:
    """SQLite's errors as LedgerError. Closing a connection rolls back what was not committed."""
    try:
        yield
    except (sqlite3.Error, UnicodeError) as error:  # the second where SQLite quotes a damaged schema
        raise _fault(path, wait, getattr(error, "sqlite_errorcode", None)) from None
    except LedgerError as error:
        raise LedgerError(f"--ledger {path}: {error}") from None


def _fault(path: Path, wait: float, code: int | None) -> LedgerError:
    primary = (code or 0) & 0xFF
    if primary in _BUSY:
        return LedgerError(
            f"--ledger {path}: other jobs have held it for {wait:g} seconds, and nothing was spent; try again later"
        )
    if primary in _REASONS:
        return LedgerError(f"--ledger {path}: {_REASONS[primary]}; fix that and try again")
    return LedgerError(f"--ledger {path}: is damaged, or is no ledger; restore it from a backup")


KEY_BYTES, CHECK_BYTES = 32, 8


def store_key(connection: sqlite3.Connection, reservation: int, key: bytes) -> None:
    """Keep the key of a new reservation."""
    connection.execute("INSERT INTO keys (reservation, key) VALUES (?, ?)", (reservation, key + _check(key)))


def stored_key(connection: sqlite3.Connection, reservation: int) -> bytes:
    """LedgerError where there is none."""
    found = connection.execute("SELECT key FROM keys WHERE reservation = ?", (reservation,)).fetchone()
    if found is None or not _is_sound(found[0]):
        raise LedgerError(f"the key of reservation {reservation} is missing or damaged, so its run cannot be continued")
    return bytes(found[0][:KEY_BYTES])


def require_keys(connection: sqlite3.Connection, reservations: Collection[int]) -> None:
    """LedgerError unless each of the reservations that wait has its key, and no other key is kept."""
    found = connection.execute("SELECT reservation, key FROM keys").fetchall()
    if {number for number, _ in found} != set(reservations) or not all(_is_sound(key) for _, key in found):
        raise LedgerError("the ledger was edited or is damaged: its keys are not those of its unsettled reservations")


def erase_key(connection: sqlite3.Connection, reservation: int) -> None:
    """Overwrite and remove it (SQLite's secure_delete is on)."""
    connection.execute("DELETE FROM keys WHERE reservation = ?", (reservation,))


def _check(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()[:CHECK_BYTES]


def _is_sound(stored: object) -> bool:
    return (
        isinstance(stored, bytes)
        and len(stored) == KEY_BYTES + CHECK_BYTES
        and stored[KEY_BYTES:] == _check(stored[:KEY_BYTES])
    )
