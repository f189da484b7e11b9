"""A session: one reservation that several processes draw from, one after the other, under one transcript.

What questions are asked and how they are answered is not this module's: `dpqr.app.sessions.interactive` and
`dpqr.app.predicting.session` build on it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

from dpqr.app.paying.bill import Bill
from dpqr.app.paying.budget import configured_ledger
from dpqr.app.paying.paid_run import PaidRun
from dpqr.app.releasing.reading import Reading
from dpqr.app.requests import LedgerRequest
from dpqr.errors import DpqrError, LedgerError, UsageFault
from dpqr.io.journal.ledger_journal import BEFORE, LedgerJournal, begun_journal, continued_journal, run_of
from dpqr.io.journal.transcript_file import TranscriptFile, held
from dpqr.io.ledger.chained_ledger import ChainedLedger
from dpqr.io.ledger.event_codec import decode_events
from dpqr.io.ledger.sqlite_store import SqliteStore
from dpqr.io.sessions.asking import Asking, Room, asking, is_spoilt, tidy
from dpqr.io.sessions.session_folder import SessionFolder, require_locks
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import TableSource
from dpqr.privacy.accountant import FilterAccountant
from dpqr.privacy.accountants.filters import EveryFilter
from dpqr.privacy.accountants.known import ACCOUNTANTS
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.events import PrivacyEvent
from dpqr.privacy.reservation import Reservation

FORMAT = "session/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PastDraw:
    """A draw of an earlier process, which is paid. value: what it released; None: that was lost in a crash."""

    number: int
    event: PrivacyEvent
    value: Any


@dataclass(slots=True, kw_only=True)
class Turn:
    """What one process holds of a session.

    run: the reservation's filters and journal. past: draws before this turn. numbers: of their charges, for each was
    charged again: this process's filters start anew. drawn: SHA-256 of what the record of the closed session says was
    drawn; empty: there is none.
    """

    folder: SessionFolder
    ledger: ChainedLedger
    paid: Reservation
    journal: LedgerJournal
    run: PaidRun
    past: tuple[PastDraw, ...] = ()
    numbers: tuple[int, ...] = ()
    drawn: str = ""

    def settle(self, note: str, *, whole: bool) -> None:
        """End the session: what was not drawn comes back, unless it is paid as a whole; its files go.

        Privacy:
            Draws are a function of the released transcript. A lost draw is no such function, nor is an error that rows
            have decided: either leaves the reservation paid in full.
        """
        paid = self.paid.events if whole or self.journal.lost else self.run.guard.events
        self.ledger.settle(self.paid, paid, note=note, drawn=self.drawn)

    @property
    def spoilt(self) -> bool:
        """Whether a question did not end after rows were looked at, by an error or a kill."""
        return is_spoilt(self.folder.log())

    @contextmanager
    def question(self, room: Room) -> Iterator[Asking]:
        """Answer a question. Whatever ends the block is an output that rows may have decided: nothing comes back then
        any more. UsageFault: the disk has no room for what the question writes; nothing was read."""
        with asking(self.folder, self.journal, self.ledger, room) as made:
            yield made


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What a session's folder states, as it was opened. document: its budget, table and limits, and what its kind of
    session needs beside."""

    held: Turn
    document: dict[str, Any]

    @property
    def budget(self) -> PrivacyBudget:
        """Of the whole session."""
        stated = self.document["budget"]
        return PrivacyBudget.parse(stated["epsilon"], stated["delta"])

    @property
    def limits(self) -> Limits:
        return Limits(**self.document["limits"])

    def reading(self, source: TableSource | None) -> Reading:
        """Of the table that it was opened with. source: that table again, where it is in memory; UsageFault without."""
        stated = self.document["table"]
        if source is None and stated is None:
            raise UsageFault(
                f"session {self.held.folder.name!r}: was opened with a table in memory; give it again as table="
            )
        if source is not None:
            require_repeatable(source)
        kept = source or TableSource(**{**stated, "paths": tuple(stated["paths"])})
        return Reading(source=kept, limits=self.limits)


def statement(held: Turn, kind: str) -> dict[str, Any]:
    """What the folder states. LedgerError: it is damaged, of another version, or of another kind of session."""
    document = held.folder.document()
    if not isinstance(document, dict) or (document.get("dpqr"), document.get("kind")) != (FORMAT, kind):
        raise LedgerError(f"session {held.folder.name!r}: is no {kind} session of this version of dpqr")
    return document


def stated(kind: str, budget: dict[str, str], read: Reading) -> dict[str, Any]:
    """What the folder of every session states, for later processes. Public. budget: epsilon, delta and accountant."""
    source = read.source
    files = {
        "paths": [os.path.abspath(path) for path in source.paths],
        "delimiter": source.delimiter,
        "encoding": source.encoding,
        "count_column": source.count_column,
    }
    return {
        "dpqr": FORMAT,
        "kind": kind,
        "budget": budget,
        "table": None if source.frame is not None else files,
        "limits": asdict(read.limits),
    }


