"""DuckDB: its own database files, and Parquet files anywhere that it can read, larger than memory.

DuckDB reads, and hands out the wanted columns as a stream of Arrow batches; encoding and counting are the core's own.
So a cell has the same code whatever holds it.

**Privacy** The database is opened read-only. Before the budget is reserved a statement is bound and never executed:
that looks at the catalogue and at footers of Parquet files. CSV and JSON are refused, for there DuckDB guesses columns
and types from rows. A query may do with rows whatever it likes, even multiply one person's, so under a ledger only
approved plans may have one (`reading`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dpqr.errors import DataError, UsageFault
from dpqr.io.engines.address import Address
from dpqr.io.tables.arrow_arrays import is_text
from dpqr.io.tables.counting import Counted, Counting
from dpqr.io.tables.limits import discreetly

_PARQUET = (".parquet", ".pq")
_GUESSING = ("READ_CSV", "READ_JSON", "SNIFF_CSV", "READ_NDJSON")
_OWNED = (
    "SELECT schema_name, table_name, sql NOT LIKE '%GENERATED ALWAYS%' FROM duckdb_tables() WHERE NOT internal "
    "UNION ALL SELECT schema_name, view_name, false FROM duckdb_views() WHERE NOT internal"
)
"""Tables and views by schema and name, and whether their rows lie in the database's file, and nothing computes any."""
_LEAST_ROOM, _THREAD_ROOM = 2**28, 2**27
"""Bytes to sort persons in: DuckDB fails below some 2^26 a thread, and writes to its temporary files beyond."""
_SETTINGS = (
    "TimeZone = 'UTC'",
    "preserve_insertion_order = false",
    "enable_progress_bar = false",
    "python_enable_replacements = false",  # no variable of this process is a table
)


