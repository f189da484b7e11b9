"""CSV tables: the header's contract, and the records as columns of text.

Every column is read as text, for a type guessed from the first rows would be a function of private values. A record is
what the grammar makes of the text: empty lines are none, a line end inside quotes ends none, and a quote that is never
closed makes one record of all that follows. A record is malformed that has more or fewer cells than the header, is
longer than the limit, holds in a wanted cell what is no text in the table's encoding, or does not end; what becomes of
it is a rule of the table. Every record counts alike however the stream is cut into pieces.

Arrow reads each piece (`ArrowPieces`). The standard library's reader reads, row by row, the pieces that Arrow does not
read by this grammar: the two give the same cells wherever both are used.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import AnyArray, IntArray
from dpqr.kernel.errors import DataError
from dpqr.kernel.values import replace
from dpqr.tables.cell_values import mask, numpy_values
from dpqr.tables.encoders import TableBatch
from dpqr.tables.files import PIPED, STDIN, TableFile, other_kind
from dpqr.tables.limits import BYTES, Limits, discreetly
from dpqr.tables.policy import UTF_8

HEADER_BYTES, PIECE_BYTES = 2**15, 2**22
"""Bytes that are read at a time, in search of the header's end and after it."""
DELIMITERS = {",": "','", ";": "';'", "\t": r"'\t'", "|": "'|'"}
"""Usual delimiters, as a shell takes them."""
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BEGINNING = 4
"""Bytes that are read before all others: the longest mark of an encoding."""
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
        head = self.stream.read(_BEGINNING)
        if head.startswith(_WIDE_BOMS):
            raise DataError(f"{self.where} is not UTF-8 text; state --encoding utf-16, or convert it to UTF-8")
        self._held = head.removeprefix(codecs.BOM_UTF8)
        while not self._ended:
            used = 0
            lines = self._more(HEADER_BYTES)
            if head and (wrong := other_kind(self._held, self.where)):
                raise DataError(wrong)
            head = b""
            for row, size, used in self._parsed(lines):
                if size > self.most:
                    raise self._long_header()
                if row:
                    self._held = self._held[used:]
                    return [name.encode(errors="surrogateescape").decode(errors="replace") for name in row]
            self._held = self._held[used:]
            if self._held and (self._ended or len(self._held) > self.most):
                raise self._long_header()
        raise DataError(f"{self.where} is empty: it has no header line; name the columns in the first line")

    def records(self, header: Sequence[str], names: Sequence[str]) -> Iterator[TableBatch]:
        """The next rows, piece by piece, as Arrow columns of text: `names` of the header's."""
        pieces = ArrowPieces(
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
                # Let go of the row that is held in part, up to its end: it is malformed whatever follows.
                row, piece = LongRow(self.delimiter), self._held
                while (end := row.end(piece)) is None and not self._ended:
                    piece = self.stream.read(HEADER_BYTES)
                    self._ended = not piece
                self._held = b"" if end is None else piece[end:]
                yield pieces.of_rows([None])
            if self._ended:
                return
            text = self._more(PIECE_BYTES)

    def _read(self, pieces: ArrowPieces, text: bytes) -> TableBatch:
        """The rows that end in `text`, which are held no longer; nor are they here while the caller has them."""
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
            line = lines[done - 1]
            yield row, size - (len(line) - len(line.rstrip(b"\r\n"))), used

    def _long_header(self) -> DataError:
        return DataError(
            f"{self.where} has a first line longer than {self.most} bytes, or a quote in it that is never closed"
        )


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
) -> Iterator[TableBatch]:
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
    return PIPED if file.path == STDIN else file.path


