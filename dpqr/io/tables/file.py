"""TableFile: one file of a table, or what is read in its place: standard input, or a table in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from dpqr.privacy.policy import UTF_8

STDIN = "-"
Kind = Literal["csv", "parquet", "frame", "foreign"]


class Columns(Protocol):
    """The columns of a table. name: what messages call it. names: of its columns."""

    @property
    def name(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]: ...

    def kind(self, name: str) -> Any:
        """The Arrow type of a column, which no row decides. Raises: DataError for a type that Arrow lacks."""
        ...


class Frame(Columns, Protocol):
    """A table in memory.

    size: bytes it takes, private; None: not known. repeatable: whether it can be read more than once, with the same
    rows in the same order.
    """

    @property
    def size(self) -> int | None: ...
    @property
    def repeatable(self) -> bool: ...

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """These columns of all rows as Arrow record batches of at most `rows` rows."""
        ...

    def digest(self) -> bytes:
        """Of the whole content, the same in every process; only of a frame that is repeatable."""
        ...


@dataclass(slots=True)
class StandardInput:
    """Standard input, which can be read once. What a look at the header takes is kept for the reading after it."""

    _kept: bytes = field(default=b"", repr=False)
    _at: int = 0
    _looking: bool = False

    def begin(self, *, look: bool) -> None:
        """Begin with the first byte; look: whatever is read stays readable."""
        self._at, self._looking = 0, look

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        if self._at < len(self._kept):
            piece = self._kept[self._at : self._at + size]
        else:
            piece = sys.stdin.buffer.read(size)
            self._kept = self._kept + piece if self._looking else b""
        self._at = self._at + len(piece) if self._kept else 0
        return piece


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """One regular file of the table. bytes: its size on disk, private where rows are.

    stdin, frame: what is read in place of a file. The path is then what messages call it: "-" for standard input, whose
    size is not known, or the frame's name.
    """

    path: str
    kind: Kind
    delimiter: str
    bytes: int | None
    stdin: StandardInput | None = None
    encoding: str = UTF_8
    frame: Frame | None = field(default=None, repr=False)
