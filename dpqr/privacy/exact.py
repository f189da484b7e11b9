"""Exact: true values of public data through the same gate, at infinite cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast, final

from dpqr.errors import BudgetRefused
from dpqr.privacy.events import PrivacyEvent


@final
@dataclass(frozen=True, slots=True)
class ExactEvent:
    """The true value itself leaves the gate: no epsilon, and no rho, covers it.

    Why it is none of the events: no accountant has a price for it, so each refuses it, and no ledger can record it.
    """

    @property
    def as_event(self) -> PrivacyEvent:
        """For the signature of the gate, which asks every mechanism for an event."""
        return cast(PrivacyEvent, self)


@final
@dataclass(slots=True)
class PublicFilter:
    """A budget without end, for data that is public or synthetic by declaration. It admits exact values only.

    Why nothing else: a draw that has a price belongs to an accountant that counts it.
    """

    _charged: int = 0

    def charge(self, event: PrivacyEvent) -> int:
        """Number `event`, from 0; BudgetRefused for one that has a price."""
        if not isinstance(event, ExactEvent):
            raise BudgetRefused("exact evaluation of public data makes no noisy draws; nothing was drawn")
        self._charged += 1
        return self._charged - 1