def _header(rows: CsvRows, file: TableFile, columns: Sequence[str], limits: Limits) -> list[str]:
    """The names in the first line, which must hold every wanted column once.

    Privacy: where the header is missing, that line is a private row. Nothing of it is shown but names that are stated,
    in its capitals, and only where it holds all of them, in other capitals or behind another delimiter. Who guesses a
    row so would learn as much from a file that is taken.
    """
    names, where = rows.header(), _where(file)
    if len(names) > limits.columns:
        raise DataError(f"{where} has more columns than the declared limit of {limits.columns}")
    times = Counter(names)
    for name in columns:
        if not times[name]:
            other = "name another with --delimiter or --encoding, or correct it where it is stated"
            fix = _header_fix(names, file.delimiter, columns) or f"{other} (domain file, --unit, --counts)"
            raise DataError(
                f"{where} has no column {name!r} in its first line, read as {file.encoding} with the delimiter "
                f"{file.delimiter!r}\n{fix}"
            )
        if times[name] > 1:
            raise DataError(f"{where} has the column {name!r} twice; keep one of them")
    return names


def _header_fix(names: Sequence[str], delimiter: str, columns: Sequence[str]) -> str | None:
    """What is wrong with a first line that holds all wanted columns in another form; None: it may be a row."""
    written = {name.strip().casefold(): name for name in names}
    if all(name.strip().casefold() in written for name in columns):
        wrong = [name for name in columns if name not in names]
        pairs = (f"{written[name.strip().casefold()]!r}, not {name!r}" for name in wrong)
        return f"it is written {'; '.join(pairs)}: correct it in the table, or where it is stated"
    for other in DELIMITERS:
        if set(columns) <= {name.strip('"') for name in delimiter.join(names).split(other)}:
            return f"its first line is cut by {other!r}: add --delimiter {DELIMITERS[other]}"
    return None


def _explainer(file: TableFile) -> Callable[[Exception], str]:
    """Chooses a constant message by the kind of fault; nothing of the failure's own words is passed on."""
    where = _where(file)

    def explain(failure: Exception) -> str:
        if isinstance(failure, EOFError | OSError) or type(failure).__module__ == "zlib":
            return f"{where} cannot be read to its end; if it is packed by gzip, it is cut short or damaged"
        read = f"in {file.encoding} with the delimiter {file.delimiter!r}"
        return f"{where} cannot be read as CSV {read}; check --encoding, --delimiter, the header and the quoting"

    return explain


# TextStream: the bytes of one CSV table, unpacked, metered and capped; LongRow: the end of a row beyond the limit.

_GZIP_MAGIC = b"\x1f\x8b"
_PIECE = 2**16
_FEW = 2**4


