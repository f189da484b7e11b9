"""What a reservation asks for, held against the terms of its budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpqr.data.period import PeriodRows
from dpqr.data.unit import PrivacyUnit
from dpqr.io.ledger.ledger_state import LedgerState
from dpqr.io.ledger.refusals import require_period, require_policy, require_unit
from dpqr.privacy.budget import Cost, Pricing
from dpqr.privacy.currency import Currency
from dpqr.privacy.events import Composition
from dpqr.privacy.pair_currency import PAIR
from dpqr.privacy.periods import WHOLE
from dpqr.privacy.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The events of one run, and what it was resolved for and under.

    prices: by currency; they are worked out once, for some accountants take a while, before the ledger is locked.
    """

    dataset: str
    events: Composition
    unit: PrivacyUnit
    policy: Policy
    pricing: Pricing
    period: PeriodRows | None = None
    prices: dict[str, Cost] = field(default_factory=dict, init=False)

    def content(self, state: LedgerState) -> dict[str, Any]:
        """The content of its entry. BudgetRefused: the budget is for another unit, or read under another policy."""
        terms = state.account(self.dataset).terms
        require_unit(terms, self.unit)
        require_policy(terms, self.policy)
        require_period(terms, self.period)
        return {
            "dataset": self.dataset,
            "cost": self._price(terms.currency),
            "events": self.events,
            "pricing": self.pricing if terms.currency is PAIR else None,
            "layer": state.layer(self.dataset, self.period, self.unit.rows),
            "period": WHOLE if self.period is None else self.period.name,
        }

    def _price(self, currency: Currency) -> Cost:
        if currency.name not in self.prices:
            self.prices[currency.name] = currency.price(self.events, self.pricing)
        return self.prices[currency.name]
