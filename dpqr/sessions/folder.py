"""SessionFolder: the files of one session, which processes use one after the other.

| file         | holds                                                             | public                |
|--------------|-------------------------------------------------------------------|-----------------------|
| `session`    | what the session is, as it was opened                             | yes                   |
| `transcript` | its draws; the ledger holds their running hash (`LedgerJournal`)  | yes                   |
| `log`        | what was asked and answered, a line each                          | yes                   |
| `secret`     | thresholds that still admit comparisons; mode 0600, of one size   | no                    |
| `lock`       | nothing; who holds it has the turn                                | yes                   |

The folder has mode 0700. A secret that is lost ends what it belongs to, which stays paid; nothing else follows from it.
`dpqr.sessions.folder` says in which order these files change while a question is answered.
"""

from __future__ import annotations

import io
import json
import os
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from msgspec import Struct, to_builtins

from dpqr.kernel.errors import AlreadyThere, LedgerError, UsageFault
from dpqr.kernel.files import PIECE, Ballast, fill, sync_directory, write_whole
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.ledger.codec import JSON
from dpqr.ledger.refusals import require_name
from dpqr.models.rows import WeightedRows
from dpqr.releases.journal import LedgerJournal

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
REHEARSAL_BYTES = 128
"""Bytes that a rehearsed line of the log takes."""


def require_locks() -> None:
    """UsageFault: this system has no file locks."""
    if fcntl is None:
        raise UsageFault(
            "a session needs file locks, and this system has none (fcntl): two processes could compare answers with "
            "one threshold at a time, and pass it twice\n"
            "use sessions on Linux, macOS or another POSIX system; `dpqr release` and `dpqr predict` work here"
        )


_CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""No link is followed, and no pipe waited for."""


class SessionFolder(Struct, frozen=True, kw_only=True):
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
        return os.path.isfile(self.path / SESSION)

    @contextmanager
    def turn(self, wait: float = WAIT) -> Iterator[None]:
        """Hold the session against all other processes.

        Raises:
            UsageFault: there is none, another process is at work, or the system has no file locks.
        """
        require_locks()
        if not os.path.isdir(self.path):  # also of a path that is too long
            raise UsageFault(f"session {self.name!r}: there is none beside this ledger; `open` makes one")
        with self.faults():
            descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | _CAREFULLY, 0o600)
        until, locked = time.monotonic() + wait, False
        try:
            while not locked:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    locked = True
                except OSError:
                    if time.monotonic() > until:
                        raise UsageFault(f"session {self.name!r}: another process is asking; try again later") from None
                    time.sleep(PAUSE)
            yield
        finally:
            os.close(descriptor)

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
        self.replace(SESSION, json.dumps(to_builtins(document)).encode())

    def document(self) -> JSON:
        """What the session is. UsageFault: it was never opened to its end. LedgerError: it is damaged."""
        found = self._read(SESSION)
        if found is None:
            raise UsageFault(f"session {self.name!r}: its opening did not end; it is paid, and `close` gives it up")
        if not isinstance(found, dict):
            raise self.damaged(SESSION)
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
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _CAREFULLY, 0o600)
        try:
            fill(descriptor, SECRET_BYTES)
        finally:
            os.close(descriptor)
        sync_directory(self.path)

    def _overwrite(self, content: bytes) -> None:
        """Where that fails, the secret is removed; what is left of it then is unknown only if that fails too."""
        try:
            descriptor = os.open(self.path / SECRET, os.O_WRONLY | _CAREFULLY)
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
        """Its whole lines; one that a crash has cut off is left out. LedgerError: one of them is no line of a log."""
        found = []
        for line in (self.content(LOG) or b"").decode(errors="replace").splitlines():
            with suppress(ValueError):
                try:
                    found.append(json.loads(line))
                except RecursionError:
                    raise self.damaged(LOG) from None
        if not all(isinstance(line, dict) for line in found):
            raise self.damaged(LOG)
        return found

    @contextmanager
    def opened_log(self, size: int) -> Iterator[SessionLog]:
        """Its log, with `size` bytes set aside for lines to come. OSError: the disk does not have so much."""
        descriptor = os.open(self.path / LOG, os.O_RDWR | os.O_CREAT | _CAREFULLY, 0o600)
        try:
            with os.fdopen(os.dup(descriptor), "rb") as opened:
                opened.seek(0)
                whole_lines = opened.read().rfind(b"\n") + 1
            log = SessionLog(descriptor=descriptor, end=whole_lines)
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

    def content(self, name: str) -> bytes | None:
        """Of one of its files; None: it is not there. LedgerError: it is no regular file, or cannot be read."""
        try:
            descriptor = os.open(self.path / name, os.O_RDONLY | _CAREFULLY)
        except FileNotFoundError:
            return None
        except OSError:
            raise self.damaged(name) from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise self.damaged(name)
            with os.fdopen(os.dup(descriptor), "rb") as opened:
                return opened.read()
        finally:
            os.close(descriptor)

    def damaged(self, name: str) -> LedgerError:
        """What is said of a file that holds what no job has written."""
        said = f"session {self.name!r}: its file {name!r} is damaged or was edited"
        return LedgerError(f"{said}; restore it, else the session cannot go on and stays paid")

    def _read(self, name: str) -> Any:
        content = self.content(name)
        if content is None:
            return None
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            found = None
        if found is None:
            raise self.damaged(name)
        return found

    def replace(self, name: str, content: bytes) -> None:
        """Written beside, synced and renamed, as mode 0600. UsageFault: the disk failed."""
        beside = self.path / f".{name}"
        with self.faults():
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _CAREFULLY, 0o600)
            try:
                write_whole(descriptor, content)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(beside, self.path / name)
            sync_directory(self.path)


class SessionLog(Struct, kw_only=True):
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
        self._write(PIECE[:REHEARSAL_BYTES], True)

    def trim(self) -> None:
        """Give back what was set aside and not used."""
        os.ftruncate(self.descriptor, self.end)

    def _write(self, content: bytes, durable: bool) -> None:
        os.lseek(self.descriptor, self.end, os.SEEK_SET)
        write_whole(self.descriptor, content)
        if durable:
            os.fsync(self.descriptor)


# Asking: in which order a session's files change while a question is answered, so that no fault repeats a comparison.
#
# **Order.** One process at a time (file locks; systems without them are refused).
#
# | step                                                                          | where that fails                  |
# |-------------------------------------------------------------------------------|-----------------------------------|
# | 1 space is set aside: log, transcript, secret; and beside the ledger and its  | refused: nothing was read, and    |
# |   anchor a file each, as large as the entries of all surprises may become     | all is as it was                  |
# | 2 log: "begun", synced                                                        | refused, the same                 |
# | 3 the table is read; thresholds that are missing are paid and drawn           | the session is spoilt             |
# | 4 log: "ask" with its queries, synced: **no threshold on the disk is valid    | the same; and all epochs end      |
# |   any more**; the secret is overwritten in place, synced                      |                                   |
# | 5 comparisons, by thresholds that this process alone knows; of a surprise:    | the same                          |
# |   its line, the ledger's `begin`, the draw, the transcript, `record`;         |                                   |
# |   where there is none: the same writes, which add nothing                     |                                   |
# | 6 log: the answers and "ended"; what is left of the space of step 1 is given  | the same                          |
# |   back; the secret: thresholds that were not passed, with the number of asks  |                                   |
# |   so far; each synced                                                         |                                   |
# | 7 the answers are shown                                                       |                                   |
#
# A threshold of the disk is used only if (a) the secret states as many asks as the log holds, (b) its draw is the last
# of its side in the transcript that the ledger knows, and (c) no noisy answer of its side follows there.
#
# **No threshold is compared after it was passed.** A comparison is made after step 4 returned, in a process that holds
# the threshold in memory. That process drops it when it is passed, and step 6 writes it only if it was not. Any other
# process reads it from the disk, and in between the disk goes through these states only:
#
# - before the ask line is durable: no comparison was made since the secret was written, and it may be used;
# - from the ask line to the secret of step 6: the log holds one ask more than any secret that was ever written, so (a)
#   refuses all of them, older copies too; by the end of step 4 there is also none to be read;
# - after the secret of step 6: those that were not passed. A secret that was written in part is no JSON, and lost.
#
# No write has to succeed for this: the states are passed in one direction, whatever fails, and however a process ends
# (a fault, a kill, a loss of power). What is lost is an epoch, which stays paid.
#
# **A threshold that was not passed goes on** only by step 6, when all outcomes since step 4 are in the log. So no
# comparison is repeated for nothing: what follows a fault is compared with a new threshold, which is paid. Repeating
# one would be covered too, as one more question of the epoch: `AboveThreshold` holds for any questions, chosen after
# all that was seen, and for every beginning of every path, so for a path that a fault cuts off.
#
# **What a fault tells.** Where the disk is full when a question begins, step 1 refuses it, whatever the comparisons
# would have shown. From step 4 on the writes of a question are the same in number, order and place, free or paid; with
# the space of step 1 they need no other. Every fault of theirs ends the process with one constant sentence. (A document
# of several queries makes the writes of each surprise, and those of one where there is none: a disk that fails later
# than these may tell that there were more. That is an outcome of comparisons, which their epochs have paid for, and it
# ends these.) Whether what was not drawn comes back is decided by "begun" without "ended", so by no write that may
# fail.
#
# Sessions that version 0.10 or an older one has asked: their secret states no asks. On a full disk it may have outlived
# its end, so (a) refuses it; the session goes on with new epochs, as after a lost secret. A fault there could also
# leave an answered question without a trace; it says nothing about the thresholds from now on.

BEGUN, ENDED, ASKS, THRESHOLDS = "begun", "ended", "asks", "thresholds"
LEDGER_ROOM, DRAW_ROOM, ANCHOR_ROOM = 2**18, 2**13, 2**12
"""Bytes of the ledger's journal and first checkpoint, of the two entries of one draw, and of an anchor's draft."""
LOG_ROOM, TRANSCRIPT_ROOM = 2**12, 2**12
"""Bytes for the lines of the protocol, and for the draws of thresholds."""


Thresholds = list[dict[str, int]]
"""side, threshold, and the draw that paid for it."""


class WriteSpace(Struct, frozen=True, kw_only=True):
    """What a question may write.

    Attributes:
        log, transcript: bytes of its lines.
        draws: how many the ledger may have to hold.
        secret: whether thresholds are kept.
    """

    log: int
    transcript: int
    draws: int
    secret: bool = False


class QuestionWriter(Struct, kw_only=True):
    """The writes of one question of a session. See the order above."""

    folder: SessionFolder
    journal: LedgerJournal
    ledger: ChainedLedger
    log: SessionLog
    asks: int
    ballast: tuple[Ballast, ...]
    drawn: bool = False
    thresholds: Thresholds | None = None

    def seal(self, line: dict[str, object]) -> None:
        """Step 4: after this the disk holds no threshold that could be used."""
        self.log.say(line, durable=True)
        self.asks += 1
        self.folder.blank()

    def begin_draws(self, line: dict[str, object]) -> None:
        """Say what is about to be drawn, in the log, durably. The ledger takes the space that was held for it."""
        self._release()
        self.log.say(line, durable=True)

    def rehearse(self) -> None:
        """The writes of a surprise, where there was none: they add nothing."""
        if self.drawn:
            return
        self._release()
        self.log.rehearse()
        self._touch_ledger()
        self.journal.file.rehearse()
        self._touch_ledger()

    def keep(self, thresholds: Thresholds) -> None:
        """These were not passed: the last write of step 6 keeps them."""
        self.thresholds = thresholds

    def end(self) -> None:
        """Step 6, after the answers."""
        self.log.say({ENDED: self.asks}, durable=True)
        self.log.trim()
        self.journal.file.trim()
        self._release()
        if self.thresholds is not None:
            store_thresholds(self.folder, self.asks, self.thresholds)

    def _release(self) -> None:
        """The ledger's next entries take the space that was held for them."""
        self.drawn = True
        for each in self.ballast:
            each.release()

    def _touch_ledger(self) -> None:
        """Write as `ChainedLedger.begin` and `record` do: the newest entry once more, as it is."""
        with self.ledger.transaction() as transaction:
            newest = transaction.state.length - 1
            transaction.session.rows("UPDATE entries SET seal = seal WHERE number = ?", newest)


