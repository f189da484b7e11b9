"""CsvRows: a CSV stream as its header and then, piece by piece, as columns of text.

Every row counts alike however the stream is cut into pieces. A piece without a quote is cut at its delimiters and line
ends; one with quotes is read by the standard library. Both give the same cells wherever both could be used, and the
first takes three fifths of the time.

A record is what the grammar makes of the text: empty lines are none, a line end inside quotes ends none, and a quote
that is never closed makes one record of all that follows. A record is malformed that has more or fewer cells than the
header, is longer than the limit, holds other text than UTF-8 in a wanted cell, or does not end.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress

from dpqr.errors import DataError
from dpqr.io.tables.text.long_row import LongRow
from dpqr.io.tables.text.stream import TextStream

_PIECE, _OF_COLUMN = 2**15, 2**9
"""Bytes that are read at a time: at least so many, and so many a column, for every column of a piece has a price."""
_QUOTE = b'"'
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PARQUET_MAGIC = b"PAR1"
_LONGEST_CELL = 2**31 - 1
"""Above all that is ever held; the standard library counts in C's `long`."""

Found = tuple[list[list[str]], list[int]]
"""Columns of the well-formed rows, and the places of the malformed ones among all rows of the piece."""


@dataclass(slots=True)
class CsvRows:
    """Rows of `stream`, whose cells lie between `delimiter`. most: bytes of the longest row. where: names the table.

    Errors: DataError, constant in words, for what is no CSV with a header; OSError, EOFError and zlib's where the
    stream cannot be read. No row after the header raises any.
    """

    stream: TextStream
    delimiter: str
    most: int
    where: str
    _held: bytes = field(default=b"", repr=False)
    _ended: bool = False

    def __post_init__(self) -> None:
        # The standard library has one limit for all readers of a process; rows have their own.
        csv.field_size_limit(_LONGEST_CELL)

    def header(self) -> list[str]:
        """The cells of the first row, any bytes in it; to be called once, before `columns`."""
        self._refuse_other_formats()
        while not self._ended:
            used = 0
            for row, size, used in self._parsed(self._more(_PIECE)):
                if size > self.most:
                    raise self._long_header()
                if row:
                    self._held = self._held[used:]
                    return [name.encode(errors="surrogateescape").decode(errors="replace") for name in row]
            self._held = self._held[used:]
            if self._held and (self._ended or len(self._held) > self.most):
                raise self._long_header()
        raise DataError(f"{self.where} is empty: it has no header line; name the columns in the first line")

    def columns(self, width: int, places: Sequence[int]) -> Iterator[Found]:
        """The cells of the next rows, one list a place; width: how many cells each row must have."""
        text, nothing = self._lines(), [list[str]() for _ in places]
        while True:
            yield self._found(text, width, places)
            if self._held and (self._ended or len(self._held) > self.most):
                self._pass_over()
                yield nothing, [0]
            if self._ended:
                return
            text = self._more(max(_PIECE, _OF_COLUMN * width))

    def _found(self, text: bytes, width: int, places: Sequence[int]) -> Found:
        """The rows that end in `text`, which are held no longer."""
        read = self._quoted if _QUOTE in text else self._plain
        (columns, malformed), used = read(text, width, places)
        self._held = self._held[used:]
        return (columns, malformed) if text.isascii() else _of_utf8(columns, malformed)

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
            piece = self.stream.read(_PIECE)
            self._ended = not piece
        self._held = b"" if end is None else piece[end:]

    def _plain(self, text: bytes, width: int, places: Sequence[int]) -> tuple[Found, int]:
        mark = self.delimiter.encode()
        rows, malformed = list(filter(None, text.replace(b"\r", b"\n").split(b"\n"))), []
        if rows and ({row.count(mark) for row in rows} != {width - 1} or max(map(len, rows)) > self.most):
            whole = [row.count(mark) == width - 1 and len(row) <= self.most for row in rows]
            rows, malformed = list(compress(rows, whole)), _others(whole)
        if not rows:
            return ([[] for _ in places], malformed), len(text)
        cells = _decoded(mark.join(rows)).split(self.delimiter)
        return ([cells[place::width] for place in places], malformed), len(text)

    def _quoted(self, text: bytes, width: int, places: Sequence[int]) -> tuple[Found, int]:
        lines, sizes, used = self._row_a_line(text) or self._rows_of_lines(text)
        rows, malformed = list(filter(None, lines)), []
        if {len(row) for row in rows} - {width} or max(sizes, default=0) > self.most:
            fits = (len(row) == width and size <= self.most for row, size in zip(lines, sizes, strict=True) if row)
            whole = list(fits)
            rows, malformed = list(compress(rows, whole)), _others(whole)
        found = list(zip(*rows, strict=True)) or [()] * width
        return ([list(found[place]) for place in places], malformed), used

    def _row_a_line(self, text: bytes) -> tuple[list[list[str]], list[int], int] | None:
        """The rows of a text each line of which ends a row, in half the time of `_rows_of_lines`; None for others."""
        reader = csv.reader(chain(io.StringIO(_decoded(text), newline=""), [""]), delimiter=self.delimiter)
        rows = list(reader)
        if len(rows) != reader.line_num:
            return None
        return rows[:-1], list(map(len, text.splitlines())), len(text)

    def _rows_of_lines(self, text: bytes) -> tuple[list[list[str]], list[int], int]:
        ended = list(self._parsed(text))
        return [row for row, _, _ in ended], [size for _, size, _ in ended], ended[-1][2] if ended else 0

    def _parsed(self, text: bytes) -> Iterator[tuple[list[str], int, int]]:
        """Rows that end in the text, each with its length in bytes, and with the number of the text's bytes up to its
        end. A row that does not end takes the empty line that comes after all others."""
        lines = text.splitlines(keepends=True)
        reader = csv.reader(chain(map(_decoded, lines), [""]), delimiter=self.delimiter)
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
            raise DataError(f"{self.where} is not UTF-8 text; convert it to UTF-8")
        if head.startswith(_PARQUET_MAGIC):
            raise DataError(f"{self.where} is Parquet, not CSV; give Parquet as a file that ends in .parquet")
        self._held = head.removeprefix(codecs.BOM_UTF8)

    def _long_header(self) -> DataError:
        return DataError(
            f"{self.where} has a first line longer than {self.most} bytes, or a quote in it that is never closed"
        )


def _decoded(text: bytes) -> str:
    """Bytes that are no UTF-8 become surrogates, which no other text has."""
    return text.decode(errors="surrogateescape")


def _line_end(line: bytes) -> int:
    return len(line) - len(line.rstrip(b"\r\n"))


def _others(whole: list[bool]) -> list[int]:
    return [place for place, each in enumerate(whole) if not each]


def _of_utf8(columns: list[list[str]], malformed: list[int]) -> Found:
    """The same without the rows that hold anything but UTF-8 in one of these cells."""
    if all(map(_is_utf8, map("".join, columns))):
        return columns, malformed
    whole = [all(map(_is_utf8, cells)) for cells in zip(*columns, strict=True)]
    taken = set(malformed)
    places = (place for place in range(len(whole) + len(malformed)) if place not in taken)
    more = [place for place, each in zip(places, whole, strict=True) if not each]
    return [list(compress(column, whole)) for column in columns], sorted([*malformed, *more])


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
