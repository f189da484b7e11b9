"""LongRow: finds the end of a CSV row that is longer than the limit, without keeping the row."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto

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
