"""dpqr: differentially private release of linear queries from the Iterative Construction.

    import dpqr
    release = dpqr.release(frame, queries="q.json", domain="domain.json", eps=1)
    release.answers

`dpqr guide python` describes every function. A function's module is imported at its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dpqr.errors import (
    AlreadyThere,
    BudgetRefused,
    DataError,
    DocumentError,
    DpqrError,
    GoalMissed,
    HypothesisFailed,
    InfeasiblePlan,
    LedgerError,
    MechanismFailed,
    UsageFault,
)

if TYPE_CHECKING:
    from dpqr.api.answer import Later, answer
    from dpqr.api.build import Page, guide, list_strategies, run_audit
    from dpqr.api.documents import Checked, check, domain_file, init, schema
    from dpqr.api.domain import Domain, domain_from
    from dpqr.api.evaluate import Evaluation, evaluate
    from dpqr.api.export import export
    from dpqr.api.forecast import Forecast, forecast
    from dpqr.api.interactive import Session, open_session
    from dpqr.api.ledger import Budget, Ledger
    from dpqr.api.pages import write_report
    from dpqr.api.plan import Plan, plan
    from dpqr.api.predict import PredictionPlan, Predictions, predict
    from dpqr.api.predict_sessions import PredictionSession, open_predictions
    from dpqr.api.queries import Queries, Sql, queries, sql
    from dpqr.api.release import Release, read_release, release
    from dpqr.api.series import Series, series
    from dpqr.api.shown import Receipt
    from dpqr.api.sweep import sweep
    from dpqr.api.verify import Comparison, Verification, compare, reprice, verify

__version__ = "0.11.0"
__all__ = [
    "AlreadyThere",
    "Budget",
    "BudgetRefused",
    "Checked",
    "Comparison",
    "DataError",
    "DocumentError",
    "Domain",
    "DpqrError",
    "Evaluation",
    "Forecast",
    "GoalMissed",
    "HypothesisFailed",
    "InfeasiblePlan",
    "Later",
    "Ledger",
    "LedgerError",
    "MechanismFailed",
    "Page",
    "Plan",
    "PredictionPlan",
    "PredictionSession",
    "Predictions",
    "Queries",
    "Receipt",
    "Release",
    "Series",
    "Session",
    "Sql",
    "UsageFault",
    "Verification",
    "__version__",
    "answer",
    "check",
    "compare",
    "domain_file",
    "domain_from",
    "evaluate",
    "export",
    "forecast",
    "guide",
    "init",
    "list_strategies",
    "open_predictions",
    "open_session",
    "plan",
    "predict",
    "queries",
    "read_release",
    "release",
    "reprice",
    "run_audit",
    "schema",
    "series",
    "sql",
    "sweep",
    "verify",
    "write_report",
]
_PLACES = {
    "Budget": "dpqr.api.ledger",
    "Checked": "dpqr.api.documents",
    "Comparison": "dpqr.api.verify",
    "Domain": "dpqr.api.domain",
    "Evaluation": "dpqr.api.evaluate",
    "Forecast": "dpqr.api.forecast",
    "Later": "dpqr.api.answer",
    "Ledger": "dpqr.api.ledger",
    "Page": "dpqr.api.build",
    "Plan": "dpqr.api.plan",
    "PredictionPlan": "dpqr.api.predict",
    "PredictionSession": "dpqr.api.predict_sessions",
    "Predictions": "dpqr.api.predict",
    "Queries": "dpqr.api.queries",
    "Receipt": "dpqr.api.shown",
    "Release": "dpqr.api.release",
    "Series": "dpqr.api.series",
    "Session": "dpqr.api.interactive",
    "Sql": "dpqr.api.queries",
    "Verification": "dpqr.api.verify",
    "answer": "dpqr.api.answer",
    "check": "dpqr.api.documents",
    "compare": "dpqr.api.verify",
    "domain_file": "dpqr.api.documents",
    "domain_from": "dpqr.api.domain",
    "evaluate": "dpqr.api.evaluate",
    "export": "dpqr.api.export",
    "forecast": "dpqr.api.forecast",
    "guide": "dpqr.api.build",
    "init": "dpqr.api.documents",
    "list_strategies": "dpqr.api.build",
    "open_predictions": "dpqr.api.predict_sessions",
    "open_session": "dpqr.api.interactive",
    "plan": "dpqr.api.plan",
    "predict": "dpqr.api.predict",
    "queries": "dpqr.api.queries",
    "read_release": "dpqr.api.release",
    "release": "dpqr.api.release",
    "reprice": "dpqr.api.verify",
    "run_audit": "dpqr.api.build",
    "schema": "dpqr.api.documents",
    "series": "dpqr.api.series",
    "sql": "dpqr.api.queries",
    "sweep": "dpqr.api.sweep",
    "verify": "dpqr.api.verify",
    "write_report": "dpqr.api.pages",
}


if not TYPE_CHECKING:  # a type checker would take every name for one of this module's

    def __getattr__(name: str) -> object:
        """A name of the Python interface, imported when it is first used."""
        if name not in _PLACES:
            raise AttributeError(f"module 'dpqr' has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(_PLACES[name]), name)
        return found


def __dir__() -> list[str]:
    return sorted(__all__)
