"""Percent: how far a table has been read, told so that nothing follows from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

STEP = 10


@dataclass(slots=True, kw_only=True)
class Percent:
    """Tells 0, 10, 20, ..., 100, each once and in this order, however large the table is and however reading ends.

    total: bytes of all passes; None: not known, then 0 is told and 100.

    **Privacy** The sizes of a table's files are functions of its rows. What is told is not: always the same numbers.
    When each of them is told follows from the reading's speed, which is not padded.
    """

    total: int | None
    tell: Callable[[int], None]
    _read: int = 0
    _next: int = 0

    def begin(self) -> None:
        """Nothing is read yet."""
        self._reach(0)

    def read(self, count: int) -> None:
        """So many bytes more."""
        self._read += count
        if self.total:
            self._reach(min(100 - STEP, 100 * self._read // self.total))

    def end(self) -> None:
        """Reading is over, to whatever end."""
        if self.total is None:
            self._next = max(self._next, 100)
        self._reach(100)

    def _reach(self, percent: int) -> None:
        while self._next <= percent:
            self.tell(self._next)
            self._next += STEP
