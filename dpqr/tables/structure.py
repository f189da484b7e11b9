"""Structure: what may be looked at before anything is paid: a table's files, columns and types, which no row changes.

Sizes of files and numbers of rows, a Parquet footer's among them, follow from rows: `load_table` looks at them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.cell_values import is_text
from dpqr.tables.csv_table import csv_names
from dpqr.tables.engines.known import refused_before
from dpqr.tables.files import TableColumns, TableFile
from dpqr.tables.foreign import Workbook
from dpqr.tables.frames import check_frame
from dpqr.tables.limits import Limits, constantly
from dpqr.tables.parquet import parquet_schema
from dpqr.tables.source import TableSource
from dpqr.tables.wanted import columns_to_read

if TYPE_CHECKING:
    from dpqr.tables.engines.engine import Engine


_ROW = PrivacyUnit()
T = TypeVar("T")


def check_table(source: TableSource, domain: Domain, limits: Limits, unit: PrivacyUnit = _ROW) -> None:
    """Check files, columns and types against the domain; no row is used. Raises: DataError on a structural fault, in
    constant words.

    **Privacy** Whatever this refuses is free of charge: between tables that differ in rows alone it does not differ.
    """
    import pyarrow as pa

    wanted = columns_to_read(domain, unit, source.count_column, source.period)
    # No document may move a record to another period, so texts of its column are read as ISO 8601 alone, and those of
    # another format would all be in none.
    dated = {} if source.period is None else {source.period.column: "--period"}
    if unit.per:
        dated.setdefault(unit.columns[-1], "--per")
    patterns = {attribute.name: attribute.spelling.pattern for attribute in domain.attributes}
    written = [(name, option, patterns[name]) for name, option in dated.items() if patterns.get(name) is not None]
    parts = [file if file.frame is None else file.frame for file in source.files()]
    for part in parts if source.engine is None else (_Structure(source.engine), *parts):
        if not isinstance(part, TableFile):
            check_frame(part, wanted, limits)
            where, kinds = part.name, {name: part.kind(name) for name in dated}
        elif part.kind == "csv":
            csv_names(part, tuple(wanted), limits)
            where, kinds = part.path, dict.fromkeys(dated, pa.string())
        else:
            schema = parquet_schema(part, wanted, limits)
            where, kinds = part.path, {name: schema.field(name).type for name in dated}
        for name, option, pattern in written:
            if is_text(getattr(kinds[name], "value_type", kinds[name])):
                raise DataError(
                    f"{where}: column {name!r} has the format {pattern!r} in the domain file, and {option} reads ISO "
                    "dates alone\nwrite them as 2024-03-05 in the table, and take the format out"
                )


def require_single_rows(source: TableSource) -> None:
    """UsageFault for a table of counts, where every record needs a part or a place of its own."""
    if source.count_column is not None:
        raise UsageFault(
            "--counts: a row that stands for many records has no part or place for each; give one row each"
        )


def require_places(source: TableSource) -> None:
    """UsageFault for an engine's table, where a row's slot would be its place among all rows.

    **Privacy** A query or a view may order rows by what they hold, and parts of a table are counted each by itself: one
    row more or less would move the slots of others.
    """
    if source.engine is not None:
        raise UsageFault(
            f"--learner online: rows of {source.engine.name} have no fixed places; name a column of public slots with "
            "--slots COLUMN, or give the table as a file"
        )


def column_types(source: TableSource) -> tuple[tuple[str, str], ...]:
    """Every column's name and Frictionless type ("any" in CSV, whose cells have none), to start a domain file with.

    Raises: DataError, among others where the first line of a CSV or a workbook looks like a row.
    """
    if source.from_stdin:
        raise UsageFault("a domain file is started from a file, not from standard input")
    if source.engine is not None:
        return _typed(_Structure(source.engine))
    first = source.files()[0]
    if isinstance(first.frame, Workbook):
        _refuse_row(first.path, first.frame.names)
    if first.frame is not None:
        return _typed(first.frame)
    if first.kind == "csv":
        names = csv_names(first, (), Limits())
        _refuse_row(first.path, names)
        return tuple((name, "any") for name in names)
    schema = parquet_schema(first, {}, Limits())
    _refuse_duplicates(first.path, schema.names)
    return tuple((field.name, frictionless_type(field.type)) for field in schema)


class _Structure(Struct, frozen=True):
    """Names and types of an engine's columns; where the engine refuses, one sentence for each engine."""

    engine: Engine

    @property
    def name(self) -> str:
        return self._said(lambda: str(self.engine.name))

    @property
    def names(self) -> tuple[str, ...]:
        return self._said(lambda: tuple(map(str, self.engine.names)))

    def kind(self, name: str) -> Any:
        return self._said(lambda: self.engine.kind(name))

    def _said(self, look: Callable[[], T]) -> T:
        return constantly(look, refused_before(self.engine))


def _typed(frame: TableColumns) -> tuple[tuple[str, str], ...]:
    _refuse_duplicates(frame.name, frame.names)
    return tuple((name, frictionless_type(frame.kind(name))) for name in frame.names)


def frictionless_type(kind: Any) -> str:
    """The domain file's word for an Arrow type; "any" where it has none."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return frictionless_type(kind.value_type)
    named = {
        "boolean": types.is_boolean,
        "integer": types.is_integer,
        "number": lambda each: types.is_floating(each) or types.is_decimal(each),
        "date": types.is_date,
        "datetime": types.is_timestamp,
        "string": is_text,
    }
    return next((name for name, holds in named.items() if holds(kind)), "any")


def _refuse_row(path: str, names: Sequence[str]) -> None:
    """DataError where the first line of a CSV or a workbook looks like a row. Nothing of it is quoted: a row is
    private. The first name may be empty: that is how tables with row numbers are often written."""
    values = 0
    for cell in names:
        for read in (float, datetime.fromisoformat):
            with suppress(ValueError):
                read(cell.strip())
                values += 1
    if len(set(names)) < len(names) or not all(names[1:]) or values:
        raise DataError(
            f"{path}: its first line has a number, a date, an empty cell or a cell twice, so it may be a row "
            "and not the names\nname each column once in the first line, or write the domain file by hand"
        )


def _refuse_duplicates(where: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"{where} has the column {name!r} twice; keep one of them")
        seen.add(name)
