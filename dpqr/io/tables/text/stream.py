"""TextStream: the bytes of one CSV table, unpacked, metered and capped; LongRow: the end of a row beyond the limit."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import BinaryIO, cast

from dpqr.errors import DataError
from dpqr.io.tables.file import TableFile
from dpqr.io.tables.limits import Limits

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
