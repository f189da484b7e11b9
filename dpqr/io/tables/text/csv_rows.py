"""CsvRows: a CSV stream as its header and then, piece by piece, as columns of text.

Every row counts alike however the stream is cut into pieces. A piece without a quote is cut at its delimiters and line
ends; one with quotes is read by the standard library. Both give the same cells wherever both could be used, and the
first takes three fifths of the time.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from dpqr.errors import DataError
from dpqr.io.tables.text.stream import TextStream

_PIECE, _OF_COLUMN = 2**15, 2**9
"""Bytes that are read at a time: at least so many, and so many a column, for every column of a piece has a price."""
_QUOTE = b'"'
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PARQUET_MAGIC = b"PAR1"


@dataclass(slots=True)
class CsvRows:
    """Rows of `stream`, whose cells lie between `delimiter`. most: bytes of the longest row. where: names the table.

    Empty lines are no rows. Text that is not UTF-8 is refused in cells that are asked for, and nowhere else.
    Errors: DataError, constant in words; OSError, EOFError and zlib's where the stream cannot be read.
    """

    stream: TextStream
    delimiter: str
    most: int
    where: str
    _held: bytes = field(default=b"", repr=False)
    _ended: bool = False

    def __post_init__(self) -> None:
        # The standard library has one limit for all readers of a process, below that of a row.
        csv.field_size_limit(max(csv.field_size_limit(), self.most))

    def header(self) -> list[str]:
        """The cells of the first row, any bytes in it; to be called once, before `columns`."""
        self._refuse_other_formats()
        while not self._ended:
            used = 0
            for row, used in self._parsed(self._more(_PIECE)):
                if row:
                    self._held = self._held[used:]
                    return [name.encode(errors="surrogateescape").decode(errors="replace") for name in row]
            self._keep_row(used)
        raise DataError(f"{self.where} is empty: it has no header line; name the columns in the first line")

    def columns(self, width: int, places: Sequence[int]) -> Iterator[list[list[str]]]:
        """The cells of the next rows, one list a place; width: how many cells each row must have."""
        text = self._lines()
        while True:
            found, used = self._quoted(text, width, places) if _QUOTE in text else self._plain(text, width, places)
            if not text.isascii():
                _refuse_other_text(found, self.where)
            self._keep_row(used)
            yield found
            if self._ended:
                return
            text = self._more(max(_PIECE, _OF_COLUMN * width))

    def _more(self, size: int) -> bytes:
        """Reads on; the whole lines of what is held then, which begins where a row begins. What is held doubles while
        one row goes on, so that a long row costs no more than many short ones."""
        piece = self.stream.read(max(size, len(self._held)))
        self._ended = not piece
        self._held += piece or b"\n"
        return self._lines()

    def _lines(self) -> bytes:
        return self._held[: max(self._held.rfind(b"\n"), self._held.rfind(b"\r")) + 1]

    def _keep_row(self, used: int) -> None:
        """Let go of the rows that ended; what stays held is part of one row."""
        self._held = self._held[used:]
        if len(self._held) > self.most:
            raise self._too_long()
        if self._ended and self._held:
            raise DataError(f"{self.where}: a quote is never closed; mend the quoting")

    def _plain(self, text: bytes, width: int, places: Sequence[int]) -> tuple[list[list[str]], int]:
        mark = self.delimiter.encode()
        rows = list(filter(None, text.replace(b"\r", b"\n").split(b"\n")))
        if not rows:
            return [[] for _ in places], len(text)
        if {row.count(mark) for row in rows} != {width - 1}:
            raise self._ragged()
        if max(map(len, rows)) > self.most:
            raise self._too_long()
        cells = _decoded(mark.join(rows)).split(self.delimiter)
        return [cells[place::width] for place in places], len(text)

    def _quoted(self, text: bytes, width: int, places: Sequence[int]) -> tuple[list[list[str]], int]:
        rows, used = self._row_a_line(text) or self._rows_of_lines(text)
        rows = list(filter(None, rows))
        if {len(row) for row in rows} - {width}:
            raise self._ragged()
        found = list(zip(*rows, strict=True)) or [()] * width
        return [list(found[place]) for place in places], used

    def _row_a_line(self, text: bytes) -> tuple[list[list[str]], int] | None:
        """The rows of a text each line of which ends a row, in half the time of `_rows_of_lines`; None for others."""
        reader = csv.reader(chain(io.StringIO(_decoded(text), newline=""), [""]), delimiter=self.delimiter)
        rows = list(reader)
        if len(rows) != reader.line_num:
            return None
        if max(map(len, text.splitlines()), default=0) > self.most:
            raise self._too_long()
        return rows, len(text)

    def _rows_of_lines(self, text: bytes) -> tuple[list[list[str]], int]:
        ended = list(self._parsed(text))
        return [row for row, _ in ended], ended[-1][1] if ended else 0

    def _parsed(self, text: bytes) -> Iterator[tuple[list[str], int]]:
        """Rows that end in the text, with the number of its bytes up to there. A row that does not end takes the empty
        line that comes after all others."""
        lines = text.splitlines(keepends=True)
        reader = csv.reader(chain(map(_decoded, lines), [""]), delimiter=self.delimiter)
        used = done = 0
        for row in reader:
            if reader.line_num > len(lines):
                return
            size = sum(map(len, lines[done : reader.line_num]))
            used, done = used + size, reader.line_num
            if size - _line_end(lines[done - 1]) > self.most:
                raise self._too_long()
            yield row, used

    def _refuse_other_formats(self) -> None:
        head = self.stream.read(len(_PARQUET_MAGIC))
        if head.startswith(_WIDE_BOMS):
            raise DataError(f"{self.where} is not UTF-8 text; convert it to UTF-8")
        if head.startswith(_PARQUET_MAGIC):
            raise DataError(f"{self.where} is Parquet, not CSV; give Parquet as a file that ends in .parquet")
        self._held = head.removeprefix(codecs.BOM_UTF8)

    def _too_long(self) -> DataError:
        return DataError(f"{self.where} has a row longer than {self.most} bytes, or a quote that is never closed")

    def _ragged(self) -> DataError:
        return DataError(
            f"{self.where} has a row with more or fewer cells than the header; mend its quoting or its delimiter"
        )


def _decoded(text: bytes) -> str:
    """Bytes that are no UTF-8 become surrogates, which no other text has."""
    return text.decode(errors="surrogateescape")


def _line_end(line: bytes) -> int:
    return len(line) - len(line.rstrip(b"\r\n"))


def _refuse_other_text(columns: list[list[str]], where: str) -> None:
    try:
        for column in columns:
            "".join(column).encode()
        return
    except UnicodeEncodeError:
        pass
    raise DataError(f"{where} is not UTF-8 text; convert it to UTF-8")
