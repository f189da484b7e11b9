"""SessionFolder: the files of one session, which processes use one after the other.

| file         | holds                                                             | public                |
|--------------|-------------------------------------------------------------------|-----------------------|
| `session`    | what the session is, as it was opened                             | yes                   |
| `transcript` | its draws; the ledger holds their running hash (`LedgerJournal`)  | yes                   |
| `log`        | what was asked and answered, a line each                          | yes                   |
| `secret`     | thresholds that still admit comparisons; mode 0600, of one size   | no                    |
| `lock`       | nothing; who holds it has the turn                                | yes                   |

The folder has mode 0700. A secret that is lost ends what it belongs to, which stays paid; nothing else follows from it.
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

try:
    import fcntl
except ImportError:  # such systems are left to the ledger, which lets one process at most make each draw
    fcntl = None  # type: ignore[assignment]

ENDING = ".sessions"
SESSION, TRANSCRIPT, LOG, SECRET, LOCK = "session", "transcript", "log", "secret", "lock"
SECRET_BYTES = 1024
"""A secret is filled up to this size, so that its size tells nothing."""
WAIT = 60.0
"""Seconds that a process waits for its turn."""
PAUSE = 0.02


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
        """Hold the session against all other processes. UsageFault: there is none, or another one is at work."""
        if not self.path.is_dir():
            raise UsageFault(f"session {self.name!r}: there is none beside this ledger; `open` makes one")
        descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            self._wait(descriptor, time.monotonic() + wait)
            yield
        finally:
            os.close(descriptor)

    def _wait(self, descriptor: int, until: float) -> None:
        while fcntl is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if time.monotonic() > until:
                    raise UsageFault(f"session {self.name!r}: another process is asking; try again later") from None
                time.sleep(PAUSE)
                continue
            return

    def write(self, document: Any) -> None:
        """What the session is; durable on return."""
        self.replace(SESSION, json.dumps(document).encode())

    def document(self) -> Any:
        """What the session is. UsageFault: it was never opened to its end."""
        found = self._read(SESSION)
        if found is None:
            raise UsageFault(f"session {self.name!r}: its opening did not end; it is paid, and `close` gives it up")
        return found

    def keep(self, secret: Any) -> None:
        """Replace the secret; durable on return."""
        self.replace(SECRET, json.dumps(secret).encode().ljust(SECRET_BYTES))

    def secret(self) -> Any:
        """The secret; None where it is lost or damaged."""
        with suppress(LedgerError):
            return self._read(SECRET)
        return None

    def say(self, *lines: Any, durable: bool = False) -> None:
        """Append to the log."""
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self.path / LOG, flags, 0o600)
        try:
            os.write(descriptor, text.encode())
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def log(self) -> list[Any]:
        """Its whole lines; one that a crash has cut off is left out."""
        try:
            text = (self.path / LOG).read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        found = []
        for line in text.splitlines():
            with suppress(ValueError):
                found.append(json.loads(line))
        return found

    def remove(self) -> None:
        """The session is settled."""
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
        """Written beside, synced and renamed, as mode 0600."""
        beside = self.path / f".{name}"
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            os.write(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(beside, self.path / name)
        sync_directory(self.path)
