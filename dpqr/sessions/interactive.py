"""Questions that come one at a time under one budget: open a session, ask, look at it, close it as a release."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from msgspec import Struct, structs

from dpqr.kernel.budget import Pricing
from dpqr.kernel.errors import AlreadyThere
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.values import replace
from dpqr.releases.files.atomic import reserve
from dpqr.releases.forecast.resources import Resources
from dpqr.releases.paying import Bill, require_affordable
from dpqr.releases.questions import BETA, CURRENT_RULE
from dpqr.releases.record.parts import draws_digest
from dpqr.releases.record.plan_document import plan_hash
from dpqr.releases.record.release_document import draw_parts
from dpqr.releases.release import ReleaseObserver, write_release
from dpqr.releases.requests import LedgerRequest, OutputRequest, ReleaseRequest
from dpqr.releases.result import FinishedRun
from dpqr.releases.sentences import used_words
from dpqr.sessions.folder import store_thresholds
from dpqr.sessions.planning import OpenRequest, PlannedSession, plan_session
from dpqr.sessions.session import (
    AnsweredQuery,
    QuestionSessionDocument,
    StatedBudget,
    StatedQuestions,
    begin_session,
    closing_session,
    compile_questions,
    held_session,
    session_payer,
    session_source,
)
from dpqr.sessions.turn import answer_queries, build_session_release, restore_session, start_online, thresholds_of
from dpqr.strategies.plan import Plan
from dpqr.tables.points import refuse_table_as_document
from dpqr.tables.source import TableSource
from dpqr.tables.structure import check_table


class AskRequest(Struct, frozen=True, kw_only=True):
    """Questions to a session.

    Attributes:
        queries: a queries document, or the path of one.
        source: the table, where it was opened from memory; None: the file that it was opened with.
    """

    name: str
    payer: LedgerRequest
    queries: str | dict[str, Any]
    source: TableSource | None = None


class Status(Struct, frozen=True, kw_only=True):
    """A session as it stands. All of it is public.

    Attributes:
        paid_surprises, surprises: paid for, and so far.
        margin: how far a free answer may be off before its threshold's noise, in records.
        reach: the same with that noise.
        checked: whether answers are still compared with the table.
        used: which rows answers are of; empty: all.
    """

    name: str
    dataset: str
    guarantee: str
    questions: int
    free: int
    surprises: int
    paid_surprises: int
    margin: int
    reach: int
    checked: bool
    used: str

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        return structs.asdict(self)


def open_session(request: OpenRequest, progress: ReleaseObserver) -> Status:
    """Pay for a session and measure what its questions start from.

    Raises:
        DpqrError: of the kind that names the exit code. Once rows were looked at, the session stays paid.

    Privacy:
        The session's budget for everything it ever answers; it is paid in full before the table is opened.
    """
    run = replace(request.run, source=session_source(request.run.source, request.run.payer))
    made = plan_session(replace(request, run=run))
    payer = session_payer(run.payer, _bill(run, made))
    check_table(made.held.source, made.plan.problem.domain, made.held.limits, made.plan.problem.unit)
    options = made.options
    with begin_session(request.name, payer, _bill(run, made)) as held:
        online = start_online(held, made.plan, made.terms, made.held, SystemNoise(), progress)
        # What later processes need. Public.
        stated = StatedQuestions.of(
            QuestionSessionDocument.kind,
            StatedBudget(epsilon=options.epsilon, delta=options.delta or "0", accountant=made.accountant.name),
            made.held,
            plan=asdict(made.request),
            rest={made.rest.currency: str(made.rest.figure)},
            surprises=made.terms.surprises,
            questions=options.questions,
            rule=CURRENT_RULE,
            draws=held.journal.number,
        )
        held.write(stated)
        online.open_watches()
        with held.folder.faults():
            held.folder.allocate()
            store_thresholds(held.folder, 0, thresholds_of(online.watches))
        return _status(QuestionSessionDocument.read(held))


def session_plan(request: OpenRequest) -> tuple[Plan, Resources]:
    """The session on paper, and what its opening takes of the machine; no data is opened.

    Raises: UsageFault, DocumentError, InfeasiblePlan; BudgetRefused where the ledger would not pay for it.
    """
    made = plan_session(request)
    require_affordable(request.run.payer, _bill(request.run, made), locked=request.run.locked is not None)
    return made.whole, Resources.of(made.plan)


def ask(request: AskRequest, progress: ReleaseObserver) -> tuple[AnsweredQuery, ...]:
    """Answer every query of a document, one after the other.

    Raises:
        DpqrError: a query that the session cannot be asked is refused before the table is opened, free of charge.

    Privacy:
        Nothing beyond the session's reservation. Nothing is shown before its draw is on the disk. An error after rows
        were looked at leaves the session paid in full: what rows decide is an output. A fault of the disk ends the
        epochs whose thresholds answers were compared with, and says nothing about them (`dpqr.sessions.folder`).
    """
    with held_session(QuestionSessionDocument, request.name, request.payer) as session:
        with refuse_table_as_document(session.reading(request.source).source):
            queries, document = compile_questions(request.queries, session.paper)
        state = restore_session(session)
        with session.held.question(state.room(queries, document)) as asking:
            online = state.opened(request.source, SystemNoise(), progress)
            return answer_queries(state, online, asking, queries, document)


def status(name: str, payer: LedgerRequest) -> Status:
    """How a session stands; no table is opened."""
    with held_session(QuestionSessionDocument, name, payer) as session:
        return _status(session)


def close(name: str, payer: LedgerRequest, output: OutputRequest) -> FinishedRun | None:
    """End a session: write all its answers as a release, and give back what was not drawn.

    Returns:
        The release; None for a session whose opening did not end, or that answered nothing: there is none to write.

    Raises:
        DpqrError: nothing was settled; the session is as it was.
    """
    with closing_session(QuestionSessionDocument, name, payer) as session:
        finished = build_session_release(session) if session else None
        if session is None or finished is None:
            return None
        if output.directory is not None:
            try:
                target = reserve(output.directory)
            except AlreadyThere:
                raise AlreadyThere(f"--out {output.directory}: exists; choose another directory") from None
            write_release(finished, target, output)
        session.held.drawn = draws_digest(draw_parts(finished))
        return finished


def _bill(run: ReleaseRequest, made: PlannedSession) -> Bill:
    return Bill(
        events=made.whole.events,
        unit=made.plan.problem.unit,
        pricing=Pricing(accountant=made.accountant.name, delta=made.budget.delta),
        guard=lambda: made.accountant.filter(made.budget),
        note=QuestionSessionDocument.note,
        plan=plan_hash(made.whole),
        policy=made.held.policy,
        reason=run.reason,
        learned=made.plan.problem.domain.learned,
    )


def _status(session: QuestionSessionDocument) -> Status:
    online, log, terms = restore_session(session), session.held.folder.log(), session.paper.terms
    answered = [line for line in log if "estimate" in line]
    return Status(
        name=session.held.folder.name,
        dataset=session.held.paid.dataset,
        guarantee=session.paper.guarantee,
        questions=len(answered),
        free=sum(line["free"] for line in answered),
        surprises=online.surprises,
        paid_surprises=terms.surprises,
        margin=terms.margin,
        reach=terms.margin + terms.slack(BETA / 2),
        checked=online.checked,
        used=used_words(session.paper.plan.problem.unit, session.paper.plan.problem.domain),
    )
