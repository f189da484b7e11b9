"""SessionFolder: the files of one session, which processes use one after the other.

| file         | holds                                                             | public                |
|--------------|-------------------------------------------------------------------|-----------------------|
| `session`    | what the session is, as it was opened                             | yes                   |
| `transcript` | its draws; the ledger holds their running hash (`LedgerJournal`)  | yes                   |
| `log`        | what was asked and answered, a line each                          | yes                   |
| `secret`     | thresholds that still admit comparisons; mode 0600, of one size   | no                    |
| `lock`       | nothing; who holds it has the turn                                | yes                   |

The folder has mode 0700. A secret that is lost ends what it belongs to, which stays paid; nothing else follows from it.
`dpqr.io.sessions.asking` says in which order these files change while a question is answered.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpqr.errors import AlreadyThere, LedgerError, UsageFault
from dpqr.io.directories import sync_directory
from dpqr.io.ledger.refusals import require_name
from dpqr.io.set_aside import PIECE, fill, write_whole

try:
    import fcntl
except ImportError:  # `require_locks` refuses sessions there
    fcntl = None  # type: ignore[assignment]

ENDING = ".sessions"
SESSION, TRANSCRIPT, LOG, SECRET, LOCK = "session", "transcript", "log", "secret", "lock"
SECRET_BYTES = 1024
"""A secret is filled up to this size, so that its size tells nothing."""
WAIT = 60.0
"""Seconds that a process waits for its turn."""
PAUSE = 0.02
REHEARSED = 128
"""Bytes that a rehearsed line of the log takes."""


def require_locks() -> None:
    """UsageFault: this system has no file locks."""
    if fcntl is None:
        raise UsageFault(
            "a session needs file locks, and this system has none (fcntl): two processes could compare answers with "
            "one threshold at a time, and pass it twice\n"
            "use sessions on Linux, macOS or another POSIX system; `dpqr release` and `dpqr predict` work here"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFolder:
    """The folder of the session `name`, beside the file of its ledger.

    >>> SessionFolder(ledger=Path("/budgets/ledger.sqlite"), name="survey").path.as_posix()
    '/budgets/ledger.sqlite.sessions/survey'
    """

    ledger: Path
    name: str

    @property
    def path(self) -> Path:
        """Of the folder."""
        return self.ledger.with_name(self.ledger.name + ENDING) / require_name(self.name, what="session")

    @property
    def transcript(self) -> Path:
        """Of the file of its draws."""
        return self.path / TRANSCRIPT

    def make(self) -> None:
        """A new folder. AlreadyThere: the name is taken."""
        try:
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            self.path.mkdir(mode=0o700)
            sync_directory(self.path.parent)
        except FileExistsError:
            raise AlreadyThere(
                f"session {self.name!r}: is there already; choose another name, or end it with `close`"
            ) from None
        except OSError as error:
            words = f"cannot be made ({error.strerror}); the ledger's directory must be writable"
            raise UsageFault(f"{self.path}: {words}") from None

    @property
    def is_opened(self) -> bool:
        """Whether its opening has ended."""
        return (self.path / SESSION).is_file()

    @contextmanager
    def turn(self, wait: float = WAIT) -> Iterator[None]:
        """Hold the session against all other processes.

        Raises:
            UsageFault: there is none, another process is at work, or the system has no file locks.
        """
        require_locks()
        if not self.path.is_dir():
            raise UsageFault(f"session {self.name!r}: there is none beside this ledger; `open` makes one")
        with self.faults():
            descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            self._wait(descriptor, time.monotonic() + wait)
            yield
        finally:
            os.close(descriptor)

    def _wait(self, descriptor: int, until: float) -> None:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if time.monotonic() > until:
                    raise UsageFault(f"session {self.name!r}: another process is asking; try again later") from None
                time.sleep(PAUSE)
                continue
            return

    @contextmanager
    def faults(self) -> Iterator[None]:
        """UsageFault where the disk fails, the same wherever it does."""
        try:
            yield
        except OSError as error:
            raise UsageFault(
                f"{self.path}: a file of the session could not be written ({error.strerror}); fix that, and try again"
            ) from None

    def write(self, document: Any) -> None:
        """What the session is; durable on return."""
        self.replace(SESSION, json.dumps(document).encode())

    def document(self) -> Any:
        """What the session is. UsageFault: it was never opened to its end."""
        found = self._read(SESSION)
        if found is None:
            raise UsageFault(f"session {self.name!r}: its opening did not end; it is paid, and `close` gives it up")
        return found

    def secret(self) -> Any:
        """The secret; None where it is lost, blank or damaged."""
        with suppress(LedgerError):
            return self._read(SECRET)
        return None

    def keep(self, secret: Any) -> None:
        """Write the secret over the blank file; durable on return. OSError: the disk failed."""
        self._overwrite(json.dumps(secret).encode().ljust(SECRET_BYTES))

    def blank(self) -> None:
        """Overwrite the secret where it lies, which takes no space; durable on return. OSError: the disk failed."""
        self._overwrite(PIECE[:SECRET_BYTES])

    def allocate(self) -> None:
        """A blank secret where there is none of the right size. OSError: the disk has no room for it."""
        path = self.path / SECRET
        with suppress(FileNotFoundError):
            if path.lstat().st_size == SECRET_BYTES:
                return
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            fill(descriptor, SECRET_BYTES)
        finally:
            os.close(descriptor)
        sync_directory(self.path)

    def _overwrite(self, content: bytes) -> None:
        """Where that fails, the secret is removed; what is left of it then is unknown only if that fails too."""
        try:
            descriptor = os.open(self.path / SECRET, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0))
            try:
                write_whole(descriptor, content)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError:
            with suppress(OSError):
                (self.path / SECRET).unlink()
            raise

    def log(self) -> list[Any]:
        """Its whole lines; one that a crash has cut off is left out."""
        try:
            text = (self.path / LOG).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        found = []
        for line in text.splitlines():
            with suppress(ValueError):
                found.append(json.loads(line))
        return found

    @contextmanager
    def opened_log(self, size: int) -> Iterator[SessionLog]:
        """Its log, with `size` bytes set aside for lines to come. OSError: the disk does not have so much."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self.path / LOG, flags, 0o600)
        try:
            log = SessionLog(descriptor=descriptor, end=_whole_lines(descriptor))
            log.trim()
            os.lseek(descriptor, log.end, os.SEEK_SET)
            fill(descriptor, size)
            sync_directory(self.path)
            yield log
        finally:
            os.close(descriptor)

    def remove(self) -> None:
        """The session is settled."""
        with self.faults():
            for file in self.path.iterdir():
                file.unlink()
            self.path.rmdir()

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            raise LedgerError(f"session {self.name!r}: its file {name!r} is damaged or was edited") from None

    def replace(self, name: str, content: bytes) -> None:
        """Written beside, synced and renamed, as mode 0600. UsageFault: the disk failed."""
        beside = self.path / f".{name}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        with self.faults():
            descriptor = os.open(beside, flags, 0o600)
            try:
                write_whole(descriptor, content)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(beside, self.path / name)
            sync_directory(self.path)


@dataclass(slots=True, kw_only=True)
class SessionLog:
    """The log of a session while a question is answered. end: of its whole lines, in bytes. OSError: the disk failed.

    What follows the last line is space that was set aside; a reader leaves it out.
    """

    descriptor: int
    end: int

    def say(self, *lines: Any, durable: bool = False) -> None:
        """Add lines."""
        content = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        self._write(content, durable)
        self.end += len(content)

    def sync(self) -> None:
        """What was said is on the disk when this returns."""
        os.fsync(self.descriptor)

    def rehearse(self) -> None:
        """Write and sync as a durable line does, and add nothing."""
        self._write(PIECE[:REHEARSED], True)

    def trim(self) -> None:
        """Give back what was set aside and not used."""
        os.ftruncate(self.descriptor, self.end)

    def _write(self, content: bytes, durable: bool) -> None:
        os.lseek(self.descriptor, self.end, os.SEEK_SET)
        write_whole(self.descriptor, content)
        if durable:
            os.fsync(self.descriptor)


def _whole_lines(descriptor: int) -> int:
    with os.fdopen(os.dup(descriptor), "rb") as opened:
        opened.seek(0)
        return opened.read().rfind(b"\n") + 1
