"""Verify: a third party checks a release, or predictions. CHECKS and PREDICTIONS list what is checked, in its order.

What it shows: record, files, figures, plan and ledger belong together, and the figures follow from the noisy draws.
What it cannot show: that the noise was honestly drawn, or that the table was the one that is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeVar

from msgspec import Struct

from dpqr.kernel.errors import DpqrError, GoalMissed, LedgerError, UsageFault
from dpqr.kernel.values import replace
from dpqr.published import prediction_checks as checks_of_predictions
from dpqr.published.checks import (
    answers,
    draws,
    events,
    figures_and_views,
    files,
    ledger,
    locked_plan,
    plan,
    prices,
    record,
    settlement,
    statements,
    synthetic,
)
from dpqr.published.evidence import NotChecked, NotRepeated, ReleaseEvidence, VerifyRequest
from dpqr.published.prediction_checks import PredictionEvidence
from dpqr.releases.files.atomic import RECORD
from dpqr.releases.files.read_release import NO_TABLE, require_regular
from dpqr.releases.record.parts import predictions_path
from dpqr.tables.engines.address import is_address

Held = TypeVar("Held")
CHECKS: dict[str, Callable[[ReleaseEvidence], str]] = {
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
    "settlement": settlement,
}
"""Every check by the name that its line bears. It returns what it found, or raises NotChecked or the mismatch."""

PREDICTIONS: dict[str, Callable[[PredictionEvidence], str]] = {
    name: getattr(checks_of_predictions, name.replace(" ", "_"))
    for name in (
        *("record", "files", "locked plan", "ledger", "events", "prices", "plan", "draws", "statements", "settlement"),
    )
}
"""The same of predictions, or of a released function."""

FORM = (
    *(ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError, StopIteration),
    *(RecursionError, MemoryError, FileNotFoundError, NotADirectoryError, IsADirectoryError, *NO_TABLE),
)
"""What a check may end with where a record or a file was written by somebody else. Other errors are of this machine."""

LIMITS = (
    "not shown by any check: that the noise was honestly drawn, and that the table was the one that is named; a ledger "
    "shows that the release was paid for before it was made"
)


State = Literal["ok", "FAILED", "not checked", "not repeated"]
Outcome = Literal[
    "repeated bit for bit",
    "repeated within the tolerance",
    "not repeatable on this machine",
    "nothing to repeat",
    "does not belong together",
    "checked by a second pair of eyes",
]
"""What a verification came to: words on the screen and in JSON."""


class CheckResult(Struct, frozen=True, kw_only=True):
    """What one check found. code: 0; of a mismatch and of what is not repeated 6, of a damaged ledger 7. repeated:
    False where the tolerance was accepted. acceptable: whether a tolerance would accept what is not repeated.

    >>> str(CheckResult(name="answers", state="ok", text="1,231 rows equal bit for bit"))
    'ok           answers: 1,231 rows equal bit for bit'
    """

    name: str
    state: State
    text: str
    code: int = 0
    repeated: bool = True
    acceptable: bool = False

    def __str__(self) -> str:
        return f"{self.state:<12} {self.name}: {self.text}"


class VerificationResult(Struct, frozen=True, kw_only=True):
    """All checks in their order; they end with the first mismatch. What is not repeated here is no mismatch, and no
    success. independent: whether the checker made them that shares no code and repeats no fit."""

    checks: tuple[CheckResult, ...]
    independent: bool = False

    @property
    def against(self) -> CheckResult | None:
        """The check that decides against the release: the mismatch, or the first that was not repeated."""
        found = [each for each in self.checks if each.code]
        return next((each for each in found if each.state == "FAILED"), found[0] if found else None)

    @property
    def code(self) -> int:
        """The exit code of the command."""
        return self.against.code if self.against else 0

    @property
    def passed(self) -> bool:
        """Whether nothing was found against the release, and all that it allows was repeated, bit for bit unless a
        tolerance was accepted. A check that was not made found nothing."""
        return self.code == 0

    @property
    def outcome(self) -> Outcome:
        """In words."""
        if self.against:
            return "does not belong together" if self.against.state == "FAILED" else "not repeatable on this machine"
        if self.independent:
            return "checked by a second pair of eyes"
        if not all(each.repeated for each in self.checks):
            return "repeated within the tolerance"
        drawn = next((each for each in reversed(self.checks) if each.name in ("draws", "answers")), None)
        return "repeated bit for bit" if drawn and drawn.state == "ok" else "nothing to repeat"

    def document(self) -> dict[str, object]:
        """Plain JSON values."""
        checks = [{"check": each.name, "state": each.state, "text": each.text} for each in self.checks]
        return {"passed": self.passed, "outcome": self.outcome, "checks": checks, "limits": LIMITS}


def verify(request: VerifyRequest) -> VerificationResult:
    """Check a release, and the ledger and the plan where they are given. Raises: UsageFault where one is not there;
    DataError where something else than regular files lies in the release's directory."""
    if os.path.isdir(request.release):
        require_regular(Path(request.release))
    if not os.path.isfile(request.release) and not os.path.isfile(Path(request.release) / RECORD):
        raise UsageFault(
            f"{request.release}: is no release directory, and no file of predictions; give one that dpqr has made"
        )
    if os.path.basename(request.release) == RECORD and os.path.isfile(request.release):
        raise UsageFault(f"{request.release}: is the record of a release; give the directory that it lies in")
    request = replace(request, release=predictions_path(request.release))
    if request.anchor is not None and request.ledger is None:
        raise UsageFault("--anchor is about a ledger; add --ledger FILE, or leave it out")
    for option, place in (("--ledger", request.ledger), ("--plan", request.plan)):
        if place is not None and not os.path.isfile(place) and not (option == "--ledger" and is_address(place)):
            raise UsageFault(f"{option} {place}: there is no such file; fix the path")
    if os.path.isfile(request.release):
        return _run_checks(PREDICTIONS, PredictionEvidence(request), tolerance=request.tolerance)
    with TemporaryDirectory(prefix="dpqr-verify-") as scratch:
        return _run_checks(CHECKS, ReleaseEvidence(request, Path(scratch)), tolerance=request.tolerance)