@dataclass(slots=True)
class DuckTable:
    """duckdb:FILE?table=NAME, duckdb:FILE?query=SELECT, duckdb:?query=SELECT, or duckdb:FILES.parquet."""

    address: Address
    _columns: tuple[tuple[str, Any], ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        if find_spec("duckdb") is None:
            raise UsageFault("duckdb: is not installed; pip install 'dpqr[duckdb]'")
        if self.address.table is None and self.address.query is None and not self._of_parquet:
            raise UsageFault(
                f"{self.name} names no table; add ?table=NAME or ?query=SELECT\n"
                "Parquet files need neither; a CSV is read without DuckDB: name the file itself"
            )

    @property
    def name(self) -> str:
        return f"{self.address.scheme}:{self.address.place}"

    @property
    def public(self) -> str:
        return self.address.public

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self._schema)

    def kind(self, name: str) -> Any:
        return dict(self._schema)[name]

    def files(self) -> tuple[str, ...] | None:
        return discreetly(self._files, self._explained)

    def count(self, asked: Counting) -> Counted:
        chosen = ", ".join(map(_quoted, asked.columns))
        with self._opened() as connection, TemporaryDirectory(prefix="dpqr") as overflow:
            connection.execute(f"SET temp_directory = {_literal(overflow)}")
            statement = f"SELECT {chosen} FROM {self._relation}"
            if asked.unit.column is not None:
                room = max(_LEAST_ROOM, asked.limits.memory // 4)
                connection.execute(f"SET memory_limit = '{room}B'")
                connection.execute(f"SET threads = {min(os.cpu_count() or 1, room // _THREAD_ROOM)}")
                statement += f" ORDER BY {self._order(asked.unit.column)}"
            return asked.counted(lambda: iter(connection.sql(statement).to_arrow_reader(2**17)), in_order=True)

    def _order(self, person: str) -> str:
        """SQL of what persons are sorted by: numbers, or the bytes of texts, whatever collation the column has."""
        kind, name = self.kind(person), _quoted(person)
        return f"encode({name}::VARCHAR)" if is_text(getattr(kind, "value_type", kind)) else name

    @property
    def _of_parquet(self) -> bool:
        return self.address.place.lower().endswith(_PARQUET)

    @property
    def _relation(self) -> str:
        if self.address.query is not None:
            return f"({self.address.query.strip().rstrip(';')}\n) AS asked"
        if self.address.table is not None:
            return ".".join(map(_quoted, self.address.table.split(".")))
        return f"read_parquet({_literal(self.address.place)})"

    @property
    def _schema(self) -> tuple[tuple[str, Any], ...]:
        """Names and Arrow types of the columns, as DuckDB's binder knows them."""
        if not self._columns:
            self._columns = discreetly(self._bound, self._explained)
        return self._columns

    def _bound(self) -> tuple[tuple[str, Any], ...]:
        import duckdb

        query = self.address.query
        if query is not None and [each.type for each in duckdb.extract_statements(query)] != [_select()]:
            raise UsageFault(f"{self.name}: ?query= takes one SELECT, and nothing else")
        with self._opened() as connection:
            self._require_owned(connection)
            connection.execute("PRAGMA disable_optimizer")  # else a scan of no row, LIMIT 0, is no part of the plan
            found = connection.sql(f"SELECT * FROM {self._relation}")
            if any(scan in found.explain().upper() for scan in _GUESSING):
                raise DataError(
                    f"{self.name}: reads CSV or JSON, whose types DuckDB guesses from rows, which are private\n"
                    "name a CSV itself in the place of duckdb:, or load the file into a table of the database first"
                )
            return tuple(zip(found.columns, _arrow_types(found.types), strict=True))

    def _files(self) -> tuple[str, ...] | None:
        place = self.address.place
        if self.address.query is not None or "://" in place:
            return None
        with self._opened() as connection:
            if self.address.table is None:
                return tuple(sorted(file for (file,) in connection.sql(f"FROM glob({_literal(place)})").fetchall()))
            stored = all(self._owned(connection, self.address.table))
        return tuple(filter(os.path.isfile, (place, f"{place}.wal"))) if stored else None

    def _require_owned(self, connection: Any) -> None:
        """That the table is one that somebody made: DuckDB's own ones tell how many rows the others have."""
        table = self.address.table
        if table is not None and not self._owned(connection, table):
            raise DataError(f"{self.name}: has no table or view {table!r}; check its name")

    def _owned(self, connection: Any, table: str) -> list[bool]:
        """Of each table or view that may be meant, whether its rows lie in the database's file."""
        known = connection.sql(_OWNED).fetchall()
        return [stored for schema, own, stored in known if table.lower() in (own.lower(), f"{schema}.{own}".lower())]

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        import duckdb

        place = "" if self._of_parquet else self.address.place
        if place and not Path(place).is_file():
            raise DataError(f"{self.name}: there is no such database file; check the path")
        with duckdb.connect(place or ":memory:", read_only=bool(place)) as connection:
            for setting in _SETTINGS:
                connection.execute(f"SET {setting}")
            yield connection

    def _explained(self, error: Exception) -> str:
        """By the class alone: the words may quote rows."""
        place = "the files are there and are Parquet" if self._of_parquet else "no other program writes to the database"
        what = "" if self._of_parquet else ", and the names and the spelling of the table or the query"
        return f"{self.name}: DuckDB refuses it with {type(error).__name__}\ncheck that {place}{what}"


def _arrow_types(types: Iterable[Any]) -> Iterator[Any]:
    """By the types' names, in a connection of its own: nothing of the table is executed."""
    import duckdb
    import pyarrow as pa

    with duckdb.connect() as empty:
        for each in types:
            found = pa.null() if str(each) == '"NULL"' else pa.binary()
            with suppress(duckdb.Error):
                found = empty.sql(f"SELECT NULL::{each} AS found").to_arrow_reader(1).schema.field(0).type
            yield found


def _select() -> Any:
    import duckdb

    return duckdb.StatementType.SELECT


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
