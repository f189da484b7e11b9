"""SqliteStore: a ledger in one SQLite file, one transaction at a time, and its faults in words.

Rollback journal, never WAL: WAL keeps committed entries in a second file, so a copy of the ledger alone loses them, and
it needs memory that all jobs share. Synchronous EXTRA, not FULL: in DELETE mode a transaction commits when its journal
is unlinked, and only EXTRA syncs the directory after that. With FULL a power loss can bring the journal back and roll
back a budget that was already paid (sqlite.org, "PRAGMA synchronous"; the order of the system calls was checked).
A settlement erases its reservation's key. secure_delete overwrites it in the file; a journal limit of 0 cuts the
journal to nothing at the commit, else a job that is killed before it closes its connection leaves the page as it was.
What a disk keeps of blocks that a file has given back is beyond this. Every transaction has a new connection, so none
is carried through a fork.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpqr.kernel.errors import LedgerError, UsageFault
from dpqr.ledger.chain import Mark
from dpqr.ledger.location import LEDGER, create, ledger_path, require_location
from dpqr.ledger.refusals import name_place
from dpqr.ledger.session import Before, NoLedger, Store, StoreTransaction
from dpqr.tables.engines.address import is_address, read_address

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


@dataclass(frozen=True, slots=True)
class SqliteStore:
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
            raise LedgerError(f"--ledger {self.path}: {reason}") from None
        except LedgerError as error:
            raise name_place(error, self.path) from None


# The store that an option or the environment names: a file, or the address of a server.


def ledger_store(given: str | None, environment: Mapping[str, str] = os.environ) -> Store:
    """The store that was given, else the one in DPQR_LEDGER, else the user's own file. Nothing is opened or made."""
    named, origin = (given, "--ledger") if given is not None else (environment.get(LEDGER), LEDGER)
    if named is not None and is_address(named):
        address = read_address(named, origin)
        try:
            from dpqr.ledger.postgres import PostgresStore
        except ImportError:  # psycopg is missing, or finds no libpq
            raise UsageFault(
                f"--ledger {address.text}: needs the package psycopg; install it by: pip install 'dpqr[postgres]'"
            ) from None
        return PostgresStore(address)
    return SqliteStore(ledger_path(given, environment))
