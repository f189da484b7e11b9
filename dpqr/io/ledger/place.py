"""Place: where a ledger lies, and which paths are no place for one."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dpqr.errors import UsageFault
from dpqr.io.directory_sync import sync_directory
from dpqr.io.ledger.file_systems import network_type
from dpqr.io.user_directories import data_directory

LEDGER = "DPQR_LEDGER"
ANCHOR = "DPQR_ANCHOR"
NO_ANCHOR = "none"
"""What stands for the anchor of a command that does without it."""
FILE = "ledger.sqlite"


def ledger_path(given: str | None, environment: Mapping[str, str] = os.environ) -> Path:
    """The path that was given, else the one in DPQR_LEDGER, else the user's own ledger."""
    named = _named(given, "--ledger") or _named(environment.get(LEDGER) or None, LEDGER)
    return named or data_directory(environment) / FILE


def anchor_path(given: str | None, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The path that was given, else the one in DPQR_ANCHOR, else None: without an anchor."""
    stated = _stated_anchor(given, environment)
    return None if stated == NO_ANCHOR else _named(stated, ANCHOR if given is None else "--anchor")


def is_unanchored(given: str | None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether an option or the environment says to do without an anchor."""
    return _stated_anchor(given, environment) == NO_ANCHOR


def ledger_origin(given: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """What names a ledger, for messages: --ledger, DPQR_LEDGER, or DPQR_ANCHOR; None: nothing does.

    An anchor that is configured is that of a ledger, be it the user's own.
    """
    configured = (name for name in (LEDGER, ANCHOR) if environment.get(name))
    return "--ledger" if given is not None else next(configured, None)


def require_place(path: Path) -> bool:
    """Whether a ledger file is there. UsageFault for a path where none may be.

    Why the file itself is never opened here: on POSIX systems closing a file drops the locks that this process holds
    on it by another descriptor, SQLite's among them.
    """
    try:
        _require_directory(path)
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _fault(path, f"cannot be looked at ({error.strerror}); choose another path") from None
    if stat.S_ISLNK(status.st_mode):
        raise _fault(path, "is a symbolic link; give the ledger's own path")
    if not stat.S_ISREG(status.st_mode):
        raise _fault(path, "is no regular file; give the path of a file on a local disk")
    _require_companions(path)
    if status.st_nlink > 1:
        raise _fault(path, "has a second name (a hard link), and two names make two journals; keep one name only")
    return True


def create(path: Path) -> None:
    """An empty file that only its owner can read. Directories are made for the user's own ledger, not for others."""
    try:
        if path.parent == data_directory():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600))
        sync_directory(path.parent)
    except FileExistsError:
        require_place(path)
    except OSError as error:
        raise _fault(path, f"cannot be made ({error.strerror}); choose a writable directory that exists") from None


def _require_companions(path: Path) -> None:
    """What SQLite opens beside the file; a named pipe there would keep every job waiting for ever."""
    for ending in ("-journal", "-wal", "-shm"):
        beside = path.with_name(path.name + ending)
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.lstat(beside).st_mode):
                raise _fault(path, f"{beside.name!r} beside it is no regular file; remove that")


def _require_directory(path: Path) -> None:
    network = network_type(path.parent)
    if network:
        raise _fault(
            path,
            f"lies on a network file system ({network}), whose locks cannot be trusted; choose a path on a local disk",
        )


def _stated_anchor(given: str | None, environment: Mapping[str, str]) -> str | None:
    return given if given is not None else environment.get(ANCHOR) or None


def _named(text: str | None, origin: str) -> Path | None:
    if text is None:
        return None
    if not text or "\0" in text or not os.path.basename(text):
        raise UsageFault(f"{origin} {text!r}: give the path of a file")
    return Path(os.path.abspath(text))


def _fault(path: Path, text: str) -> UsageFault:
    return UsageFault(f"--ledger {path}: {text}")
