"""Standing: a dataset's budget while its entries are replayed."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpqr.io.ledger.open_run import OpenRun
from dpqr.privacy.budget import NO_COST, Cost
from dpqr.privacy.ledger import Account, Terms


@dataclass(slots=True)
class Standing:
    """What is spent, and the runs that are paid and not settled, by the number of their reservation."""

    terms: Terms
    spent: Cost = NO_COST
    reservations: int = 0
    runs: dict[int, OpenRun] = field(default_factory=dict)

    @property
    def account(self) -> Account:
        return Account(
            terms=self.terms,
            spent=self.spent,
            pending=sum((run.paid.cost for run in self.runs.values()), NO_COST),
            reservations=self.reservations,
            unsettled=len(self.runs),
        )
