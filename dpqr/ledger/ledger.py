"""Ledger: the budgets of datasets for their whole life, shared by concurrent jobs, and the record of all charges.

A dataset name belongs to one table and its later versions, which share its budget. Nothing private is ever recorded:
a ledger holds declared names, prices and the events that were charged.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from enum import Enum
from typing import Literal

from msgspec import Struct, field

from dpqr.kernel.accountants.accountant import PrivacyFilter
from dpqr.kernel.budget import NO_COST, PURE, Cost, Pricing, PrivacyBudget
from dpqr.kernel.currency import Currency, currency
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.events import Composition, PrivacyEvent
from dpqr.kernel.unit import Neighbours
from dpqr.ledger.periods import ALL_PERIODS, Layer, LayerNode, PeriodBudgets, Spending, of_layers
from dpqr.tables.policy import Policy

# Reason: why a budget is opened or charged, who asks, and who approved.

LONGEST_REASON = 200


def require_line(option: str, text: str) -> None:
    """Raise UsageFault unless a text is one line of a record."""
    if len(text) > LONGEST_REASON or not text.isprintable():
        raise UsageFault(f"{option}: give one line of at most {LONGEST_REASON} printable characters")


IGNORABLE = (
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0),
    *(*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
)
"""Letters and marks that are not seen: those of Unicode's Default_Ignorable_Code_Point. All else of it is no letter."""


def person(name: str) -> str:
    """Return what of a person's name is compared; empty where it names nobody.

    Letters, marks and digits after NFKC and case folding. Blanks, dots, hyphens, quotes and whatever is not seen make
    no other name. Letters of two alphabets that look alike do: names are declared, and nobody has checked them.

    >>> person("M. Lee"), person("m.lee"), person("\uff2d\u2009LEE"), person(" - ")
    ('mlee', 'mlee', 'mlee', '')
    """
    compared = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name.casefold()).casefold())
    return "".join(one for one in compared if unicodedata.category(one)[0] in "LMN" and ord(one) not in IGNORABLE)


class Reason(Struct, frozen=True, kw_only=True):
    """Why a budget is opened or charged, who asks, and who approved: public words of the user's own, which nobody has
    checked. Empty: not stated.

    >>> Reason(purpose="annual report", by="R. Jones").words
    'annual report, by R. Jones'

    Raises:
        UsageFault: a text of more than LONGEST_REASON characters, or one that holds a control character.
    """

    purpose: str = ""
    by: str = ""
    approved_by: str = ""

    def __post_init__(self) -> None:
        stated = {"--purpose": self.purpose, "--by": self.by, "--approved-by": self.approved_by}
        for option, text in stated.items():
            require_line(option, text)

    @property
    def words(self) -> str:
        by, approved = (
            text and f"{word} {text}" for word, text in (("by", self.by), ("approved by", self.approved_by))
        )
        return ", ".join(filter(None, (self.purpose, by, approved)))


NO_REASON = Reason()


DEFAULT = Policy()
RELEASED = "released"  # the note of a settlement whose release is published


class DataKind(Enum):
    """A dataset's kind as its owner declares it; only `public` and `synthetic` may be evaluated exactly."""

    PRIVATE = "private"
    PUBLIC = "public"
    SYNTHETIC = "synthetic"