def _run_checks(checks: Mapping[str, Callable[[Held], str]], evidence: Held, *, tolerance: bool) -> VerificationResult:
    found: list[CheckResult] = []
    for name, check in checks.items():
        found.append(_run_check(name, check, evidence, tolerance=tolerance))
        if found[-1].state == "FAILED":
            break
    return VerificationResult(checks=tuple(found))


def require_verified(found: VerificationResult) -> None:
    """GoalMissed or LedgerError where a check failed; GoalMissed where a figure was not repeated."""
    against = found.against
    if against is None:
        return
    if against.state == "not repeated":
        hint = "\nverify on the versions that the record names, or accept what is not repeated with --tolerance"
        acceptable = all(each.acceptable for each in found.checks if each.code)
        raise GoalMissed(f"{found.outcome}: {against.name}: {against.text}{hint if acceptable else ''}")
    kind = LedgerError if against.code == LedgerError.exit_code else GoalMissed
    raise kind(f"{against.name}: {against.text}")


def _run_check(name: str, check: Callable[[Held], str], evidence: Held, *, tolerance: bool) -> CheckResult:
    try:
        return CheckResult(name=name, state="ok", text=check(evidence))
    except NotRepeated as found:
        if tolerance and found.accepted:
            return CheckResult(name=name, state=found.accepted, text=str(found), repeated=False)
        acceptable, code = found.accepted is not None, GoalMissed.exit_code
        return CheckResult(name=name, state="not repeated", text=str(found), code=code, acceptable=acceptable)
    except NotChecked as reason:
        return CheckResult(name=name, state="not checked", text=str(reason))
    except LedgerError as damage:
        return CheckResult(name=name, state="FAILED", text=str(damage), code=damage.exit_code)
    except DpqrError as mismatch:
        return CheckResult(name=name, state="FAILED", text=str(mismatch), code=GoalMissed.exit_code)
    except FORM as fault:
        text = f"the record, or a file, has not the form that dpqr gives it ({type(fault).__name__})"
        return CheckResult(name=name, state="FAILED", text=text, code=GoalMissed.exit_code)
