"""Any release: of what is stated, or of what is learned first: labels, bounds, the rows of each person; and a check of
its documents."""

from __future__ import annotations

from collections.abc import Callable

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.noise.source import NoiseSource
from dpqr.ledger.codec import JSON
from dpqr.releases.forecast.resources import Resources
from dpqr.releases.planning import open_domain
from dpqr.releases.release import ReleaseObserver
from dpqr.releases.release import dry_run as dry_release
from dpqr.releases.release import release as make_release
from dpqr.releases.requests import GivenDocument, PlanRequest, ReleaseRequest
from dpqr.releases.result import FinishedRun
from dpqr.strategies.plan import Plan

PAID_LEARNING = (
    "what is learned is paid: labels need --delta, such as 1e-6; a ledger's budget pays for labels and bounds if it "
    "was opened by `dpqr budget init NAME --eps E --delta D --accounting basic --allow-learning`"
)
"""What a reader of an open domain has to state before a release, beyond the two documents."""


def release(
    request: ReleaseRequest,
    progress: ReleaseObserver,
    *,
    planned: Callable[[Plan], None] = lambda _: None,
    noise: NoiseSource | None = None,
) -> FinishedRun:
    """One private release; what is open is learned first. Arguments, errors and privacy as for `make_release`."""
    if is_closed(request):
        return make_release(request, progress, planned=planned, noise=noise)
    from dpqr.releases.learned.learned_release import learn_and_release

    return learn_and_release(request, progress, planned=planned, noise=noise)


def dry_run(request: ReleaseRequest) -> tuple[Plan, Resources]:
    """The plan of a release, with its time and memory; over what is assumed, where something is learned first. Raises:
    as `release`, before it opens the table."""
    if is_closed(request):
        return dry_release(request)
    from dpqr.releases.learned.learned_release import plan_both

    both = plan_both(request)
    return both.plan, both.taken


def check_documents(queries: GivenDocument, domain: GivenDocument | None, *, strict: bool = False) -> JSON:
    """Check both documents, as `check_closed` in `releases.documents` does. What the domain leaves open is checked as
    far as nobody needs to know it: over made-up labels or bounds, which a note names.

    Raises: as `check_closed`; DocumentError for queries that name values of what is open.
    """
    from dpqr.releases.documents import CHECKED_AT, check_closed

    plan = PlanRequest(queries=queries, domain=domain, epsilon=CHECKED_AT, strict=strict)
    document = open_domain(plan)
    if document is None:
        return check_closed(queries, domain, strict=strict)
    from dpqr.releases.learned.learned_release import assumed_domain

    assumed, words = assumed_domain(plan, document)
    found = check_closed(queries, assumed, strict=strict)
    note = f"a release learns first what the domain leaves open; sizes here assume {', '.join(words)}"
    return found | {"notes": [note, PAID_LEARNING, *found["notes"]]}


def is_closed(request: ReleaseRequest) -> bool:
    """Whether nothing is learned. UsageFault where a share is stated for what the domain leaves open, and it leaves
    nothing."""
    closed = open_domain(request.plan) is None
    if closed and request.learn_share is not None:
        raise UsageFault("--learn-share: the domain leaves nothing open to be learned; leave it out")
    return closed and request.learn_max_rows is None