class BudgetTerms(Struct, frozen=True, kw_only=True):
    """The terms of a dataset's budget, fixed for life when it is opened.

    limit, cap: largest cost of all releases together, and of any one release (None: no cap); exact, in the currency of
    `accountant` and the budget's delta. unit: `PrivacyUnit.whom`. policy: how the table is read; it alone may change,
    towards stricter. policy_stated: False for a dataset that was opened before policies existed; it may be given any
    policy, once. periods: their budgets within the limit; None: it has none. reason: why it was opened, and by whom.
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
    periods: PeriodBudgets | None = None
    reason: Reason = NO_REASON

    @property
    def currency(self) -> Currency:
        return currency(self.accountant, pure=self.budget.pure)

    def total(self, spent: Spending, nodes: Collection[LayerNode] = ()) -> Cost:
        """Return what one unit has paid at most. nodes: releases of counters that are not among `spent`."""
        whole = self.periods.total(spent) if self.periods else sum(spent.values(), NO_COST)
        return whole + of_layers(nodes, 2 if self.neighbours is Neighbours.REPLACE else 1)


class Account(Struct, frozen=True, kw_only=True):
    """The account of a dataset: its terms and its costs so far.

    spent: settlements, and unsettled reservations in full; pending: the latter alone. periods: spent, by period.
    """

    terms: BudgetTerms
    spent: Cost = NO_COST
    pending: Cost = NO_COST
    reservations: int = 0
    unsettled: int = 0
    periods: Spending = field(default_factory=dict)

    @property
    def left(self) -> Cost:
        return self.terms.limit - self.spent

    @property
    def largest(self) -> Cost:
        """Largest cost of one release now; where there are periods, of one that has released nothing."""
        return self.largest_of(None)

    def largest_of(self, period: str | None) -> Cost:
        """Return the largest cost of one release of this period now; None: of one that has released nothing."""
        periods, cap = self.terms.periods, self.terms.cap
        found = periods.room(period, self.periods, self.left) if periods else self.left
        return found if cap is None else found.least(cap)

    @property
    def request(self) -> str | None:
        """Options of the largest release that fits now, such as "--eps 0.5"; None: none does."""
        return self.terms.currency.request(self.largest, self.terms.budget.delta)


class LedgerEntry(Struct, frozen=True, kw_only=True):
    """One line of the record; `number` counts from 0, `time` is UTC, `hash` covers it and all before it.

    open: the ledger begins; `anchored`: an anchor is written from the start. anchor: one is written from now on.
    checkpoint: `state` is the digest of all accounts after the entries before it.
    move: the ledger ends here and goes on in the place `note`. arrive: it goes on here, in the place `note`.
    init: `terms` of a dataset. policy: its `policy` from now on.
    approve: `reason` says who approves one release of the plan whose document has the SHA-256 `plan`.
    reserve: `cost` of `events` is paid, by `pricing` if the currency needs it; `plan` is its plan's hash, `reason` says
    why, for whom, and who approved; `period` is the one whose rows alone the run reads; `layer` is the one of a counter
    that bounds each person's rows over its life.
    draw: the run of reservation `run` begins a draw; `transcript` is the running hash of all before it.
    record: the draw is in the transcript, whose hash is now `transcript`.
    settle: `events` were charged in the run of reservation `settles`; `note` is how it ended; `drawn` is the SHA-256 of
    what its record says was drawn, empty where nothing was released, and in entries of versions up to 0.10.
    reject: the owner has seen that the entries `rejected`, which jobs have appended past dpqr, break the rules.
    void: one of those, where the rules refuse it; never written. `text` is what is stored.
    """

    number: int
    kind: (
        Literal["open", "anchor", "checkpoint", "move", "arrive", "init", "policy", "approve"]
        | Literal["reserve", "draw", "record", "settle", "reject", "void"]
    )
    time: str
    hash: str = ""
    dataset: str = ""
    terms: BudgetTerms | None = None
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
    reason: Reason = NO_REASON
    plan: str = ""
    period: str = ALL_PERIODS
    layer: Layer | None = None
    rejected: tuple[int, ...] = ()
    text: str = ""
    drawn: str = ""


# Reservation: what one run has paid for before any data is opened, and how far the run has come.


class Reservation(Struct, frozen=True, kw_only=True):
    """A part of a budget that is paid and durable before any data is opened.

    number: of its entry. receipt: hash of the ledger up to and including it. cost: exact, in the ledger's currency,
    derived from the events by `pricing`. reason: why, who asked, and who approved. plan: SHA-256 of its document.
    """

    dataset: str
    number: int
    receipt: str
    currency: Currency
    cost: Cost
    events: Composition
    pricing: Pricing = PURE
    reason: Reason = NO_REASON
    plan: str = ""

    def guard(self) -> PrivacyFilter:
        """Return a filter that admits what was paid for and no more."""
        return self.currency.guard(self.cost, self.events, self.pricing)


class Run(Struct, frozen=True, kw_only=True):
    """The progress of the run that a reservation pays for, if the run writes a transcript.

    note: of the reservation. recorded: number of draws that the transcript is known to hold. lost: a draw that was
    begun after those and not recorded. transcript: running hash of the transcript up to there; "": no draw was begun.
    """

    reservation: Reservation
    note: str
    recorded: int = 0
    lost: PrivacyEvent | None = None
    transcript: str = ""
