"""Parquet tables: the schema's contract, and the wanted columns as Arrow batches.

Types and names are public by declaration. The footer's statistics and the dictionaries are private and decide
nothing; its sizes and row counts are private too, and are compared with the declared caps once the run is paid for.
Rows that cannot be read are malformed, as they are in CSV.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray
from dpqr.errors import DataError
from dpqr.io.tables.arrow_arrays import is_text, mask, numpy_values
from dpqr.io.tables.file import TableFile
from dpqr.io.tables.limits import Limits, discreetly
from dpqr.io.tables.parquet.footer import BadParquet, Footer, read_footer
from dpqr.io.tables.parquet.pages import ParquetBudget
from dpqr.io.tables.row_encoder import Records


def sifted(batch: Any, unit: str | None, longest: int) -> Records:
    """The rows of an Arrow batch all of whose texts are UTF-8, and whose text in column `unit` has at most `longest`
    bytes. Arrow itself takes any bytes for a text, and some of its functions fail on others than UTF-8."""
    good = np.ones(batch.num_rows, dtype=bool)
    for place, name in enumerate(batch.schema.names):
        unreadable = _unreadable(batch.column(place), longest if name == unit else None)
        if unreadable is not None:
            good &= ~unreadable
    return Records(batch) if good.all() else Records(batch.filter(mask(good)), np.flatnonzero(~good))


def _unreadable(cells: Any, longest: int | None) -> AnyArray | None:
    """Which rows hold such a text, shape (rows,); None: none does. A dictionary's entries count where rows use them."""
    from pyarrow import types

    if not types.is_dictionary(cells.type):
        return _bad_texts(cells, longest)
    bad = _bad_texts(cells.dictionary, longest)
    if bad is None:
        return None
    found: AnyArray = np.append(bad, False)[numpy_values(cells.indices.cast("int64"), len(bad))]
    return found


def _bad_texts(texts: Any, longest: int | None) -> AnyArray | None:
    """Which of these values are no UTF-8 or too long; None: none is, or they are no texts."""
    from pyarrow import compute

    if not is_text(texts.type):
        return None
    bad = np.zeros(len(texts), dtype=bool)
    if longest is not None:
        bad |= numpy_values(compute.binary_length(texts)) > longest
    if not _is_utf8(texts):
        bad |= np.array([value is not None and not _decodes(value) for value in _bytes(texts)], dtype=bool)
    return bad if bad.any() else None


def _is_utf8(texts: Any) -> bool:
    """Whether Arrow finds nothing else in all of them."""
    import pyarrow as pa

    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _bytes(texts: Any) -> list[bytes | None]:
    import pyarrow as pa
    from pyarrow import types

    wide = pa.binary_view() if types.is_string_view(texts.type) else pa.large_binary()
    found: list[bytes | None] = texts.cast(wide).to_pylist()
    return found


def _decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


_BUFFER = 2**20
_TYPE_WIDTH = 60

Accepts = Callable[[Any], str | None]
"""Given an Arrow type: None if the column may have it, or else the types that it may have, in words."""


def parquet_schema(file: TableFile, columns: Mapping[str, Accepts], limits: Limits) -> Any:
    """The Arrow schema, which must hold `columns`; nothing else in the footer is looked at. Raises: DataError."""

    def look() -> Any:
        with _raw(file) as raw:
            schema = _known(file, raw, limits).schema.to_arrow_schema()
        check_columns(file.path, schema.names, lambda name: schema.field(name).type, columns, form="Parquet type")
        return schema

    return discreetly(look, _explainer(file))


def parquet_batches(
    file: TableFile,
    columns: Mapping[str, Accepts],
    limits: Limits,
    progress: Callable[[int], None],
    *,
    spelt: str | None = None,
) -> Iterator[Records]:
    """Arrow record batches, one column a name in `columns`. Raises: DataError, constant in words.

    Texts stay in dictionary form where they can: it is faster to encode, and spelt out they could fill the memory.
    spelt: the column whose texts will be spelt out all the same.
    progress: is given the bytes of each row group that is begun; together they are the file's size.
    """
    explain, left = _explainer(file), file.bytes or 0
    with ExitStack() as stack:
        table, footer = discreetly(lambda: stack.enter_context(_opened(file, columns, limits)), explain)
        budget = discreetly(lambda: _budget(file, table, limits, stack), explain)
        rows = _row_groups(table, footer, list(columns), budget, spelt)
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


