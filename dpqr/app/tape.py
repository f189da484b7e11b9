"""Tape: a journal in memory, and a crash on request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from dpqr.construction.journal import Blocks, Past, Plain
from dpqr.privacy.events import PrivacyEvent


class Crash(Exception):
    """Stands for the end of the process."""


@final
@dataclass(slots=True, kw_only=True)
class Tape:
    """Keeps draws as the journal of a ledger does.

    lost: the draw, counted from 0, after which the first run dies, before its value is recorded; None: no crash.
    """

    lost: int | None = None
    _kept: list[Plain | None] = field(default_factory=list)
    _read: int = 0

    def rewind(self) -> None:
        """The run is to be continued: what was kept is read from its beginning."""
        self._read = 0

    def past(self, event: PrivacyEvent, blocks: Blocks) -> Past | None:
        if self._read == len(self._kept):
            return None
        self._read += 1
        return Past(value=self._kept[self._read - 1])

    def begin(self, event: PrivacyEvent, blocks: Blocks) -> None:
        self._kept.append(None)
        self._read += 1

    def record(self, value: Plain) -> None:
        """Crash, instead, at the draw that shall be lost."""
        if len(self._kept) - 1 == self.lost:
            raise Crash
        self._kept[-1] = value
