"""PostgreSQL: a table, view or query of a database, read as one snapshot.

The rows come by COPY in one read-only transaction (REPEATABLE READ), in pieces, and are never held as a whole; encoding
and counting are the core's own. Passwords come from ~/.pgpass, a service file or PGPASSWORD.

**Privacy** Before the budget is reserved a statement is described and never executed, which looks at the catalogue
alone. System tables are refused, for they hold numbers of rows and samples of cells. Days and moments beyond the
calendar (BC, infinity) count as its first or last day, for no cell may decide whether a job succeeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from dpqr.errors import DataError, UsageFault
from dpqr.io.engines.address import Address
from dpqr.io.ledger.addresses import require_no_password
from dpqr.io.tables.counting import Counted, Counting
from dpqr.io.tables.limits import discreetly

PIECE = 2**22
"""Bytes of text that are parsed at a time."""
_FIRST, _LAST = "0001-01-01", "9999-12-31 23:59:59.999999"
_PLAIN = {
    "bool": "bool_",
    "int2": "int16",
    "int4": "int32",
    "int8": "int64",
    "float4": "float32",
    "float8": "float64",
    "date": "date32",
}
_TEXTS = {"text", "varchar", "bpchar", "name", "uuid", "numeric"}
_OWNED = (
    "SELECT has_any_column_privilege(pg_class.oid, 'SELECT') FROM pg_class "
    "JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE pg_class.oid = to_regclass(%s) "
    "AND relkind IN ('r', 'v', 'm', 'p', 'f') AND nspname NOT LIKE 'pg\\_%%' AND nspname <> 'information_schema'"
)
_LACKING = (
    "SELECT refobjid::regclass::text FROM pg_depend JOIN pg_rewrite ON pg_rewrite.oid = objid "
    "WHERE classid = 'pg_rewrite'::regclass AND refclassid = 'pg_class'::regclass "
    "AND ev_class = 'pg_temp.dpqr_asked'::regclass AND refobjid <> ev_class AND NOT CASE refobjsubid "
    "WHEN 0 THEN has_any_column_privilege(refobjid, 'SELECT') "
    "ELSE has_column_privilege(refobjid, refobjsubid::int2, 'SELECT') END ORDER BY 1"
)
"""Tables and views of which the view dpqr_asked has a column that this role may not read."""
_BEGIN = (
    b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO'; "
    b"SET LOCAL extra_float_digits = 1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """name; of: the name of PostgreSQL's type; listed: whether that is an enumeration."""

    name: str
    of: str
    listed: bool

    @property
    def kind(self) -> Any:
        """The Arrow type; binary, which no column may have, for what is not read."""
        import pyarrow as pa

        if self.of in _PLAIN:
            return getattr(pa, _PLAIN[self.of])()
        if self.of in ("timestamp", "timestamptz"):
            return pa.timestamp("us", None if self.of == "timestamp" else "UTC")
        return pa.string() if self.listed or self.of in _TEXTS else pa.binary()

    @property
    def parsed(self) -> Any:
        """The Arrow type that the text is parsed as: moments without their zone, which is UTC."""
        import pyarrow as pa

        return pa.timestamp("us") if self.of == "timestamptz" else self.kind

    @property
    def selected(self) -> str:
        """The SQL of its text."""
        quoted = _quoted(self.name)
        if self.of == "date":
            return _within_calendar(quoted, f"date '{_FIRST}'", f"date '{_LAST[:10]}'")
        if self.of == "timestamp":
            return _within_calendar(quoted, f"timestamp '{_FIRST}'", f"timestamp '{_LAST}'")
        if self.of == "timestamptz":
            bounded = _within_calendar(quoted, f"timestamptz '{_FIRST}Z'", f"timestamptz '{_LAST}Z'")
            return f"{bounded} AT TIME ZONE 'UTC'"
        return quoted

    @property
    def order(self) -> str:
        """The SQL of what persons are sorted by: numbers, or the bytes of texts, whatever collation the column has."""
        plain = _quoted(self.name)
        return plain if self.of in _PLAIN else f"pg_catalog.format('%s', {plain}) COLLATE \"C\""


