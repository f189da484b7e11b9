"""PostgreSQL: a table of a database, read as one snapshot; a view or a query where the budget's owner registered it.

The rows come by COPY in one read-only transaction (REPEATABLE READ), in pieces, and are never held as a whole; encoding
and counting are the core's own. Passwords come from ~/.pgpass, a service file or PGPASSWORD.

**Privacy** A view is a program, and so are a rule, a row-security policy, a domain's CHECK inside a literal and every
function that a name without a schema may find. So the search path is pg_catalog and no schema in which anybody may
create. Before the budget is reserved an address is looked up by its name, as a bound parameter, in the catalogue:
nothing that names the table or its columns is parsed. Without the budget's owner it must be a base table, whose
partitions and children are base tables of the same owner, without a policy that hides rows from this role, and without
columns that are computed when they are read. A registered query is described before the reservation, never executed.
System tables are refused, for they hold numbers of rows and samples of cells. Days and moments beyond the calendar (BC,
infinity) count as its first or last day, for no cell may decide whether a job succeeds.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from dpqr.kernel.errors import UsageFault
from dpqr.tables.counting import Counting, TableCounts
from dpqr.tables.engines.address import EngineAddress, require_no_password
from dpqr.tables.engines.known import ENGINES
from dpqr.tables.limits import discreetly

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
_ENCODINGS = ("UTF8", "LATIN1")
"""Of a database. Each of its texts is one in UTF-8, and bytes have the same order in both: in others a text that is no
character, or two persons whose order is another one, would end the run, whose exit code would tell of them."""
_TEXTS = {"text", "varchar", "bpchar", "name", "uuid", "numeric"}
_RELATION = """
WITH RECURSIVE named AS (
    SELECT c.oid, c.relkind, c.relowner, n.nspname, c.relname FROM pg_catalog.pg_class AS c
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE %s::text IN (c.relname::text, n.nspname::text || '.' || c.relname::text)
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND NOT pg_catalog.row_security_active(c.oid)
), part AS (
    SELECT oid AS top, oid, relkind, relowner FROM named
    UNION
    SELECT part.top, c.oid, c.relkind, c.relowner FROM part
    JOIN pg_catalog.pg_inherits AS i ON i.inhparent = part.oid JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid
)
SELECT oid::bigint, nspname::text, relname::text,
    NOT EXISTS (
        SELECT FROM part WHERE top = named.oid AND (part.relkind NOT IN ('r', 'p') OR part.relowner <> named.relowner)
    ) AND NOT EXISTS (SELECT FROM pg_catalog.pg_rewrite WHERE ev_class = named.oid AND ev_type = '1')
    AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_attribute WHERE attrelid = named.oid AND NOT attisdropped AND attgenerated = 'v'
    )
