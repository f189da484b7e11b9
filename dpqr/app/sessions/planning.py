"""A session of questions on paper: what is measured first, and the terms of its questions. No data is opened."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpqr.app.planning.planning import plan_release, read_documents
from dpqr.app.releasing.reading import Reading, charging, reading
from dpqr.app.requests import LedgerRequest, PlanRequest
from dpqr.app.sessions.session import filter_of, require_repeatable
from dpqr.construction.questions.terms import Terms
from dpqr.errors import UsageFault
from dpqr.io.documents.entries.queries import QueriesDocument
from dpqr.io.documents.sources import public_documents
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import TableSource
from dpqr.privacy.accountant import FilterAccountant, Portion
from dpqr.privacy.accountants.gaussian_dp import converted_mu
from dpqr.privacy.accountants.zcdp import converted
from dpqr.privacy.budget import Price, PrivacyBudget, downward_text
from dpqr.privacy.reason import UNSTATED, Reason
from dpqr.strategies.plan import Plan

FIRST, EXPECTED = Fraction(1, 10), Fraction(1, 2)
"""Share of the budget that measures the columns by themselves, or the workload that is expected."""
SLACK = 1 - Fraction(1, 2**20)
"""Prices are lower by it, for shares of a budget are rounded one by one."""
DIGITS = 12
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
class Opening:
    """A session on paper: what is measured first, and the terms of its questions."""

    request: PlanRequest
    plan: Plan
    terms: Terms
    budget: PrivacyBudget
    accountant: FilterAccountant
    rest: Price
    held: Reading


def planned_session(request: OpenRequest) -> Opening:
    """The session on paper; no data is opened. Raises: UsageFault, DocumentError, InfeasiblePlan."""
    require_repeatable(request.source)
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
    terms = Terms.within(rest, plan.problem.unit, surprises=_surprises(request), questions=request.questions)
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


def _shares(share: Fraction) -> tuple[Portion, Portion]:
    return Portion(share=share, count=1), Portion(share=1 - share, count=1)


def _epsilon(price: Price, delta: Fraction) -> Fraction:
    """The epsilon of a release that costs so much."""
    if price.epsilon is not None:
        return price.epsilon
    return converted(price.rho, delta) if price.rho is not None else converted_mu(price.figure, delta)
