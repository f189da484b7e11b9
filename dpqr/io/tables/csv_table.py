"""CSV tables: the header's contract, and the cells of the wanted columns as text.

Every column is read as text, for a type guessed from the first rows would be a function of private values. Empty
lines are no rows. Encoding, quoting and the number of cells in a row are the file's structure: they fail the run.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dpqr.errors import DataError
from dpqr.io.tables.discreet import discreetly
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import STDIN, TableFile
from dpqr.io.tables.text_stream import TextStream

_SEAL = "\x1aend"
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PARQUET_MAGIC = b"PAR1"


def csv_names(file: TableFile, columns: Sequence[str], limits: Limits) -> tuple[str, ...]:
    """The column names in the header, which must hold `columns`; nothing beyond it is used. Errors: DataError."""

    def look() -> tuple[str, ...]:
        with TextStream(file, limits) as stream:
            return tuple(_header(stream, file, columns, limits))

    return discreetly(look, _explainer(file, limits))


def csv_batches(
    file: TableFile, columns: Sequence[str], limits: Limits, progress: Callable[[int], None]
) -> Iterator[Any]:
    """Arrow record batches of text, one column a name in `columns`. Errors: DataError, constant in words.

    progress: is given the number of bytes that were read since it was last called.
    """
    explain = _explainer(file, limits)
    stream = discreetly(lambda: TextStream(file, limits), explain)
    with stream:
        header = discreetly(lambda: _header(stream, file, columns, limits), explain)
        stream.seal(file.delimiter.join([_SEAL] * len(header)).encode())
        reader = discreetly(lambda: _reader(stream, file.delimiter, columns, limits), explain)
        with reader:
            reported, held = 0, None
            while (batch := discreetly(lambda: next(reader, None), explain)) is not None:
                progress(stream.taken - reported)
                reported = stream.taken
                if batch.num_rows:
                    if held is not None:
                        yield held
                    held = batch
            progress(stream.taken - reported)
            yield discreetly(lambda: _unsealed(held, file), explain)


def _header(stream: TextStream, file: TableFile, columns: Sequence[str], limits: Limits) -> list[str]:
    """The names in the first line, which must hold every wanted column once. They are never shown: where the header
    is missing or the delimiter is wrong, that line is a private row.
    """
    where = "the table on standard input" if file.path == STDIN else file.path
    head = stream.head(limits.row_bytes)
    if head.startswith(_WIDE_BOMS):
        raise DataError(f"{where} is not UTF-8 text; convert it to UTF-8")
    if head.startswith(_PARQUET_MAGIC):
        raise DataError(f"{where} is Parquet, not CSV; give Parquet as a file that ends in .parquet")
    text = codecs.getincrementaldecoder("utf-8-sig")(errors="replace").decode(head)
    names = next(filter(None, csv.reader(io.StringIO(text, newline=""), delimiter=file.delimiter)), None)
    if names is None:
        raise DataError(f"{where} is empty: it has no header line; name the columns in the first line")
    if len(names) > limits.columns:
        raise DataError(f"{where} has more columns than the declared limit of {limits.columns}")
    times = Counter(names)
    for name in columns:
        if not times[name]:
            raise DataError(
                f"{where} has no column {name!r} in its first line, read with the delimiter {file.delimiter!r}\n"
                "name another with --delimiter, or correct the column's name in the domain file"
            )
        if times[name] > 1:
            raise DataError(f"{where} has the column {name!r} twice; keep one of them")
    return names


def _reader(stream: TextStream, delimiter: str, columns: Sequence[str], limits: Limits) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    return arrow_csv.open_csv(
        pa.PythonFile(stream, mode="r"),
        read_options=arrow_csv.ReadOptions(block_size=limits.row_bytes),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in columns},
            include_columns=list(columns),
            strings_can_be_null=False,
        ),
    )


def _unsealed(batch: Any, file: TableFile) -> Any:
    """The last batch without the seal row; a quote that was never closed has swallowed that row."""
    last = [] if batch is None else [column[-1].as_py() for column in batch.columns]
    if any(cell != _SEAL for cell in last) or not last:
        raise DataError(f"{file.path}: a quote is never closed, or the header is broken; mend the quoting")
    return batch.slice(0, batch.num_rows - 1)


def _explainer(file: TableFile, limits: Limits) -> Callable[[Exception], str]:
    """Chooses a constant message by the kind of fault; nothing of the parser's own words is passed on."""
    where = "the table on standard input" if file.path == STDIN else file.path

    def explain(failure: Exception) -> str:
        told = str(failure)
        if isinstance(failure, EOFError | OSError) or type(failure).__module__ == "zlib":
            return f"{where} cannot be read to its end; if it is packed by gzip, it is cut short or damaged"
        if "Expected" in told and "columns, got" in told:
            return f"{where} has a row with more or fewer cells than the header; mend its quoting or its delimiter"
        if "straddling" in told:
            return f"{where} has a row longer than {limits.row_bytes} bytes, or a quote that is never closed"
        if "UTF8" in told:
            return f"{where} is not UTF-8 text; convert it to UTF-8"
        return f"{where} cannot be read as CSV; check the delimiter, the header and the quoting"

    return explain
