"""A session: one reservation that several processes draw from, one after the other, under one transcript.

What questions are asked and how they are answered is not this module's: `dpqr.app.interactive` builds on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from dpqr.app.bill import Bill
from dpqr.app.budget import configured_ledger
from dpqr.app.paid_run import PaidRun
from dpqr.app.requests import LedgerRequest
from dpqr.errors import DpqrError, LedgerError, UsageFault
from dpqr.io.journal.ledger_journal import BEFORE, LedgerJournal, begun_journal, continued_journal, run_of
from dpqr.io.journal.transcript_file import TranscriptFile, held
from dpqr.io.ledger.chained_ledger import ChainedLedger
from dpqr.io.ledger.event_codec import decode_events
from dpqr.io.ledger.sqlite_store import SqliteStore
from dpqr.io.sessions.session_folder import SessionFolder
from dpqr.privacy.accountant import FilterAccountant
from dpqr.privacy.accountants.filters import EveryFilter
from dpqr.privacy.accountants.known import ACCOUNTANTS
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.events import PrivacyEvent
from dpqr.privacy.ledger import Ledger, Reservation


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
    charged again: this process's filters start anew.
    """

    folder: SessionFolder
    ledger: Ledger
    paid: Reservation
    journal: LedgerJournal
    run: PaidRun
    past: tuple[PastDraw, ...] = ()
    numbers: tuple[int, ...] = ()

    def settle(self, note: str, *, whole: bool) -> None:
        """End the session: what was not drawn comes back, unless it is paid as a whole; its files go.

        Privacy:
            Draws are a function of the released transcript. A lost draw is no such function, nor is an error that rows
            have decided: either leaves the reservation paid in full.
        """
        paid = self.paid.events if whole or self.journal.lost else self.run.guard.events
        self.ledger.settle(self.paid, paid, note=note)


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
    ledger.require_fit(
        payer.dataset, bill.events, unit=bill.unit, policy=bill.policy, pricing=bill.pricing, reason=bill.reason
    )
    folder = _folder(ledger, name)
    folder.make()
    with folder.turn(), held(folder.transcript) as file:
        paid = ledger.reserve(
            payer.dataset,
            bill.events,
            unit=bill.unit,
            note=bill.note,
            policy=bill.policy,
            pricing=bill.pricing,
            reason=bill.reason,
        )
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


def _folder(ledger: ChainedLedger, name: str) -> SessionFolder:
    """Beside the ledger's file. UsageFault: it lies on a server."""
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
