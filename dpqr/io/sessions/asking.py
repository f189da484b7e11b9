"""Asking: in which order a session's files change while a question is answered, so that no fault repeats a comparison.

**Order.** One process at a time (file locks; systems without them are refused).

| step                                                                          | where that fails                  |
|-------------------------------------------------------------------------------|-----------------------------------|
| 1 space is set aside: log, transcript, secret; and beside the ledger and its  | refused: nothing was read, and    |
|   anchor a file each, as large as the entries of all surprises may become     | all is as it was                  |
| 2 log: "begun", synced                                                        | refused, the same                 |
| 3 the table is read; thresholds that are missing are paid and drawn           | the session is spoilt             |
| 4 log: "ask" with its queries, synced: **no threshold on the disk is valid    | the same; and all epochs end      |
|   any more**; the secret is overwritten in place, synced                      |                                   |
| 5 comparisons, by thresholds that this process alone knows; of a surprise:    | the same                          |
|   its line, the ledger's `begin`, the draw, the transcript, `record`;         |                                   |
|   where there is none: the same writes, which add nothing                     |                                   |
| 6 log: the answers and "ended"; what is left of the space of step 1 is given  | the same                          |
|   back; the secret: thresholds that were not passed, with the number of asks  |                                   |
|   so far; each synced                                                         |                                   |
| 7 the answers are shown                                                       |                                   |

A threshold of the disk is used only if (a) the secret states as many asks as the log holds, (b) its draw is the last of
its side in the transcript that the ledger knows, and (c) no noisy answer of its side follows there.

**No threshold is compared after it was passed.** A comparison is made after step 4 returned, in a process that holds
the threshold in memory. That process drops it when it is passed, and step 6 writes it only if it was not. Any other
process reads it from the disk, and in between the disk goes through these states only:

- before the ask line is durable: no comparison was made since the secret was written, and it may be used;
- from the ask line to the secret of step 6: the log holds one ask more than any secret that was ever written, so (a)
  refuses all of them, older copies too; by the end of step 4 there is also none to be read;
- after the secret of step 6: those that were not passed. A secret that was written in part is no JSON, and lost.

No write has to succeed for this: the states are passed in one direction, whatever fails, and however a process ends
(a fault, a kill, a loss of power). What is lost is an epoch, which stays paid.

**A threshold that was not passed goes on** only by step 6, when all outcomes since step 4 are in the log. So no
comparison is repeated for nothing: what follows a fault is compared with a new threshold, which is paid. Repeating one
would be covered too, as one more question of the epoch: `AboveThreshold` holds for any questions, chosen after all that
was seen, and for every beginning of every path, so for a path that a fault cuts off.

**What a fault tells.** Where the disk is full when a question begins, step 1 refuses it, whatever the comparisons would
have shown. From step 4 on the writes of a question are the same in number, order and place, free or paid; with the
space of step 1 they need no other. Every fault of theirs ends the process with one constant sentence. (A document of
several queries makes the writes of each surprise, and those of one where there is none: a disk that fails later than
these may tell that there were more. That is an outcome of comparisons, which their epochs have paid for, and it ends
these.) Whether what was not drawn comes back is decided by "begun" without "ended", so by no write that may fail.

Sessions that version 0.10 or an older one has asked: their secret states no asks. On a full disk it may have outlived
its end, so (a) refuses it; the session goes on with new epochs, as after a lost secret. A fault there could also leave
an answered question without a trace; it says nothing about the thresholds from now on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from dpqr.errors import LedgerError, UsageFault
from dpqr.io.journal.ledger_journal import LedgerJournal
from dpqr.io.ledger.chained_ledger import ChainedLedger
from dpqr.io.sessions.session_folder import SessionFolder, SessionLog
from dpqr.io.set_aside import Ballast

BEGUN, ENDED, ASKS, THRESHOLDS = "begun", "ended", "asks", "thresholds"
LEDGER_ROOM, DRAW_ROOM, ANCHOR_ROOM = 2**18, 2**13, 2**12
"""Bytes of the ledger's journal and first checkpoint, of the two entries of one draw, and of an anchor's draft."""
LOG_ROOM, TRANSCRIPT_ROOM = 2**12, 2**12
"""Bytes for the lines of the protocol, and for the draws of thresholds."""


Thresholds = list[dict[str, int]]
"""side, threshold, and the draw that paid for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a question may write. log, transcript: bytes of its lines. draws: how many the ledger may have to hold.
    secret: whether thresholds are kept."""

    log: int
    transcript: int
    draws: int
    secret: bool = False


@dataclass(slots=True, kw_only=True)
class Asking:
    """The writes of one question of a session. See the order above."""

    folder: SessionFolder
    journal: LedgerJournal
    ledger: ChainedLedger
    log: SessionLog
    asks: int
    ballast: tuple[Ballast, ...]
    drawn: bool = False
    thresholds: Thresholds | None = None

    def seal(self, line: dict[str, Any]) -> None:
        """Step 4: after this the disk holds no threshold that could be used."""
        self.log.say(line, durable=True)
        self.asks += 1
        self.folder.blank()

    def begin_draws(self, line: dict[str, Any]) -> None:
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
            keep_thresholds(self.folder, self.asks, self.thresholds)

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
def asking(folder: SessionFolder, journal: LedgerJournal, ledger: ChainedLedger, room: Room) -> Iterator[Asking]:
    """Steps 1 and 2, the block, and "ended" where it has no error; nothing is shown before this has returned.

    Raises:
        UsageFault: the disk has no room for the question; nothing was read.
    """
    ballast, sizes = _ballasts(folder, ledger), _sizes(ledger, room.draws)
    with ExitStack() as stack:
        stack.callback(_release_anyway, ballast)
        with _refused(folder.name):
            for each, size in zip(ballast, sizes, strict=False):
                each.hold(size)
            if room.secret:
                folder.allocate()
            journal.file.set_aside(TRANSCRIPT_ROOM + room.transcript)
            log = stack.enter_context(folder.opened_log(LOG_ROOM + room.log))
            known = folder.log()
            log.say({BEGUN: asks_in(known)}, durable=True)
        made = Asking(folder=folder, journal=journal, ledger=ledger, log=log, asks=asks_in(known), ballast=ballast)
        yield made
        with unanswered(folder.name):
            made.end()


@contextmanager
def _refused(name: str) -> Iterator[None]:
    """Steps 1 and 2 failed."""
    try:
        yield
    except (OSError, UsageFault):
        raise UsageFault(
            f"session {name!r}: the disk has no room for what a question writes, in the session's folder or beside its "
            "ledger and anchor; nothing was read or spent\n"
            "free some space (or files, where their number is limited), and ask again"
        ) from None


@contextmanager
def unanswered(name: str) -> Iterator[None]:
    """Any fault of the disk in the block ends the question, in words that say nothing about its comparisons."""
    try:
        yield
    except (OSError, LedgerError, UsageFault):
        raise UsageFault(
            f"session {name!r}: a file of it or of its ledger could not be written, so the question has no answer\n"
            "thresholds that answers were compared with have ended, and stay paid; look at the disk, and ask again"
        ) from None


def keep_thresholds(folder: SessionFolder, asks: int, thresholds: Thresholds) -> None:
    """Write thresholds that were not passed by any of so many asks. OSError: the disk failed."""
    folder.keep({ASKS: asks, THRESHOLDS: thresholds})


def kept_thresholds(folder: SessionFolder, asks: int) -> Iterator[dict[str, int]]:
    """What may still be used of the secret where the log holds so many asks. What was damaged is as good as lost."""
    secret = folder.secret()
    if not isinstance(secret, dict) or secret.get(ASKS) != asks or not isinstance(secret.get(THRESHOLDS), list):
        return
    for line in secret[THRESHOLDS]:
        kept: dict[str, Any] = line if isinstance(line, dict) else {}
        if all(type(kept.get(name)) is int for name in ("side", "draw", "threshold")):
            yield kept


def asks_in(log: list[Any]) -> int:
    """How many asks a log holds."""
    return sum("queries" in line for line in log)


def is_spoilt(log: list[Any]) -> bool:
    """Whether a question was begun and not ended, so that rows may have decided how."""
    begun, ended = (sum(mark in line for line in log) for mark in (BEGUN, ENDED))
    return begun > ended or any("spoilt" in line for line in log)


def tidy(folder: SessionFolder, ledger: ChainedLedger) -> None:
    """Remove what a killed process has set aside beside the ledger and its anchor."""
    _release_anyway(_ballasts(folder, ledger))


def _ballasts(folder: SessionFolder, ledger: ChainedLedger) -> tuple[Ballast, ...]:
    """What is held beside the ledger, and beside its anchor."""
    files = [folder.ledger, *([ledger.anchor.path] if ledger.anchor else [])]
    return tuple(Ballast(path.with_name(f".{path.name}.{folder.name}.room")) for path in files)


def _sizes(ledger: ChainedLedger, draws: int) -> tuple[int, int]:
    """How much is held beside the ledger, and beside its anchor."""
    with ledger.store.reading(ledger.wait) as session:
        stored = session.stored_state() if session.is_begun() else None
    state = 2 * len(stored[1].encode()) if stored else 0  # a checkpoint's journal holds the old one beside the new
    return LEDGER_ROOM + state + DRAW_ROOM * draws, ANCHOR_ROOM


def _release_anyway(ballast: tuple[Ballast, ...]) -> None:
    for each in ballast:
        with suppress(OSError):
            each.release()
