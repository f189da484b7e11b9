"""A session of questions on paper: what is measured first, and the terms of its questions. No data is opened."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from msgspec import Struct

from dpqr.domain.text.sources import public_documents
from dpqr.kernel.accountants.accountant import FilterAccountant, Portion
from dpqr.kernel.accountants.analytic import squared_mu_to_epsilon
from dpqr.kernel.accountants.sums import zcdp_to_epsilon
from dpqr.kernel.budget import Price, PrivacyBudget, downward_text
from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.kernel.values import replace
from dpqr.releases.locked_plan import require_unchanged
from dpqr.releases.planning import plan_release, read_documents, refuse_persons
from dpqr.releases.questions import BETA, SessionTerms
from dpqr.releases.reading import (
    TableReading,
    charging_accountant,
    public_inputs,
    resolve_reading,
    resolve_source,
    with_document_notes,
)
from dpqr.releases.record.plan_document import plan_document
from dpqr.releases.requests import PlanRequest, ReleaseRequest
from dpqr.sessions.session import filter_of
from dpqr.strategies.plan import Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.transcript import Round, Step
from dpqr.tables.limits import CELL_ROWS_UNKNOWN
from dpqr.tables.points import refuse_table_as_document
from dpqr.workload.queries_file import QueriesDocument

FIRST, EXPECTED = Fraction(1, 10), Fraction(1, 2)
"""Share of the budget that measures the columns by themselves, or the workload that is expected."""
SLACK = 1 - Fraction(1, 2**20)
"""Prices are lower by it, for shares of a budget are rounded one by one."""
DIGITS = 12
PART, FEWEST, MOST = 20, 10, 200
"""Surprises that are paid for, where the request states no number: one in so many of the expected questions."""
QUESTIONS = 1000
"""That are expected, where the request states no number."""
NO_QUERIES: dict[str, object] = {"queries": []}
"""The document of a session that expects no queries."""


class OpenRequest(Struct, frozen=True, kw_only=True):
    """A new session. run: its table, payer, domain and guarantee, and the locked plan that it follows, if any; the
    queries are those that are expected, empty: none are."""

    name: str
    run: ReleaseRequest


class PlannedSession(Struct, frozen=True, kw_only=True):
    """A session on paper.

    Attributes:
        options: the request, every number stated.
        whole: the session as a plan, to be reviewed and paid.
        request, plan: of what is measured first.
        terms: of its questions.
        rest: what all of them may cost together.
    """

    options: PlanRequest
    whole: Plan
    request: PlanRequest
    plan: Plan
    terms: SessionTerms
    budget: PrivacyBudget
    accountant: FilterAccountant
    rest: Price
    held: TableReading


class Interactive(Struct, frozen=True, kw_only=True):
    """Questions as they came; it plans nothing. surprises, questions: as the session was opened."""

    surprises: int
    questions: int

    name: ClassVar[str] = "interactive"
    distinguisher: ClassVar[None] = None
    adaptive: ClassVar[bool] = True

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """The phases are those of the session."""
        return Plan(problem=problem, budget=budget, roles=roles, schedule=self)

    def start(self, plan: Plan) -> None:
        """It has no state."""

    def next(self, plan: Plan, state: None) -> Step | None:
        """Users choose what comes next."""
        return None

    def after(self, state: None, finished: Round) -> None:
        """It has no state."""


def plan_session(request: OpenRequest) -> PlannedSession:
    """The session on paper, which is the locked one where the request names one; no data is opened.

    Raises: UsageFault, DocumentError, InfeasiblePlan.
    """
    run = replace(request.run, source=resolve_source(request.run.source, request.run.payer))
    options = _fill_in_defaults(run)
    budget = PrivacyBudget.parse(options.epsilon, options.delta)
    accountant = filter_of(str(options.accountant), budget)
    share = EXPECTED if _expects(options) else FIRST
    first, rest = (
        price.times(SLACK)
        for price in accountant.cut(budget, (Portion(share=share, count=1), Portion(share=1 - share, count=1)))
    )
    with refuse_table_as_document(run.source):
        document = _first_workload(options)
    run = replace(run, notes=with_document_notes(run.notes, document))
    public = public_documents(document.sources)
    if public.files:
        raise UsageFault("--expect: files of coefficients are not for sessions of questions; write queries instead")
    # The epsilon of a release that costs as much as what is measured first.
    if first.epsilon is not None:
        epsilon = first.epsilon
    elif first.rho is not None:
        epsilon = zcdp_to_epsilon(first.rho, budget.delta)
    else:
        epsilon = squared_mu_to_epsilon(first.figure, budget.delta)
    opening = replace(
        options,
        queries=public.queries,
        domain=public.domain,
        epsilon=downward_text(epsilon, DIGITS),
        strict=True,
        error_bars="none",
        no_count_dropped=True,
        surprises=None,
        questions=None,
    )
    plan = plan_release(opening, document)
    if plan.problem.unit.cell_rows is not None:
        raise InfeasiblePlan(f'{CELL_ROWS_UNKNOWN}; leave "max_rows_per_cell" out of the domain file')
    if plan.problem.unit.counted is not None:
        raise UsageFault("--counts: a session of questions reads rows; release from a histogram instead")
    surprises, questions = options.surprises or 0, options.questions or 0
    terms = SessionTerms.within(rest, plan.problem.unit, surprises=surprises, questions=questions)
    held = resolve_reading(run.source, run.limits, plan.problem.domain, run.payer, locked=run.locked is not None)
    whole = add_question_phase(plan, terms, rest, budget, questions)
    reach = (
        f"{terms.surprises:,} surprises are paid for; a free answer lies within "
        f"{terms.margin + terms.slack(BETA / 2):,} records of the truth with probability 0.95"
    )
    whole = replace(whole, notes=tuple(dict.fromkeys((*run.notes, *whole.notes, *held.bits, reach))))
    return PlannedSession(
        options=options,
        whole=_attach_inputs(whole, replace(run, plan=options), held, document),
        request=opening,
        plan=plan,
        terms=terms,
        budget=budget,
        accountant=accountant,
        rest=rest,
        held=held,
    )


def add_question_phase(first: Plan, terms: SessionTerms, rest: Price, budget: PrivacyBudget, expected: int) -> Plan:
    """A session as a plan: what is measured first, and the sum that all questions may cost.

    expected: how many questions are.
    """
    questions = Phase(noun="questions", count=1, price=rest, events=((rest.event, 1),))
    whole = replace(
        first,
        budget=budget,
        roles=replace(first.roles, check=terms.check),
        schedule=Interactive(surprises=terms.surprises, questions=expected),
        phases=(*first.phases, questions),
        error_bars=False,
    )
    epsilon = whole.roles.accountant.epsilon(whole.events, budget.delta)
    return replace(whole, epsilon=budget.epsilon if epsilon is None else epsilon)


def _attach_inputs(whole: Plan, run: ReleaseRequest, held: TableReading, document: QueriesDocument) -> Plan:
    """With what it was made from. DocumentError: it is not the locked one."""
    inputs = public_inputs(run, held, document)
    expected = NO_QUERIES
    if _expects(run.plan):
        expected = public_documents(read_documents(run.plan.queries, run.plan.domain, strict=True).sources).queries
    inputs = replace(inputs, request={**inputs.request, "queries": expected})
    made = replace(whole, inputs=inputs)
    if run.locked is None:
        return made
    require_unchanged(run.locked, plan_document(made))
    return replace(made, inputs=replace(inputs, locked=run.locked))


def _expects(plan: PlanRequest) -> bool:
    """Whether queries are expected."""
    return bool(plan.queries) and plan.queries != NO_QUERIES


def _fill_in_defaults(run: ReleaseRequest) -> PlanRequest:
    """The request with every number stated. UsageFault: no surprise is paid for, no question is expected, or what no
    session has is asked for."""
    options = run.plan
    idle = {"count-dropped": options.count_dropped, "error-bars": options.error_bars, "certify": options.certify}
    for option in (option for option, value in idle.items() if value not in (None, "none")):
        raise UsageFault(f"--{option}: a session of questions has none; leave it out")
    questions = QUESTIONS if options.questions is None else options.questions
    if questions < 1 or (options.surprises is not None and options.surprises < 1):
        raise UsageFault("--surprises and --questions must be at least 1")
    usual = min(max(questions // PART, FEWEST), MOST)
    pure = PrivacyBudget.parse(options.epsilon, options.delta).pure
    return replace(
        options,
        surprises=usual if options.surprises is None else options.surprises,
        questions=questions,
        accountant=charging_accountant(options, run.payer) or ("basic" if pure else "gdp"),
    )


def _first_workload(request: PlanRequest) -> QueriesDocument:
    """What is measured first: the expected queries, and every column that none of them looks at by itself."""
    if not _expects(request):
        return read_documents({"queries": [{"marginals": {"ways": 1}}]}, request.domain, strict=True)
    document = refuse_persons(read_documents(request.queries, request.domain, strict=True), "a session asks of rows")
    # A domain has one column at least, also where the expected queries look at none.
    looked_at = {document.domain.names[axis] for axis in document.workload.axes}
    missing = [[name] for name in document.columns if name not in looked_at]
    if not missing:
        return document
    public = public_documents(document.sources)
    queries = [*public.queries["queries"], {"marginals": missing}]
    return read_documents({"queries": queries}, public.domain, strict=True)
