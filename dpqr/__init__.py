"""dpqr: differentially private release of linear queries from the Iterative Construction.

    import dpqr
    release = dpqr.release(frame, queries="q.json", domain="domain.json", eps=1)
    release.answers

`dpqr guide python` describes every function. A function's module is imported at its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dpqr.kernel.errors import (
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
    from dpqr.python.answer import Later, answer, export
    from dpqr.python.build import Page, guide, list_strategies, run_audit
    from dpqr.python.documents import Checked, check, domain_file, init, schema
    from dpqr.python.domain import Domain, domain_from
    from dpqr.python.evaluate import Evaluation, evaluate, sweep
    from dpqr.python.forecast import Forecast, forecast
    from dpqr.python.ledger import Budget, Ledger
    from dpqr.python.plan import Plan, plan
    from dpqr.python.predict import PredictionPlan, Predictions, predict
    from dpqr.python.queries import Queries, Sql, queries, sql
    from dpqr.python.release import Release, read_release, release
    from dpqr.python.reports import Label, label, write_report
    from dpqr.python.series import Series, series
    from dpqr.python.sessions import PredictionSession, Session, open_predictions, open_session
    from dpqr.python.shown import Receipt
    from dpqr.python.tutorial import Tutorial, tutorial
    from dpqr.python.verify import Comparison, Verification, compare, reprice, verify

__version__ = "0.17.0"
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
    "Label",
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
    "Tutorial",
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
    "label",
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
    "tutorial",
    "verify",
    "write_report",
]
_PLACES = {
    "Budget": "dpqr.python.ledger",
    "Checked": "dpqr.python.documents",
    "Comparison": "dpqr.python.verify",
    "Domain": "dpqr.python.domain",
    "Evaluation": "dpqr.python.evaluate",
    "Forecast": "dpqr.python.forecast",
    "Label": "dpqr.python.reports",
    "Later": "dpqr.python.answer",
    "Ledger": "dpqr.python.ledger",
    "Page": "dpqr.python.build",
    "Plan": "dpqr.python.plan",
    "PredictionPlan": "dpqr.python.predict",
    "PredictionSession": "dpqr.python.sessions",
    "Predictions": "dpqr.python.predict",
    "Queries": "dpqr.python.queries",
    "Receipt": "dpqr.python.shown",
    "Release": "dpqr.python.release",
    "Series": "dpqr.python.series",
    "Session": "dpqr.python.sessions",
    "Sql": "dpqr.python.queries",
    "Tutorial": "dpqr.python.tutorial",
    "Verification": "dpqr.python.verify",
    "answer": "dpqr.python.answer",
    "check": "dpqr.python.documents",
    "compare": "dpqr.python.verify",
    "domain_file": "dpqr.python.documents",
    "domain_from": "dpqr.python.domain",
    "evaluate": "dpqr.python.evaluate",
    "export": "dpqr.python.answer",
    "forecast": "dpqr.python.forecast",
    "guide": "dpqr.python.build",
    "init": "dpqr.python.documents",
    "label": "dpqr.python.reports",
    "list_strategies": "dpqr.python.build",
    "open_predictions": "dpqr.python.sessions",
    "open_session": "dpqr.python.sessions",
    "plan": "dpqr.python.plan",
    "predict": "dpqr.python.predict",
    "queries": "dpqr.python.queries",
    "read_release": "dpqr.python.release",
    "release": "dpqr.python.release",
    "reprice": "dpqr.python.verify",
    "run_audit": "dpqr.python.build",
    "schema": "dpqr.python.documents",
    "series": "dpqr.python.series",
    "sql": "dpqr.python.queries",
    "sweep": "dpqr.python.evaluate",
    "tutorial": "dpqr.python.tutorial",
    "verify": "dpqr.python.verify",
    "write_report": "dpqr.python.reports",
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
