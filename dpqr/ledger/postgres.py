"""PostgresStore: a ledger in one schema of a PostgreSQL database, for jobs on many machines.

The table `ledger` is locked (READ COMMITTED) by whoever writes: the chain runs through all datasets, so they wait for
each other; datasets that should not are kept in ledgers (schemas) of their own. The number of an entry is its primary
key, so even without the lock no two jobs could go on from the same state. Readers see one snapshot and lock nothing.

The owner of the schema owns the tables and functions in it, and only a connection as that very role writes to the
tables. Every other role is a job: it reads, and calls the functions of `postgres_schema`. A role that is a member of
the owner's, or a superuser, acts as the owner where it asks for that (`options=-c role=OWNER`): membership alone is no
trust, for anybody may grant their own role to others. A schema whose parts have several owners is refused. Every
connection begins with a search_path without any schema in which others may make something, and names each table and
function with its schema.

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
from msgspec import Struct
from psycopg import sql

from dpqr.kernel.errors import LedgerError, UsageFault
from dpqr.ledger.chain import Link, Mark
from dpqr.ledger.refusals import name_place
from dpqr.ledger.store import Before, NoLedger, StoreTransaction, sealed_key
from dpqr.tables.engines.address import WHERE_PASSWORDS_GO, LedgerAddress

IDLE = 60
"""Seconds after which the server ends a transaction whose job says nothing."""
PAUSE = 0.2
"""Seconds between two tries to look up a lost commit."""
CONNECT = 60
"""Seconds to wait for the server to answer at all. They pass by the clock, also while a crowd of jobs that begin at one
moment leaves this one no processor: 10 were too few for 16 on two."""
MAKE = 30
"""Seconds that whoever makes or changes tables waits for transactions that use them."""
_MAKING = 0x64707172
"""The advisory lock of whoever makes tables, until the transaction ends: "dpqr"."""
_MISSING = {"42P01", "3F000"}
_LOST = {"57P01", "57P02", "57P03", "25P03"}
_DENIED, _WAITED = "42501", "55P03"
_SEARCH = "SET search_path = pg_catalog, pg_temp"
_REASONS = {
    "25006": "the server takes no writes (a standby?); name the primary",
    "23505": "another job has written the same entry, and nothing was spent; try again",
    "DP001": "another job has written the same entry, and nothing was spent; try again",
    "DP002": "the server refused an entry that does not follow from the one before it, or of a run that does not wait",
    "DP003": "another role of the database has paid for that run; only that role, or the ledger's owner, continues it",
    "42704": "there is no such role; create it first, with CREATE ROLE",
    "53100": "the server's disk is full; nothing was spent",
}
"""What is said of an error, by its SQLSTATE."""


class SchemaAccess(Struct, frozen=True, kw_only=True):
    """Whose a ledger's schema is, and what this role is there.

    owns: it is the owner. usable: it may use the schema. made: a ledger is in it. sound: all of that is the owner's,
    and runs nothing of anybody else. old: it has the policies of version 2.
    """

    role: str
    owns: bool
    usable: bool
    made: bool
    sound: bool
    old: bool


@dataclass(frozen=True, slots=True)
class PostgresSession(StoreTransaction):
    """`StoreTransaction` of one connection to the server."""

    store: PostgresStore
    connection: psycopg.Connection[tuple[Any, ...]]
    wait: float
    standing: SchemaAccess

    @property
    def prefix(self) -> str:
        return self.store.prefix

    @property
    def owns(self) -> bool:
        return self.standing.owns

    @property
    def role(self) -> str:
        return self.connection.info.user

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        done = self.connection.execute(statement.replace("?", "%s").encode(), values or None)
        return done.fetchall() if done.description else []

    def is_begun(self) -> bool:
        return True  # `PostgresStore._sound` has looked

    def entry_rows(self, first: int) -> list[tuple[Any, ...]]:
        rows = self.rows(
            f"SELECT number, entry, seal, job FROM {self.prefix}entries WHERE number >= ? ORDER BY number", first
        )
        return [(*row, "" if job in (None, self.standing.role) else job) for *row, job in rows]

    def append(self, number: int, link: Link, *, key: bytes | None = None, settles: int | None = None) -> None:
        if self.owns:
            StoreTransaction.append(self, number, link, key=key, settles=settles)
            return
        self.rows(
            f"SELECT {self.prefix}append(?::bigint, ?::text, ?::text, ?::bytea)",
            number,
            link.text,
            link.seal,
            None if key is None else sealed_key(key),
        )

    def key_rows(self, reservation: int) -> list[tuple[Any, ...]]:
        if self.owns:
            return StoreTransaction.key_rows(self, reservation)
        found = self.rows(f"SELECT {self.prefix}key_of(?::bigint)", reservation)
        payer = self.rows(f"SELECT job FROM {self.prefix}entries WHERE number = ?", reservation)
        if found == [(None,)] and payer not in ([], [(None,)]):
            raise LedgerError(
                f"role {payer[0][0]!r} has paid for reservation {reservation}; only that role, or the ledger's owner, "
                "continues its run"
            )
        return found

    def disown(self) -> None:
        """Let any job continue the runs that wait: of entries that were carried here, no role of this server paid."""
        self.rows(f"UPDATE {self.prefix}entries SET job = NULL")

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


class PostgresStore(Struct, frozen=True):
    """`Store` at an address."""

    address: LedgerAddress

    @property
    def place(self) -> str:
        return self.address.text

    @property
    def prefix(self) -> str:
        """Before the name of every table and function."""
        return f'"{self.address.schema}".'

    def exists(self) -> bool:
        with self._faults(0), self._connected() as connection:
            standing = self._standing(connection)
            return standing is not None and standing.made

    def make(self) -> None:
        """The tables and functions, by all versions that are missing. LedgerError where the role may not make them."""
        with self._faults(MAKE), self._connected() as connection, connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = {1000 * MAKE}".encode())
            connection.execute("SELECT pg_catalog.pg_advisory_xact_lock(%s::bigint)", (_MAKING,))
            standing = self._standing(connection)
            if standing is None:
                connection.execute(sql.SQL("CREATE SCHEMA {0}").format(self._schema))
            elif not standing.made and not standing.owns:
                raise self._of_another(standing)
            version = self._version(connection) if standing and standing.made else 0
            if standing and 0 < version < VERSION:
                self._require_owner(standing)
                connection.execute(f"LOCK TABLE {self.prefix}ledger IN ACCESS EXCLUSIVE MODE".encode())
                version = self._version(connection)
            if version < VERSION:
                for statements in MIGRATIONS[version:]:
                    for statement in statements:
                        connection.execute(sql.SQL(statement).format(self._schema))
                connection.execute(f"UPDATE {self.prefix}ledger SET version = %s".encode(), (VERSION,))
                for everybody, role in connection.execute(GRANTEES, {"schema": self.address.schema}).fetchall():
                    self._revoke(connection, sql.SQL("PUBLIC") if everybody else sql.Identifier(role))

    def grant(self, role: str) -> None:
        self.make()
        with self._faults(MAKE), self._owning() as connection:
            for statement in GRANTS:
                connection.execute(sql.SQL(statement).format(self._schema, sql.Identifier(role)))

    def revoke(self, role: str) -> None:
        with self._faults(MAKE), self._owning() as connection:
            self._revoke(connection, sql.Identifier(role))

    def _revoke(self, connection: psycopg.Connection[tuple[Any, ...]], grantee: sql.Composable) -> None:
        for statement in REVOKES:
            connection.execute(sql.SQL(statement).format(self._schema, grantee))

    @contextmanager
    def _owning(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A transaction that changes rights."""
        with self._connected() as connection, connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = {1000 * MAKE}".encode())
            self._require_owner(self._sound(connection))
            yield connection

    @contextmanager
    def reading(self, wait: float) -> Iterator[StoreTransaction]:
        with self._faults(wait), self._connected() as connection:
            standing = self._sound(connection)  # before the transaction: its snapshot is to be newer than the anchor
            yield self._looking(connection, wait, standing)

    @contextmanager
    def writing(self, wait: float, before: Before | None = None) -> Iterator[StoreTransaction]:
        with self._faults(wait), self._connected() as connection:
            standing = self._sound(connection)
            if before:
                before(self._looking(connection, wait, standing))
                connection.execute("ROLLBACK")
            yield self._lock(connection, wait, standing)

    def _looking(
        self, connection: psycopg.Connection[tuple[Any, ...]], wait: float, standing: SchemaAccess
    ) -> PostgresSession:
        self._begin(connection, "REPEATABLE READ READ ONLY", wait)
        return PostgresSession(self, connection, wait, standing)

    def look_up(self, mark: Mark, wait: float) -> None:
        """Whether a commit whose answer was lost has come to `mark`. LedgerError: it has not, or nobody knows."""
        until = time.monotonic() + max(wait, PAUSE)
        while time.monotonic() < until:
            with suppress(psycopg.Error), self._connected() as connection:
                found = self._lock(connection, wait, self._sound(connection)).stored_seal(mark.entries)
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
        ((version,),) = connection.execute(f"SELECT version FROM {self.prefix}ledger".encode()).fetchall()
        return int(version)

    @property
    def _schema(self) -> sql.Identifier:
        return sql.Identifier(self.address.schema)

    def _standing(self, connection: psycopg.Connection[tuple[Any, ...]]) -> SchemaAccess | None:
        """None: there is no such schema. LedgerError for one whose parts have several owners."""
        values = {"schema": self.address.schema, "tables": list(TABLES), "functions": list(FUNCTIONS)}
        found = connection.execute(SCHEMA_ACCESS, values).fetchall()
        if not found:
            return None
        role, owns, usable, made, sound, old = found[0]
        standing = SchemaAccess(role=role, owns=owns, usable=usable, made=made, sound=sound, old=old)
        if not sound:
            raise self._of_another(standing)
        return standing

    def _sound(self, connection: psycopg.Connection[tuple[Any, ...]]) -> SchemaAccess:
        """Of the schema of a ledger of this version; nothing in it was run. NoLedger, LedgerError: there is none."""
        standing = self._standing(connection)
        if standing is None or not standing.made:
            raise self._missing()
        if not standing.usable:
            raise self._denied()
        self.require_version(connection.execute(f"SELECT version FROM {self.prefix}ledger".encode()).fetchall())
        if standing.old:
            raise self._of_another(standing)
        return standing

    def _require_owner(self, standing: SchemaAccess) -> None:
        if not standing.owns:
            raise self._denied()

    def _begin(self, connection: psycopg.Connection[tuple[Any, ...]], mode: str, wait: float) -> None:
        """None of these statements looks at a table, so the snapshot of a reader is not taken yet."""
        connection.execute(
            f"BEGIN ISOLATION LEVEL {mode}; SET LOCAL lock_timeout = {max(1, round(1000 * wait))}; "
            f"SET LOCAL idle_in_transaction_session_timeout = {1000 * IDLE}; SET LOCAL synchronous_commit = on; "
            f"{_SEARCH.replace('SET', 'SET LOCAL')}".encode()
        )

    def _lock(
        self, connection: psycopg.Connection[tuple[Any, ...]], wait: float, standing: SchemaAccess
    ) -> PostgresSession:
        """Begin to write: every transaction that the lock was waited for has ended, and is seen."""
        self._begin(connection, "READ COMMITTED READ WRITE", wait)
        taken = f"LOCK TABLE {self.prefix}ledger IN EXCLUSIVE MODE"
        connection.execute((taken if standing.owns else f"SELECT {self.prefix}take_lock()").encode())
        statement = f"SELECT pg_catalog.current_setting('fsync'), version FROM {self.prefix}ledger"
        found = connection.execute(statement.encode()).fetchall()
        self.require_version([row[1:] for row in found])
        if found[0][0] != "on":
            raise LedgerError("the server runs with fsync = off, and could forget what was paid; turn it on")
        return PostgresSession(self, connection, wait, standing)

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
            connection.execute(_SEARCH)
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
            raise name_place(error, self.place) from None

    def _denied(self) -> LedgerError:
        """Which right this role lacks."""
        role, standing = "this", None
        with suppress(psycopg.Error), self._connected() as connection:
            ((role,),) = connection.execute("SELECT current_user").fetchall()
            try:
                standing = self._standing(connection)
            except LedgerError as error:
                return error
            if standing is None:
                return LedgerError(f"role {role!r} may not make it; the database's owner grants CREATE on the database")
            may = connection.execute(
                "SELECT pg_catalog.has_function_privilege(part.oid, 'EXECUTE') FROM pg_catalog.pg_proc AS part "
                "WHERE part.proname = 'append' AND part.pronamespace = pg_catalog.to_regnamespace(%s::text)",
                (self.address.schema,),
            ).fetchall()
            if not standing.usable or may != [(True,)]:
                return LedgerError(
                    f"role {role!r} may not use it; the owner admits it for jobs: dpqr budget grant {role} --ledger ..."
                )
        owner = f", {standing.role!r}" if standing else ""
        return LedgerError(
            f"role {role!r} may not do that: jobs append reservations, draws and settlements; opening budgets, "
            f"policies, approvals, checkpoints, grants and moves need the owner of the tables{owner}; ask the owner"
        )

    def _missing(self) -> NoLedger:
        return NoLedger(f"--ledger {self.place}: there is no ledger; `dpqr budget init` makes one")

    def _of_another(self, standing: SchemaAccess) -> LedgerError:
        """The schema, or something in it, is not of whom it should be."""
        if not standing.made:
            return LedgerError(
                f"schema {self.address.schema!r} belongs to role {standing.role!r}, who could drop whatever is in it\n"
                "make the ledger as that role, or in a schema of your own: ?schema=NAME"
            )
        return LedgerError(
            f"schema {self.address.schema!r} belongs to role {standing.role!r}, and its tables or functions are "
            "another role's, or none that dpqr has made; nothing in it was run\n"
            "a ledger's schema, tables and functions have one owner; the database's administrator changes owners by "
            "ALTER ... OWNER TO"
        )

    def _held(self, wait: float) -> LedgerError:
        """Who holds the lock now."""
        said = f"--ledger {self.place}: other jobs have held it for {wait:g} seconds, and nothing was spent; "
        said += "try again later"
        found = []
        with suppress(psycopg.Error), self._connected() as connection:
            found = connection.execute(HOLDERS, {"schema": self.address.schema}).fetchall()
        if not found:
            return LedgerError(said)
        process, role = found[0]
        if process is None:
            return LedgerError(
                f"{said}\na prepared transaction holds it; the database's administrator ends it by ROLLBACK PREPARED "
                "(see pg_prepared_xacts)"
            )
        return LedgerError(
            f"{said}\nrole {role!r} holds it now; if that stays, the database's administrator ends its connection: "
            f"SELECT pg_terminate_backend({process})"
        )

    def _fault(self, error: psycopg.Error, wait: float) -> LedgerError | UsageFault:
        code, said = error.sqlstate, f"--ledger {self.place}:"
        if code == _DENIED:
            return name_place(self._denied(), self.place)
        if code in _MISSING:
            return self._missing()
        if code == _WAITED:
            return self._held(wait)
        if code in _REASONS:
            return LedgerError(f"{said} {_REASONS[code]}")
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


