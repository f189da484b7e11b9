"""The cache of tuned strategies: tables of integers in a directory of this user, reused by later jobs.

The directory may vanish, fill up or hold anything at any time. A file appears whole or not at all, and is a hit only if
its checksum, its name within and its size fit; the reader checks what the table means. Only public things are stored.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.io.directories import cache_directory
from dpqr.strategies.designs.tunings import Tunings, tunings_from

CACHE = "DPQR_CACHE"
NO_CACHE = "none"
"""Value of DPQR_CACHE with which nothing is stored."""

FORMAT = "dpqr-table/1"
ENDING = ".table"
MOST = 128
"""Files that are stored; the oldest are removed."""
LARGEST = 2**20
"""Bytes of a file."""
FIRST_LINE = 200
"""Bytes of a file's first line, at most."""
CHECKSUM = hashlib.sha256().digest_size


def cache_path() -> Path | None:
    """The directory that DPQR_CACHE names, else this user's own; None: nothing is stored, or there is no home."""
    named = os.environ.get(CACHE, "")
    if named:
        return None if named == NO_CACHE else Path(os.path.abspath(named))
    try:
        return cache_directory()
    except RuntimeError:
        return None


@final
@dataclass(frozen=True, slots=True)
class CacheFolder:
    """Tables of int32 values by names of letters and digits. Never an error: what cannot be stored is not."""

    path: Path

    def find(self, name: str) -> IntArray | None:
        """The table as int64, or None."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            with open(os.open(self._file(name), flags), "rb") as opened:
                if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                    return None
                content = opened.read(LARGEST + 1)
        except OSError:
            return None
        return _table(content, name)

    def keep(self, name: str, table: IntArray) -> None:
        """Store a table, or do without. Values beyond int32 and tables beyond LARGEST are not stored."""
        content = _content(name, table)
        if content is None:
            return
        draft = self.path / f".{os.getpid()}-{name}{ENDING}"
        with suppress(OSError):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make_room()
            try:
                _write(draft, content)
                os.replace(draft, self._file(name))
            except OSError:
                draft.unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        return self.path / f"{name}{ENDING}"

    def _make_room(self) -> None:
        """The oldest go, drafts of killed jobs among them."""
        with os.scandir(self.path) as listed:
            files = [entry for entry in listed if entry.name.endswith(ENDING) and entry.is_file(follow_symlinks=False)]
        by_age = sorted(files, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns)
        for entry in by_age[: max(len(by_age) - MOST + 1, 0)]:
            os.unlink(entry.path)


def _write(draft: Path, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(draft, flags, 0o600), "wb") as opened:
        opened.write(content)


def _content(name: str, table: IntArray) -> bytes | None:
    """One line that says what follows, the values row by row, and the checksum of all that."""
    small = table.astype("<i4")
    if not np.array_equal(small, table):
        return None
    said = f"{FORMAT} {name} {table.shape[0]} {table.shape[1]}\n".encode() + small.tobytes()
    content = said + hashlib.sha256(said).digest()
    return content if len(content) <= LARGEST else None


def _table(content: bytes, name: str) -> IntArray | None:
    """What `_content` has written; None for anything else."""
    said = content[:-CHECKSUM]
    if len(content) > LARGEST or hashlib.sha256(said).digest() != content[-CHECKSUM:]:
        return None
    line = said[:FIRST_LINE].partition(b"\n")[0]
    words = line.decode("ascii", "replace").split(" ")
    if words[:2] != [FORMAT, name] or len(words) != 4 or not all(word.isdecimal() for word in words[2:]):
        return None
    rows, columns, values = int(words[2]), int(words[3]), said[len(line) + 1 :]
    if rows < 1 or columns < 1 or len(values) != 4 * rows * columns:
        return None
    return np.frombuffer(values, dtype="<i4").reshape(rows, columns).astype(np.int64)


@contextmanager
def cached_tunings() -> Iterator[Tunings | None]:
    """Within it, tunings are looked up in the user's cache and put there; None where DPQR_CACHE says to do without.

    Privacy: public things alone are kept (see `Tunings`).
    """
    path = cache_path()
    if path is None:
        yield None
        return
    with tunings_from(CacheFolder(path)) as tunings:
        yield tunings


def tuning_notes(tunings: Tunings | None) -> tuple[str, ...]:
    """A note on cache hits, for a plan's reader. No part of the plan, which is the same for a resumed run."""
    if not tunings or not tunings.taken:
        return ()
    many = "1 strategy was" if tunings.taken == 1 else f"{tunings.taken} strategies were"
    return (f"{many} tuned by an earlier job and kept in this user's cache; {CACHE}={NO_CACHE} does without",)
