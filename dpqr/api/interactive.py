"""Sessions of questions that come one at a time; the command line makes its requests here too."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from dpqr.api.checks import Figure, Path, text, whole
from dpqr.api.options import PlanOptions, document, limits, plan_request, reason, table_source
from dpqr.api.origins import Made
from dpqr.api.payer import payer
from dpqr.api.plan import Plan
from dpqr.api.release import Release
from dpqr.api.requests import Unwatched
from dpqr.api.sessions import OpenedSession
from dpqr.api.withheld import withheld
from dpqr.app.requests import ReleaseRequest
from dpqr.errors import UsageFault

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.api.ledger import Ledger
    from dpqr.api.queries import Document
    from dpqr.app.requests import LedgerRequest
    from dpqr.app.sessions.interactive import AskRequest, Status
    from dpqr.app.sessions.planning import OpenRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(OpenedSession):
    """A session of questions, by its name beside the ledger that pays for it.

    table: given where it is in memory; a file is known from the opening.

    >>> Session(name="survey-desk", ledger="budgets.sqlite")
    Session(name='survey-desk', ledger='budgets.sqlite', anchor=None)
    """

    def ask(self, where: str | None = None, *, queries: Document | None = None) -> pd.DataFrame:
        """Answer questions, one after the other.

        Args:
            where: a predicate, whose records are counted. queries: a queries document; one of the two.

        Returns:
            One row a query: `query`, `detail`, `estimate`, `low`, `high` (an interval, missing where the session looks
            no further), `free`.

        Raises:
            DpqrError: of the class whose `exit_code` the command would end with.

        Privacy:
            Within what was paid when the session was opened.
        """
        import pandas as pd

        from dpqr.app.sessions.interactive import ask

        request = ask_request(self.name, self.payer, where=where, queries=queries, table=self.table)
        found = withheld(lambda: ask(request, Unwatched()))
        return pd.DataFrame([each.document() for each in found])

    def status(self) -> Status:
        """How it stands: questions, surprises that are left to pay for, the reach of a free answer."""
        from dpqr.app.sessions.interactive import status

        return withheld(lambda: status(self.name, self.payer))

    def close(self, out: Path | None = None) -> Release | None:
        """End it: its answers as a release, written into the new directory `out` if one is named.

        Returns:
            None where nothing was answered.
        """
        from dpqr.app.requests import OutputRequest
        from dpqr.app.sessions.interactive import close

        output = OutputRequest(directory=None if out is None else os.fspath(out))
        finished = withheld(lambda: close(self.name, self.payer, output))
        return None if finished is None else Release(Made(finished))


def open_session(
    table: object,
    *,
    name: str,
    eps: Figure | None = None,
    domain: Document | None = None,
    dataset: str | None = None,
    ledger: Path | Ledger | None = None,
    anchor: Path | None = None,
    expect: Document | None = None,
    surprises: int | None = None,
    questions: int | None = None,
    plan: Path | None = None,
    dry_run: bool = False,
    **options: Unpack[PlanOptions],
) -> Session | Plan:
    """Pay for a session of questions, and measure what it starts from.

    Args:
        table: the private table, as of `dpqr.release`. options: of `dpqr interactive open`, with _ for -.
        expect: queries that are measured first, with half of the budget; None: the columns by themselves, with a tenth.
        surprises: paid for; None: a twentieth of the expected `questions`, which are 1,000 where none are stated.
        plan: the file of a reviewed plan of a session (`Plan.save` of a dry run), which states what is not given.
        dry_run: only plan; no table is opened (None will do), and the plan is returned.

    Raises:
        DpqrError: of the class whose `exit_code` the command would end with.

    Privacy:
        (eps, delta) for all that the session ever answers; paid in full before a row is looked at.
    """
    from dpqr.app.sessions.interactive import open_session as opened
    from dpqr.app.sessions.interactive import session_plan

    paid: dict[str, Any] = {"dataset": dataset, "ledger": ledger, "anchor": anchor}
    asked: dict[str, Any] = {"expect": expect, "surprises": surprises, "questions": questions, "plan": plan}
    request = open_request(table, name=name, eps=eps, domain=domain, **paid, **asked, options=dict(options))
    if dry_run:
        return Plan(*withheld(lambda: session_plan(request)))
    withheld(lambda: opened(request, Unwatched()))
    return Session.paid_by(ledger, anchor, name=name, table=table if request.run.source.frame is not None else None)


def ask_request(
    name: str, payer: LedgerRequest, *, where: str | None = None, queries: object = None, table: object = None
) -> AskRequest:
    """Questions to a session.

    Args:
        table: given where it is in memory.

    Raises:
        UsageFault: unless one of `where` and `queries` is given.
    """
    from dpqr.app.sessions.interactive import AskRequest

    if (where is None) == (queries is None):
        raise UsageFault("ask: give one of --where PREDICATE, --queries FILE and --sql TEXT")
    asked = {"queries": [{"where": text("where", where)}]} if where is not None else document("queries", queries)
    source = None if table is None else table_source(table, {})
    return AskRequest(name=name, payer=payer, queries=asked, source=source)


def open_request(
    table: object,
    *,
    name: str,
    eps: Figure | None,
    domain: object,
    dataset: str | None,
    ledger: Path | Ledger | None,
    anchor: Path | None,
    expect: object,
    surprises: int | None,
    questions: int | None,
    plan: Path | None,
    options: dict[str, Any],
    notes: tuple[str, ...] = (),
) -> OpenRequest:
    """What both doors ask of the use case. table: None: only a plan is wanted. notes: what the plan shall say of the
    request itself. UsageFault: no epsilon, and no plan that states it, or a value that no option may have."""
    from dpqr.app.releasing.locked_plan import following
    from dpqr.app.sessions.planning import OpenRequest

    if eps is None and plan is None:
        raise UsageFault("open: state the epsilon of the whole session: add --eps E")
    asked = replace(
        plan_request(expect, eps, domain, options),
        surprises=None if surprises is None else whole("surprises", surprises),
        questions=None if questions is None else whole("questions", questions),
    )
    named = any(each is not None for each in (table, dataset, ledger, anchor))
    run = ReleaseRequest(
        source=table_source(table, options),
        plan=asked,
        payer=payer(dataset, ledger, anchor) if named else None,
        limits=limits(options),
        reason=reason(options),
        notes=notes,
    )
    followed = run if plan is None else withheld(lambda: following(run, os.fspath(plan)))
    return OpenRequest(name=name, run=followed)
