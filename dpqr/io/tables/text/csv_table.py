"""CSV tables: the header's contract, and the cells of the wanted columns as text.

Every column is read as text, for a type guessed from the first rows would be a function of private values. Empty
lines are no rows. Rows that cannot be read are malformed (`CsvRows`); what becomes of them is a rule of the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from dpqr.errors import DataError
from dpqr.io.tables.discreet import discreetly
from dpqr.io.tables.limits import BYTES, Limits
from dpqr.io.tables.records import Records
from dpqr.io.tables.source import STDIN, TableFile
from dpqr.io.tables.text.csv_rows import CsvRows
from dpqr.io.tables.text.stream import TextStream


def csv_names(file: TableFile, columns: Sequence[str], limits: Limits) -> tuple[str, ...]:
    """The column names in the header, which must hold `columns`. Errors: DataError.

    **Privacy** Free of charge, for no row is looked at: the piece of the file that holds the header is held to no limit
    on bytes, which rows in it could break.
    """

    def look() -> tuple[str, ...]:
        with TextStream(file, replace(limits, bytes=BYTES), look=True) as stream:
            return tuple(_header(_rows(stream, file, limits), file, columns, limits))

    return discreetly(look, _explainer(file))


def csv_batches(
    file: TableFile, columns: Sequence[str], limits: Limits, progress: Callable[[int], None]
) -> Iterator[Records]:
    """Batches of text, one column a name in `columns`. Errors: DataError, constant in words.

    progress: is given the number of bytes that were read since it was last called.
    """
    explain = _explainer(file)
    with discreetly(lambda: TextStream(file, limits), explain) as stream:
        rows, reported = _rows(stream, file, limits), 0
        header = discreetly(lambda: _header(rows, file, columns, limits), explain)
        pieces = rows.records(header, columns)
        while (found := discreetly(lambda: next(pieces, None), explain)) is not None:
            progress(stream.taken - reported)
            reported = stream.taken
            if found.count:
                yield found


def _rows(stream: TextStream, file: TableFile, limits: Limits) -> CsvRows:
    return CsvRows(stream=stream, delimiter=file.delimiter, most=limits.row_bytes, where=_where(file))


def _where(file: TableFile) -> str:
    return "the table on standard input" if file.path == STDIN else file.path


def _header(rows: CsvRows, file: TableFile, columns: Sequence[str], limits: Limits) -> list[str]:
    """The names in the first line, which must hold every wanted column once. They are never shown: where the header
    is missing or the delimiter is wrong, that line is a private row.
    """
    names, where = rows.header(), _where(file)
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


def _explainer(file: TableFile) -> Callable[[Exception], str]:
    """Chooses a constant message by the kind of fault; nothing of the failure's own words is passed on."""
    where = _where(file)

    def explain(failure: Exception) -> str:
        if isinstance(failure, EOFError | OSError) or type(failure).__module__ == "zlib":
            return f"{where} cannot be read to its end; if it is packed by gzip, it is cut short or damaged"
        return f"{where} cannot be read as CSV; check the delimiter, the header and the quoting"

    return explain