def _row_groups(
    table: Any, footer: Footer, names: list[str], budget: ParquetBudget, spelt: str | None
) -> Iterator[tuple[Records, int]]:
    """Batches, the first one of each row group with the packed bytes of what is read from that group."""
    for place, group in enumerate(footer.groups):
        packed = sum(chunk.packed for chunk in group.chunks)
        left, most = group.rows, budget.rows(group)
        for batch in table.iter_batches(batch_size=most, row_groups=[place], columns=names):
            if batch.schema.names != names:
                raise DataError("a column and a nested field of the table share one name; rename one of them")
            left -= batch.num_rows
            if left < 0:
                raise BadParquet
            for piece in [batch] if spelt is None else budget.pieces(batch, spelt):
                yield sifted(piece, spelt, budget.limits.row_bytes), packed
                packed = 0


def _raw(file: TableFile) -> Any:
    import pyarrow as pa

    return pa.OSFile(os.fsencode(file.path), "rb")  # as bytes: names need not be UTF-8


def _known(file: TableFile, raw: Any, limits: Limits) -> Any:
    """Arrow's metadata of the file."""
    from pyarrow import parquet

    known = parquet.read_metadata(raw)
    if known.num_columns > limits.columns:
        raise DataError(f"{file.path} has more columns than the declared limit of {limits.columns}")
    return known


@contextmanager
def _opened(file: TableFile, columns: Mapping[str, Accepts], limits: Limits) -> Iterator[tuple[Any, Footer]]:
    from pyarrow import parquet

    with _raw(file) as raw:
        known = _known(file, raw, limits)
        leaves = [known.schema.column(place).path for place in range(known.num_columns)]
        footer = _footer(file, leaves, set(columns))
        _check_sizes(file, footer, limits)
        with parquet.ParquetFile(
            raw,
            metadata=known,
            read_dictionary=_codable(footer),
            pre_buffer=False,
            buffer_size=_BUFFER,
            coerce_int96_timestamp_unit="us",
        ) as table:
            schema = table.schema_arrow
            check_columns(file.path, schema.names, lambda name: schema.field(name).type, columns, form="Parquet type")
            yield table, footer


def _footer(file: TableFile, leaves: list[str], wanted: set[str]) -> Footer:
    descriptor = os.open(file.path, os.O_RDONLY)
    try:
        return read_footer(descriptor, leaves, wanted)
    finally:
        os.close(descriptor)


def _codable(footer: Footer) -> list[str]:
    """The columns that the decoder can keep in dictionary form: all but those with texts written as differences."""
    chunks = [chunk for group in footer.groups for chunk in group.chunks]
    return sorted({chunk.name for chunk in chunks} - {chunk.name for chunk in chunks if chunk.delta})


def _check_sizes(file: TableFile, footer: Footer, limits: Limits) -> None:
    """Declared caps against the footer, before anything is decoded."""
    rows = sum(group.rows for group in footer.groups)
    limits.require_records(max(footer.rows, rows))
    if rows != footer.rows:
        raise BadParquet
    if limits.is_crowd(file.bytes or 0, rows):
        raise DataError(
            f"{file.path} has more than 32 rows for each of its bytes; state --max-records if that is meant"
        )
    limits.require_bytes(sum(chunk.unpacked for group in footer.groups for chunk in group.chunks))


def check_columns(
    where: str,
    names: Sequence[str],
    kind: Callable[[str], Any],
    columns: Mapping[str, Accepts],
    *,
    form: str = "type",
) -> None:
    """That each of `columns` is there once, of a type that it may have. kind: the Arrow type of a column, by its name.
    where: what messages call the table.

    Raises: DataError.
    """
    times = Counter(names)
    for name, accepts in columns.items():
        if not times[name]:
            raise DataError(
                f"{where} has no column {name!r}; correct its name in the table, or where it is stated (domain "
                "file, --unit, --counts)"
            )
        if times[name] > 1:
            raise DataError(f"{where} has the column {name!r} twice; keep one of them")
        found = kind(name)
        allowed = accepts(found)
        if allowed is not None:
            raise DataError(
                f"{where}: column {name!r} has the {form} {str(found)[:_TYPE_WIDTH]}\n"
                f"the domain declares it such that it must hold {allowed}"
            )


def _explainer(file: TableFile) -> Callable[[Exception], str]:
    def explain(_: Exception) -> str:
        return f"{file.path} cannot be read as Parquet; it is damaged, cut short, or of a form that is not supported"

    return explain