@contextmanager
def writing_question(
    folder: SessionFolder, journal: LedgerJournal, ledger: ChainedLedger, room: WriteSpace
) -> Iterator[QuestionWriter]:
    """Steps 1 and 2, the block, and "ended" where it has no error; nothing is shown before this has returned.

    Raises:
        UsageFault: the disk has no room for the question; nothing was read.
    """
    # How much is held beside the ledger, and beside its anchor.
    with ledger.store.reading(ledger.wait) as session:
        stored = session.stored_state() if session.is_begun() else None
    state = 2 * len(stored[1].encode()) if stored else 0  # a checkpoint's journal holds the old one beside the new
    ballast, sizes = _ballasts(folder, ledger), (LEDGER_ROOM + state + DRAW_ROOM * room.draws, ANCHOR_ROOM)
    with ExitStack() as stack:
        stack.callback(_release_anyway, ballast)
        try:
            for each, size in zip(ballast, sizes, strict=False):
                each.hold(size)
            if room.secret:
                folder.allocate()
            journal.file.set_aside(TRANSCRIPT_ROOM + room.transcript)
            log = stack.enter_context(folder.opened_log(LOG_ROOM + room.log))
            known = folder.log()
            log.say({BEGUN: count_asks(known)}, durable=True)
        except (OSError, UsageFault):
            raise UsageFault(
                f"session {folder.name!r}: the disk has no room for what a question writes, in the session's folder or "
                "beside its ledger and anchor; nothing was read or spent\n"
                "free some space (or files, where their number is limited), and ask again"
            ) from None
        made = QuestionWriter(
            folder=folder, journal=journal, ledger=ledger, log=log, asks=count_asks(known), ballast=ballast
        )
        yield made
        with refuse_on_disk_fault(folder.name):
            made.end()