# The tables and functions of a ledger in PostgreSQL, by versions, and what a role of jobs may do with them.
#
# A job reads, and calls three functions that run as the ledger's owner: `take_lock`, `append` and `key_of`. It has
# no other right: no table takes a statement of it that writes. `append` admits four kinds of entries (reserve,
# draw, record, settle), one after the other, each with the seal that follows from the one before it; draws and
# settlements only to the role that has reserved. So a job can add, and nothing else: it cannot change or remove an
# entry, open a budget, change a policy, approve a plan, or store a state that later jobs would begin from.
#
# `append` does not price. It looks at no field but entry, number, dataset, run and settles, so entries may gain
# fields. What it lets through and the rules refuse (`LedgerState`) stops the ledger until its owner has rejected
# it: see `ChainedLedger.reject`.
#
# What a role can set for its own connection (search_path, temporary tables, settings of the parser) reaches none of
# the functions: their search_path is fixed, every name of the ledger has its schema, conditions hold only where
# they are true, and not where they are NULL.

_SAFE = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp"

TAKE_LOCK = f"""
CREATE FUNCTION {{0}}.take_lock() RETURNS void LANGUAGE plpgsql {_SAFE} AS $$
BEGIN
    LOCK TABLE {{0}}.ledger IN EXCLUSIVE MODE;
END
$$
"""
"""Wait for the only right to write, until the transaction ends. Readers are not kept waiting."""

