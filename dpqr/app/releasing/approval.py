"""Approvals: somebody else than who asks lets a budget pay for one run by a locked plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpqr.app.paying.budget import configured_ledger
from dpqr.app.predicting.predict import checked_prediction
from dpqr.app.releasing.locked_plan import following, following_prediction, plans_predictions
from dpqr.app.releasing.release import checked_plan
from dpqr.app.requests import LedgerRequest, PlanRequest, PredictionPlanRequest, PredictionRequest, ReleaseRequest
from dpqr.app.sessions.planning import OpenRequest, planned_session
from dpqr.io.outputs.records.plan_document import SEAL, plan_document
from dpqr.io.outputs.records.prediction_document import prediction_plan_document
from dpqr.io.tables.source import TableSource
from dpqr.prediction.plan import PredictionPlan
from dpqr.privacy.reason import Reason
from dpqr.strategies.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """One release, or one run of predictions, that was approved: by which plan, and its hash; for whose budget; why,
    and by whom."""

    dataset: str
    plan: Plan | PredictionPlan
    sha256: str
    reason: Reason


def approve(payer: LedgerRequest, path: str, reason: Reason) -> Approved:
    """Approve one run by the plan in the file `path`.

    The plan is made again from the documents that it holds, under the policy of today, so that nobody approves what
    would be refused, or figures that do not follow from the documents. reason: why, and who approves.

    Raises:
        UsageFault, DocumentError, InfeasiblePlan; BudgetRefused where the budget's policy forbids such a release.

    Privacy:
        Public: no table is named, and none is opened.
    """
    plan, document = _planned(payer, path)
    digest = str(document[SEAL])
    configured_ledger(payer.ledger, payer.anchor).approve(payer.dataset, digest, reason)
    return Approved(dataset=payer.dataset, plan=plan, sha256=digest, reason=reason)


def _planned(payer: LedgerRequest, path: str) -> tuple[Plan | PredictionPlan, dict[str, Any]]:
    """The plan, made again, and its document."""
    nothing = TableSource.unnamed()
    if plans_predictions(path):
        empty = PredictionPlanRequest(target="", epsilon="", domain=None)
        asked = PredictionRequest(table=nothing, plan=empty, payer=payer)
        predicting, _, _ = checked_prediction(following_prediction(asked, path, opened=False))
        return predicting, prediction_plan_document(predicting)
    release = ReleaseRequest(source=nothing, plan=PlanRequest(), payer=payer)
    followed = following(release, path, opened=False)
    if followed.plan.questions is None:
        plan, _ = checked_plan(followed)
    else:
        plan = planned_session(OpenRequest(name="", run=followed)).whole
    return plan, plan_document(plan)