def require_repeatable(source: TableSource) -> None:
    """UsageFault: the next question could not read the table again, or not know it as the same."""
    if source.engine is not None or not source.repeatable:
        what = source.engine.name if source.engine else "standard input" if source.from_stdin else "a stream"
        raise UsageFault(
            f"{what}: every question reads the table again, and it must stay as it was\n"
            "write it into a file, CSV or Parquet, and name that"
        )


def filter_of(accountant: str, budget: PrivacyBudget) -> FilterAccountant:
    """The accountant of a session. UsageFault: its theorem covers a schedule that is fixed in advance only."""
    found = ACCOUNTANTS.get(accountant)
    if not isinstance(found, FilterAccountant):
        raise UsageFault(
            f"--accountant {accountant}: questions follow from answers, which its theorem does not cover; "
            "choose basic, zcdp or gdp"
        )
    refusal = found.refusal(budget)
    if refusal:
        raise UsageFault(refusal)
    return found


@contextmanager
def begun(name: str, payer: LedgerRequest, bill: Bill) -> Iterator[Turn]:
    """Pay for a new session and hold its first turn.

    Raises:
        AlreadyThere: the name is taken. BudgetRefused: the budget does not cover the bill; nothing was opened.
    """
    ledger = configured_ledger(payer.ledger, payer.anchor)
    bill.require_fit(ledger, payer.dataset, locked=True)
    folder = _folder(ledger, name)
    folder.make()
    with folder.turn(), held(folder.transcript) as file:
        paid = bill.reserve(ledger, payer.dataset)
        journal = begun_journal(file, ledger, paid)
        guard = EveryFilter(filters=(bill.guard(), paid.guard()))
        run = PaidRun(guard=guard, ledger=ledger, paid=paid, kept=journal)
        yield Turn(folder=folder, ledger=ledger, paid=paid, journal=journal, run=run)


@contextmanager
def turn(name: str, payer: LedgerRequest) -> Iterator[Turn]:
    """Hold a session that was opened.

    Raises:
        UsageFault: there is none, another process holds it for too long, or it is settled.
        LedgerError: its transcript is not the one that the ledger knows.
    """
    ledger = configured_ledger(payer.ledger, payer.anchor)
    folder = _folder(ledger, name)
    with folder.turn(), held(folder.transcript) as file:
        reservation = run_of(file, ledger) if file.lines else None
        if reservation is None:
            raise UsageFault(
                f"session {name!r}: is settled, or its transcript is gone; its price stays as it is\n"
                f"remove {folder.path} to use the name again"
            )
        journal = continued_journal(file, ledger, reservation)
        past = tuple(_past(file, number) for number in range(journal.known))
        journal.lost = any(draw.value is None for draw in past)
        paid = reservation.reservation
        run = PaidRun(guard=_guard(folder, paid), ledger=ledger, paid=paid, kept=journal, looked=True)
        numbers = tuple(run.guard.charge(draw.event) for draw in past)
        journal.number = journal.known
        yield Turn(folder=folder, ledger=ledger, paid=paid, journal=journal, run=run, past=past, numbers=numbers)


@contextmanager
def closing(name: str, payer: LedgerRequest, note: str) -> Iterator[Turn]:
    """Hold a session, and end it where the block does: settle it, and remove its folder.

    An error in the block leaves it as it was. A session whose opening did not end stays paid, and so does one of which
    a question did not end.
    """
    with turn(name, payer) as held:
        yield held
        opened = held.folder.is_opened
        words = "closed" if opened else "its opening did not end"
        held.settle(f"{note}: {words}", whole=held.spoilt or not opened)
        held.folder.remove()
        tidy(held.folder, held.ledger)


def _folder(ledger: ChainedLedger, name: str) -> SessionFolder:
    """Beside the ledger's file. UsageFault: it lies on a server, or this system has no file locks."""
    require_locks()
    if not isinstance(ledger.store, SqliteStore):
        raise UsageFault(
            f"--ledger {ledger.store.place}: a session keeps its secret beside a ledger's file, and a server has none\n"
            "give the session a budget of its own in a file: --ledger FILE"
        )
    return SessionFolder(ledger=ledger.store.path, name=name)


def _guard(folder: SessionFolder, paid: Reservation) -> EveryFilter:
    """The filters of a turn: what was paid, and the guarantee by the session's accountant."""
    with suppress(UsageFault):
        stated = folder.document()["budget"]
        budget = PrivacyBudget.parse(stated["epsilon"], stated["delta"])
        return EveryFilter(filters=(filter_of(stated["accountant"], budget).filter(budget), paid.guard()))
    return EveryFilter(filters=(paid.guard(),))


def _past(file: TranscriptFile, number: int) -> PastDraw:
    line = file.document(BEFORE + number)
    try:
        ((event, _),) = decode_events([{**line["event"], "count": 1}])
    except (KeyError, TypeError, ValueError, DpqrError):
        raise LedgerError(f"the transcript {file.path} is damaged: draw {number} is none") from None
    return PastDraw(number=number, event=event, value=line.get("value"))
