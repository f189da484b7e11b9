"""The request of a release, from options by name: the command line and the Python interface make it here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Unpack

from dpqr.api.checks import Figure, Path, truth
from dpqr.api.options import ReleaseOptions, limits, output, plan_request, publisher, reason, table_source
from dpqr.api.payer import payer
from dpqr.api.withheld import withheld
from dpqr.app.requests import LedgerRequest, ReleaseRequest
from dpqr.errors import UsageFault

if TYPE_CHECKING:
    from dpqr.api.ledger import Ledger
    from dpqr.api.queries import Document


def release_request(
    table: object,
    *,
    queries: Document | None = None,
    eps: Figure | None = None,
    domain: Document | None = None,
    plan: Path | None = None,
    dataset: str | None = None,
    ledger: Path | Ledger | None = None,
    anchor: Path | None = None,
    out: Path | None = None,
    resume: bool = False,
    rehearse: bool = False,
    notes: tuple[str, ...] = (),
    **options: Unpack[ReleaseOptions],
) -> ReleaseRequest:
    """What `dpqr.release` and `dpqr.plan` ask of the use cases.

    Args:
        table: None: the one that the budget's owner has registered; or a plan or a rehearsal, which opens none.
        plan: the file of a locked plan, which states what is not given; None: queries and eps are.
        notes: what the plan shall say of the request itself.

    Raises:
        UsageFault, TypeError: a value that no option may have; a name that is no option.
    """
    if plan is None and (queries is None or eps is None):
        raise UsageFault("give queries and eps, or the plan that states them")
    request = ReleaseRequest(
        source=table_source(table, options),
        plan=plan_request(queries, eps, domain, options),
        output=output(out, options),
        limits=limits(options),
        payer=_payer(dataset, ledger, anchor, truth("resume", resume), pays=table is not None and not rehearse),
        reason=reason(options),
        publisher=publisher(options),
        notes=notes,
        rehearse=truth("rehearse", rehearse),
        after=_sound(options.get("after")),
    )
    if plan is None:
        return request
    from dpqr.app.releasing.locked_plan import following

    return withheld(lambda: following(request, os.fspath(plan)))


def _payer(
    dataset: str | None, ledger: Path | Ledger | None, anchor: Path | None, resume: bool, *, pays: bool
) -> LedgerRequest | None:
    """Who pays. A configured ledger is passed by where nothing is paid and no budget is named."""
    named = pays or resume or any(each is not None for each in (dataset, ledger, anchor))
    return payer(dataset, ledger, anchor, resume) if named else None


def _sound(after: Path | None) -> str | None:
    """The release before of a counter, once it was verified. Raises: UsageFault, GoalMissed, LedgerError."""
    if after is None:
        return None
    from dpqr.app.verifying.evidence import VerifyRequest
    from dpqr.app.verifying.verify import require_verified, verify

    place = os.fspath(after)
    withheld(lambda: require_verified(verify(VerifyRequest(release=place))))
    return place


class Unwatched:
    """Watches a run and says nothing.

    >>> Unwatched().read(50)
    """

    def read(self, percent: int) -> None:
        """Nothing."""

    def finished(self, rounds: int, planned: int) -> None:
        """Nothing."""

    def certified(self, stage: int, records: float) -> None:
        """Nothing."""
