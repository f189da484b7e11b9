"""Approval: what the Python interface returns of a release that somebody has approved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpqr.api.shown import Receipt

if TYPE_CHECKING:
    from dpqr.app.releasing.approval import Approved


class Approval:
    """One run that a ledger pays for, by a plan that somebody has approved; printed, it says what was approved."""

    def __init__(self, approved: Approved) -> None:
        self._approved = approved

    @property
    def sha256(self) -> str:
        """The hash of the plan."""
        return self._approved.sha256

    @property
    def text(self) -> Receipt:
        """What was approved, in a few lines."""
        from dpqr.prediction.plan import PredictionPlan
        from dpqr.report.plan_view import approved_view
        from dpqr.report.prediction_view import approved_prediction_view

        found = self._approved
        plan, parts = found.plan, (found.sha256, found.dataset, found.reason)
        if isinstance(plan, PredictionPlan):
            return Receipt.of(lambda: approved_prediction_view(plan, *parts))
        return Receipt.of(lambda: approved_view(plan, *parts))

    def __str__(self) -> str:
        return str(self.text)

    def __repr__(self) -> str:
        return f"Approval({self.sha256[:12]})"