KEY_OF = f"""
CREATE FUNCTION {{0}}.key_of(waiting bigint) RETURNS bytea LANGUAGE sql STABLE {_SAFE} AS $$
    SELECT held.key FROM {{0}}.keys AS held JOIN {{0}}.entries AS paid ON paid.number = held.reservation
    WHERE held.reservation = waiting AND coalesce(paid.job, session_user) = session_user
$$
"""
"""The key of a reservation that this role has made; NULL for any other."""

APPEND = f"""
CREATE FUNCTION {{0}}.append(new_number bigint, new_entry text, new_seal text, new_key bytea)
RETURNS void LANGUAGE plpgsql {_SAFE} AS $$
DECLARE
    content json;
    kind text;
    run bigint;
    newest record;
    paid record;
BEGIN
    LOCK TABLE {{0}}.ledger IN EXCLUSIVE MODE;
    SELECT last.number, last.seal, last.entry::json ->> 'entry' AS kind INTO newest
        FROM {{0}}.entries AS last ORDER BY last.number DESC LIMIT 1;
    IF (new_number = newest.number + 1) IS NOT TRUE THEN
        RAISE EXCEPTION 'not the next entry' USING ERRCODE = 'DP001';
    END IF;

    content := new_entry::json;
    IF (json_typeof(content) = 'object') IS NOT TRUE THEN
        RAISE EXCEPTION 'no entry' USING ERRCODE = 'DP002';
    END IF;
    kind := content ->> 'entry';
    IF (kind IN ('reserve', 'draw', 'record', 'settle') AND newest.kind <> 'move') IS NOT TRUE THEN
        RAISE EXCEPTION 'an entry of the owner' USING ERRCODE = '42501';
    END IF;
    IF (octet_length(new_entry) = length(new_entry)
        AND octet_length(new_entry) <= 16777216
        AND position(chr(10) IN new_entry) + position(chr(13) IN new_entry) = 0
        AND (SELECT count(*) = count(DISTINCT field.name) FROM json_object_keys(content) AS field(name))
        AND json_typeof(content -> 'number') = 'number'
        AND content ->> 'number' = new_number::text
        AND json_typeof(content -> 'dataset') = 'string'
        AND new_seal = encode(sha256(convert_to(newest.seal || chr(10) || new_entry, 'UTF8')), 'hex')) IS NOT TRUE
    THEN
        RAISE EXCEPTION 'no entry that follows' USING ERRCODE = 'DP002';
    END IF;

    IF kind = 'reserve' THEN
        IF (octet_length(new_key) = 40
            AND substring(sha256(substring(new_key FOR 32)) FOR 8) = substring(new_key FROM 33)) IS NOT TRUE
        THEN
            RAISE EXCEPTION 'no key' USING ERRCODE = 'DP002';
        END IF;
        INSERT INTO {{0}}.entries (number, entry, seal) VALUES (new_number, new_entry, new_seal);
        INSERT INTO {{0}}.keys (reservation, key) VALUES (new_number, new_key);
        RETURN;
    END IF;

    IF kind = 'settle' THEN
        run := CASE json_typeof(content -> 'settles') WHEN 'number' THEN content ->> 'settles' END::bigint;
    ELSE
        run := CASE json_typeof(content -> 'run') WHEN 'number' THEN content ->> 'run' END::bigint;
    END IF;
    SELECT reserved.job, reserved.entry::json ->> 'dataset' AS dataset INTO paid
        FROM {{0}}.entries AS reserved JOIN {{0}}.keys AS held ON held.reservation = reserved.number
        WHERE reserved.number = run;
    IF (paid.dataset = content ->> 'dataset' AND new_key IS NULL) IS NOT TRUE THEN
        RAISE EXCEPTION 'no run that waits' USING ERRCODE = 'DP002';
    END IF;
    IF (coalesce(paid.job, session_user) = session_user) IS NOT TRUE THEN
        RAISE EXCEPTION 'the run of another role' USING ERRCODE = 'DP003';
    END IF;
    INSERT INTO {{0}}.entries (number, entry, seal) VALUES (new_number, new_entry, new_seal);
    IF kind = 'settle' THEN
        DELETE FROM {{0}}.keys AS held WHERE held.reservation = run;
    END IF;
END
$$
"""
"""Append one entry: with the key of a reservation, which its settlement deletes."""

