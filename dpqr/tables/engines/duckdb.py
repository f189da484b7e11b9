"""DuckDB: a table of one of its database files, or local Parquet files, larger than memory.

DuckDB reads, and hands out the wanted columns as a stream of Arrow batches; encoding and counting are the core's own.
So a cell has the same code whatever holds it.

**Privacy** DuckDB may open one thing: the database file, attached read-only, or the Parquet files that the address
stood for when they were listed. Then its access to files is closed, no extension can be loaded, and its settings are
locked. Without the budget's owner an address names a base table, whose rows lie in the file: a view, a generated
column, a macro and a table function are programs, and whoever made the file wrote them. Columns and types come from
the catalogue and from the schema in a Parquet footer; names of folders are no columns, for their types would be
guessed. A view or a query that the owner has registered runs as closed as a table does, and sees the same one thing.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from tempfile import TemporaryDirectory
from typing import Any

from dpqr.kernel.errors import DpqrError, UsageFault
from dpqr.tables.cell_values import is_text
from dpqr.tables.counting import Counting, TableCounts, person_groups
from dpqr.tables.engines.address import EngineAddress
from dpqr.tables.engines.known import ENGINES
from dpqr.tables.files import files_matching
from dpqr.tables.limits import discreetly

_PARQUET = (".parquet", ".pq")
SOURCE = "source"
"""What a registered query calls its Parquet files; also the name under which a database file is attached."""
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_unsigned_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,  # no variable of this process is a table
    "python_scan_all_frames": False,
}
_SETTINGS = ("TimeZone = 'UTC'", "preserve_insertion_order = false", "enable_progress_bar = false")
_LOCKED = ("enable_external_access = false", "lock_configuration = true")
_BASE_TABLES = f"SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = '{SOURCE}' AND NOT internal"
_VIEWS = f"SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = '{SOURCE}' AND NOT internal"
_COLUMNS = (
    f"SELECT column_name, data_type, is_generated FROM duckdb_columns() WHERE database_name = '{SOURCE}' "
    "AND schema_name = ? AND table_name = ? ORDER BY column_index"
)
_GUESSING = ("READ_CSV", "READ_JSON", "SNIFF_CSV", "READ_NDJSON")
_PLAIN_TYPE = re.compile(r'[A-Z][A-Z0-9_ ]*(\(\d+(, ?\d+)?\))?|"NULL"')
_LEAST_ROOM, _THREAD_ROOM = 2**28, 2**27
"""Bytes to sort persons in: DuckDB fails below some 2^26 a thread, and writes to its temporary files beyond."""


@dataclass(slots=True)
class DuckTable:
    """duckdb:FILE?table=NAME or duckdb:FILES.parquet; a view or a query of either where the owner registered it."""

    address: EngineAddress
    _columns: tuple[tuple[str, Any], ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        if find_spec("duckdb") is None:
            raise UsageFault("duckdb: is not installed; pip install 'dpqr[duckdb]'")
        if self.address.table is None and self.address.query is None and not self._of_parquet:
            raise UsageFault(
                f"{self.name} names no table; add ?table=NAME\n"
                "Parquet files need none; a CSV is read without DuckDB: name the file itself"
            )
        if "://" in self.address.place:
            raise UsageFault(
                f"{self.name}: DuckDB loads no extension, so it reads no remote file\n"
                "copy the files here, or count them with Spark where they lie"
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
        """The files that hold every row; None for a query and a view, which may compute rows from the clock."""
        return discreetly(self._files, lambda _: ENGINES["duckdb"].before)

    def count(self, counting: Counting) -> TableCounts:
        chosen, order = ", ".join(map(_quoted, counting.columns)), ""
        person = counting.unit.columns[0] if counting.unit.columns else None
        if person is not None:
            # Persons are sorted by numbers, or by the bytes of texts, whatever collation the column has.
            kind, name = self.kind(person), _quoted(person)
            text = is_text(getattr(kind, "value_type", kind))
            order = f" ORDER BY system.main.encode({name}::VARCHAR)" if text else f" ORDER BY {name}"
        try:
            with TemporaryDirectory(prefix="dpqr") as overflow:
                # Where the run may write, and how much it may hold while it sorts persons.
                settings = [f"temp_directory = {_literal(overflow)}"]
                if person is not None:
                    room = max(_LEAST_ROOM, counting.limits.memory // 4)
                    threads = min(os.cpu_count() or 1, room // _THREAD_ROOM)
                    settings += [f"memory_limit = '{room}B'", f"threads = {threads}"]
                replaced = self.address.query is not None and person is None
                with self._opened(*settings, replaced=replaced) as connection:
                    statement = f"SELECT {chosen} FROM {self._relation(connection)}{order}"
                    return counting.counted(
                        lambda: iter(connection.sql(statement).to_arrow_reader(2**17)), in_order=True
                    )
        except DpqrError:
            raise
        except Exception:
            if not self._of_parquet or self.address.query is not None:
                raise
            return self._counted_by_arrow(counting)

    def _counted_by_arrow(self, counting: Counting) -> TableCounts:
        """By Arrow's own reader of Parquet, where DuckDB ends, in as many passes as persons need.

        **Privacy** DuckDB ends at a text that is no UTF-8, and the exit code would tell of it. Arrow's reader hands it
        out, and its row is malformed. All other rows count as before: columns have the same types in both, and which
        rows of a person are kept is a function of these and of the key.
        """
        from pyarrow import parquet

        names, units = list(counting.columns), len(counting.unit.columns)
        files = [parquet.ParquetFile(file) for file in self._parquet()]
        for name, file in product(names, files):
            found, known = file.schema_arrow.field(name).type, self.kind(name)
            found = getattr(found, "value_type", found)
            if found != known and not (is_text(found) and is_text(known)):
                raise ValueError("the two readers could read a cell in two ways")

        def batches() -> Iterator[Any]:
            for file in files:
                yield from (
                    batch.select(names) for batch in file.iter_batches(counting.limits.batch_rows, columns=names)
                )

        rows = sum(file.metadata.num_rows for file in files)
        groups = person_groups(rows, counting.domain, counting.limits, names=units) if units else 1
        return counting.counted(batches, groups=groups)

    @property
    def _of_parquet(self) -> bool:
        return self.address.place.lower().endswith(_PARQUET)

    @property
    def _schema(self) -> tuple[tuple[str, Any], ...]:
        """Names and Arrow types of the columns; no row is read."""
        if not self._columns:
            self._columns = discreetly(self._described, lambda _: ENGINES["duckdb"].before)
        return self._columns

    def _described(self) -> tuple[tuple[str, Any], ...]:
        unoptimised = "enable_optimizer = false"  # else a scan of no row, LIMIT 0, is no part of the plan
        with self._opened(unoptimised) as connection:
            if self._stored(connection):
                columns = connection.execute(_COLUMNS, self._found(connection)).fetchall()
                return tuple((name, _arrow_type(kind)) for name, kind, _ in columns)
            found = connection.sql(f"SELECT * FROM {self._relation(connection)}")
            if any(scan in found.explain().upper() for scan in _GUESSING):
                raise ValueError("DuckDB guesses names and types of CSV and JSON from rows")
            return tuple((name, _arrow_type(str(kind))) for name, kind in zip(found.columns, found.types, strict=True))

    def _files(self) -> tuple[str, ...] | None:
        if self.address.query is not None:
            return None
        if self._of_parquet and self.address.table is None:
            return self._parquet()
        with self._opened() as connection:
            stored = self._stored(connection)
        place = self.address.place
        return tuple(filter(os.path.isfile, (place, f"{place}.wal"))) if stored else None

    def _relation(self, connection: Any) -> str:
        """SQL of the rows: a table by its full name, so that nothing else is found in its place."""
        if self.address.query is not None:
            import duckdb

            if [each.type for each in duckdb.extract_statements(self.address.query)] != [duckdb.StatementType.SELECT]:
                raise ValueError("a registered query is one SELECT, and nothing else")
            return f"({self.address.query.strip().rstrip(';')}\n) AS asked"
        if self.address.table is None:
            return SOURCE
        self._stored(connection)
        return ".".join(map(_quoted, (SOURCE, *self._found(connection))))

    def _stored(self, connection: Any) -> bool:
        """Whether every row lies in the database file, and nothing computes any. Raises: ValueError where that is not
        so, and the owner has not registered it."""
        if self.address.table is None:
            return False
        known = self._named(connection, _BASE_TABLES)
        generated = [made for found in known for *_, made in connection.execute(_COLUMNS, found).fetchall()]
        stored = bool(known) and not any(generated)
        if not stored and not self.address.registered:
            raise ValueError("no base table, or one with a generated column")
        return stored

    def _found(self, connection: Any) -> tuple[str, str]:
        """Schema and name of what the address means. Raises: ValueError where it means nothing, or two things."""
        views = self._named(connection, _VIEWS) if self.address.registered else []
        (found,) = self._named(connection, _BASE_TABLES) + views
        return found

    def _named(self, connection: Any, known: str) -> list[tuple[str, str]]:
        """Those that the address may mean; a name without a schema is in `main`."""
        name = (self.address.table or "").lower()
        names = (name, f"main.{name}")
        return [each for each in connection.execute(known).fetchall() if ".".join(each).lower() in names]

    def _parquet(self) -> tuple[str, ...]:
        """The files of the address, each once."""
        place = self.address.place
        files = (place,) if os.path.lexists(place) else tuple(files_matching(place))
        found = [os.stat(file) for file in files]
        if not files or not all(stat.S_ISREG(each.st_mode) for each in found):
            raise ValueError("no file, or what is none")
        if len({(each.st_dev, each.st_ino) for each in found}) < len(found):
            raise ValueError("a file is named twice, so its rows would count twice")
        return files

    @contextmanager
    def _opened(self, *settings: str, replaced: bool = False) -> Iterator[Any]:
        """A connection that can read this table's files and no other.

        replaced: a text of Parquet that is no UTF-8 has a question mark for each wrong byte. DuckDB would end there.

        **Privacy** The exit code of a query would tell of such a text; so it changes its own row's cell alone.
        Of a unit of persons nothing is replaced: the names of two could become one.
        """
        import duckdb

        with duckdb.connect(":memory:", config=_CLOSED) as connection:
            for setting in (*_SETTINGS, *settings):
                connection.execute(f"SET {setting}")
            if self._of_parquet:
                # The Parquet files, as the view `source`.
                files = f"[{', '.join(_literal(os.path.realpath(file)) for file in self._parquet())}]"
                connection.execute(f"SET allowed_paths = {files}")
                options = (
                    "hive_partitioning = false, hive_types_autocast = false, union_by_name = false, filename = false, "
                    f"utf8_validation = '{'replace' if replaced else 'strict'}'"
                )
                view = f"SELECT * FROM read_parquet({files}, {options})"
                connection.execute(f"CREATE TEMPORARY VIEW {SOURCE} AS {view}")
            elif self.address.place:
                # The database file, by a full path: no name of another program's database, and no address.
                place = os.path.realpath(self.address.place)
                if not os.path.isfile(place):
                    raise ValueError("no such file")
                connection.execute(f"ATTACH {_literal(place)} AS {SOURCE} (TYPE duckdb, READ_ONLY)")
                if self.address.registered:
                    connection.execute(f"USE {SOURCE}")
            for setting in _LOCKED:
                connection.execute(f"SET {setting}")
            yield connection


def _arrow_type(kind: str) -> Any:
    """Of DuckDB's name for a type; binary, which no column may have, for what is not read.

    A type is made in a connection of its own, from a name that has no part of the file's in it: of an enumeration its
    labels are left out.
    """
    import duckdb
    import pyarrow as pa

    if kind.startswith("ENUM("):
        return pa.dictionary(pa.uint8(), pa.string())
    if kind == '"NULL"':
        return pa.null()
    if not _PLAIN_TYPE.fullmatch(kind):
        return pa.binary()
    with duckdb.connect(":memory:", config=_CLOSED) as empty:
        try:
            return empty.sql(f"SELECT NULL::{kind} AS found").to_arrow_reader(1).schema.field(0).type
        except duckdb.Error:
            return pa.binary()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