@dataclass(slots=True)
class PostgresTable:
    """postgresql://USER@HOST/DATABASE?table=NAME or ?query=SELECT; what is left out comes from libpq's own files."""

    address: Address
    _columns: tuple[Column, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        if find_spec("psycopg") is None:
            raise UsageFault("postgresql: is not installed; pip install 'dpqr[postgres]'")
        parts = urlsplit(f"postgresql:{self.address.place or '//'}")
        require_no_password(parts.netloc, parts.path, [], "postgresql")
        if self.address.table is None and self.address.query is None:
            raise UsageFault(f"{self.name} names no table; add ?table=NAME or ?query=SELECT")

    @property
    def name(self) -> str:
        return f"{self.address.scheme}:{self.address.place}".rstrip(":")

    @property
    def public(self) -> str:
        return self.address.public

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self._schema)

    def kind(self, name: str) -> Any:
        return self._named[name].kind

    def count(self, asked: Counting) -> Counted:
        chosen = [self._named[name] for name in asked.columns]
        person = None if asked.unit.column is None else self._named[asked.unit.column]
        with self._opened() as connection:
            return asked.counted(lambda: self._batches(connection, chosen, person), in_order=True)

    @property
    def _named(self) -> dict[str, Column]:
        return {column.name: column for column in self._schema}

    def _batches(self, connection: Any, chosen: list[Column], person: Column | None) -> Iterator[Any]:
        """The rows of the transaction's snapshot, in the order of persons where there are any."""
        selected = ", ".join(column.selected for column in chosen) or "NULL"
        order = "" if person is None else f" ORDER BY {person.order}"
        statement = f"COPY (SELECT {selected} FROM {self._relation}{order}) TO STDOUT (FORMAT csv)"
        with connection.cursor() as cursor, cursor.copy(statement.encode()) as rows:
            waiting, size = [], 0
            for row in rows:  # a message is a row
                waiting.append(bytes(row))
                size += len(row)
                if size >= PIECE:
                    yield from _parsed(b"".join(waiting), chosen)
                    waiting, size = [], 0
            yield from _parsed(b"".join(waiting), chosen)

    @property
    def _relation(self) -> str:
        if self.address.query is not None:
            return f"({self.address.query.strip().rstrip(';')}\n) AS asked"
        return self._table

    @property
    def _table(self) -> str:
        return ".".join(map(_quoted, (self.address.table or "").split(".")))

    @property
    def _schema(self) -> tuple[Column, ...]:
        if not self._columns:
            self._columns = discreetly(self._described, self._explained)
        return self._columns

    def _described(self) -> tuple[Column, ...]:
        """Names and types, as PostgreSQL's parser knows them."""
        with self._opened() as connection:
            if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
                raise DataError(f"{self.name}: the database has no encoding (SQL_ASCII); its texts cannot be read")
            self._require_readable(connection)
            connection.pgconn.prepare(b"", f"SELECT * FROM {self._relation}".encode())
            found = connection.pgconn.describe_prepared(b"")
            if found.error_message:
                raise DataError(self._refused)
            self._require_granted()
            types = [found.ftype(place) for place in range(found.nfields)]
            asked = "SELECT oid::bigint, typname, typtype = 'e' FROM pg_type WHERE oid = ANY(%s::oid[])"
            known = {oid: (name, listed) for oid, name, listed in connection.execute(asked, (types,))}
            names = [found.fname(place).decode() for place in range(found.nfields)]
            return tuple(
                Column(name=name, of=known[oid][0], listed=known[oid][1])
                for name, oid in zip(names, types, strict=True)
            )

    def _require_readable(self, connection: Any) -> None:
        """PostgreSQL's own tables hold row counts of others; without a grant a run would fail once it is paid."""
        if not self.address.table:
            return
        found = connection.execute(_OWNED, (self._table,)).fetchall()
        if not found:
            raise DataError(f"{self.name}: has no table or view {self.address.table!r}; check its name")
        if found == [(False,)]:
            raise DataError(
                f"{self.name}: this role may not read {self.address.table!r}; its owner grants SELECT on it"
            )

    def _require_granted(self) -> None:
        """The same of what a query reads. A view of it is made and rolled back, for making one looks up tables and
        columns and neither plans nor executes; the planner may call functions that read rows. Where no view can be made
        (a standby, a role without temporary tables) a missing grant ends the run."""
        import psycopg

        if self.address.query is None:
            return
        with suppress(psycopg.Error), self._connected() as connection, connection.transaction(force_rollback=True):
            connection.execute(f"CREATE TEMPORARY VIEW dpqr_asked AS SELECT 1 AS one FROM {self._relation}".encode())
            lacking = connection.execute(_LACKING).fetchall()
            if lacking:
                names = ", ".join(dict.fromkeys(name for (name,) in lacking))
                raise DataError(
                    f"{self.name}: this role may not read all that the query names: {names}; the owner grants SELECT"
                )

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        with self._connected() as connection:
            connection.execute(_BEGIN)
            yield connection

    def _connected(self) -> Any:
        import psycopg

        address = f"postgresql:{self.address.place or '//'}"
        return psycopg.connect(address, autocommit=True, client_encoding="utf8", application_name="dpqr")

    @property
    def _refused(self) -> str:
        return f"{self.name}: PostgreSQL refuses the statement; check the table's or the query's names, and its grants"

    def _explained(self, error: Exception) -> str:
        """By the class alone: the words may quote rows."""
        return f"{self.name}: PostgreSQL ends with {type(error).__name__}; check the server, the login and the grants"


def _parsed(text: bytes, chosen: list[Column]) -> Iterator[Any]:
    """Record batches of rows in PostgreSQL's CSV, where a null is nothing and an empty text is quoted."""
    if not text:
        return
    import pyarrow as pa
    from pyarrow import csv

    names = [str(place) for place in range(max(1, len(chosen)))]
    types = {name: column.parsed for name, column in zip(names, chosen, strict=False)}
    table = csv.read_csv(
        pa.BufferReader(text),
        csv.ReadOptions(column_names=names, use_threads=False, block_size=2 * PIECE + len(text)),
        csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )
    arrays = [table.column(name).cast(column.kind) for name, column in zip(names, chosen, strict=False)]
    yield from pa.table(arrays, names=[column.name for column in chosen]).to_batches()


def _within_calendar(value: str, first: str, last: str) -> str:
    """SQL of a day or moment that is null where it is, and never beyond the calendar."""
    return f"(CASE WHEN {value} < {first} THEN {first} WHEN {value} > {last} THEN {last} ELSE {value} END)"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
