"""A disk that fails at a chosen call: what a process writes below one directory, counted, and a small tmpfs to fill.

Counted are the calls of `os` that change a file or a directory, and the statements and commits of a SQLite ledger.
"""

import errno
import os
import sqlite3
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from dpqr.ledger.store import SqliteSession

FULL = {
    errno.ENOSPC: sqlite3.SQLITE_FULL,
    errno.EDQUOT: sqlite3.SQLITE_FULL,
    errno.EIO: sqlite3.SQLITE_IOERR,
    "names": sqlite3.SQLITE_CANTOPEN,
}
CHANGING = ("INSERT", "UPDATE", "DELETE")
BY_DESCRIPTOR = ("write", "fsync", "ftruncate")
BY_PATH = ("open", "replace", "unlink", "mkdir", "rmdir")


class Killed(BaseException):
    """The process has ended here: nothing that follows may write."""


class Faults:
    """What happens at call number `at` (from 0; None: nothing), and whether it does at all later ones.

    fault: an errno; `Killed`; "short", where a write takes half; "names", where no new file can be made; or a function
    to be called before the call goes on.
    after: whether the first of these calls still does its work.
    """

    def __init__(self, directory, at=None, fault=errno.ENOSPC, lasting=True, after=False):
        self.directory, self.at, self.fault, self.lasting, self.after = str(directory), at, fault, lasting, after
        self.calls = []

    def over(self, call, name, what, fail):
        """The call, or the fault in its place or behind it."""
        number = len(self.calls)
        met = self.met(name, what)
        if met and not (self.after and number == self.at):
            return fail(call)
        found = call()
        return fail(lambda: found) if met else found

    def met(self, name, what):
        """Whether the call is one of those that meet the fault."""
        number = len(self.calls)
        self.calls.append((name, what))
        return self.at is not None and (number >= self.at if self.lasting else number == self.at)

    def _fail(self, call):
        if self.fault is Killed:
            raise Killed
        if callable(self.fault):
            self.fault()
        elif self.fault not in ("short", "names"):
            raise OSError(self.fault, os.strerror(self.fault))
        return call()

    def _full(self, call):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _fail_sqlite(self, call):
        if code := FULL.get(self.fault):
            error = sqlite3.OperationalError("x")
            error.sqlite_errorcode = code
            raise error
        return self._fail(call)

    def watched(self, monkeypatch):
        """From now on, until the patches are undone."""
        for name in BY_DESCRIPTOR:
            self._watch(monkeypatch, name, lambda given: os.readlink(f"/proc/self/fd/{given[0]}"))
        for name in BY_PATH:
            self._watch(monkeypatch, name, lambda given: os.path.abspath(os.fspath(given[0])))
        rows, commit = SqliteSession.rows, SqliteSession.commit

        def changed(session, statement, *values):
            if not statement.startswith(CHANGING):
                return rows(session, statement, *values)
            return self.over(
                lambda: rows(session, statement, *values), "statement", statement.split()[0], self._fail_sqlite
            )

        def committed(session, mark):
            return self.over(lambda: commit(session, mark), "commit", "", self._fail_sqlite)

        monkeypatch.setattr(SqliteSession, "rows", changed)
        monkeypatch.setattr(SqliteSession, "commit", committed)
        return self

    def _watch(self, monkeypatch, name, place):
        original = getattr(os, name)

        def watched(*given, **stated):
            if name == "open" and (not given[1] & os.O_CREAT or os.path.exists(given[0])):
                return original(*given, **stated)
            path = place(given)
            if self.fault == "names" and name == "open" and path.startswith(self.directory):
                return self.over(lambda: original(*given, **stated), name, path, self._full)
            if not path.startswith(self.directory):
                return original(*given, **stated)
            what = "." if path == self.directory else os.path.basename(path)
            if self.fault == "short" and name == "write":
                half = given[0], given[1][: max(1, len(given[1]) // 2)]
                return self.over(lambda: original(*given), name, what, lambda _: original(*half))
            return self.over(lambda: original(*given, **stated), name, what, self._fail)

        monkeypatch.setattr(os, name, watched)


@contextmanager
def small_disk(place, *, size="4m", files=400):
    """A tmpfs at `place`. Skips where this user may not mount one."""
    place.mkdir()
    options = f"size={size},nr_inodes={files},mode=0777"
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("a small disk is a tmpfs, which this user may not mount")
    try:
        yield Disk(place)
    finally:
        subprocess.run(["umount", "-l", place], check=True)


class Disk:
    """A small disk that is filled up to so many free pages, or so many free files."""

    PAGE = 4096

    def __init__(self, place):
        self.place = place
        self.filler, self.names = Path(place) / "filler", Path(place) / "names"
        self.names.mkdir()

    def fill_blocks(self, free=0):
        with open(self.filler, "ab", buffering=0) as filler, suppress(OSError):
            while True:
                filler.write(bytes(self.PAGE))
        if free:
            os.truncate(self.filler, max(self.filler.stat().st_size - free * self.PAGE, 0))

    def fill_files(self, free=0):
        made = []
        with suppress(OSError):
            for number in range(10**6):
                made.append(self.names / f"{number}-{len(os.listdir(self.names))}")
                made[-1].touch(exist_ok=False)
        for name in made[-1 - free : -1]:
            name.unlink()

    def clear(self):
        self.filler.unlink(missing_ok=True)
        for name in self.names.iterdir():
            name.unlink()
