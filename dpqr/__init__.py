"""dpqr: differentially private release of linear queries from the Iterative Construction.

    import dpqr
    release = dpqr.release(frame, queries="q.json", domain="domain.json", eps=1)
    release.answers

`dpqr guide python` tells the rest. Nothing is imported before it is used.
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
    from dpqr.api.domain import Domain, domain_from
    from dpqr.api.ledger import Budget, Ledger
    from dpqr.api.plan import Plan, plan
    from dpqr.api.predict import PredictionPlan, Predictions, predict
    from dpqr.api.queries import Queries, queries
    from dpqr.api.release import Release, read_release, release
    from dpqr.api.shown import Receipt
    from dpqr.api.sweep import sweep
    from dpqr.api.verify import Comparison, Verification, compare, reprice, verify

__version__ = "0.3.0"
__all__ = [
    "AlreadyThere",
    "Budget",
    "BudgetRefused",
    "Comparison",
    "DataError",
    "DocumentError",
    "Domain",
    "DpqrError",
    "GoalMissed",
    "HypothesisFailed",
    "InfeasiblePlan",
    "Ledger",
    "LedgerError",
    "MechanismFailed",
    "Plan",
    "PredictionPlan",
    "Predictions",
    "Queries",
    "Receipt",
    "Release",
    "UsageFault",
    "Verification",
    "__version__",
    "compare",
    "domain_from",
    "plan",
    "predict",
    "queries",
    "read_release",
    "release",
    "reprice",
    "sweep",
    "verify",
]
_PLACES = {
    "Budget": "dpqr.api.ledger",
    "Comparison": "dpqr.api.verify",
    "Domain": "dpqr.api.domain",
    "Ledger": "dpqr.api.ledger",
    "Plan": "dpqr.api.plan",
    "PredictionPlan": "dpqr.api.predict",
    "Predictions": "dpqr.api.predict",
    "Queries": "dpqr.api.queries",
    "Receipt": "dpqr.api.shown",
    "Release": "dpqr.api.release",
    "Verification": "dpqr.api.verify",
    "compare": "dpqr.api.verify",
    "domain_from": "dpqr.api.domain",
    "plan": "dpqr.api.plan",
    "predict": "dpqr.api.predict",
    "queries": "dpqr.api.queries",
    "read_release": "dpqr.api.release",
    "release": "dpqr.api.release",
    "reprice": "dpqr.api.verify",
    "sweep": "dpqr.api.sweep",
    "verify": "dpqr.api.verify",
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
