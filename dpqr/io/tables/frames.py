"""Tables in memory: a pandas DataFrame, or whatever hands out Arrow's C stream, as batches of Arrow columns.

They are read as Parquet is, by typed columns, with two rules more. A column of text is read as a CSV's is, whatever the
kind of the attribute. A column of floats whose kind takes none (labels, dates, persons) is read by its decimal text,
for pandas makes floats of whole numbers as soon as a cell is missing. So no missing cell decides whether a table fits.

The caller's table is never changed: arrays are shared with it where they can be, and only read.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dpqr.errors import DataError, UsageFault
from dpqr.io.tables.arrow_arrays import is_text
from dpqr.io.tables.file import Columns, Frame
from dpqr.io.tables.limits import Limits, constantly, discreetly
from dpqr.io.tables.pandas_columns import column_reader, without_values
from dpqr.io.tables.parquet.table import Accepts, check_columns, sifted
from dpqr.io.tables.row_encoder import Records

UNREADABLE = "the table in memory cannot be read to its end; what its library said may quote rows and is not shown"


def in_memory(table: object, name: str = "the table") -> Frame:
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


def check_frame(frame: Columns, columns: Mapping[str, Accepts], limits: Limits) -> None:
    """Names and types of the columns that will be read. Raises: DataError."""
    if len(frame.names) > limits.columns:
        raise DataError(f"{frame.name} has more columns than the declared limit of {limits.columns}")
    check_columns(frame.name, frame.names, frame.kind, {name: lenient(accepts) for name, accepts in columns.items()})


def frame_batches(
    frame: Frame,
    columns: Mapping[str, Accepts],
    limits: Limits,
    progress: Callable[[int], None],
    *,
    spelt: str | None = None,
) -> Iterator[Records]:
    """Arrow record batches, one column a name in `columns`.

    spelt: the column that says whose row it is; of it no text may be longer than a CSV row.
    progress: is given a part of the frame's bytes with each batch.
    """
    check_frame(frame, columns, limits)
    left = frame.size or 0
    for batch in frame.batches(tuple(columns), limits.batch_rows):
        share = min(left, int(batch.nbytes))
        progress(share)
        left -= share
        yield sifted(fitting(batch, columns), spelt, limits.row_bytes)
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
        return discreetly(
            lambda: _type(column_reader(without_values(series))(slice(None))),
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


def _type(cells: Any) -> Any:
    """Of cells that a record batch takes."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([cells], names=["cells"]).schema.field(0).type


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
