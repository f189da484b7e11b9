"""Directories: where this user's files of dpqr lie, and how new names in a directory outlive a crash."""

from __future__ import annotations

import errno
import hashlib
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct


def sync_directory(directory: Path) -> None:
    """Sync a directory's entries, on systems that let a directory be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def data_directory(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """This user's directory for what must not be lost, by the platform's custom."""
    if platform == "win32":
        home = Path(environment.get("USERPROFILE") or Path.home())
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "dpqr"
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "dpqr"
    declared = environment.get("XDG_DATA_HOME", "")  # it counts where it is absolute (XDG base directories)
    return (Path(declared) if os.path.isabs(declared) else Path.home() / ".local/share") / "dpqr"


# Space on a disk that is set aside before it is needed, and writes that end whole or with an error.

PIECE = hashlib.shake_256(b"dpqr").digest(2**16).translate(bytes(128 | byte for byte in range(256)))
"""What fills a file. File systems that compress make holes of zeros, and nothing of this; no byte of it is ASCII, so no
reader takes it for a line, nor for JSON."""


def write_whole(descriptor: int, content: bytes) -> None:
    """Write all of `content`; the system may take it in pieces. OSError: it did not."""
    while content:
        written = os.write(descriptor, content)
        if written <= 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        content = content[written:]


def fill(descriptor: int, size: int) -> None:
    """Write `size` bytes from the file's position on and sync them: a file without holes, whose blocks are its own."""
    for start in range(0, size, len(PIECE)):
        write_whole(descriptor, PIECE[: size - start])
    os.fsync(descriptor)


class Ballast(Struct, frozen=True):
    """A file that keeps blocks and one file name of a disk free for writes that must not fail later."""

    path: Path

    def hold(self, size: int) -> None:
        """OSError: the disk does not have so much; nothing is held then."""
        self.release()
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(self.path, flags, 0o600)
            try:
                fill(descriptor, size)
            finally:
                os.close(descriptor)
        except OSError:
            with suppress(OSError):
                self.release()
            raise

    def release(self) -> None:
        """Give the space back; nothing happens where none is held."""
        self.path.unlink(missing_ok=True)