class _Meter(io.RawIOBase):
    """A file that counts what is read from it. Its head can be looked at without being consumed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.taken = 0
        self._head = b""

    def head(self, size: int) -> bytes:
        self._head = _fill(self._file.read, size)
        self.taken = len(self._head)
        return self._head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        space = memoryview(cast(bytearray, buffer)).cast("B")
        piece, self._head = self._head[: len(space)], self._head[len(space) :]
        if not piece:
            piece = self._file.read(len(space))
            self.taken += len(piece)
        space[: len(piece)] = piece
        return len(piece)


class TextStream:
    """What the CSV reader reads.

    taken: bytes read from disk or standard input so far (packed ones, where the table is packed). look: what is read
    of standard input stays there for the next stream.
    Raises: DataError above the limit of bytes unpacked, and for a decompression bomb; constant in words. A damaged gzip
    stream raises as gzip does.
    """

    def __init__(self, file: TableFile, limits: Limits, *, look: bool = False) -> None:
        self._owned = file.stdin is None
        self._raw = cast(BinaryIO, file.stdin or Path(file.path).open("rb"))  # noqa: SIM115 (close)
        if file.stdin:
            file.stdin.begin(look=look)
        self._meter = _Meter(self._raw)
        packed = self._meter.head(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        self._plain = gzip.GzipFile(fileobj=cast(BinaryIO, io.BufferedReader(self._meter, _PIECE))) if packed else None
        self._name, self._limits, self._unpacked, self._look = file.path, limits, 0, look

    @property
    def taken(self) -> int:
        return self._meter.taken

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer at the end. In a look only what comes at once, but for a few bytes: what lies
        behind it, such as damage among the rows, has no say."""
        return self._piece(size) if self._look and size > _FEW else _fill(self._piece, size)

    def _piece(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        if self._plain is not None:
            piece = self._plain.read1(size) if self._look else self._plain.read(size)
        else:
            piece = self._meter.read(size) or b""
        self._unpacked += len(piece)
        self._limits.require_bytes(self._unpacked)
        if self._plain is not None and self._limits.is_decompression_bomb(self.taken, self._unpacked):
            raise DataError(f"{self._name} unpacks to more than 100 times its size; state --max-bytes if that is meant")
        return piece

    def close(self) -> None:
        """Close the file. Standard input is not ours: it stays open."""
        if self._owned:
            if self._plain is not None:
                self._plain.close()
            self._raw.close()

    def __enter__(self) -> TextStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _fill(read: Callable[[int], bytes], size: int) -> bytes:
    """`size` bytes of a reader that may give them in smaller pieces; fewer at its end."""
    pieces: list[bytes] = []
    while size > 0 and (piece := read(min(size, _PIECE))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


_QUOTE = b'"'


class _State(Enum):
    """Where in a row the scan stands, as in the standard library's reader.

    AT_CELL: at the first byte of a cell. PLAIN: in a cell, outside quotes. QUOTED: inside quotes. AFTER_QUOTE: after a
    quote inside quotes, which closes them unless another quote follows.
    """

    AT_CELL = auto()
    PLAIN = auto()
    QUOTED = auto()
    AFTER_QUOTE = auto()


@dataclass(slots=True)
class LongRow:
    """One row, given piece by piece from its first byte on. Memory: one piece."""

    delimiter: str
    _state: _State = _State.AT_CELL
    _next: re.Pattern[bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        mark = re.escape(self.delimiter.encode())
        self._next = re.compile(rb"[\r\n]|" + mark + rb'(?="|\Z)')

    def end(self, piece: bytes) -> int | None:
        """The place in `piece` right after the row's line end; None: the row goes on."""
        at = 0
        while at < len(piece):
            if self._state is _State.QUOTED:
                at = piece.find(_QUOTE, at) + 1
                if not at:
                    return None
                self._state = _State.AFTER_QUOTE
            elif self._state is not _State.PLAIN:
                opens = piece[at : at + 1] == _QUOTE
                self._state, at = (_State.QUOTED, at + 1) if opens else (_State.PLAIN, at)
            else:
                found = self._next.search(piece, at)
                if found is None:
                    return None
                if found.group() in (b"\r", b"\n"):
                    return found.end()
                self._state, at = _State.AT_CELL, found.end()
        return None


# Recoded: a CSV table in another encoding, as the UTF-8 that the reader knows.

_MALFORMED = "dpqr-malformed"
_NO_UTF8 = "\udcff"
"""Stands for bytes that are no character: it is written as 0xFF, which is in no UTF-8, so that the row is malformed."""


class ByteStream(Protocol):
    """What the CSV reader reads."""

    def read(self, size: int) -> bytes:
        """About `size` bytes; none at the end only."""
        ...


class Recoded:
    """UTF-8 of a stream of text in `encoding`. Every character counts alike however the stream is cut into pieces."""

    def __init__(self, stream: ByteStream, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(errors=_MALFORMED)
        self._ended = False

    def read(self, size: int) -> bytes:
        """The UTF-8 of about the next `size` bytes; nothing at the end only."""
        text = ""
        while not text and not self._ended:
            piece = self._stream.read(size)
            self._ended = not piece
            text = self._decoder.decode(piece, self._ended)
        return text.encode("utf-8", "surrogateescape")


def _passed_over(fault: UnicodeError) -> tuple[str, int]:
    if not isinstance(fault, UnicodeDecodeError):
        raise fault
    return _NO_UTF8, fault.end


codecs.register_error(_MALFORMED, _passed_over)


# ArrowPieces: pieces of CSV text become Arrow columns of text.
#
# Arrow's reader keeps the grammar of `CsvRows` but for four things. It refuses or passes on bytes that are no UTF-8,
# has no limit on a row's length, takes a quote that is never closed for one that ends with the text, and passes over a
# byte order mark at the beginning. So such bytes are replaced by a character that the piece does not hold, rows are
# measured here, and one more row follows the last, which an open quote takes in. A piece is left to the standard
# library where it begins with a byte order mark, or where Arrow finds another number of rows than of lines, for a line
# end lies inside quotes.

_REPLACED = "\N{REPLACEMENT CHARACTER}"
_EMPTY_LINES = re.compile(rb"\n\n+")


class ArrowPieces(Struct, frozen=True, kw_only=True):
    """width: cells of a row. names, places: of the wanted columns. most: bytes of the longest row.

    **Privacy** What Arrow fails with depends on rows and reaches nobody: such a piece is read by the standard library,
    which gives the same cells. So a row has the same cells wherever pieces are cut. Where the first row of a piece lost
    its byte order mark, one more row before it changed the cells of that row too, which no sensitivity covers.
    """

    width: int
    names: tuple[str, ...]
    places: Sequence[int]
    delimiter: str
    most: int

    def read(self, text: bytes) -> TableBatch | None:
        """The records of a piece that begins where a row begins and ends in a line end; None: Arrow cannot tell."""
        import pyarrow as pa

        lines, sizes = _lines(text)
        repaired = _repaired(lines)
        found = None if repaired is None or repaired.startswith(codecs.BOM_UTF8) else self._columns(repaired)
        if found is None or found[0].num_rows + len(found[1]) != sizes.size + 1:
            return None
        columns, full = found[0].slice(0, found[0].num_rows - 1), np.ones(sizes.size, dtype=np.bool_)
        full[found[1]] = False
        # Of the rows as wide as the header, those that are well-formed too.
        good = (sizes <= self.most)[full]
        if repaired is not lines:
            good = np.logical_and.reduce([good, *(~_holds(column, _REPLACED) for column in columns.columns)])
        if not good.all():
            columns = columns.filter(mask(good))
        full[full] = good
        return TableBatch(pa.RecordBatch.from_arrays(columns.columns, list(self.names)), np.flatnonzero(~full))

    def of_rows(self, rows: Sequence[Sequence[str] | None]) -> TableBatch:
        """The records of rows of cells, bytes that are no UTF-8 as surrogates; None: a row that cannot be read."""
        import pyarrow as pa

        found: list[list[str] | None] = []
        for row in rows:
            wanted = [row[place] for place in self.places] if row is not None and len(row) == self.width else []
            try:
                "".join(wanted).encode()
                found.append(wanted or None)  # None: a malformed row
            except UnicodeEncodeError:
                found.append(None)
        columns = list(zip(*filter(None, found), strict=True)) or [()] * len(self.names)
        bad = [place for place, cells in enumerate(found) if cells is None]
        batch = pa.RecordBatch.from_arrays([pa.array(cells, pa.large_string()) for cells in columns], list(self.names))
        return TableBatch(batch, np.array(bad, dtype=np.int64))

    def _columns(self, lines: bytes) -> tuple[Any, IntArray] | None:
        """The wanted columns, as text, of the rows as wide as the header, one more among them, and the places of all
        other rows; None where Arrow fails."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        ragged: list[int] = []

        def pass_over(row: Any) -> str:
            ragged.append(row.number - 1)
            return "skip"

        text = lines + self.delimiter.join("0" * self.width).encode() + b"\n"
        every, wanted = [str(place) for place in range(self.width)], [str(place) for place in self.places]
        try:
            table = arrow_csv.read_csv(
                pa.py_buffer(text),
                arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=every),
                arrow_csv.ParseOptions(
                    delimiter=self.delimiter, ignore_empty_lines=False, invalid_row_handler=pass_over
                ),
                arrow_csv.ConvertOptions(
                    check_utf8=False, column_types=dict.fromkeys(wanted, pa.large_string()), include_columns=wanted
                ),
            )
            (batch,) = table.combine_chunks().to_batches()
            return batch, np.array(ragged, dtype=np.int64)
        except Exception:  # whatever a row's content makes Arrow raise is not shown, and decides nothing
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
