"""The place that a ledger lies in, one transaction at its three tables, and the store in one SQLite file.

entries: the chain. state: one row, the newest checkpoint and the state whose digest it holds. keys: one random secret
for each reservation that is not settled, beside the chain and never in it. It marks the table of a run, so that the run
can be continued on that table only. An export of the record shows no key; after the settlement the key is gone. A check
beside each key distinguishes a damaged key from another table.

Whoever can write a file can write all three. In PostgreSQL roles differ: a job appends entries, with the key of a new
reservation, and nothing else.
"""

from __future__ import annotations

import hashlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from dpqr.kernel.errors import LedgerError, UsageFault
from dpqr.ledger.chain import BEGINNING, ChainSegment, Link, Mark, chain_segment, claim_of
from dpqr.ledger.location import create, require_location
from dpqr.ledger.refusals import name_place

KEY_BYTES, CHECK_BYTES = 32, 8


class NoLedger(UsageFault):
    """There is no ledger in that place."""


class StoreTransaction(ABC):
    """One transaction. Nothing that it has changed is kept unless `commit` returns."""

    @property
    def prefix(self) -> str:
        """What stands before the name of each table: its schema, where the database has schemas."""
        return ""

    @property
    def owns(self) -> bool:
        """Whether this job may store states, and see all keys: it has the rights of the ledger's owner."""
        return True

    @property
    def role(self) -> str:
        """The role of the database that this job has; "" where there are none."""
        return ""

    @abstractmethod
    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one statement, with `?` for each value; the rows that it gives."""

    @abstractmethod
    def is_begun(self) -> bool:
        """Whether the tables are there; False: the place is still empty. LedgerError: it holds something else."""

    @abstractmethod
    def commit(self, mark: Mark) -> None:
        """Make the transaction durable: when this returns, no loss of power undoes it.

        Args:
            mark: where the chain stands then, by which a commit whose answer was lost is looked up.
        """

    @abstractmethod
    def prepare(self) -> None:
        """Make what a new ledger needs before its first entry."""

    @abstractmethod
    def require_integrity(self) -> None:
        """LedgerError where the database finds its own structures damaged."""

    def chain(self, first: int = 0, before: str = BEGINNING) -> ChainSegment:
        """The entries from `first` on, their chain checked. LedgerError where it is broken."""
        return chain_segment(self.entry_rows(first), first, before)

    def entry_rows(self, first: int) -> list[tuple[Any, ...]]:
        """Number, text and seal of the entries from `first` on, and the role of jobs that has appended it, if any."""
        return self.rows(
            f"SELECT number, entry, seal FROM {self.prefix}entries WHERE number >= ? ORDER BY number", first
        )

    def stored_seal(self, entries: int) -> object:
        """The seal that is stored for the chain of so many entries; BEGINNING for none, None where it is missing."""
        if not entries:
            return BEGINNING
        found = self.rows(f"SELECT seal FROM {self.prefix}entries WHERE number = ?", entries - 1)
        return found[0][0] if found else None

    def append(self, number: int, link: Link, *, key: bytes | None = None, settles: int | None = None) -> None:
        """Add one entry. A number that is there already is refused by the database.

        Args:
            key: of a new reservation, to be kept.
            settles: the reservation whose key is erased.
        """
        if number == 0:
            self.prepare()
        self.rows(
            f"INSERT INTO {self.prefix}entries (number, entry, seal) VALUES (?, ?, ?)", number, link.text, link.seal
        )
        if key is not None:
            self.store_key(number, key)
        if settles is not None:
            self.rows(f"DELETE FROM {self.prefix}keys WHERE reservation = ?", settles)

    def stored_state(self) -> tuple[int, str] | None:
        """Number and text of the newest checkpoint; None before the first. LedgerError for anything else.

        The text is "" where jobs of an older version could have written it: see `transaction`.
        """
        found = self.rows(f"SELECT number, text FROM {self.prefix}state")
        if not found:
            return None
        if len(found) > 1 or not isinstance(found[0][1], str):
            raise LedgerError(
                "the ledger was edited or is damaged: its state is not one text; restore it from a backup"
            )
        number, text = found[0]
        return number, text

    def store_state(self, number: int, text: str) -> None:
        """Keep the state of a new checkpoint in the place of the older one."""
        self.rows(f"DELETE FROM {self.prefix}state")
        self.rows(f"INSERT INTO {self.prefix}state (number, text) VALUES (?, ?)", number, text)

    def store_key(self, reservation: int, key: bytes) -> None:
        """Keep the key of a new reservation."""
        self.rows(f"INSERT INTO {self.prefix}keys (reservation, key) VALUES (?, ?)", reservation, sealed_key(key))

    def stored_key(self, reservation: int) -> bytes:
        """LedgerError where there is none."""
        key = self._key(reservation)
        if key is None:
            raise LedgerError(
                f"the key of reservation {reservation} is missing or damaged, so its run cannot be continued"
            )
        return key

    def claimed(self, reservations: Iterable[int], claim: str) -> int | None:
        """The one of them that a transcript claims (`claim_of`); None: none of those whose keys this job may see."""
        for number in reservations:
            with suppress(LedgerError):  # another role of the database has paid for it
                key = self._key(number)
                if key is not None and claim_of(key) == claim:
                    return number
        return None

    def _key(self, reservation: int) -> bytes | None:
        found = self.key_rows(reservation)
        return bytes(found[0][0][:KEY_BYTES]) if found and _is_sound(found[0][0]) else None

    def key_rows(self, reservation: int) -> list[tuple[Any, ...]]:
        """The stored key of a reservation, with its check; no row, or NULL: there is none for this job."""
        return self.rows(f"SELECT key FROM {self.prefix}keys WHERE reservation = ?", reservation)

    def require_keys(self, reservations: Collection[int], *, may_lack: bool = False) -> None:
        """LedgerError unless each of the reservations that wait has its key, and no other key is kept.

        Nothing is looked at by a job that may not see the keys of others.

        Args:
            may_lack: whether a key may be missing, for a job has appended a settlement that was rejected.
        """
        if not self.owns:
            return
        found = self.rows(f"SELECT reservation, key FROM {self.prefix}keys")
        missing = set(reservations) - {number for number, _ in found}
        known = len(found) + len(missing) == len(reservations)
        if not known or (missing and not may_lack) or not all(_is_sound(key) for _, key in found):
            raise LedgerError(
                "the ledger was edited or is damaged: its keys are not those of its unsettled reservations"
            )

    @abstractmethod
    def disown(self) -> None:
        """Forget which role has appended each entry: those that were carried here, no role of this database has."""

    def keep_keys(self, reservations: Collection[int]) -> None:
        """Remove every key but those of the reservations that wait."""
        for (number,) in self.rows(f"SELECT reservation FROM {self.prefix}keys"):
            if number not in reservations:
                self.rows(f"DELETE FROM {self.prefix}keys WHERE reservation = ?", number)


Before = Callable[[StoreTransaction], object]


class Store(Protocol):
    """Where a ledger lies.

    Raises:
        LedgerError: it is locked for too long, damaged, or its database fails.
        NoLedger: there is none.
        UsageFault: it is no place for a ledger.
    """

    @property
    def place(self) -> str:
        """The path or address, as messages and entries name it; no secret is in it."""
        ...

    def exists(self) -> bool: ...

    def make(self) -> None:
        """Make an empty ledger where there is none, and bring older tables to the newest version."""
        ...

    def grant(self, role: str) -> None:
        """Let a role of the database append what jobs append. UsageFault where a ledger has no roles."""
        ...

    def revoke(self, role: str) -> None:
        """Take that back. UsageFault where a ledger has no roles."""
        ...

    def reading(self, wait: float) -> AbstractContextManager[StoreTransaction]:
        """A transaction that sees one state of the ledger and changes nothing."""
        ...

    def writing(self, wait: float, before: Before | None = None) -> AbstractContextManager[StoreTransaction]:
        """A transaction that holds the only right to write from its first look at the ledger on.

        It is rolled back unless the block calls `commit`.

        Args:
            wait: seconds to wait for other jobs.
            before: what may be done without that right, so that nobody waits for it meanwhile; called with a
                transaction that only reads. A file's lock is never long: nothing is done there.
        """
        ...


def sealed_key(key: bytes) -> bytes:
    """The key as it is stored: with its check."""
    return key + _check(key)


def _check(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()[:CHECK_BYTES]


def _is_sound(stored: object) -> bool:
    return (
        isinstance(stored, bytes)
        and len(stored) == KEY_BYTES + CHECK_BYTES
        and stored[KEY_BYTES:] == _check(stored[:KEY_BYTES])
    )


# SqliteStore: a ledger in one SQLite file, one transaction at a time, and its faults in words.
#
# Rollback journal, never WAL: WAL keeps committed entries in a second file, so a copy of the ledger alone loses them,
# and it needs memory that all jobs share. Synchronous EXTRA, not FULL: in DELETE mode a transaction commits when its
# journal is unlinked, and only EXTRA syncs the directory after that. With FULL a power loss can bring the journal back
# and roll back a budget that was already paid (sqlite.org, "PRAGMA synchronous"; the order of the system calls was
# checked). A settlement erases its reservation's key. secure_delete overwrites it in the file; a journal limit of 0
# cuts the journal to nothing at the commit, else a job that is killed before it closes its connection leaves the page
# as it was. What a disk keeps of blocks that a file has given back is beyond this. Every transaction has a new
# connection, so none is carried through a fork.

TABLE = "CREATE TABLE entries (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, seal TEXT NOT NULL)"
KEYS = "CREATE TABLE keys (reservation INTEGER PRIMARY KEY, key BLOB NOT NULL)"
STATE = "CREATE TABLE state (number INTEGER PRIMARY KEY, text TEXT NOT NULL)"
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


@dataclass(frozen=True, slots=True)
class SqliteSession(StoreTransaction):
    """`StoreTransaction` of one connection to the file."""

    connection: sqlite3.Connection

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement, values).fetchall()

    def is_begun(self) -> bool:
        schema = self.rows("SELECT sql FROM sqlite_master")
        ((mark,),) = self.rows("PRAGMA application_id")
        if not schema and not mark:
            return False
        if schema != [(TABLE,), (KEYS,), (STATE,)] or mark != APPLICATION:
            raise LedgerError("the file is no ledger of dpqr, or was changed by another program; give a ledger's path")
        return True

    def prepare(self) -> None:
        for statement in (TABLE, KEYS, STATE, f"PRAGMA application_id = {APPLICATION}"):
            self.rows(statement)

    def disown(self) -> None:
        """A file knows no roles."""

    def commit(self, mark: Mark) -> None:
        self.rows("COMMIT")

    def require_integrity(self) -> None:
        if self.rows("PRAGMA integrity_check(1)") != [("ok",)]:
            raise LedgerError("the ledger's file is damaged; restore it from a backup")


class SqliteStore(Struct, frozen=True):
    """`Store` in the file `path`."""

    path: Path

    @property
    def place(self) -> str:
        return str(self.path)

    def exists(self) -> bool:
        return require_location(self.path)

    def make(self) -> None:
        """An empty file, where there is none."""
        if not self.exists():
            create(self.path)

    def grant(self, role: str) -> None:
        raise UsageFault(f"--ledger {self.path}: a file has no roles, but permissions; roles are PostgreSQL's")

    revoke = grant

    @contextmanager
    def reading(self, wait: float) -> Iterator[StoreTransaction]:
        with self._faults(wait), self._connected(wait) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            yield SqliteSession(connection)

    @contextmanager
    def writing(self, wait: float, before: Before | None = None) -> Iterator[StoreTransaction]:
        """The lock is kept after the commit until the block ends, and the anchor is renewed before anybody looks."""
        with self._faults(wait), self._connected(wait) as connection:
            connection.execute("BEGIN IMMEDIATE")
            # Not before BEGIN: a connection that waits in this mode would keep its shared lock meanwhile,
            # and the writer before it could never commit.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            yield SqliteSession(connection)

    @contextmanager
    def _connected(self, wait: float) -> Iterator[sqlite3.Connection]:
        if not self.exists():
            raise NoLedger(f"--ledger {self.path}: there is no ledger; `dpqr budget init` makes one")
        address = f"{self.path.as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, timeout=wait, isolation_level=None)) as connection:
            for setting in _SETTINGS:
                connection.execute(setting)
            yield connection

    @contextmanager
    def _faults(self, wait: float) -> Iterator[None]:
        """SQLite's errors as LedgerError. Closing a connection rolls back what was not committed."""
        try:
            yield
        except (sqlite3.Error, UnicodeError) as error:  # the second where SQLite quotes a damaged schema
            primary = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
            if primary in _BUSY:
                reason = f"other jobs have held it for {wait:g} seconds, and nothing was spent; try again later"
            elif primary in _REASONS:
                reason = f"{_REASONS[primary]}; fix that and try again"
            else:
                reason = "is damaged, or is no ledger; restore it from a backup"
                first = b""
                with suppress(OSError), self.path.open("rb") as file:
                    first = file.read(9)
                if primary == sqlite3.SQLITE_NOTADB and first == b'{"entry":':
                    reason = "is an export of a ledger, which `dpqr verify` takes alone; give the ledger itself"
            raise LedgerError(f"--ledger {self.path}: {reason}") from None
        except LedgerError as error:
            raise name_place(error, self.path) from None
