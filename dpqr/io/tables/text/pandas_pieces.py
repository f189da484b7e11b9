"""PandasPieces: pieces of CSV text become Arrow columns of text, read by pandas.

`pandas.read_csv` alone does not keep the grammar of `CsvRows`. It fills short rows up with empty cells, cuts long ones
off, ends a cell at a NUL, and has no limit on a row's length. So each line gets one more cell, a mark that no cell of
the piece holds: a row is as wide as the header exactly where the mark stands in the column after the last one. The
first line of each piece is one of marks alone, for a column with such a cell stays text: pandas reads those several
times faster than columns that are declared to be text. A piece is left to the standard library where a line end lies
inside quotes (pandas then finds fewer rows than lines, or a quote that is never closed), or where it holds a NUL, the
mark, or the character that stands for bytes that are no UTF-8.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray
from dpqr.io.tables.arrow_arrays import mask, numpy_values
from dpqr.io.tables.row_encoder import Records

_MARK = "\x7f"
_REPLACED = "\N{REPLACEMENT CHARACTER}"
_FOREIGN = (b"\0", _MARK.encode())
_EMPTY_LINES = re.compile(rb"\n\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PandasPieces:
    """width: cells of a row. names, places: of the wanted columns. most: bytes of the longest row.

    **Privacy** What pandas fails with depends on rows and reaches nobody: such a piece is read by the standard library,
    which gives the same cells.
    """

    width: int
    names: tuple[str, ...]
    places: Sequence[int]
    delimiter: str
    most: int

    def read(self, text: bytes) -> Records | None:
        """The records of a piece that begins where a row begins and ends in a line end; None: pandas cannot tell."""
        if self.delimiter == _MARK or any(each in text for each in _FOREIGN):
            return None
        lines, sizes = _lines(text)
        repaired = _repaired(lines)
        batch = None if repaired is None else self._batch(repaired)
        if batch is None or batch.num_rows != len(sizes):
            return None
        columns = [batch.column(str(place)) for place in self.places]
        good = _holds(batch.column(str(self.width)), _MARK) & (sizes <= self.most)
        if repaired is not lines:
            good = np.logical_and.reduce([good, *(~_holds(column, _REPLACED) for column in columns)])
        return self._records(columns, good)

    def of_rows(self, rows: Sequence[Sequence[str] | None]) -> Records:
        """The records of rows of cells, bytes that are no UTF-8 as surrogates; None: a row that cannot be read."""
        import pyarrow as pa

        found = [None if row is None else self._wanted(row) for row in rows]
        columns = list(zip(*filter(None, found), strict=True)) or [()] * len(self.names)
        bad = [place for place, cells in enumerate(found) if cells is None]
        batch = pa.RecordBatch.from_arrays([pa.array(cells, pa.large_string()) for cells in columns], list(self.names))
        return Records(batch, np.array(bad, dtype=np.int64))

    def _wanted(self, row: Sequence[str]) -> list[str] | None:
        """None: a malformed row."""
        cells = [row[place] for place in self.places] if len(row) == self.width else []
        return cells if cells and _is_utf8("".join(cells)) else None

    def _records(self, columns: list[Any], good: AnyArray) -> Records:
        import pyarrow as pa

        batch = pa.RecordBatch.from_arrays(columns, list(self.names))
        return Records(batch) if good.all() else Records(batch.filter(mask(good)), np.flatnonzero(~good))

    def _batch(self, lines: bytes) -> Any:
        """The wanted columns and the one after the last, by place, as text; None where pandas fails."""
        import pandas
        import pyarrow as pa

        wanted = [str(place) for place in (*self.places, self.width)]
        head = [map(str, range(self.width + 1)), [_MARK] * (self.width + 1)]
        marked = lines.replace(b"\n", f"{self.delimiter}{_MARK}\n".encode())
        text = "".join(self.delimiter.join(cells) + "\n" for cells in head).encode() + marked
        try:
            frame = pandas.read_csv(
                io.BytesIO(text), sep=self.delimiter, usecols=wanted, index_col=False, na_filter=False,
                keep_default_na=False, skip_blank_lines=False, low_memory=False, engine="c",
            )  # fmt: skip
            schema = pa.schema([(name, pa.large_string()) for name in wanted])
            return pa.RecordBatch.from_pandas(frame[wanted], schema, preserve_index=False, nthreads=1).slice(1)
        except Exception:  # whatever a row's content makes pandas raise is not shown, and decides nothing
            return None


def _lines(text: bytes) -> tuple[bytes, AnyArray]:
    """The text without its empty lines, each line ending in a newline, and the bytes of each line without it. Line ends
    inside quotes change, too, but no such piece is kept."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))
    sizes = np.diff(ends, prepend=-1) - 1
    if not sizes.all():
        text = _EMPTY_LINES.sub(b"\n", text).removeprefix(b"\n")
    return text, sizes[sizes > 0]


def _repaired(text: bytes) -> bytes | None:
    """The text with a sign in place of bytes that are no UTF-8; None where there are some and it holds that sign."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return None if _REPLACED.encode() in text else text.decode(errors="replace").encode()
    return text


def _holds(column: Any, sign: str) -> AnyArray:
    """Which cells hold a sign, shape (rows,)."""
    from pyarrow import compute

    return numpy_values(compute.match_substring(column, sign))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