FUNCTIONS = {"take_lock": "take_lock()", "key_of": "key_of(bigint)", "append": "append(bigint, text, text, bytea)"}
"""Name and signature of each."""
TABLES = ("ledger", "entries", "state", "keys")

MIGRATIONS = (
    (
        "CREATE TABLE {0}.ledger (lock boolean PRIMARY KEY DEFAULT true CHECK (lock), version integer NOT NULL)",
        "CREATE TABLE {0}.entries (number bigint PRIMARY KEY CHECK (number >= 0), entry text NOT NULL, "
        "seal text NOT NULL)",
        "CREATE TABLE {0}.state (number bigint PRIMARY KEY, text text NOT NULL)",
        "CREATE TABLE {0}.keys (reservation bigint PRIMARY KEY, key bytea NOT NULL)",
        "INSERT INTO {0}.ledger (version) VALUES (0)",
    ),
    (
        "ALTER TABLE {0}.entries ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY everybody_reads ON {0}.entries FOR SELECT USING (true)",
        "CREATE POLICY jobs_append ON {0}.entries FOR INSERT WITH CHECK (entry::json ->> 'entry' IN "
        "('reserve', 'draw', 'record', 'settle', 'checkpoint'))",
    ),
    (
        "DROP POLICY jobs_append ON {0}.entries",
        "DROP POLICY everybody_reads ON {0}.entries",
        "ALTER TABLE {0}.entries DISABLE ROW LEVEL SECURITY",
        # Entries from before belong to no role (NULL), and any job may continue their runs, as it could.
        "ALTER TABLE {0}.entries ADD COLUMN job name",
        "ALTER TABLE {0}.entries ALTER COLUMN job SET DEFAULT session_user",
        # Jobs could write this text until now, so the next job begins at the first entry; see `transaction`.
        "DELETE FROM {0}.state",
        "INSERT INTO {0}.state SELECT 0, '' WHERE EXISTS (SELECT FROM {0}.entries)",
        TAKE_LOCK,
        KEY_OF,
        APPEND,
    ),
)
"""The statements that lead from one version to the next, for the quoted name of the schema."""
VERSION = len(MIGRATIONS)

