"""EveryFilter: what several filters guard together, and a record of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import final

from dpqr.privacy.accountant import PrivacyFilter
from dpqr.privacy.events import Composition, PrivacyEvent


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EveryFilter:
    """Admits what all of `filters` admit. Where one refuses, those before it have charged in vain: never too little."""

    filters: tuple[PrivacyFilter, ...]
    charged: list[PrivacyEvent] = field(default_factory=list)

    def charge(self, event: PrivacyEvent) -> int:
        """Record `event` and return its number in the run, from 0."""
        for each in self.filters:
            each.charge(event)
        self.charged.append(event)
        return len(self.charged) - 1

    @property
    def events(self) -> Composition:
        """All that was admitted, with how often."""
        return tuple(Counter(self.charged).items())
