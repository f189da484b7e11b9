"""Claim: a transcript's file is held by one job at a time, and what killed jobs left empty is taken away."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from dpqr.errors import UsageFault
from dpqr.io.directory_sync import sync_directory

try:
    import fcntl
except ImportError:  # such systems are left to the ledger, which lets one job at most make each draw
    fcntl = None  # type: ignore[assignment]

TRIES = 100
"""How often a file is opened anew that another job was about to remove."""
OLD = 60.0
"""Seconds after which an empty file is no job's any more that is between opening and holding it."""


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
