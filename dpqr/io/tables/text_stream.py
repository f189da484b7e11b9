"""TextStream: the bytes of one CSV table, unpacked, metered, capped, and closed by a row that proves its quotes."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import BinaryIO, cast

from dpqr.errors import DataError
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import STDIN, TableFile

_GZIP_MAGIC = b"\x1f\x8b"
_QUOTE = b'"'
_PIECE = 2**18
_FIRST, _GROWTH = 2**16, 16
"""The parser gets its first bytes in pieces so small, then in pieces of one part in so many of what it has had: memory
follows a small table's size, and a large one is read as fast as ever."""


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
    """What the CSV parser reads: `head` first, then everything from the start by `read`, then the `seal` row.

    The parser reads ahead in a thread of its own, and goes on when the run has ended on an error: `close` waits for the
    read that is under way (another file may get the number of a closed one), and after it there is nothing to read.

    taken: bytes read from disk or standard input so far (packed ones, where the table is packed).
    Errors: DataError above the limit of bytes unpacked, and for a bomb; constant in words. A damaged gzip
    stream raises as gzip does.
    """

    def __init__(self, file: TableFile, limits: Limits) -> None:
        self._owned = file.path != STDIN
        self._raw = cast(BinaryIO, Path(file.path).open("rb") if self._owned else sys.stdin.buffer)  # noqa: SIM115 (close)
        self._meter = _Meter(self._raw)
        packed = self._meter.head(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        self._plain = gzip.GzipFile(fileobj=cast(BinaryIO, io.BufferedReader(self._meter, _PIECE))) if packed else None
        self._name, self._limits, self._unpacked = file.path, limits, 0
        self._pending, self._seal = b"", b""
        self._given, self._quoted = 0, False
        self._turn = Lock()
        self.closed = False

    @property
    def taken(self) -> int:
        return self._meter.taken

    def head(self, size: int) -> bytes:
        """At most `size` first bytes, with the first line that is not empty; `read` gives them again."""
        self._pending = self._rows(size)
        return self._pending

    def seal(self, row: bytes) -> None:
        """Add `row`, on a line of its own, to the end of the table."""
        self._seal = b"\n" + row + b"\n"

    def read(self, size: int) -> bytes:
        """At most `size` next bytes, in which a row ends if one ends in so many: the parser takes what it gets for a
        piece of the size that it asked for, and refuses rows that are longer."""
        with self._turn:
            if self.closed:
                return b""
            rows = self._rows(size)
            self._given += len(rows)
            self._quoted ^= rows.count(_QUOTE) % 2 == 1
            return rows

    def _rows(self, size: int) -> bytes:
        """Bytes to read next; the fewest doublings after which a row has ended, `size` at most."""
        wanted = min(size, max(_FIRST, self._given // _GROWTH))
        rows = _fill(self._piece, wanted)
        while len(rows) == wanted < size and not self._ends_row(rows):
            wanted = min(size, 2 * wanted)
            rows += _fill(self._piece, wanted - len(rows))
        return rows

    def _ends_row(self, rows: bytes) -> bool:
        """Whether the last line that ends in `rows` is the last of a row, and not all are empty. Lines within quotes
        are told by the number of quotes before them. Quotes in the middle of cells mislead that: a piece may then be
        larger than it need be, or the parser refuse a row of more than `_FIRST` bytes."""
        end = rows.rfind(b"\n") + 1
        return bool(rows[:end].strip()) and self._quoted == (rows.count(_QUOTE, 0, end) % 2 == 1)

    def _piece(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        if self._pending:
            piece, self._pending = self._pending[:size], self._pending[size:]
            return piece
        piece = (self._plain or self._meter).read(size) or b""
        self._unpacked += len(piece)
        if self._unpacked > self._limits.bytes:
            raise DataError(f"{self._name} holds more bytes than the declared limit; raise it or split the table")
        if self._plain is not None and self._limits.is_bomb(self.taken, self._unpacked):
            raise DataError(f"{self._name} unpacks to more than 100 times its size; state --max-bytes if that is meant")
        if not piece:
            self._pending, self._seal = self._seal, b""
        return piece or (self._piece(size) if self._pending else b"")

    def close(self) -> None:
        """Close the file. Standard input is not ours: it stays open, and nobody waits for what it may never bring."""
        if not self._owned:
            self.closed = True
            return
        with self._turn:
            self.closed = True
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