FROM named
"""
"""What the text may name, where no policy hides rows from this role; and whether the rows lie in the database as they
are: in a base table (r), or a partitioned one (p), whose parts are such tables of the same owner; no rule makes rows of
it, and no column is computed when it is read."""
_COLUMNS = """
WITH RECURSIVE base AS (
    SELECT a.attnum, a.attname, t.oid, t.typtype, t.typbasetype, t.typname, t.typnamespace
    FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
    WHERE a.attrelid = %s::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped
    AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')
    UNION ALL
    SELECT base.attnum, base.attname, t.oid, t.typtype, t.typbasetype, t.typname, t.typnamespace
    FROM base JOIN pg_catalog.pg_type AS t ON t.oid = base.typbasetype WHERE base.typtype = 'd'
)
SELECT attname::text, CASE WHEN typnamespace = 'pg_catalog'::regnamespace THEN typname::text ELSE '' END, typtype = 'e'
FROM base WHERE typtype <> 'd' ORDER BY attnum
"""
"""The columns that this role may read: their names, PostgreSQL's name for their types, those of other schemas without
one, and whether it is an enumeration. Of a domain, the type that it is made of."""
_TYPES = """
SELECT oid::bigint, CASE WHEN typnamespace = 'pg_catalog'::regnamespace THEN typname::text ELSE '' END, typtype = 'e'
FROM pg_catalog.pg_type WHERE oid = ANY(%s::bigint[]::oid[])
"""
_LACKING = (
    "SELECT FROM pg_catalog.pg_depend JOIN pg_catalog.pg_rewrite ON pg_rewrite.oid = objid "
    "WHERE classid = 'pg_catalog.pg_rewrite'::regclass AND refclassid = 'pg_catalog.pg_class'::regclass "
    "AND ev_class = 'pg_temp.dpqr_asked'::regclass AND refobjid <> ev_class AND NOT CASE refobjsubid "
    "WHEN 0 THEN has_any_column_privilege(refobjid, 'SELECT') "
    "ELSE has_column_privilege(refobjid, refobjsubid::int2, 'SELECT') END"
)
"""Tables and views of which the view dpqr_asked has a column that this role may not read."""
_PATH = "search_path = pg_catalog, pg_temp"
_BEGIN = (
    f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL {_PATH}; SET LOCAL row_security = off; "
    "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO'; SET LOCAL extra_float_digits = 1"
).encode()
"""With row_security off a policy that would hide rows ends the run: the counts are of all rows, or there are none."""


class PostgresColumn(Struct, frozen=True, kw_only=True):
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
    """postgresql://USER@HOST/DATABASE?table=NAME; what is left out comes from libpq's own files."""

    address: EngineAddress
    _columns: tuple[PostgresColumn, ...] = field(default=(), init=False, repr=False)
    _relation: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        if find_spec("psycopg") is None:
            raise UsageFault("postgresql: is not installed; pip install 'dpqr[postgres]'")
        parts = urlsplit(f"postgresql:{self.address.place or '//'}")
        require_no_password(parts.netloc, parts.path, [], "postgresql")
        if self.address.table is None and self.address.query is None:
            raise UsageFault(f"{self.name} names no table; add ?table=NAME")

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

    def count(self, counting: Counting) -> TableCounts:
        chosen = [self._named[name] for name in counting.columns]
        person = self._named[counting.unit.columns[0]] if counting.unit.columns else None
        with self._opened() as connection:
            if self._found(connection) != (self._relation, self._columns):
                raise ValueError("the table is another one than before the run was paid")
            rows = self._batches(connection, chosen, person)
            try:
                return counting.counted(lambda: rows, in_order=True)
            except BaseException:
                connection.close()  # else its end waits for rows that nobody fetches
                raise
            finally:
                with suppress(Exception):
                    rows.close()

    @property
    def _named(self) -> dict[str, PostgresColumn]:
        return {column.name: column for column in self._schema}

    def _batches(self, connection: Any, chosen: list[PostgresColumn], person: PostgresColumn | None) -> Generator[Any]:
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
    def _schema(self) -> tuple[PostgresColumn, ...]:
        if not self._columns:
            self._relation, self._columns = discreetly(self._described, lambda _: ENGINES["postgresql"].before)
        return self._columns

    def _described(self) -> tuple[str, tuple[PostgresColumn, ...]]:
        """The SQL of the relation, and its columns as the catalogue has them."""
        with self._opened() as connection:
            if connection.info.parameter_status("server_encoding") not in _ENCODINGS:
                raise ValueError("the database has another encoding")
            found = self._found(connection)
        if self.address.query is not None:
            # This role must be able to read what a registered query reads, or a run would fail once it is paid. A view
            # of it is made and rolled back, for making one looks up tables and columns and neither plans nor executes.
            # Where no view can be made (a standby, a role without temporary tables) a missing grant ends the run.
            import psycopg

            relation = found[0]
            with suppress(psycopg.Error), self._connected() as view, view.transaction(force_rollback=True):
                view.execute(f"SET LOCAL {_PATH}".encode())
                view.execute(f"CREATE TEMPORARY VIEW dpqr_asked AS SELECT 1 AS one FROM {relation}".encode())
                if view.execute(_LACKING).fetchall():
                    raise ValueError("this role may not read all that the query names")
        if not found[1]:
            raise ValueError("no column that this role may read")
        return found

    def _found(self, connection: Any) -> tuple[str, tuple[PostgresColumn, ...]]:
        if self.address.query is not None:
            # A registered query, as PostgreSQL's parser knows it: its names carry their schemas.
            relation = f"({self.address.query.strip().rstrip(';')}\n) AS asked"
            connection.pgconn.prepare(b"", f"SELECT * FROM {relation}".encode())
            found = connection.pgconn.describe_prepared(b"")
            if found.error_message:
                raise ValueError("PostgreSQL refuses the query")
            types = [found.ftype(place) for place in range(found.nfields)]
            known = {oid: (name, listed) for oid, name, listed in connection.execute(_TYPES, (types,))}
            names = [found.fname(place).decode() for place in range(found.nfields)]
            return relation, tuple(
                PostgresColumn(name=name, of=known[oid][0], listed=known[oid][1])
                for name, oid in zip(names, types, strict=True)
            )
        ((oid, schema, name, stored),) = connection.execute(_RELATION, (self.address.table,)).fetchall()
        if not stored and not self.address.registered:
            raise ValueError("rows of it do not lie in the database as they are")
        columns = connection.execute(_COLUMNS, (oid,)).fetchall()
        return f"{_quoted(schema)}.{_quoted(name)}", tuple(
            PostgresColumn(name=name, of=of, listed=listed) for name, of, listed in columns
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


def _parsed(text: bytes, chosen: list[PostgresColumn]) -> Iterator[Any]:
    """Record batches of rows in PostgreSQL's CSV, where a null is nothing and an empty text is quoted.

    **Privacy** An empty line comes first and is passed over, for Arrow takes a byte order mark out of what it begins
    with: the first row of a piece would have another text than it has elsewhere, and one row more would change it.
    """
    if not text:
        return
    import pyarrow as pa
    from pyarrow import csv

    names = [str(place) for place in range(max(1, len(chosen)))]
    types = {name: column.parsed for name, column in zip(names, chosen, strict=False)}
    table = csv.read_csv(
        pa.BufferReader(b"\n" + text),
        csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False, block_size=2 * PIECE + len(text)),
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
