"""The state of one dataset's budget while entries are replayed, and of each of its runs that is not settled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from dpqr.errors import BudgetRefused, LedgerError
from dpqr.io.ledger.refusals import unapproved
from dpqr.privacy.accountant import PrivacyFilter
from dpqr.privacy.budget import NO_COST, PURE, Cost
from dpqr.privacy.currency import Currency
from dpqr.privacy.events import Composition, PrivacyEvent
from dpqr.privacy.layers import LayerNode
from dpqr.privacy.ledger import Account, Entry, Terms
from dpqr.privacy.periods import WHOLE
from dpqr.privacy.reason import Reason, person
from dpqr.privacy.reservation import Reservation, Run

Approval = tuple[str, str]


def spelled(name: str) -> str:
    """A name as versions up to 0.10 compared it: without capitals, and with single blanks.

    Names that differ by `person` differ by this too. So a ledger admits what those versions have written, and every
    request, which passes `person`, passes this.
    """
    return " ".join(name.casefold().split())


_DIGEST = re.compile(r"[0-9a-f]{64}")


def is_digest(text: str) -> bool:
    """Whether a text is a SHA-256 in hexadecimal digits."""
    return _DIGEST.fullmatch(text) is not None


@dataclass(slots=True, kw_only=True)
class OpenRun:
    """A run that is paid and not settled, and the order in which the ledger admits its draws.

    Each draw is begun on the transcript that holds all before it, then recorded.

    paid: the reservation's entry. guard: what it admits, and has admitted. draws: those that were begun, in
    order where the guard depends on it; last: the newest.
    A transcript in any other state than the last one that is known here (shortened, edited, copied earlier) finds no
    way to go on.
    """

    paid: Entry
    currency: Currency
    guard: PrivacyFilter
    draws: list[PrivacyEvent] = field(default_factory=list)
    last: PrivacyEvent | None = None
    recorded: int = 0
    transcript: str = ""

    @classmethod
    def of(cls, paid: Entry, currency: Currency) -> OpenRun:
        """A run that has drawn nothing."""
        guard = currency.guard(paid.cost, paid.events, paid.pricing or PURE)
        return cls(paid=paid, currency=currency, guard=guard)

    @property
    def begun(self) -> int:
        return len(self.draws)

    @property
    def events(self) -> Composition:
        """The draws that were begun, with how often."""
        return tuple(Counter(self.draws).items())

    def settled(self, events: Composition) -> Cost:
        """What the run costs where it has drawn `events`. BudgetRefused: they have no price."""
        return self.currency.settled(self.paid.cost, events, self.paid.pricing or PURE)

    def begin(self, entry: Entry) -> None:
        """Admit one more draw. LedgerError: the last is not recorded, the transcript is another, or it is not paid."""
        (event, count), *others = entry.events or ((None, 0),)
        if event is None or count != 1 or others:
            raise LedgerError("an entry of a draw that names no single event")
        self._require(entry, recorded=self.begun)
        if self.begun and entry.transcript != self.transcript:
            raise self._fault()
        self.charge(event)
        self.last = event
        self.transcript = entry.transcript

    def charge(self, event: PrivacyEvent) -> None:
        """Admit the draw by its price alone. LedgerError: the reservation does not pay for it."""
        try:
            self.guard.charge(event)
        except BudgetRefused:
            raise LedgerError(f"entry {self.paid.number} does not pay for another draw") from None
        self.draws.append(event)

    def record(self, entry: Entry) -> None:
        """Admit that the last draw lies in the transcript."""
        self._require(entry, recorded=self.begun - 1)
        self.recorded += 1
        self.transcript = entry.transcript

    def require_next(self, number: int) -> None:
        """LedgerError unless draw `number` is the next to be begun, or the begun one that is not recorded."""
        if number != self.recorded:
            raise self._fault()

    def public(self) -> Run:
        """The same for everybody to read."""
        paid = self.paid
        return Run(
            reservation=Reservation(
                dataset=paid.dataset,
                number=paid.number,
                receipt=paid.hash,
                currency=self.currency,
                cost=paid.cost,
                events=paid.events,
                pricing=paid.pricing or PURE,
                reason=paid.reason,
                plan=paid.plan,
            ),
            note=paid.note,
            lost=self.last if self.begun > self.recorded else None,
            recorded=self.recorded,
            transcript=self.transcript,
        )

    def _require(self, entry: Entry, *, recorded: int) -> None:
        if self.recorded != recorded or not _DIGEST.fullmatch(entry.transcript):
            raise self._fault()

    def _fault(self) -> LedgerError:
        return LedgerError(
            f"the run of entry {self.paid.number} has come to another place than its transcript says; another job "
            "continues it, or the transcript is not the newest one"
        )


@dataclass(slots=True)
class AccountState:
    """A dataset's budget, and the runs that are paid and not settled, by their reservation's number.

    spent: by period; under WHOLE that of all periods, and of a dataset that has none. nodes: what is spent on counters
    that bound each person's rows over their life, and is not part of the former.
    approvals: those that no reservation has used up: the hash of a plan, and who approved it.
    """

    terms: Terms
    spent: dict[str, Cost] = field(default_factory=dict)
    reservations: int = 0
    runs: dict[int, OpenRun] = field(default_factory=dict)
    nodes: tuple[LayerNode, ...] = ()
    approvals: list[Approval] = field(default_factory=list)

    def approval(self, plan: str, reason: Reason, compared: Callable[[str], str] = person) -> Approval:
        """One of the plan by somebody else than who asks; by the one whom the reason names, where it names any.

        compared: what of a name counts; of entries that are replayed what counted in every version (`spelled`). Raises:
        BudgetRefused.
        """
        asker, named = compared(reason.by), compared(reason.approved_by)
        others = [each for each in self.approvals if each[0] == plan and compared(each[1]) != asker]
        found = next((each for each in others if named in ("", compared(each[1]))), None)
        if not asker or found is None:
            raise unapproved(self.terms.dataset, plan, reason)
        return found

    def charged(self, spent: dict[str, Cost], paid: Entry, cost: Cost) -> dict[str, Cost]:
        """What is spent with `cost` added for the run of a reservation; where there are periods, each that it reads
        pays it. A counter's layer pays by itself (`noded`)."""
        if paid.layer is not None:
            return spent
        names = self.terms.periods.paying(paid.period) if self.terms.periods else (WHOLE,)
        return spent | {name: spent.get(name, NO_COST) + cost for name in names}

    def noded(self, paid: Entry, cost: Cost) -> tuple[LayerNode, ...]:
        """The nodes with `cost` added for the run of a reservation; one that has cost nothing is gone."""
        if paid.layer is None:
            return self.nodes
        before = sum((node.cost for node in self.nodes if node.entry == paid.number), NO_COST)
        node = LayerNode(layer=paid.layer, period=paid.period, entry=paid.number, cost=before + cost)
        others = tuple(other for other in self.nodes if other.entry != paid.number)
        return (*others, node) if node.cost else others

    @property
    def account(self) -> Account:
        waiting: dict[str, Cost] = {}
        for run in self.runs.values():
            waiting = self.charged(waiting, run.paid, run.paid.cost)
        return Account(
            terms=self.terms,
            spent=self.terms.total(self.spent, self.nodes),
            pending=self.terms.total(waiting, [node for node in self.nodes if node.entry in self.runs]),
            reservations=self.reservations,
            unsettled=len(self.runs),
            periods=self.terms.periods.read(self.spent, self.nodes) if self.terms.periods else {},
        )
