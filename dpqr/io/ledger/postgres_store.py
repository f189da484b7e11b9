"""PostgresStore: a ledger in one schema of a PostgreSQL database, for jobs on many machines.

One row is locked (READ COMMITTED, FOR UPDATE) by whoever writes: the chain runs through all datasets, so they wait for
each other; datasets that should not are kept in ledgers (schemas) of their own. The number of an entry is its primary
key, so even without the lock no two jobs could go on from the same state. Readers see one snapshot and lock nothing.

A commit is durable when the server has answered it (synchronous_commit is on; a server with fsync off is refused).
Where the answer is lost, the seal is looked up behind the lock, which the lost transaction holds until it has ended:
what is found was paid, what is not was never spent, and where the server stays away, the job ends as if it were paid.

Every transaction has a new connection. One that is idle for IDLE seconds, its machine being gone, is ended by the
server, and so is its lock. Of the server's messages nothing is shown but their class. A settlement deletes its
reservation's key; the server's own logs, dead rows and backups may keep it longer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from dpqr.errors import LedgerError, UsageFault
from dpqr.io.ledger.addresses import WHERE_PASSWORDS_GO, Address
from dpqr.io.ledger.chain import Mark
from dpqr.io.ledger.postgres_schema import GRANTS, MIGRATIONS, VERSION
from dpqr.io.ledger.refusals import of_place
from dpqr.io.ledger.session import NoLedger, Session

IDLE = 60
"""Seconds after which the server ends a transaction whose job says nothing."""
PAUSE = 0.2
"""Seconds between two tries to look up a lost commit."""
CONNECT = 10
"""Seconds to wait for the server to answer at all."""
_MAKING = 0x64707172
"""The advisory lock of whoever makes tables, until the transaction ends: "dpqr"."""
_MISSING = {"42P01", "3F000"}
_LOST = {"57P01", "57P02", "57P03", "25P03"}
_IGNORED = "01007"
"""The warning with which a grant by somebody who owns no table does nothing."""
_DENIED = "42501"
_GRANTED = "SELECT current_user, has_schema_privilege(to_regnamespace(%s), 'USAGE')"
_REASONS = {
    "55P03": "other jobs have held it for {wait:g} seconds, and nothing was spent; try again later",
    "25006": "the server takes no writes (a standby?); name the primary",
    "23505": "another job has written the same entry, and nothing was spent; try again",
    "42704": "there is no such role; create it first, with CREATE ROLE",
    "53100": "the server's disk is full; nothing was spent",
}
"""What is said of an error, by its SQLSTATE."""


@dataclass(frozen=True, slots=True)
class PostgresSession(Session):
    """`Session` of one connection to the server."""

    store: PostgresStore
    connection: psycopg.Connection[tuple[Any, ...]]
    wait: float

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        done = self.connection.execute(statement.replace("?", "%s").encode(), values or None)
        return done.fetchall() if done.description else []

    def is_begun(self) -> bool:
        self.store.require_version(self.rows(f"SELECT version FROM {self.store.tables}"))
        return True

    def prepare(self) -> None:
        """`PostgresStore.make` has made the tables."""

    def require_integrity(self) -> None:
        """The server checks its own pages."""

    def commit(self, mark: Mark) -> None:
        try:
            done = self.connection.execute("COMMIT").statusmessage
        except psycopg.Error:
            done = None
        if done != "COMMIT":
            self.store.look_up(mark, self.wait)


@dataclass(frozen=True, slots=True)
class PostgresStore:
    """`Store` at an address."""

    address: Address

    @property
    def place(self) -> str:
        return self.address.text

    @property
    def tables(self) -> str:
        """The table of their version. Its whole name, for a schema that the role may not use is no missing one."""
        return f'"{self.address.schema}".ledger'

    def exists(self) -> bool:
        with self._faults(0), self._connected() as connection:
            return self._version(connection) > 0

    def make(self) -> None:
        """The tables, by all versions that are missing. LedgerError where the role may not make them."""
        with self._faults(0), self._connected() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
            schema, version = sql.Identifier(self.address.schema), self._version(connection)
            if not version:
                connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {0}").format(schema))
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    connection.execute(sql.SQL(statement).format(schema))
            if version < VERSION:
                connection.execute(sql.SQL("UPDATE {0}.ledger SET version = %s").format(schema), (VERSION,))

    def grant(self, role: str) -> None:
        self.make()
        named, warned = (sql.Identifier(self.address.schema), sql.Identifier(role)), set[str | None]()
        with self._faults(0), self._connected() as connection, connection.transaction():
            connection.add_notice_handler(lambda notice: warned.add(notice.sqlstate))
            for statement in GRANTS:
                connection.execute(sql.SQL(statement).format(*named))
            if _IGNORED in warned:
                raise self._denied()

    @contextmanager
    def reading(self, wait: float) -> Iterator[Session]:
        with self._faults(wait), self._connected() as connection:
            self._begin(connection, "REPEATABLE READ READ ONLY", wait)
            yield PostgresSession(self, connection, wait)

    @contextmanager
    def writing(self, wait: float) -> Iterator[Session]:
        with self._faults(wait), self._connected() as connection:
            self._lock(connection, wait)
            yield PostgresSession(self, connection, wait)

    def look_up(self, mark: Mark, wait: float) -> None:
        """Whether a commit whose answer was lost has come to `mark`. LedgerError: it has not, or nobody knows."""
        until = time.monotonic() + max(wait, PAUSE)
        while time.monotonic() < until:
            with suppress(psycopg.Error), self._connected() as connection:
                self._lock(connection, wait)
                found = PostgresSession(self, connection, wait).stored_seal(mark.entries)
                if found == mark.seal:
                    return
                raise LedgerError("the connection was lost before the commit, and nothing was spent; try again")
            time.sleep(PAUSE)
        raise LedgerError(
            "the connection was lost while it committed; nothing was opened, and what was asked counts as spent\n"
            "`dpqr budget show` says what was, once the server is back"
        )

    def require_version(self, rows: list[tuple[Any, ...]]) -> None:
        """LedgerError for tables that this version of dpqr does not know."""
        if rows == [(VERSION,)]:
            return
        if len(rows) == 1 and rows[0][0] < VERSION:
            raise LedgerError(
                "its tables were made by an older version of dpqr; the owner brings them up to date with `dpqr budget "
                f"grant ROLE --ledger {self.place}`"
            )
        raise LedgerError("its tables were made by a newer version of dpqr, or are damaged; use that version")

    def _version(self, connection: psycopg.Connection[tuple[Any, ...]]) -> int:
        """0: there are no tables."""
        if connection.execute("SELECT to_regclass(%s)", (self.tables,)).fetchall() == [(None,)]:
            return 0
        ((version,),) = connection.execute(f"SELECT version FROM {self.tables}".encode()).fetchall()
        return int(version)

    def _begin(self, connection: psycopg.Connection[tuple[Any, ...]], mode: str, wait: float) -> None:
        """None of these statements looks at a table, so the snapshot of a reader is not taken yet."""
        connection.execute(
            f"BEGIN ISOLATION LEVEL {mode}; SET LOCAL lock_timeout = {max(1, round(1000 * wait))}; "
            f"SET LOCAL idle_in_transaction_session_timeout = {1000 * IDLE}; SET LOCAL synchronous_commit = on; "
            f'SET LOCAL search_path = "{self.address.schema}", pg_temp'.encode()
        )

    def _lock(self, connection: psycopg.Connection[tuple[Any, ...]], wait: float) -> None:
        """Begin to write: every transaction that the lock was waited for has ended, and is seen."""
        self._begin(connection, "READ COMMITTED READ WRITE", wait)
        asked = f"SELECT current_setting('fsync'), version FROM {self.tables} FOR UPDATE"
        found = connection.execute(asked.encode()).fetchall()
        self.require_version([row[1:] for row in found])
        if found[0][0] != "on":
            raise LedgerError("the server runs with fsync = off, and could forget what was paid; turn it on")

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A connection, which is closed whatever happens; what was not committed is rolled back by the server."""
        connection = psycopg.connect(
            self.address.server,
            autocommit=True,
            prepare_threshold=None,
            client_encoding="utf8",
            application_name="dpqr",
            connect_timeout=CONNECT,
        )
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def _faults(self, wait: float) -> Iterator[None]:
        """The server's errors in constant words."""
        try:
            yield
        except psycopg.Error as error:
            raise self._fault(error, wait) from None
        except LedgerError as error:
            raise of_place(error, self.place) from None

    def _denied(self) -> LedgerError:
        """Which right this role lacks."""
        role, found = "this", []
        with suppress(psycopg.Error), self._connected() as connection:
            found = connection.execute(_GRANTED, (f'"{self.address.schema}"',)).fetchall()
            role = found[0][0]
        if found and found[0][1] is None:
            return LedgerError(f"role {role!r} may not make it; the database's owner grants CREATE on the database")
        if found and not found[0][1]:
            return LedgerError(
                f"role {role!r} may not use it; the owner admits it for jobs: dpqr budget grant {role} --ledger ..."
            )
        return LedgerError(
            f"role {role!r} may not do that: jobs append, and opening budgets, policies, approvals, grants and moves "
            "need the owner of the tables; ask the owner"
        )

    def _fault(self, error: psycopg.Error, wait: float) -> LedgerError | UsageFault:
        code, said = error.sqlstate, f"--ledger {self.place}:"
        if code == _DENIED:
            return of_place(self._denied(), self.place)
        if code in _MISSING:
            return NoLedger(f"{said} there is no ledger; `dpqr budget init` makes one")
        if code in _REASONS:
            return LedgerError(f"{said} {_REASONS[code].format(wait=wait)}")
        if isinstance(error, psycopg.ProgrammingError) and code is None:
            return UsageFault(
                f"{said} is no address that PostgreSQL knows; give postgresql://HOST/DATABASE?schema=NAME"
            )
        if code is None or code in _LOST or code[:2] in ("08", "28"):
            return LedgerError(
                f"{said} the server cannot be reached, has gone, or refused the login; nothing was spent, try again\n"
                f"passwords are read from {WHERE_PASSWORDS_GO}"
            )
        return LedgerError(f"{said} the server refused a statement (SQLSTATE {code}), and nothing was spent")
