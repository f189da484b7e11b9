"""Ledger: the budgets of datasets for their whole life, shared by concurrent jobs, and the record of what was spent.

A dataset name belongs to one table and its later versions, which share its budget. Nothing private is ever recorded:
a ledger holds declared names, prices and the events that were charged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, Protocol

from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.privacy.accountant import PrivacyFilter
from dpqr.privacy.budget import NO_COST, PURE, Cost, Pricing, PrivacyBudget
from dpqr.privacy.currency import Currency, currency
from dpqr.privacy.events import Composition, PrivacyEvent
from dpqr.privacy.policy import Policy, PolicyChange

DEFAULT = Policy()


class DataKind(Enum):
    """What a dataset is by its owner's declaration; only `public` and `synthetic` may be evaluated exactly."""

    PRIVATE = "private"
    PUBLIC = "public"
    SYNTHETIC = "synthetic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is fixed when a dataset is opened, and holds for life.

    limit, cap: the most that all releases together, and any one release (None: no cap), may cost; exact, in the
    currency of `accountant` and the budget's delta. unit: `PrivacyUnit.whom`. policy: how the table is read; it alone
    may change, towards stricter. policy_stated: False for a dataset that was opened before policies existed; it may be
    given any, once.
    """

    dataset: str
    budget: PrivacyBudget
    accountant: str
    limit: Cost
    cap: Cost | None
    neighbours: Neighbours
    unit: str
    kind: DataKind
    policy: Policy = field(default_factory=Policy)
    policy_stated: bool = True

    @property
    def currency(self) -> Currency:
        return currency(self.accountant, pure=self.budget.pure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A dataset as the ledger knows it.

    spent: settlements, and reservations in full as long as they are not settled (`pending` is their part of it).
    """

    terms: Terms
    spent: Cost = NO_COST
    pending: Cost = NO_COST
    reservations: int = 0
    unsettled: int = 0

    @property
    def left(self) -> Cost:
        return self.terms.limit - self.spent

    @property
    def largest(self) -> Cost:
        """The most that one release may cost now."""
        return self.left if self.terms.cap is None else self.left.least(self.terms.cap)

    @property
    def request(self) -> str | None:
        """The largest release that fits now, as options: "--eps 0.5"; None: none does."""
        return self.terms.currency.request(self.largest, self.terms.budget.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A part of a budget that is paid and durable before any data is opened.

    number: of its entry. receipt: hash of the ledger up to and including it. cost: exact, in the ledger's currency, as
    derived from the events by `pricing`.
    """

    dataset: str
    number: int
    receipt: str
    currency: Currency
    cost: Cost
    events: Composition
    pricing: Pricing = PURE

    def guard(self) -> PrivacyFilter:
        """A filter that admits what was paid for and no more, whatever else guards the run."""
        return self.currency.guard(self.cost, self.events, self.pricing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How far the run that a reservation pays for has come, where it keeps a transcript.

    note: of the reservation. recorded: how many draws are known to lie in the transcript. lost: the draw that was
    begun after those, if one was. transcript: running hash of the transcript that far; "": no draw was begun.
    """

    reservation: Reservation
    note: str
    recorded: int = 0
    lost: PrivacyEvent | None = None
    transcript: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the record; `number` counts from 0, `time` is UTC, `hash` seals it and all before it.

    open: the ledger begins; `anchored`: an anchor is kept from the start. anchor: one is kept from now on.
    checkpoint: `state` is the digest of all standings that the entries before it have led to.
    init: `terms` of a dataset. policy: its `policy` from now on.
    reserve: `cost` of `events` is paid, by `pricing` where the currency asks for it; `note` says for what.
    draw: the run that entry `run` has paid for begins a draw; `transcript` is the running hash of all before it.
    record: the draw lies in the transcript, whose hash is now `transcript`.
    settle: `events` were really charged in the run that entry `settles` had paid for; `note` says how it ended.
    """

    number: int
    kind: Literal["open", "anchor", "checkpoint", "init", "policy", "reserve", "draw", "record", "settle"]
    time: str
    hash: str = ""
    dataset: str = ""
    terms: Terms | None = None
    cost: Cost = NO_COST
    events: Composition = ()
    pricing: Pricing | None = None
    settles: int | None = None
    note: str = ""
    run: int | None = None
    transcript: str = ""
    anchored: bool = False
    state: str = ""
    policy: Policy | None = None


class Ledger(Protocol):
    """Every method is one transaction, durable when it returns.

    Errors: LedgerError where the ledger is locked for too long, damaged, edited or rolled back.
    """

    def open(self, terms: Terms) -> Account:
        """Give a dataset its budget, once. BudgetRefused for a name that has one: there is no reset."""
        ...

    def restrict(self, dataset: str, change: PolicyChange) -> Account:
        """Change the policy, towards stricter only. BudgetRefused for any other change."""
        ...

    def reserve(
        self,
        dataset: str,
        events: Composition,
        *,
        unit: PrivacyUnit,
        note: str,
        policy: Policy = DEFAULT,
        pricing: Pricing = PURE,
    ) -> Reservation:
        """Pay for the events, in full.

        policy: the one that the run was resolved under. pricing: the accountant that proves the run; a budget in
        epsilon and delta derives the cost by it, the others by themselves. BudgetRefused: the events do not fit, the
        unit is not the one of the budget, or the policy has changed since it was looked up.
        """
        ...

    def settle(self, reservation: Reservation, events: Composition, *, note: str) -> Account:
        """Replace the reservation by what was really charged; no events: nothing was drawn.

        Once for each reservation, and never upward. A reservation that is not settled stays spent.

        **Privacy** `events` must be a function of the released transcript (the draws that were charged are). The sum
        of what was charged then stays below the limit on every path, which is all that a filter asks for. A budget in
        epsilon and delta gives back the draws of pure sums alone (`PairCurrency`).
        """
        ...

    def begin(self, reservation: Reservation, event: PrivacyEvent, *, number: int, transcript: str) -> None:
        """Say that draw `number` of the run (from 0) is about to be made; from now on it counts as spent.

        transcript: running hash of the transcript so far. Errors: LedgerError where the ledger knows another one, or
        another number: somebody else continues the run, or the transcript is not the one it was begun with.
        """
        ...

    def record(self, reservation: Reservation, *, number: int, transcript: str) -> None:
        """Say that draw `number` lies in the transcript, durably, and what its running hash is now."""
        ...

    def run(self, dataset: str, number: int, receipt: str) -> Run | None:
        """The run that reservation `number` pays for; None: it is settled. LedgerError: there is no such."""
        ...

    def key(self, reservation: Reservation) -> bytes:
        """A random key of this reservation alone. It is never exported, and erased with the settlement."""
        ...

    def account(self, dataset: str) -> Account:
        """UsageFault for a name that has no budget."""
        ...

    def accounts(self) -> tuple[Account, ...]: ...

    def events(self, dataset: str) -> Composition:
        """What was charged so far, settled or reserved, with how often."""
        ...

    def entries(self) -> tuple[Entry, ...]: ...
