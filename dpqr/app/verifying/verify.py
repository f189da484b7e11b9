"""Verify: a third party checks a release, or predictions. CHECKS and PREDICTIONS list what is checked, in its order.

What it shows: record, files, figures, plan and ledger belong together, and the figures follow from the noisy draws.
What it cannot show: that the noise was honestly drawn, or that the table was the one that is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar

from dpqr.app.verifying import checks_of_predictions
from dpqr.app.verifying.checks_of_draws import answers, draws, figures_and_views, plan, statements, synthetic
from dpqr.app.verifying.checks_of_ledger import ledger, locked_plan
from dpqr.app.verifying.checks_of_predictions import PredictionEvidence, formed
from dpqr.app.verifying.checks_of_record import events, files, prices, record
from dpqr.app.verifying.evidence import Evidence, NotChecked, VerifyRequest
from dpqr.errors import DpqrError, GoalMissed, LedgerError, UsageFault
from dpqr.io.ledger.addresses import is_address
from dpqr.io.outputs.records.record import RECORD

Held = TypeVar("Held")
CHECKS: dict[str, Callable[[Evidence], str]] = {
    "record": record,
    "files": files,
    "locked plan": locked_plan,
    "ledger": ledger,
    "events": events,
    "prices": prices,
    "plan": plan,
    "draws": draws,
    "answers": answers,
    "synthetic rows": synthetic,
    "figures": figures_and_views,
    "statements": statements,
}
"""Every check by the name that its line bears. It returns what it found, or raises NotChecked or the mismatch."""

PREDICTIONS: dict[str, Callable[[PredictionEvidence], str]] = {
    name: formed(getattr(checks_of_predictions, name.replace(" ", "_")))
    for name in ("record", "files", "locked plan", "ledger", "events", "prices", "plan", "draws")
}
"""The same of predictions, or of a released function."""

LIMITS = (
    "not shown by any check: that the noise was honestly drawn, and that the table was the one that is named; a ledger "
    "shows that the release was paid for before it was made"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What one check found. code: 0; of a mismatch 6, of a damaged ledger 7.

    >>> str(Check(name="answers", state="ok", text="1,231 rows equal bit for bit"))
    'ok           answers: 1,231 rows equal bit for bit'
    """

    name: str
    state: Literal["ok", "FAILED", "not checked"]
    text: str
    code: int = 0

    def __str__(self) -> str:
        return f"{self.state:<12} {self.name}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """All checks in their order; they end with the first mismatch."""

    checks: tuple[Check, ...]

    @property
    def code(self) -> int:
        """The exit code of the command."""
        return self.checks[-1].code

    @property
    def passed(self) -> bool:
        """Whether nothing was found against the release. A check that was not made found nothing."""
        return self.code == 0

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        checks = [{"check": each.name, "state": each.state, "text": each.text} for each in self.checks]
        return {"passed": self.passed, "checks": checks, "limits": LIMITS}


def verify(request: VerifyRequest) -> Verified:
    """Check a release, and the ledger and the plan where they are given. Raises: UsageFault where one is not there."""
    _require_there(request)
    if os.path.isfile(request.release):
        return _verified(PREDICTIONS, PredictionEvidence(request))
    with TemporaryDirectory(prefix="dpqr-verify-") as scratch:
        return _verified(CHECKS, Evidence(request, Path(scratch)))


def _verified(checks: Mapping[str, Callable[[Held], str]], evidence: Held) -> Verified:
    found: list[Check] = []
    for name, check in checks.items():
        found.append(_checked(name, check, evidence))
        if found[-1].code:
            break
    return Verified(checks=tuple(found))


def require_verified(found: Verified) -> None:
    """GoalMissed or LedgerError where a check failed."""
    failed = found.checks[-1]
    if failed.code:
        kind = LedgerError if failed.code == LedgerError.exit_code else GoalMissed
        raise kind(f"{failed.name}: {failed.text}")


def _require_there(request: VerifyRequest) -> None:
    if not os.path.isfile(request.release) and not os.path.isfile(Path(request.release) / RECORD):
        raise UsageFault(
            f"{request.release}: is no release directory, and no file of predictions; give one that dpqr has made"
        )
    for option, place in (("--ledger", request.ledger), ("--plan", request.plan)):
        if place is not None and not os.path.isfile(place) and not (option == "--ledger" and is_address(place)):
            raise UsageFault(f"{option} {place}: there is no such file; fix the path")


def _checked(name: str, check: Callable[[Held], str], evidence: Held) -> Check:
    try:
        return Check(name=name, state="ok", text=check(evidence))
    except NotChecked as reason:
        return Check(name=name, state="not checked", text=str(reason))
    except LedgerError as damage:
        return Check(name=name, state="FAILED", text=str(damage), code=damage.exit_code)
    except DpqrError as mismatch:
        return Check(name=name, state="FAILED", text=str(mismatch), code=GoalMissed.exit_code)
