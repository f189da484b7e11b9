"""CSV tables: the header's contract, and the records as columns of text.

Every column is read as text, for a type guessed from the first rows would be a function of private values. A record is
what the grammar makes of the text: empty lines are none, a line end inside quotes ends none, and a quote that is never
closed makes one record of all that follows. A record is malformed that has more or fewer cells than the header, is
longer than the limit, holds in a wanted cell what is no text in the table's encoding, or does not end; what becomes of
it is a rule of the table. Every record counts alike however the stream is cut into pieces.

pandas reads each piece (`PandasPieces`). The standard library's reader reads, row by row, the pieces that pandas does
not read by this grammar: the two give the same cells wherever both are used.
"""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from dpqr.errors import DataError
from dpqr.io.tables.file import STDIN, TableFile
from dpqr.io.tables.limits import BYTES, Limits, discreetly
from dpqr.io.tables.row_encoder import Records
from dpqr.io.tables.text.encoding import ByteStream, Recoded
from dpqr.io.tables.text.pandas_pieces import PandasPieces
from dpqr.io.tables.text.stream import LongRow, TextStream
from dpqr.privacy.policy import UTF_8

HEADER_BYTES, PIECE_BYTES = 2**15, 2**22
"""Bytes that are read at a time, in search of the header's end and after it."""
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PARQUET_MAGIC = b"PAR1"
_LONGEST_CELL = 2**31 - 1
"""Above all that is ever held; the standard library counts in C's `long`."""


@dataclass(slots=True)
class CsvRows:
    """Rows of `stream`, whose cells lie between `delimiter`. most: bytes of the longest row. where: names the table.

    Raises: DataError, constant in words, for what is no CSV with a header; OSError, EOFError and zlib's where the
    stream cannot be read. No row after the header raises any.
    """

    stream: ByteStream
    delimiter: str
    most: int
    where: str
    _held: bytes = field(default=b"", repr=False)
    _ended: bool = False

    def __post_init__(self) -> None:
        # The standard library has one limit for all readers of a process; rows have their own.
        csv.field_size_limit(_LONGEST_CELL)

    def header(self) -> list[str]:
        """The cells of the first row, any bytes in it; to be called once, before `records`."""
        self._refuse_other_formats()
        while not self._ended:
            used = 0
            for row, size, used in self._parsed(self._more(HEADER_BYTES)):
                if size > self.most:
                    raise self._long_header()
                if row:
                    self._held = self._held[used:]
                    return [name.encode(errors="surrogateescape").decode(errors="replace") for name in row]
            self._held = self._held[used:]
            if self._held and (self._ended or len(self._held) > self.most):
                raise self._long_header()
        raise DataError(f"{self.where} is empty: it has no header line; name the columns in the first line")

    def records(self, header: Sequence[str], names: Sequence[str]) -> Iterator[Records]:
        """The next rows, piece by piece, as Arrow columns of text: `names` of the header's."""
        pieces = PandasPieces(
            width=len(header),
            names=tuple(names),
            places=[header.index(name) for name in names],
            delimiter=self.delimiter,
            most=self.most,
        )
        text = self._lines()
        while True:
            if text:
                yield self._read(pieces, text)
            if self._held and (self._ended or len(self._held) > self.most):
                self._pass_over()
                yield pieces.of_rows([None])
            if self._ended:
                return
            text = self._more(PIECE_BYTES)

    def _read(self, pieces: PandasPieces, text: bytes) -> Records:
        """The rows that end in `text`, which are held no longer."""
        found, used = pieces.read(text), len(text)
        if found is None:
            rows = list(self._parsed(text))
            used = rows[-1][2] if rows else 0
            found = pieces.of_rows([row if size <= self.most else None for row, size, _ in rows if row])
        self._held = self._held[used:]
        return found

    def _more(self, size: int) -> bytes:
        """Reads on; the whole lines of what is held then, which begins where a row begins. What is held doubles while
        one row goes on, so that a long row costs no more than many short ones."""
        piece = self.stream.read(max(size, len(self._held)))
        self._ended = not piece
        self._held += piece or b"\n"
        return self._lines()

    def _lines(self) -> bytes:
        return self._held[: max(self._held.rfind(b"\n"), self._held.rfind(b"\r")) + 1]

    def _pass_over(self) -> None:
        """Let go of the row that is held in part, up to its end: it is malformed whatever follows."""
        row, piece = LongRow(self.delimiter), self._held
        while (end := row.end(piece)) is None and not self._ended:
            piece = self.stream.read(HEADER_BYTES)
            self._ended = not piece
        self._held = b"" if end is None else piece[end:]

    def _parsed(self, text: bytes) -> Iterator[tuple[list[str], int, int]]:
        """Rows that end in the text, each with its length in bytes, and with the number of the text's bytes up to its
        end. A row that does not end takes the empty line that comes after all others."""
        lines = text.splitlines(keepends=True)
        decoded = (line.decode(errors="surrogateescape") for line in lines)
        reader = csv.reader(chain(decoded, [""]), delimiter=self.delimiter)
        used = done = 0
        for row in reader:
            if reader.line_num > len(lines):
                return
            size = sum(map(len, lines[done : reader.line_num]))
            used, done = used + size, reader.line_num
            yield row, size - _line_end(lines[done - 1]), used

    def _refuse_other_formats(self) -> None:
        head = self.stream.read(len(_PARQUET_MAGIC))
        if head.startswith(_WIDE_BOMS):
            raise DataError(f"{self.where} is not UTF-8 text; state --encoding utf-16, or convert it to UTF-8")
        if head.startswith(_PARQUET_MAGIC):
            raise DataError(f"{self.where} is Parquet, not CSV; give Parquet as a file that ends in .parquet")
        self._held = head.removeprefix(codecs.BOM_UTF8)

    def _long_header(self) -> DataError:
        return DataError(
            f"{self.where} has a first line longer than {self.most} bytes, or a quote in it that is never closed"
        )


def _line_end(line: bytes) -> int:
    return len(line) - len(line.rstrip(b"\r\n"))


def csv_names(file: TableFile, columns: Sequence[str], limits: Limits) -> tuple[str, ...]:
    """The column names in the header, which must hold `columns`. Raises: DataError.

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
    """Batches of text, one column a name in `columns`. Raises: DataError, constant in words.

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
    text = stream if file.encoding == UTF_8 else Recoded(stream, file.encoding)
    return CsvRows(stream=text, delimiter=file.delimiter, most=limits.row_bytes, where=_where(file))


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
                f"{where} has no column {name!r} in its first line, read as {file.encoding} with the delimiter "
                f"{file.delimiter!r}\nname another with --delimiter or --encoding, or correct it where it is stated "
                "(domain file, --unit, --counts)"
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
