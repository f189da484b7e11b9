"""Parquet tables: the schema's contract, and the wanted columns as Arrow batches.

Types and names are public by declaration. The footer's statistics and the dictionaries are private and decide
nothing; its row count is only compared with the declared cap.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from dpqr.errors import DataError
from dpqr.io.tables.discreet import discreetly
from dpqr.io.tables.limits import Limits, is_bomb
from dpqr.io.tables.parquet_budget import ParquetBudget, chunks
from dpqr.io.tables.parquet_pages import BadPages
from dpqr.io.tables.source import TableFile

_BUFFER = 2**20
_TYPE_WIDTH = 60
_ROWS_A_BYTE = 32
"""A column of one value takes a row group of a million rows to some hundred bytes: 16,000 rows a byte are beyond it."""

Accepts = Callable[[Any], str | None]
"""Given an Arrow type: None if the column may have it, or else the types that it may have, in words."""


def parquet_schema(file: TableFile, columns: Mapping[str, Accepts], limits: Limits) -> Any:
    """The Arrow schema, which must hold `columns`; the footer's sizes must keep to the limits. Errors: DataError."""

    def look() -> Any:
        with _opened(file, columns, limits, coded=False) as table:
            return table.schema_arrow

    return discreetly(look, _explainer(file))


def parquet_batches(
    file: TableFile,
    columns: Mapping[str, Accepts],
    limits: Limits,
    progress: Callable[[int], None],
    *,
    spelt: str | None = None,
) -> Iterator[Any]:
    """Arrow record batches, one column a name in `columns`. Errors: DataError, constant in words.

    Texts stay in dictionary form where they can: it is faster to encode, and spelt out they could fill the memory.
    spelt: the column whose texts will be spelt out all the same.
    progress: is given the bytes of each row group that is begun; together they are the file's size.
    """
    explain, left = _explainer(file), file.bytes or 0
    with ExitStack() as stack:
        table = discreetly(lambda: stack.enter_context(_opened(file, columns, limits)), explain)
        budget = discreetly(lambda: _budget(file, table, limits, stack), explain)
        rows = _row_groups(table, list(columns), budget, spelt)
        while (found := discreetly(lambda: next(rows, None), explain)) is not None:
            batch, packed = found
            progress(min(left, packed))
            left -= min(left, packed)
            yield batch
    progress(left)


def _budget(file: TableFile, table: Any, limits: Limits, stack: ExitStack) -> ParquetBudget:
    from pyarrow import types

    descriptor = os.open(file.path, os.O_RDONLY)
    stack.callback(os.close, descriptor)
    coded = {field.name for field in table.schema_arrow if types.is_dictionary(field.type)}
    return ParquetBudget(file=file, descriptor=descriptor, coded=coded, limits=limits)


def _row_groups(table: Any, names: list[str], budget: ParquetBudget, spelt: str | None) -> Iterator[tuple[Any, int]]:
    """Batches, the first one of each row group with the packed bytes of what is read from that group."""
    for group in range(table.num_row_groups):
        footer = table.metadata.row_group(group)
        packed = sum(chunk.total_compressed_size for chunk in chunks(footer, set(names)))
        left, most = footer.num_rows, budget.rows(footer, set(names))
        for batch in table.iter_batches(batch_size=most, row_groups=[group], columns=names):
            if batch.schema.names != names:
                raise DataError("a column and a nested field of the table share one name; rename one of them")
            left -= batch.num_rows
            if left < 0:
                raise BadPages
            for piece in [batch] if spelt is None else budget.pieces(batch, spelt):
                yield piece, packed
                packed = 0


@contextmanager
def _opened(file: TableFile, columns: Mapping[str, Accepts], limits: Limits, *, coded: bool = True) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    with pa.OSFile(file.path, "rb") as raw:
        footer = parquet.read_metadata(raw)
        _check_sizes(file, footer, set(columns), limits)
        with parquet.ParquetFile(
            raw,
            metadata=footer,
            read_dictionary=_codable(footer, set(columns)) if coded else None,
            pre_buffer=False,
            buffer_size=_BUFFER,
            coerce_int96_timestamp_unit="us",
        ) as table:
            _check_schema(file, table.schema_arrow, columns)
            yield table


def _codable(footer: Any, names: set[str]) -> list[str]:
    """The columns that the decoder can keep in dictionary form: all but those with texts written as differences."""
    groups = (footer.row_group(group) for group in range(footer.num_row_groups))
    found = [(chunk.path_in_schema, chunk.encodings) for group in groups for chunk in chunks(group, names)]
    delta = {name for name, encodings in found if any("DELTA" in each for each in encodings)}
    return sorted({name for name, _ in found} - delta)


def _check_sizes(file: TableFile, footer: Any, names: set[str], limits: Limits) -> None:
    """Declared caps against the footer, before anything is decoded."""
    if footer.num_columns > limits.columns:
        raise DataError(f"{file.path} has more columns than the declared limit of {limits.columns}")
    groups = [footer.row_group(group) for group in range(footer.num_row_groups)]
    rows = [group.num_rows for group in groups]
    if footer.num_rows > limits.records or sum(rows) > limits.records:
        raise DataError(f"{file.path} has more rows than the declared limit; raise the limit on records")
    if sum(rows) != footer.num_rows or min(rows, default=0) < 0:
        raise BadPages
    if is_bomb((file.bytes or 0) * _ROWS_A_BYTE, footer.num_rows):
        raise DataError(f"{file.path} declares so many more rows than its size that it is refused; write it anew")
    sizes = [chunk.total_uncompressed_size for group in groups for chunk in chunks(group, names)]
    if min(sizes, default=0) < 0:
        raise BadPages
    if sum(sizes) > limits.bytes:
        raise DataError(f"{file.path} holds more bytes than the declared limit; raise the limit or split the table")


def _check_schema(file: TableFile, schema: Any, columns: Mapping[str, Accepts]) -> None:
    names = schema.names
    for name, accepts in columns.items():
        if name not in names:
            raise DataError(f"{file.path} has no column {name!r}; correct its name in the domain file or in the table")
        if names.count(name) > 1:
            raise DataError(f"{file.path} has the column {name!r} twice; keep one of them")
        found = schema.field(name).type
        allowed = accepts(found)
        if allowed is not None:
            raise DataError(
                f"{file.path}: column {name!r} has the Parquet type {str(found)[:_TYPE_WIDTH]}\n"
                f"the domain declares it such that it must hold {allowed}"
            )


def _explainer(file: TableFile) -> Callable[[Exception], str]:
    def explain(_: Exception) -> str:
        return f"{file.path} cannot be read as Parquet; it is damaged, cut short, or of a form that is not supported"

    return explain
