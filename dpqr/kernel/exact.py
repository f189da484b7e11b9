"""Exact values of public data through the same gate, at infinite cost."""

from __future__ import annotations

from typing import cast, final

from msgspec import Struct

from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import PrivacyEvent


@final
class ExactEvent(Struct, frozen=True):
    """The true value itself leaves the gate: no epsilon, and no rho, covers it.

    It is not in `PrivacyEvent`: no accountant has a price for it, so each refuses it, and no ledger can record it.
    """

    @property
    def as_event(self) -> PrivacyEvent:
        """For the signature of the gate, which asks every mechanism for an event."""
        return cast(PrivacyEvent, self)


@final
class PublicFilter(Struct):
    """An unlimited budget for data that is public or synthetic by declaration; it admits exact values only.

    >>> PublicFilter().charge(ExactEvent().as_event)
    0
    """

    _charged: int = 0

    def charge(self, event: PrivacyEvent) -> int:
        """Return the number of `event`, from 0; BudgetRefused for an event that has a price."""
        if not isinstance(event, ExactEvent):
            raise BudgetRefused("exact evaluation of public data makes no noisy draws; nothing was drawn")
        self._charged += 1
        return self._charged - 1
