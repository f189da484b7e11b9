"""Bill: what a run will be charged, before it begins; and whether its payer could pay it now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from dpqr.app.paying.budget import configured_ledger
from dpqr.app.requests import LedgerRequest
from dpqr.data.period import PeriodRows
from dpqr.data.unit import PrivacyUnit
from dpqr.io.journal.fingerprints import release_note
from dpqr.io.outputs.records.plan_document import plan_hash
from dpqr.privacy.accountant import PrivacyFilter
from dpqr.privacy.budget import Pricing
from dpqr.privacy.events import Composition
from dpqr.privacy.ledger import DEFAULT, Ledger
from dpqr.privacy.policy import UTF_8, Policy
from dpqr.privacy.reason import UNSTATED, Reason
from dpqr.privacy.reservation import Reservation
from dpqr.strategies.choice import guarded
from dpqr.strategies.plan import Plan
from dpqr.strategies.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What a run will be charged, before it begins. pricing: the accountant that proves it; guard: a fresh filter that
    admits it; note: what the ledger remembers of it; plan: the SHA-256 of its document, empty where it has none;
    policy: how the table is read; reason: why, who asks, and who approved; period: whose rows alone are read."""

    events: Composition
    unit: PrivacyUnit
    pricing: Pricing
    guard: Callable[[], PrivacyFilter]
    note: str
    plan: str = ""
    policy: Policy = DEFAULT
    reason: Reason = UNSTATED
    period: PeriodRows | None = None

    def require_fit(self, ledger: Ledger, dataset: str, *, locked: bool = False) -> None:
        """BudgetRefused where the budget would not pay now; nothing is written.

        locked: the run follows a plan that was reviewed; of others nobody asks for an approval before they are written.
        """
        ledger.require_fit(
            dataset,
            self.events,
            unit=self.unit,
            policy=self.policy,
            pricing=self.pricing,
            plan=self.plan if locked else "",
            reason=self.reason,
            period=self.period,
        )

    def reserve(self, ledger: Ledger, dataset: str) -> Reservation:
        """Pay, in full. BudgetRefused where the budget does not."""
        return ledger.reserve(
            dataset,
            self.events,
            unit=self.unit,
            note=self.note,
            plan=self.plan,
            policy=self.policy,
            pricing=self.pricing,
            reason=self.reason,
            period=self.period,
        )


def release_bill(plan: Plan, policy: Policy = DEFAULT, encoding: str | None = None) -> Bill:
    """The bill of a release. encoding: of the table's text; None: UTF-8."""
    pricing, guard = Pricing(accountant=plan.roles.accountant.name, delta=plan.budget.delta), partial(guarded, plan)
    unit = plan.problem.unit
    return Bill(
        events=plan.events,
        unit=unit,
        pricing=pricing,
        guard=guard,
        note=release_note(),
        plan=plan_hash(plan),
        policy=policy,
        period=_read_rows(plan.problem, encoding),
    )


def _read_rows(problem: Problem, encoding: str | None) -> PeriodRows | None:
    """Whose rows a release reads and, where they are bounded over a counter's life, how.

    Privacy:
        A row is malformed, and so nobody's, by the cells of the columns that are read and by the encoding. A release
        that reads others might not count a row that an earlier one has used (`Layer`).
    """
    rows = problem.period
    if rows is None or rows.first is None:
        return rows
    read = "\n".join([encoding or UTF_8, *sorted(problem.domain.names)])
    return replace(rows, read=sha256(read.encode()).hexdigest())


def require_affordable(asked: LedgerRequest | None, bill: Bill, *, locked: bool = False) -> None:
    """BudgetRefused or LedgerError where the ledger would not pay for `bill` now. A run that is continued is paid.

    locked: as for `Bill.require_fit`.
    """
    if asked is not None and not asked.resume:
        bill.require_fit(configured_ledger(asked.ledger, asked.anchor), asked.dataset, locked=locked)
