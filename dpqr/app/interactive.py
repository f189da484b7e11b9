"""Questions that come one at a time under one budget: open a session, ask, look at it, close it as a release."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

from dpqr.app.bill import Bill
from dpqr.app.interactive_release import closed_release
from dpqr.app.interactive_state import absolute, questions_of, stated_session
from dpqr.app.interactive_turn import first_online, log_answers, restored
from dpqr.app.planning import plan_release, read_documents
from dpqr.app.reading import Reading, charging, reading
from dpqr.app.release import Progress
from dpqr.app.requests import LedgerRequest, OutputRequest, PlanRequest
from dpqr.app.session import Turn, begun, filter_of, turn
from dpqr.construction.online import BETA, Answer, Terms
from dpqr.construction.release import Release
from dpqr.errors import UsageFault
from dpqr.io.documents.queries import QueriesDocument
from dpqr.io.documents.sources import public_documents
from dpqr.io.outputs.atomic import reserve
from dpqr.io.outputs.release_files import write_release
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import TableSource
from dpqr.io.tables.structure import check_table
from dpqr.noise.source import NoiseSource, SystemNoise
from dpqr.privacy.accountant import FilterAccountant, Portion
from dpqr.privacy.accountants.gaussian_dp import converted_mu
from dpqr.privacy.accountants.zcdp import converted
from dpqr.privacy.budget import Price, Pricing, PrivacyBudget, downward_text
from dpqr.privacy.reason import UNSTATED, Reason
from dpqr.report.receipt import receipt
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.plan import Plan

FIRST, EXPECTED = Fraction(1, 10), Fraction(1, 2)
"""Share of the budget that measures the columns by themselves, or the workload that is expected."""
SLACK = 1 - Fraction(1, 2**20)
"""Prices are lower by it, for shares of a budget are rounded one by one."""
DIGITS = 12
NOTE = "interactive session"
PART, FEWEST, MOST = 20, 10, 200
"""Surprises that are paid for, where the request states no number: one in so many of the expected questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRequest:
    """A new session. plan: domain and guarantee; its queries are those that are expected, empty: none are. surprises:
    how many are paid for. questions: how many are expected."""

    name: str
    source: TableSource
    plan: PlanRequest
    payer: LedgerRequest
    limits: Limits = field(default_factory=Limits)
    reason: Reason = UNSTATED
    surprises: int | None = None
    questions: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest:
    """Questions to a session. queries: a queries document, or the path of one. source: the table, where it was opened
    from memory; None: the file that it was opened with."""

    name: str
    payer: LedgerRequest
    queries: str | dict[str, Any]
    source: TableSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A session as it stands. All of it is public.

    surprises: paid for, and so far. margin: how far a free answer may be off before its threshold's noise, and reach:
    with that noise, in records. checked: whether answers are still compared with the table.
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

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One query's answer, by the name of its block, and what else tells it from the others there."""

    query: str
    detail: str
    answer: Answer

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"query": self.query, "detail": self.detail, **asdict(self.answer)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A session on paper: what is measured first, and the terms of its questions."""

    request: PlanRequest
    plan: Plan
    terms: Terms
    budget: PrivacyBudget
    accountant: FilterAccountant
    rest: Price
    held: Reading


def open_session(request: OpenRequest, progress: Progress, noise: NoiseSource | None = None) -> Status:
    """Pay for a session and measure what its questions start from.

    Raises:
        DpqrError: of the kind that names the exit code. Once rows were looked at, the session stays paid.

    Privacy:
        The session's budget for everything it ever answers; it is paid in full before the table is opened.
    """
    made = planned_session(request)
    check_table(made.held.source, made.plan.problem.domain, made.held.limits, made.plan.problem.unit)
    source = noise or SystemNoise()
    with begun(request.name, request.payer, _bill(request, made)) as held:
        online = first_online(held, made.plan, made.terms, made.held, source, progress)
        held.folder.write(_document(request, made, held.journal.number))
        online.open_watches()
        return _status(request.name, held, made.terms)


def planned_session(request: OpenRequest) -> Opening:
    """The session on paper; no data is opened. Raises: UsageFault, DocumentError, InfeasiblePlan."""
    budget = PrivacyBudget.parse(request.plan.epsilon, request.plan.delta)
    name = charging(request.plan, request.payer) or ("basic" if budget.pure else "gdp")
    accountant = filter_of(name, budget)
    share = EXPECTED if request.plan.queries else FIRST
    first, rest = (price.times(SLACK) for price in accountant.cut(budget, _shares(share)))
    document = _first_workload(request.plan)
    public = public_documents(document.sources)
    if public.files:
        raise UsageFault("--expect: files of coefficients are not for sessions of questions; write queries instead")
    asked = replace(
        request.plan,
        queries=public.queries,
        domain=public.domain,
        epsilon=downward_text(_epsilon(first, budget.delta), DIGITS),
        strict=True,
        accountant=name,
        error_bars="none",
        no_count_dropped=True,
    )
    plan = plan_release(asked, document)
    if plan.problem.unit.counted is not None:
        raise UsageFault("--counts: a session of questions reads rows; release from a histogram instead")
    check = Laplace() if budget.pure else Gaussian()
    terms = Terms.within(rest, plan.problem.unit, check, surprises=_surprises(request), questions=request.questions)
    held = reading(request.source, request.limits, plan.problem.domain, request.payer)
    return Opening(request=asked, plan=plan, terms=terms, budget=budget, accountant=accountant, rest=rest, held=held)


def _surprises(request: OpenRequest) -> int:
    """How many are paid for. UsageFault: none, or no question is expected."""
    stated = request.surprises
    if request.questions < 1 or (stated is not None and stated < 1):
        raise UsageFault("--surprises and --questions must be at least 1")
    return min(max(request.questions // PART, FEWEST), MOST) if stated is None else stated


def _first_workload(request: PlanRequest) -> QueriesDocument:
    """What is measured first: the expected queries, and every column that none of them looks at by itself."""
    if not request.queries:
        return read_documents({"queries": [{"marginals": {"ways": 1}}]}, request.domain, strict=True)
    document = read_documents(request.queries, request.domain, strict=True)
    missing = [[name] for name in document.columns if name not in document.domain.names]
    if not missing:
        return document
    public = public_documents(document.sources)
    queries = [*public.queries["queries"], {"marginals": missing}]
    return read_documents({"queries": queries}, public.domain, strict=True)


def ask(request: AskRequest, progress: Progress, noise: NoiseSource | None = None) -> tuple[Answered, ...]:
    """Answer every query of a document, one after the other.

    Raises:
        DpqrError: a query that the session cannot be asked is refused before the table is opened, free of charge.

    Privacy:
        Nothing beyond the session's reservation. Nothing is shown before its draw is on the disk. An error after rows
        were looked at leaves the session paid in full: what rows decide is an output.
    """
    with turn(request.name, request.payer) as held:
        session = stated_session(held)
        asked, document = questions_of(request.queries, session)
        online = restored(held, session)
        with session.spoilt_by_errors():
            online.open_data(request.source, noise or SystemNoise(), progress)
            found = log_answers(online, asked, document)
        return tuple(Answered(query=each.name, detail=each.detail, answer=each.answer) for each in found)


def status(name: str, payer: LedgerRequest) -> Status:
    """How a session stands; no table is opened."""
    with turn(name, payer) as held:
        return _status(name, held, stated_session(held).terms)


def close(name: str, payer: LedgerRequest, output: OutputRequest) -> Release | None:
    """End a session: write all its answers as a release, and give back what was not drawn.

    Returns:
        The release; None for a session whose opening did not end, or that answered nothing: there is none to write.

    Raises:
        DpqrError: nothing was settled; the session is as it was.
    """
    with turn(name, payer) as held:
        if not held.folder.is_opened:
            held.settle(f"{NOTE}: its opening did not end", whole=True)
            held.folder.remove()
            return None
        session = stated_session(held)
        finished = closed_release(held, session)
        if finished is not None and output.directory is not None:
            target = reserve(output.directory, force=output.if_exists == "replace")
            if target is not None:
                write_release(finished, target, answers=output.format, receipt=receipt(finished))
        held.settle(f"{NOTE}: closed", whole=session.spoilt)
        held.folder.remove()
        return finished


def _shares(share: Fraction) -> tuple[Portion, Portion]:
    return Portion(share=share, count=1), Portion(share=1 - share, count=1)


def _epsilon(price: Price, delta: Fraction) -> Fraction:
    """The epsilon of a release that costs so much."""
    if price.epsilon is not None:
        return price.epsilon
    return converted(price.rho, delta) if price.rho is not None else converted_mu(price.figure, delta)


def _bill(request: OpenRequest, made: Opening) -> Bill:
    pricing = Pricing(accountant=made.accountant.name, delta=made.budget.delta)
    return Bill(
        events=(*made.plan.events, (made.rest.event, 1)),
        unit=made.plan.problem.unit,
        pricing=pricing,
        guard=lambda: made.accountant.filter(made.budget),
        note=NOTE,
        policy=made.held.policy,
        reason=request.reason,
    )


def _document(request: OpenRequest, made: Opening, draws: int) -> dict[str, Any]:
    """What later processes need. Public."""
    source, budget = made.held.source, made.budget
    return {
        "dpqr": "session/1",
        "kind": "interactive",
        "plan": asdict(made.request),
        "budget": {
            "epsilon": request.plan.epsilon,
            "delta": request.plan.delta or "0",
            "accountant": made.accountant.name,
        },
        "rest": {made.rest.currency: str(made.rest.figure)},
        "surprises": made.terms.surprises,
        "questions": request.questions,
        "draws": draws,
        "table": None if source.frame is not None else absolute(source),
        "limits": asdict(made.held.limits),
        "pure": budget.pure,
    }


def _status(name: str, held: Turn, terms: Terms) -> Status:
    online, log = restored(held, stated_session(held)), held.folder.log()
    answered = [line for line in log if "estimate" in line]
    return Status(
        name=name,
        dataset=held.paid.dataset,
        guarantee=stated_session(held).guarantee,
        questions=len(answered),
        free=sum(line["free"] for line in answered),
        surprises=online.surprises,
        paid_surprises=terms.surprises,
        margin=terms.margin,
        reach=terms.margin + terms.slack(BETA / 2),
        checked=online.checked,
    )
