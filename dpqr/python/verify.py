"""Releases looked at again by anybody: verified, priced again, compared. Nothing private is near."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

from dpqr.python.checks import Path, run_sanitised
from dpqr.python.shown import Readable, Receipt

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.published.evidence import VerifyRequest
    from dpqr.published.verify import CheckResult, State, VerificationResult
    from dpqr.report.comparison import ReleaseComparison as Compared


class Verification:
    """What `verify` found.

    >>> import dpqr, pandas, tempfile
    >>> table, domain = pandas.DataFrame({"a": [0, 1, 1]}), {"a": 2}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made = dpqr.release(table, queries=dpqr.queries().marginal("a"), domain=domain, eps=1)
    ...     made.save(place + "/out")
    ...     found = dpqr.verify(place + "/out")
    >>> found, found.checks[0].name
    (Verification(passed), 'record')
    """

    def __init__(self, found: VerificationResult) -> None:
        self._found = found

    @property
    def passed(self) -> bool:
        """Whether nothing was found against the release, and its figures were repeated bit for bit, or within the
        tolerance where that was accepted; a check that was not made found nothing."""
        return self._found.passed

    @property
    def outcome(self) -> str:
        """What it came to: "repeated bit for bit", "repeated within the tolerance", "not repeatable on this machine",
        "nothing to repeat" or "does not belong together"."""
        return self._found.outcome

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        """Each with `name`, `state` ("ok", "FAILED", "not checked", "not repeated") and `text`."""
        return self._found.checks

    def document(self) -> dict[str, Any]:
        """Plain JSON values, as the command prints them."""
        return self._found.document()

    def require(self) -> None:
        """Raise GoalMissed unless it has passed, and LedgerError where the ledger is damaged."""
        from dpqr.published.verify import require_verified

        require_verified(self._found)

    def __str__(self) -> str:
        return "\n".join(map(str, self.checks))

    def __repr__(self) -> str:
        return f"Verification({'passed' if self.passed else self._found.against})"


class Comparison(Readable):
    """Two releases or plans side by side.

    >>> import dpqr, pandas, tempfile
    >>> table, domain = pandas.DataFrame({"a": [0, 1, 1]}), {"a": 2}
    >>> made = dpqr.release(table, queries=dpqr.queries().marginal("a"), domain=domain, eps=1)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made.save(place + "/out")
    ...     found = dpqr.compare(place + "/out", place + "/out")
    >>> found, found.blocks["apart"].tolist()
    (Comparison(1 query in both), [0.0])
    """

    def __init__(self, found: Compared) -> None:
        self._found = found

    @property
    def facts(self) -> pd.DataFrame:
        """What was asked of both and promised, one row a fact."""
        import pandas as pd

        return pd.DataFrame({name: side.facts for name, side in zip("AB", self._found.sides, strict=True)})

    @property
    def blocks(self) -> pd.DataFrame:
        """One row a block of queries that both have; `dpqr guide verify` explains the figures."""
        import pandas as pd

        from dpqr.report.comparison import FIGURES

        rows = [(block.name, block.queries, *block.figures) for block in self._found.blocks]
        return pd.DataFrame(rows, columns=["query", "answers", *FIGURES])

    def document(self) -> dict[str, Any]:
        """Plain JSON values, as the command prints them."""
        return self._found.document()

    def view(self) -> Any:
        """What the command line shows, for a console of rich."""
        from dpqr.report.comparison import compared_view

        found, facts = self._found, (self._found.sides[0].facts, self._found.sides[1].facts)
        rows = [(block.name, block.queries, block.figures) for block in found.blocks]
        return compared_view(facts, rows, found.alone)

    @property
    def text(self) -> Receipt:
        return Receipt.of(self.view)

    def __repr__(self) -> str:
        from dpqr.kernel.wording import count_words

        return f"Comparison({count_words(len(self._found.blocks), 'query')} in both)"


def verify(
    release: Path,
    *,
    ledger: Path | None = None,
    anchor: Path | None = None,
    plan: Path | None = None,
    usual: bool = False,
    tolerance: bool = False,
    independent: bool = False,
) -> Verification:
    """Check a release: its files, its prices, and that its figures follow from its noisy draws.

    Args:
        release: its directory.
        ledger: the ledger that paid, or its export; anchor: the ledger's anchor.
        plan: the locked plan that was reviewed.
        usual: the ledger is a setting, not named for this release: one that none paid for is not held against it.
        tolerance: accept what this machine cannot repeat bit for bit (`dpqr guide verify`).
        independent: check by `dpqr/checker/check.py`, which shares no code with dpqr and repeats no fit
            (`dpqr guide formats`).

    Raises:
        UsageFault: one of them is not there. A mismatch is no error, but a check that failed.
    """
    from dpqr.published.evidence import VerifyRequest
    from dpqr.published.verify import verify as verified

    ledger, anchor, plan = (None if place is None else os.fspath(place) for place in (ledger, anchor, plan))
    given = {"usual": usual, "tolerance": tolerance}
    request = VerifyRequest(release=os.fspath(release), ledger=ledger, anchor=anchor, plan=plan, **given)
    made = _independent if independent else verified
    return Verification(run_sanitised(lambda: made(request)))


def _independent(request: VerifyRequest) -> VerificationResult:
    """What the checker finds that shares no code with this package. The ledger is handed to it as an export."""
    from dpqr.checker.check import CODES, check
    from dpqr.kernel.errors import UsageFault
    from dpqr.ledger.budgets import configured_ledger, export
    from dpqr.ledger.location import NO_ANCHOR
    from dpqr.ledger.record import is_export
    from dpqr.published.verify import CheckResult, VerificationResult

    if request.anchor is not None or request.tolerance:
        raise UsageFault("--independent takes neither --anchor nor --tolerance; leave them out, or leave it out")
    for place in (request.release, request.plan):
        if place is not None and not os.path.exists(place):
            raise UsageFault(f"{place}: is not there; fix the path")
    with tempfile.TemporaryDirectory(prefix="dpqr-verify-") as scratch:
        ledger = request.ledger
        if ledger is not None and not (os.path.isfile(ledger) and is_export(pathlib.Path(ledger))):
            lines = export(configured_ledger(ledger, NO_ANCHOR))
            ledger = os.path.join(scratch, "ledger.jsonl")
            pathlib.Path(ledger).write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        found = check(request.release, None if request.usual else ledger, request.plan)
        if request.usual and any(name == "ledger" and "give the export" in words for _, name, words in found):
            found = check(request.release, ledger, request.plan)
    checks = []
    for state, name, words in found:
        shown: State = "FAILED" if state in CODES else "ok" if state == "ok" else "not checked"
        checks.append(CheckResult(name=name, state=shown, text=words, code=CODES.get(state, 0)))
    return VerificationResult(checks=tuple(checks), independent=True)


def reprice(release: Path, *, delta: str | None = None) -> pd.DataFrame:
    """Price the events of a release under the accountants of today.

    Args:
        release: its directory.
        delta: where; None: at the release's own.

    Returns:
        One row an accountant: `stated` by the release at its delta, `now` at `delta`; NaN where it is not covered.
        `attrs["not_verified"]` says why its record may have been changed since it was written; None: its hashes fit.

    Raises:
        UsageFault, DocumentError: there is no release, or it is damaged.
    """
    import pandas as pd

    from dpqr.published.checks import reprice as repriced

    found = run_sanitised(lambda: repriced(os.fspath(release), delta))
    document = found.document()
    columns = {}
    for side in ("stated", "now"):
        prices = document[side]["epsilon"].items()
        columns[side] = {name: float("nan") if price is None else price["float"] for name, price in prices}
    priced = pd.DataFrame(columns).rename_axis("accountant").reset_index()
    priced.attrs["not_verified"] = document["not_verified"]
    return priced


def compare(first: Path, second: Path, *, proxy: Path | None = None) -> Comparison:
    """Put two releases or plans side by side.

    Args:
        first, second: directories of releases, or plan files.
        proxy: a public table, against which the errors of both are shown.

    Raises:
        UsageFault, DocumentError, BudgetRefused: as `dpqr compare`.
    """
    from dpqr.report.comparison import CompareRequest
    from dpqr.report.comparison import compare as compared

    named = None if proxy is None else os.fspath(proxy)
    request = CompareRequest(first=os.fspath(first), second=os.fspath(second), proxy=named)
    return Comparison(run_sanitised(lambda: compared(request)))
