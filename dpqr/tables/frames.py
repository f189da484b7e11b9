"""Tables in memory: a pandas DataFrame, or whatever hands out Arrow's C stream, as batches of Arrow columns.

They are read as Parquet is, by typed columns, with two rules more. A column of text is read as a CSV's is, whatever the
kind of the attribute. A column of floats whose kind takes none (labels, dates, persons) is read by its decimal text,
for pandas makes floats of whole numbers as soon as a cell is missing. So no missing cell decides whether a table fits.

The caller's table is never changed: arrays are shared with it where they can be, and only read.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from dpqr.kernel.arrays import AnyArray
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.tables.cell_values import is_text
from dpqr.tables.encoders import TableBatch
from dpqr.tables.files import InMemoryTable, TableColumns
from dpqr.tables.limits import Limits, constantly, discreetly
from dpqr.tables.parquet import Accepts, check_columns, drop_malformed_rows

UNREADABLE = "the table in memory cannot be read to its end; what its library said may quote rows and is not shown"


def in_memory(table: object, name: str = "the table") -> InMemoryTable:
    """The caller's table as a Frame. Raises: UsageFault for what is none."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(table, pandas.DataFrame):
        return PandasFrame(table, name)
    if hasattr(table, "__arrow_c_stream__"):
        return StreamFrame(table, name)
    raise UsageFault(
        f"{name}: {type(table).__name__} is no table; give a pandas DataFrame, a table with Arrow's C stream "
        "interface (pyarrow, polars, DuckDB), or the path of a file"
    )


def check_frame(frame: TableColumns, columns: Mapping[str, Accepts], limits: Limits) -> None:
    """Names and types of the columns that will be read. Raises: DataError."""
    if len(frame.names) > limits.columns:
        raise DataError(f"{frame.name} has more columns than the declared limit of {limits.columns}")
    check_columns(frame.name, frame.names, frame.kind, {name: lenient(accepts) for name, accepts in columns.items()})


def frame_batches(
    frame: InMemoryTable,
    columns: Mapping[str, Accepts],
    limits: Limits,
    progress: Callable[[int], None],
    *,
    spelt: Collection[str] = (),
) -> Iterator[TableBatch]:
    """Arrow record batches, one column a name in `columns`.

    spelt: the columns that say whose row it is; of them no text may be longer than a CSV row.
    progress: is given a part of the frame's bytes with each batch.
    """
    check_frame(frame, columns, limits)
    left = frame.size or 0
    for batch in frame.batches(tuple(columns), limits.batch_rows):
        share = min(left, int(batch.nbytes))
        progress(share)
        left -= share
        yield drop_malformed_rows(fitting(batch, columns), spelt, limits.row_bytes)
    progress(left)


def lenient(accepts: Accepts) -> Accepts:
    """Also lets texts and floating-point numbers pass, which `fitting` makes of them."""

    def refused(kind: Any) -> str | None:
        from pyarrow import types

        plain = kind.value_type if types.is_dictionary(kind) else kind
        return None if is_text(plain) or types.is_floating(plain) else accepts(kind)

    return refused


def fitting(batch: Any, columns: Mapping[str, Accepts]) -> Any:
    """The batch with every column in a form that its encoder takes."""
    import pyarrow as pa

    cells = [_column(batch.column(place), accepts) for place, accepts in enumerate(columns.values())]
    return pa.RecordBatch.from_arrays(cells, names=list(columns))


def _column(cells: Any, accepts: Accepts) -> Any:
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(cells.type):
        fitting = _column(cells.dictionary, accepts)
        return cells if fitting is cells.dictionary else pa.DictionaryArray.from_arrays(cells.indices, fitting)
    if types.is_string_view(cells.type):
        return cells.cast(pa.large_string())
    if types.is_floating(cells.type) and accepts(cells.type) is not None:
        return _decimal_text(cells)
    return cells


def _decimal_text(cells: Any) -> Any:
    """Floats as text, whole ones as whole numbers are written; NaN is null. Equal numbers have equal texts."""
    import pyarrow as pa
    from pyarrow import compute

    cells = cells.cast(pa.float64())
    whole = compute.and_(compute.equal(compute.floor(cells), cells), compute.less(compute.abs(cells), 2.0**63))
    integers = compute.if_else(whole, cells, None).cast(pa.int64()).cast(pa.large_string())
    known = compute.if_else(compute.is_nan(cells), None, cells)
    return compute.coalesce(integers, known.cast(pa.large_string()))


