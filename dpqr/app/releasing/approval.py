"""Approvals: somebody else than who asks lets a budget pay for one release by a locked plan."""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.app.paying.budget import configured_ledger
from dpqr.app.releasing.locked_plan import following
from dpqr.app.releasing.release import checked_plan
from dpqr.app.requests import LedgerRequest, PlanRequest, ReleaseRequest
from dpqr.io.outputs.plan_document import plan_hash
from dpqr.io.tables.file import STDIN
from dpqr.io.tables.source import TableSource
from dpqr.privacy.reason import Reason
from dpqr.strategies.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """One release that was approved: by which plan, and its hash; for whose budget; why, and by whom."""

    dataset: str
    plan: Plan
    sha256: str
    reason: Reason


def approve(payer: LedgerRequest, path: str, reason: Reason) -> Approved:
    """Approve one release by the plan in the file `path`.

    The plan is made again from the documents that it holds, under the policy of today, so that nobody approves what
    would be refused, or figures that do not follow from the documents. reason: why, and who approves.

    Raises:
        UsageFault, DocumentError, InfeasiblePlan; BudgetRefused where the budget's policy forbids such a release.

    Privacy:
        Public: no table is named, and none is opened.
    """
    asked = ReleaseRequest(source=TableSource(paths=(STDIN,)), plan=PlanRequest(), payer=payer)
    plan, _ = checked_plan(following(asked, path, opened=False))
    digest = plan_hash(plan)
    configured_ledger(payer.ledger, payer.anchor).approve(payer.dataset, digest, reason)
    return Approved(dataset=payer.dataset, plan=plan, sha256=digest, reason=reason)
