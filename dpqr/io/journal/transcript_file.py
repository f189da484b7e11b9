"""TranscriptFile: JSON lines beside the output, each on the disk before anything depends on it, under a running hash.

The file is held by one job at a time. It is public: its draws are released. What makes it trustworthy is not the file
but the ledger, which holds the running hash.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpqr.errors import LedgerError, UsageFault
from dpqr.io.journal.claim import claimed, tidy
from dpqr.io.ledger.chain import BEGINNING, seal
from dpqr.io.ledger.entry_codec import canonical

LARGEST = 2**30
"""Bytes of a transcript that is read."""


@dataclass(slots=True, kw_only=True)
class TranscriptFile:
    """Whole lines only; what follows the last of them was cut off by a crash and is cut away with the next change.

    lines: without their ends. Errors: UsageFault where the place is none; LedgerError for what is no transcript.
    """

    path: Path
    _descriptor: int
    lines: list[str] = field(default_factory=list)
    _digests: list[str] = field(default_factory=list)
    _size: int = 0

    def __post_init__(self) -> None:
        given, self.lines = self.lines, []
        for line in given:
            self._add(line)

    @property
    def digest(self) -> str:
        """Running hash of all lines."""
        return self.digest_of(len(self.lines))

    def digest_of(self, count: int) -> str:
        """Running hash of the first `count` lines; the same rule as the ledger's chain."""
        return self._digests[count - 1] if count else BEGINNING

    def document(self, number: int) -> dict[str, Any]:
        """One line as JSON."""
        try:
            found = json.loads(self.lines[number])
        except (ValueError, RecursionError, IndexError):
            found = None
        if not isinstance(found, dict):
            raise LedgerError(f"the transcript {self.path} is damaged or was edited; nothing can be continued from it")
        return found

    def append(self, document: Any) -> None:
        """Add a line; on the disk when this returns."""
        line = canonical(document)
        with self._faults("written"):
            self._truncate(self._size)
            _write(self._descriptor, f"{line}\n".encode())
            os.fsync(self._descriptor)
        self._add(line)

    def cut(self, count: int) -> None:
        """Keep the first `count` lines."""
        kept = sum(_length(line) for line in self.lines[:count])
        with self._faults("written"):
            self._truncate(kept)
            os.fsync(self._descriptor)
        del self.lines[count:], self._digests[count:]
        self._size = kept

    def remove(self) -> None:
        """The run needs it no more."""
        with self._faults("removed"):
            self.path.unlink(missing_ok=True)

    def _add(self, line: str) -> None:
        self._digests.append(seal(self.digest, line))
        self.lines.append(line)
        self._size += _length(line)

    def _truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)
        os.lseek(self._descriptor, size, os.SEEK_SET)

    @contextmanager
    def _faults(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageFault(f"the transcript {self.path} cannot be {what} ({error.strerror}); mend that") from None


@contextmanager
def held(path: Path) -> Iterator[TranscriptFile]:
    """The transcript at `path`, new and empty where there is none; nobody else holds it meanwhile.

    A file that is still empty at the end is removed: nothing was begun. Empty ones of killed jobs, beside it, too.
    """
    tidy(path)
    descriptor = claimed(path)
    try:
        file = TranscriptFile(path=path, _descriptor=descriptor, lines=_read(descriptor, path))
        try:
            yield file
        finally:
            if not file.lines:
                file.remove()
    finally:
        os.close(descriptor)


def _read(descriptor: int, path: Path) -> list[str]:
    if os.fstat(descriptor).st_size > LARGEST:
        raise LedgerError(f"the transcript {path} is larger than any that dpqr writes; it was edited")
    with os.fdopen(os.dup(descriptor), "rb") as opened:
        whole, _, _ = opened.read().rpartition(b"\n")
    try:
        return whole.decode("utf-8").split("\n") if whole else []
    except UnicodeDecodeError:
        raise LedgerError(f"the transcript {path} is damaged or was edited") from None


def _length(line: str) -> int:
    return len(line.encode()) + 1


def _write(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
