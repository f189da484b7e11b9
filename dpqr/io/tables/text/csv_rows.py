"""CsvRows: a CSV stream as its header and then, piece by piece, as columns of cells.

A record is what the grammar makes of the text: empty lines are none, a line end inside quotes ends none, and a quote
that is never closed makes one record of all that follows. A record is malformed that has more or fewer cells than the
header, is longer than the limit, holds other text than UTF-8 in a wanted cell, or does not end. Every record counts
alike however the stream is cut into pieces.

pandas reads each piece (`PandasPieces`). The standard library's reader reads, row by row, the pieces that pandas does
not read by this grammar: the two give the same cells wherever both are used.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from dpqr.errors import DataError
from dpqr.io.tables.records import Records
from dpqr.io.tables.text.long_row import LongRow
from dpqr.io.tables.text.pandas_pieces import PandasPieces
from dpqr.io.tables.text.stream import TextStream

HEADER_BYTES, PIECE_BYTES = 2**15, 2**22
"""Bytes that are read at a time, in search of the header's end and after it."""
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PARQUET_MAGIC = b"PAR1"
_LONGEST_CELL = 2**31 - 1
"""Above all that is ever held; the standard library counts in C's `long`."""


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
            raise DataError(f"{self.where} is not UTF-8 text; convert it to UTF-8")
        if head.startswith(_PARQUET_MAGIC):
            raise DataError(f"{self.where} is Parquet, not CSV; give Parquet as a file that ends in .parquet")
        self._held = head.removeprefix(codecs.BOM_UTF8)

    def _long_header(self) -> DataError:
        return DataError(
            f"{self.where} has a first line longer than {self.most} bytes, or a quote in it that is never closed"
        )


def _line_end(line: bytes) -> int:
    return len(line) - len(line.rstrip(b"\r\n"))
