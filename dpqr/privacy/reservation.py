"""Reservation: what one run has paid for before any data is opened, and how far the run has come."""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.privacy.accountant import PrivacyFilter
from dpqr.privacy.budget import PURE, Cost, Pricing
from dpqr.privacy.currency import Currency
from dpqr.privacy.events import Composition, PrivacyEvent
from dpqr.privacy.reason import UNSTATED, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A part of a budget that is paid and durable before any data is opened.

    number: of its entry. receipt: hash of the ledger up to and including it. cost: exact, in the ledger's currency,
    derived from the events by `pricing`. reason: why, who asked, and who approved. plan: SHA-256 of its document.

    >>> from fractions import Fraction
    >>> from dpqr.privacy.currency import currency
    >>> from dpqr.privacy.events import ExponentialEvent
    >>> event = ExponentialEvent(epsilon=Fraction(1, 2))
    >>> paid = {"dataset": "survey-2026", "number": 2, "receipt": "", "cost": Cost(Fraction(1, 2))}
    >>> reservation = Reservation(**paid, currency=currency("basic", pure=True), events=((event, 1),))
    >>> reservation.guard().charge(event)
    0
    >>> Run(reservation=reservation, note="first release").recorded
    0
    """

    dataset: str
    number: int
    receipt: str
    currency: Currency
    cost: Cost
    events: Composition
    pricing: Pricing = PURE
    reason: Reason = UNSTATED
    plan: str = ""

    def guard(self) -> PrivacyFilter:
        """Return a filter that admits what was paid for and no more."""
        return self.currency.guard(self.cost, self.events, self.pricing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The progress of the run that a reservation pays for, if the run writes a transcript.

    note: of the reservation. recorded: number of draws that the transcript is known to hold. lost: a draw that was
    begun after those and not recorded. transcript: running hash of the transcript up to there; "": no draw was begun.
    """

    reservation: Reservation
    note: str
    recorded: int = 0
    lost: PrivacyEvent | None = None
    transcript: str = ""