@contextmanager
def refuse_on_disk_fault(name: str) -> Iterator[None]:
    """Any fault of the disk in the block ends the question, in words that say nothing about its comparisons."""
    try:
        yield
    except (OSError, LedgerError, UsageFault):
        raise UsageFault(
            f"session {name!r}: a file of it or of its ledger could not be written, so the question has no answer\n"
            "thresholds that answers were compared with have ended, and stay paid; look at the disk, and ask again"
        ) from None


def store_thresholds(folder: SessionFolder, asks: int, thresholds: Thresholds) -> None:
    """Write thresholds that were not passed by any of so many asks. OSError: the disk failed."""
    folder.keep({ASKS: asks, THRESHOLDS: thresholds})


def load_thresholds(folder: SessionFolder, asks: int) -> Iterator[dict[str, int]]:
    """What may still be used of the secret where the log holds so many asks. What was damaged is as good as lost."""
    secret = folder.secret()
    if not isinstance(secret, dict) or secret.get(ASKS) != asks or not isinstance(secret.get(THRESHOLDS), list):
        return
    for line in secret[THRESHOLDS]:
        kept: dict[str, Any] = line if isinstance(line, dict) else {}
        if all(type(kept.get(name)) is int for name in ("side", "draw", "threshold")):
            yield kept


def count_asks(log: list[Any]) -> int:
    """How many asks a log holds."""
    return sum("queries" in line for line in log)


def has_failed_question(log: list[Any]) -> bool:
    """Whether a question was begun and not ended, so that rows may have decided how."""
    begun, ended = (sum(mark in line for line in log) for mark in (BEGUN, ENDED))
    return begun > ended or any("spoilt" in line for line in log)


def remove_ballasts(folder: SessionFolder, ledger: ChainedLedger) -> None:
    """Remove what a killed process has set aside beside the ledger and its anchor."""
    _release_anyway(_ballasts(folder, ledger))


def _ballasts(folder: SessionFolder, ledger: ChainedLedger) -> tuple[Ballast, ...]:
    """What is held beside the ledger, and beside its anchor."""
    files = [folder.ledger, *([ledger.anchor.path] if ledger.anchor else [])]
    return tuple(Ballast(path.with_name(f".{path.name}.{folder.name}.room")) for path in files)


def _release_anyway(ballast: tuple[Ballast, ...]) -> None:
    for each in ballast:
        with suppress(OSError):
            each.release()


# The rows that a session's hypothesis weighs, in its folder. Public: they are drawn from a released model.

NAME = "rows"


def write_rows(folder: SessionFolder, rows: WeightedRows) -> None:
    """Durable on return."""
    made = io.BytesIO()
    np.savez_compressed(
        made, shape=np.array(rows.shape), codes=rows.codes, shares=rows.shares, total=np.array(rows.total)
    )
    folder.replace(NAME, made.getvalue())


def read_rows(folder: SessionFolder) -> WeightedRows:
    """LedgerError: the file is damaged or gone."""
    try:
        with np.load(io.BytesIO(folder.content(NAME) or b""), allow_pickle=False) as held:
            shape = tuple(int(size) for size in held["shape"])
            return WeightedRows(shape=shape, codes=held["codes"], shares=held["shares"], total=float(held["total"]))
    except (LedgerError, ValueError, KeyError, EOFError, BadZipFile, zlib.error):
        raise LedgerError(f"session {folder.name!r}: its file {NAME!r} is damaged or gone; close the session") from None
