"""An earlier release that a release starts from: its tables, and what the plan says of them."""

from __future__ import annotations

from dpqr.app.requests import PlanRequest
from dpqr.errors import UsageFault
from dpqr.fitting.earlier_tables import EarlierTables
from dpqr.io.documents.entries.queries import QueriesDocument
from dpqr.io.documents.sources import plain
from dpqr.io.outputs.releases.start_file import read_start
from dpqr.strategies.plan import Plan
from dpqr.strategies.problem import Problem
from dpqr.strategies.updates.interface import StartedRule


def started_from(request: PlanRequest, document: QueriesDocument) -> EarlierTables | None:
    """The earlier tables of the columns that are asked for; None: the release starts from nothing.

    Raises:
        DocumentError: they are of another domain, or of none of these columns.
    """
    if request.start is None:
        return None
    return read_start(request.start, plain(document.sources.domain), document.domain)


def require_started(plan: Plan) -> None:
    """UsageFault where the plan fits no model that earlier tables could enter."""
    if plan.problem.start is None:
        return
    update = plan.roles.update
    if plan.schedule.name != SCHEDULE or not isinstance(update, StartedRule) or not update.takes_start(plan.problem):
        raise UsageFault(
            f"--start: --schedule {plan.schedule.name} fits no model that earlier tables could enter; leave --start "
            f"out, or add --schedule {SCHEDULE}"
        )


def start_notes(problem: Problem) -> tuple[str, ...]:
    """What plan and record say of the earlier release."""
    if problem.start is None:
        return ()
    return (
        f"starts from the tables of release {problem.start.sha256[:12]}, a public document, as weak evidence: this "
        "costs nothing, and how far they count follows from what this release measures",
    )


SCHEDULE = "marginals"
"""The schedule that searches by what the model does not answer yet."""
