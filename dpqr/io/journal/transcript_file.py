"""The transcript file: JSON lines beside the output, each on the disk before anything depends on it.

One job holds the file at a time, and empty files of killed jobs are removed. The file is public: its draws are
released. What makes it trustworthy is not the file but the ledger, which holds the running hash of its lines.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpqr.errors import LedgerError, UsageFault
from dpqr.io.directories import sync_directory
from dpqr.io.ledger.chain import BEGINNING, seal
from dpqr.io.ledger.entry_codec import canonical
from dpqr.io.set_aside import PIECE, fill, write_whole

try:
    import fcntl
except ImportError:  # such systems are left to the ledger, which lets one job at most make each draw
    fcntl = None  # type: ignore[assignment]

TRIES = 100
"""How often a file is opened anew that another job was about to remove."""

OLD = 60.0
"""Seconds after which an empty file is no job's any more that is between opening and holding it."""

REHEARSED = 256
"""Bytes that a rehearsed line takes."""

LARGEST = 2**30
"""Bytes of a transcript that is read."""


def claimed(path: Path) -> int:
    """The file, opened, new where there is none, and held against all others until it is closed.

    UsageFault where another job holds it, or where no file can be. A killed job holds nothing any more; a file that
    its last holder removed meanwhile is made anew.
    """
    for _ in range(TRIES):
        descriptor = _opened(path)
        locked = _locked(descriptor)
        if locked and _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)
        if not locked:
            break
    raise UsageFault(f"another job is releasing to the same --out (it holds {path}); wait, or choose another --out")


def tidy(path: Path) -> None:
    """Remove old empty files like `path` that killed jobs have left in its directory; one that is held is in use."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(path.parent) as listed:
        for entry in listed:
            if entry.name.startswith(".") and entry.name.endswith(path.suffix) and entry.name != path.name:
                _remove_if_empty(entry)


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
        sync_directory(path.parent)
    except OSError as error:
        raise UsageFault(f"the transcript {path} cannot be opened ({error.strerror}); choose another --out") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageFault(f"the transcript {path} is no regular file; move it away, or choose another --out")
    return descriptor


def _locked(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _remove_if_empty(entry: os.DirEntry[str]) -> None:
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode) or status.st_size or time.time() - status.st_mtime < OLD:
        return
    descriptor = os.open(entry.path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        if _locked(descriptor) and _is_at(descriptor, Path(entry.path)) and not os.fstat(descriptor).st_size:
            os.unlink(entry.path)
    finally:
        os.close(descriptor)


@dataclass(slots=True, kw_only=True)
class TranscriptFile:
    """Whole lines only; what follows the last of them was cut off by a crash and is cut away with the next change.

    lines: without their ends. Raises: UsageFault where the place is none; LedgerError for what is no transcript.
    """

    path: Path
    _descriptor: int
    lines: list[str] = field(default_factory=list)
    _digests: list[str] = field(default_factory=list)
    _size: int = 0
    _room: int = 0

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
            if _length(line) > self._room:
                self._truncate(self._size)
            self._write(f"{line}\n".encode())
        self._room = max(self._room - _length(line), 0)
        self._add(line)

    def set_aside(self, size: int) -> None:
        """Fill the file where the next lines go, so that lines of `size` bytes together need no space. A reader takes
        that for a line that was cut off."""
        with self._faults("written"):
            self._truncate(self._size)
            fill(self._descriptor, size)
        self._room = size

    def rehearse(self) -> None:
        """Write and sync as `append` does, and add nothing."""
        with self._faults("written"):
            self._write(PIECE[: min(self._room, REHEARSED)])

    def trim(self) -> None:
        """Give back what was set aside and not used."""
        with self._faults("written"):
            self._truncate(self._size)
        self._room = 0

    def cut(self, count: int) -> None:
        """Keep the first `count` lines."""
        kept = sum(_length(line) for line in self.lines[:count])
        with self._faults("written"):
            self._truncate(kept)
            os.fsync(self._descriptor)
        del self.lines[count:], self._digests[count:]
        self._size, self._room = kept, 0

    def remove(self) -> None:
        """The run needs it no more."""
        with self._faults("removed"):
            self.path.unlink(missing_ok=True)

    def _add(self, line: str) -> None:
        self._digests.append(seal(self.digest, line))
        self.lines.append(line)
        self._size += _length(line)

    def _write(self, content: bytes) -> None:
        os.lseek(self._descriptor, self._size, os.SEEK_SET)
        write_whole(self._descriptor, content)
        os.fsync(self._descriptor)

    def _truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)
        os.lseek(self._descriptor, size, os.SEEK_SET)

    @contextmanager
    def _faults(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageFault(f"the transcript {self.path} cannot be {what} ({error.strerror}); fix that") from None


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