@dataclass(frozen=True, slots=True)
class PandasFrame:
    """A DataFrame; its index is no column."""

    frame: Any = field(repr=False)
    name: str = "the table"
    repeatable: bool = field(default=True, init=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, self.frame.columns))

    @property
    def size(self) -> int | None:
        return int(self.frame.memory_usage(index=False).sum())

    def kind(self, name: str) -> Any:
        """Of the column as it is read. Cells that are missing are read as later the column is, before anything is paid:
        what Arrow cannot take is found here."""
        series = self._series(name)

        def look() -> Any:
            import pyarrow as pa

            cells = column_reader(without_values(series))(slice(None))
            return pa.RecordBatch.from_arrays([cells], names=["cells"]).schema.field(0).type  # of what a batch takes

        return discreetly(
            look,
            lambda _: f"{self.name}: column {name!r} has the type {series.dtype}, which Arrow lacks; convert it",
        )

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        import pyarrow as pa

        readers = [column_reader(self._series(name)) for name in names]
        for start in range(0, len(self.frame), rows):
            part = slice(start, start + rows)
            arrays = constantly(partial(_read, readers, part), UNREADABLE)
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))

    def digest(self) -> bytes:
        """Of names, types and cells. A column that pandas cannot hash counts by its name and type alone; no attribute
        could be read from it by value."""
        from pandas.util import hash_pandas_object

        found = hashlib.sha256(
            repr([len(self.frame), *zip(self.names, map(str, self.frame.dtypes), strict=True)]).encode()
        )
        for place in range(self.frame.shape[1]):
            with suppress(TypeError):
                found.update(hash_pandas_object(self.frame.iloc[:, place], index=False).to_numpy().tobytes())
        return found.digest()

    def _series(self, name: str) -> Any:
        return self.frame.iloc[:, self.names.index(name)]


def _read(readers: Sequence[Callable[[slice], Any]], part: slice) -> list[Any]:
    return [read(part) for read in readers]


