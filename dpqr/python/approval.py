"""Approvals: somebody else than who asks lets a budget pay for one run by a locked plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct

from dpqr.kernel.values import replace
from dpqr.ledger.budgets import configured_ledger
from dpqr.ledger.ledger import Reason
from dpqr.prediction.plan import PredictionPlan
from dpqr.prediction.planner import following_prediction
from dpqr.prediction.predict import checked_prediction
from dpqr.prediction.record import prediction_plan_document
from dpqr.releases.documents import DomainRequest
from dpqr.releases.learned.learned_domain import LearnRequest, follow_learning
from dpqr.releases.learned.learning import LearningPlan, learning_document
from dpqr.releases.locked_plan import following, plan_format, require_forecast, require_same_notes
from dpqr.releases.record.parts import LEARNING_PLAN_FORMAT, PREDICTION_PLAN_FORMAT
from dpqr.releases.record.plan_document import SEAL, plan_document
from dpqr.releases.release import checked_plan
from dpqr.releases.requests import LedgerRequest, PlanRequest, PredictionPlanRequest, PredictionRequest, ReleaseRequest
from dpqr.sessions.planning import OpenRequest, plan_session
from dpqr.strategies.plan import Plan
from dpqr.tables.source import TableSource

Approvable = TypeVar("Approvable", Plan, PredictionPlan, LearningPlan)


class ApprovedRun(Struct, frozen=True, kw_only=True):
    """One release, one run of predictions, or one that learns, that was approved: by which plan, and its hash; for
    whose budget; why, and by whom."""

    dataset: str
    plan: Plan | PredictionPlan | LearningPlan
    sha256: str
    reason: Reason


def approve(payer: LedgerRequest, path: str, reason: Reason) -> ApprovedRun:
    """Approve one run by the plan in the file `path`.

    The plan is made again from the documents that it holds, under the policy of today, so that nobody approves what
    would be refused, or figures, notes or keys that do not follow from the documents. A forecast alone is not simulated
    again. reason: why, and who approves.

    Raises:
        UsageFault, DocumentError, InfeasiblePlan; BudgetRefused where the budget's policy forbids such a release.

    Privacy:
        Public: no table is named, and none is opened.
    """
    plan, document = _planned(payer, path)
    digest = str(document[SEAL])
    configured_ledger(payer.ledger, payer.anchor).approve(payer.dataset, digest, reason)
    return ApprovedRun(dataset=payer.dataset, plan=plan, sha256=digest, reason=reason)


def _planned(payer: LedgerRequest, path: str) -> tuple[Plan | PredictionPlan | LearningPlan, dict[str, Any]]:
    """The plan, made again, and its document."""
    nothing, form = TableSource.unnamed(), plan_format(path)
    if form == LEARNING_PLAN_FORMAT:
        learning = follow_learning(LearnRequest(described=DomainRequest(payer=payer), plan=path), opened=False)
        return learning, _require_same_words(learning, learning_document)
    if form == PREDICTION_PLAN_FORMAT:
        empty = PredictionPlanRequest(target="", epsilon="", domain=None)
        request = PredictionRequest(table=nothing, plan=empty, payer=payer)
        predicting, _, _ = checked_prediction(following_prediction(request, path, opened=False))
        return predicting, _require_same_words(predicting, prediction_plan_document)
    release = ReleaseRequest(source=nothing, plan=PlanRequest(), payer=payer)
    followed = following(release, path, opened=False)
    if followed.plan.questions is None:
        plan, _ = checked_plan(followed)
    else:
        plan = plan_session(OpenRequest(name="", run=followed)).whole
    return plan, _require_same_words(plan, plan_document)


def _require_same_words(plan: Approvable, document: Callable[[Approvable], dict[str, Any]]) -> dict[str, Any]:
    """The locked plan's document. DocumentError where a person reads in it what the plan made again does not say."""
    inputs = plan.inputs
    if inputs is None or inputs.locked is None:
        raise AssertionError("an approved plan is a locked one")
    require_same_notes(inputs.locked, document(replace(plan, inputs=replace(inputs, locked=None))))
    require_forecast(inputs.locked)
    return document(plan)