GRANTS = (
    "GRANT USAGE ON SCHEMA {0} TO {1}",
    "GRANT SELECT ON {0}.ledger, {0}.entries, {0}.state TO {1}",
    "GRANT EXECUTE ON FUNCTION {0}.take_lock(), {0}.key_of(bigint), {0}.append(bigint, text, text, bytea) TO {1}",
)
"""For the quoted names of a schema and a role."""
REVOKES = (
    "REVOKE ALL ON ALL TABLES IN SCHEMA {0} FROM {1} CASCADE",
    "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {0} FROM {1} CASCADE",
    "REVOKE ALL ON SCHEMA {0} FROM {1} CASCADE",
)
"""The same for whoever has any right there: older versions granted more, and new functions are everybody's."""
GRANTEES = """
SELECT DISTINCT given.grantee = 0, pg_catalog.pg_get_userbyid(given.grantee) FROM (
    SELECT space.nspowner, (pg_catalog.aclexplode(space.nspacl)).grantee
        FROM pg_catalog.pg_namespace AS space WHERE space.nspname = %(schema)s::text
    UNION SELECT part.relowner, (pg_catalog.aclexplode(part.relacl)).grantee
        FROM pg_catalog.pg_class AS part WHERE part.relnamespace = pg_catalog.to_regnamespace(%(schema)s::text)
    UNION SELECT part.relowner, (pg_catalog.aclexplode(field.attacl)).grantee
        FROM pg_catalog.pg_class AS part JOIN pg_catalog.pg_attribute AS field ON field.attrelid = part.oid
        WHERE part.relnamespace = pg_catalog.to_regnamespace(%(schema)s::text)
    UNION SELECT part.proowner, (pg_catalog.aclexplode(
            coalesce(part.proacl, pg_catalog.acldefault('f', part.proowner)))).grantee
        FROM pg_catalog.pg_proc AS part WHERE part.pronamespace = pg_catalog.to_regnamespace(%(schema)s::text)
) AS given(owner, grantee) WHERE given.grantee <> given.owner
"""
"""Who has been given rights in a schema: whether it is PUBLIC, and the role's name."""