@dataclass(slots=True)
class StreamFrame:
    """Whatever hands out Arrow's C stream. It is asked for once, and read once, as standard input is."""

    table: Any = field(repr=False)
    name: str = "the table"
    repeatable: bool = field(default=False, init=False)
    size: int | None = field(default=None, init=False)
    _opened: Any = field(default=None, init=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._reader.schema.names)

    def kind(self, name: str) -> Any:
        return self._reader.schema.field(name).type

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        rest = iter(self._reader)
        while (batch := constantly(lambda: next(rest, None), UNREADABLE)) is not None:
            chosen = batch.select(list(names))
            for start in range(0, batch.num_rows, rows):
                yield chosen.slice(start, rows)

    def digest(self) -> bytes:
        raise UsageFault(f"{self.name} is a stream, which cannot be read twice")

    @property
    def _reader(self) -> Any:
        if self._opened is None:
            self._opened = constantly(
                self._stream, f"{self.name}: its Arrow stream is none of a table; give a table, not a column of one"
            )
        return self._opened

    def _stream(self) -> Any:
        import pyarrow as pa

        table = self.table
        return table if isinstance(table, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(table)


# Columns of pandas as Arrow arrays.
#
# A column of Python objects is text, whatever it holds, so that no cell decides its type. Each cell is what a CSV
# would hold: whole numbers, decimals, true and false, ISO dates; None, NaN, NaT and pandas.NA are null; an object
# of any other type is a text that nothing is called.
#
# From pandas 3 on a column of Arrow cells that was put together of several (`pandas.concat`) is handed out in chunks.

Reader = Callable[[slice], Any]
"""Rows of one column as an Arrow array."""
_LARGEST = 10**40
"""Larger whole numbers are no cells: Python prints none of more than 4,300 digits."""


def column_reader(series: Any) -> Reader:
    """How a column of pandas is read. What does not depend on the slice is made once."""
    import pandas

    kind = series.dtype
    if isinstance(kind, pandas.CategoricalDtype):
        categories = column_reader(kind.categories.to_series())(slice(None))
        return lambda part: _dictionary(series.array.codes[part], categories)
    if isinstance(kind, pandas.IntervalDtype):
        return lambda part: _texts(series.iloc[part].astype(str).to_numpy(dtype=object))
    if isinstance(kind, pandas.SparseDtype):
        return lambda part: _array(series.iloc[part].sparse.to_dense())
    if isinstance(kind, pandas.StringDtype):

        def strings(part: slice) -> Any:
            """Arrow takes pandas' own texts as they are, but for those that no UTF-8 can hold."""
            try:
                return _array(series.iloc[part])
            except UnicodeError:
                return _texts(series.iloc[part].to_numpy(dtype=object))

        return strings
    if kind == np.dtype(object):
        return lambda part: _texts(series.iloc[part].to_numpy())
    return lambda part: _array(series.iloc[part])


def without_values(series: Any) -> Any:
    """Two rows of the column's type in which every cell is missing, put together of two columns; none where the type
    has no missing cell. What reads them reads the column: its type is structure, and its values are not looked at."""
    import pandas

    try:
        missing = pandas.Series([None], dtype=series.dtype)
    except Exception:  # of a third party's type, or of whole numbers
        return series.iloc[:0]
    return pandas.concat([missing, missing], ignore_index=True)


def _array(cells: Any) -> Any:
    """Cells of pandas as one Arrow array.

    Chunks of texts are joined with 64-bit offsets: no length of a cell may decide whether there is room for them.
    """
    import pyarrow as pa
    from pyarrow import types

    found = pa.array(cells, from_pandas=True)
    if not isinstance(found, pa.ChunkedArray):
        return found
    plain = found.type.value_type if types.is_dictionary(found.type) else found.type
    wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(plain, plain)
    return found.cast(wide).combine_chunks()


def _dictionary(codes: AnyArray, categories: Any) -> Any:
    import pyarrow as pa

    missing = codes < 0
    indices = pa.array(codes, mask=missing) if missing.any() else pa.array(codes)
    return pa.DictionaryArray.from_arrays(indices, categories)


def _texts(cells: AnyArray) -> Any:
    """Python objects as texts; those that cannot be written in UTF-8 are bytes that are none, so that their rows are
    malformed.

    **Privacy** Nothing of pandas compares texts here: up to version 3.0 its hash tables end a text at its first NUL, so
    that the first of two such texts stood in the rows of both, and one row decided the cells of all others.
    """
    import pandas
    import pyarrow as pa

    with suppress(Exception):  # also what an object of somebody else's type raises
        return pa.array(cells, type=pa.large_string(), from_pandas=True)
    try:
        missing = pandas.isna(cells)
    except Exception:
        missing = [_is_missing(cells[place : place + 1]) for place in range(len(cells))]
    # Each as a CSV would hold it. Any object has some text, for none may end a run.
    found = []
    for cell, gone in zip(cells, missing, strict=True):
        text = cell_text(cell).encode("utf-8", "surrogatepass")
        with suppress(Exception):
            text = bytes(cell) if isinstance(cell, bytes | bytearray | memoryview) else text  # for Arrow they are texts
        found.append(None if gone else text)
    return pa.array(found, type=pa.large_binary()).view(pa.large_string())


def _is_missing(cell: AnyArray) -> bool:
    """Whether a cell, an array of one object, is missing; a signalling NaN, which cannot be compared, is."""
    import pandas

    try:
        return bool(pandas.isna(cell)[0])
    except Exception:
        return isinstance(cell[0], Decimal)


def cell_text(cell: object) -> str:
    """A Python object as the text of a CSV's cell. A type of somebody else's may raise whatever is asked of it."""
    with suppress(Exception):
        if isinstance(cell, str):
            return str.__str__(cell)
        if isinstance(cell, bool | np.bool_):
            return "true" if cell else "false"
        if isinstance(cell, Integral) and not isinstance(cell, np.timedelta64) and abs(int(cell)) < _LARGEST:
            return str(int(cell))
        if isinstance(cell, float | np.floating):
            value = float(cell)
            return str(int(value)) if value.is_integer() else repr(value)
        if isinstance(cell, date):
            return cell.isoformat()
        if isinstance(cell, Decimal | np.datetime64):
            return str(cell)
    return f"<{type(cell).__name__}>"
