"""LedgerJournal: draws in a transcript file whose running hash the ledger holds.

The order for each draw: the ledger learns that it begins, and on which transcript; it is made; its value goes to the
file and to the disk; the ledger learns the new hash. A crash before the last of these loses the draw: it is paid, and
its line says that it is lost. So the file cannot be shortened, edited, or exchanged for an older copy, and no draw can
be made until it pleases.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Any

from dpqr.construction.journal import Blocks, Past, Plain
from dpqr.errors import LedgerError, UsageFault
from dpqr.io.journal.fingerprints import blocks_digest
from dpqr.io.journal.transcript_file import TranscriptFile
from dpqr.io.ledger.event_codec import encode_events
from dpqr.privacy.events import PrivacyEvent
from dpqr.privacy.ledger import Ledger
from dpqr.privacy.reservation import Reservation, Run

FORMAT = "transcript/1"
HEADER, TABLE = 0, 1
BEFORE = 2
"""Lines before the first draw: what the run is, and the mark of its table."""

TUNED_ELSEWHERE = (
    "strategies are tuned in floating point, which may end elsewhere with another processor or library; "
    "continue the release where it was begun (it stays paid, and waits)"
)
"""Said wherever a killed release would go on otherwise than it began."""


@dataclass(slots=True, kw_only=True)
class LedgerJournal:
    """`Journal` of one run. number: draws that were asked for so far; known: draws of the past; lost: whether any of
    them was."""

    file: TranscriptFile
    ledger: Ledger
    paid: Reservation
    known: int = 0
    number: int = 0
    lost: bool = False
    _event: Any = None
    _of: str = ""

    @property
    def begun(self) -> bool:
        """Whether any draw was begun, as far as this job knows."""
        return self.known > 0 or self._event is not None

    def same_table(self, mark: str | None) -> bool:
        """Whether the run was begun with the table of this mark; one that has marked none is begun with it now."""
        if len(self.file.lines) <= TABLE:
            self.file.append({"table": mark})
            return True
        found = self.file.document(TABLE).get("table")
        return isinstance(found, str) and mark is not None and hmac.compare_digest(found, mark)

    def past(self, event: PrivacyEvent, blocks: Blocks) -> Past | None:
        if self.number >= self.known:
            return None
        drawn = self.file.document(BEFORE + self.number)
        if drawn.get("draw") != self.number:
            raise LedgerError(f"the transcript {self.file.path} is damaged: draw {self.number} stands elsewhere")
        if drawn.get("event") != _plain(event):
            raise _elsewhere(f"draw {self.number} was another one than would be made here")
        if drawn.get("value") is not None and drawn.get("of") != blocks_digest(blocks):
            raise _elsewhere(f"draw {self.number} measured other sums of cells than would be measured here")
        self.number += 1
        self.lost |= drawn.get("value") is None
        return Past(value=drawn.get("value"))

    def begin(self, event: PrivacyEvent, blocks: Blocks) -> None:
        self._event, self._of = _plain(event), blocks_digest(blocks)
        self.ledger.begin(self.paid, event, number=self.number, transcript=self.file.digest)

    def record(self, value: Plain) -> None:
        self._record({"draw": self.number, "event": self._event, "of": self._of, "value": value})
        self.number += 1

    def lose(self, event: PrivacyEvent) -> None:
        """The draw after the known ones was begun and lost."""
        lost, self.number = {"draw": self.known, "event": _plain(event), "value": None}, self.known
        self._record(lost)
        self.number, self.known = 0, self.known + 1

    def _record(self, line: dict[str, Any]) -> None:
        self.file.append(line)
        self.ledger.record(self.paid, number=self.number, transcript=self.file.digest)


def _elsewhere(found: str) -> UsageFault:
    return UsageFault(f"--resume: {found}\n{TUNED_ELSEWHERE}")


def begun_journal(file: TranscriptFile, ledger: Ledger, paid: Reservation) -> LedgerJournal:
    """A new run's journal. The file holds from now on what the run is."""
    file.append({"dpqr": FORMAT, "dataset": paid.dataset, "entry": paid.number, "receipt": paid.receipt})
    return LedgerJournal(file=file, ledger=ledger, paid=paid)


def run_of(file: TranscriptFile, ledger: Ledger) -> Run | None:
    """The run that the file is the transcript of, as the ledger knows it; None: it is settled.

    LedgerError where the ledger knows no such run.
    """
    header = file.document(HEADER)
    dataset, number, receipt = header.get("dataset"), header.get("entry"), header.get("receipt")
    if header.get("dpqr") != FORMAT or not isinstance(dataset, str) or not isinstance(receipt, str):
        raise LedgerError(f"{file.path} is no transcript of dpqr; move it away, or choose another --out")
    return ledger.run(dataset, number if isinstance(number, int) else -1, receipt)


def continued_journal(file: TranscriptFile, ledger: Ledger, run: Run) -> LedgerJournal:
    """The journal of a run that died. LedgerError unless the file is what the ledger knows of.

    A draw that was begun and is not known to be recorded is lost, even where its line can be read.
    """
    if not run.transcript:
        file.cut(BEFORE)
        return LedgerJournal(file=file, ledger=ledger, paid=run.reservation)
    lines = BEFORE + run.recorded
    if len(file.lines) < lines or file.digest_of(lines) != run.transcript:
        raise LedgerError(
            f"the transcript {file.path} was shortened, edited or copied: the ledger knows another one of "
            f"{run.recorded} draws; restore it, or remove it to give the run up, which stays paid"
        )
    file.cut(lines)
    journal = LedgerJournal(file=file, ledger=ledger, paid=run.reservation, known=run.recorded)
    if run.lost is not None:
        journal.lose(run.lost)
    return journal


def _plain(event: PrivacyEvent) -> dict[str, Any]:
    return encode_events(((event, 1),))[0]