SCHEMA_ACCESS = """
SELECT pg_catalog.pg_get_userbyid(space.nspowner),
    current_user = pg_catalog.pg_get_userbyid(space.nspowner),
    pg_catalog.has_schema_privilege(space.oid, 'USAGE'),
    EXISTS (SELECT FROM pg_catalog.pg_class AS part
        WHERE part.relnamespace = space.oid AND part.relname = 'ledger'),
    NOT EXISTS (SELECT FROM pg_catalog.pg_class AS part
        WHERE part.relnamespace = space.oid AND part.relname = ANY (%(tables)s::text[])
        AND (part.relowner <> space.nspowner OR part.relkind <> 'r' OR part.relpersistence <> 'p' OR part.relhasrules
            OR part.relrowsecurity AND part.relname <> 'entries'))
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc AS part
        WHERE part.pronamespace = space.oid AND part.proname = ANY (%(functions)s::text[])
        AND (part.proowner <> space.nspowner OR NOT part.prosecdef)),
    EXISTS (SELECT FROM pg_catalog.pg_class AS part
        WHERE part.relnamespace = space.oid AND part.relname = 'entries' AND part.relrowsecurity)
FROM pg_catalog.pg_namespace AS space WHERE space.nspname = %(schema)s::text
"""
"""Who owns a schema; whether it is this role; whether this role may use it, and it holds a ledger; whether all of that
belongs to the owner and is plain tables, which no crash empties, and functions of the owner's right; whether `entries`
has policies (version 2).

Nothing of the schema is run by it. A view, a rule, a policy or a function of somebody else's would run with the rights
of whoever looks at it.
"""

HOLDERS = """
SELECT held.pid, pg_catalog.pg_get_userbyid(busy.usesysid) FROM pg_catalog.pg_locks AS held
    LEFT JOIN pg_catalog.pg_stat_activity AS busy ON busy.pid = held.pid
    WHERE held.granted AND held.mode = 'ExclusiveLock' AND held.locktype = 'relation'
    AND held.database = (SELECT here.oid FROM pg_catalog.pg_database AS here
        WHERE here.datname = pg_catalog.current_database())
    AND held.relation = (SELECT part.oid FROM pg_catalog.pg_class AS part
        WHERE part.relname = 'ledger' AND part.relnamespace = pg_catalog.to_regnamespace(%(schema)s::text))
"""
"""Process and role of whoever holds the lock; no process: a prepared transaction."""
