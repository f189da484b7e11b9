"""Plan a release: from documents and options to a plan, before any data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpqr.data.domain import Domain
from dpqr.data.faults import failing_attributes, unstated_faults
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.errors import DocumentError, InfeasiblePlan, UsageFault
from dpqr.io.documents.domain import read_domain
from dpqr.io.documents.queries import QueriesDocument, read_queries
from dpqr.plugins import Registry
from dpqr.privacy.budget import PrivacyBudget, decimal
from dpqr.strategies.known import ACCOUNTANTS, CHECKS, DISTINGUISHERS, SCHEDULES, UPDATES
from dpqr.strategies.plan import Plan
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.choice import Wishes, least_noise
from dpqr.strategies.schedules.interface import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What the user asks for, as typed: every field is one option of the same name."""

    queries: str
    epsilon: str
    delta: str | None = None
    domain: str | None = None
    neighbours: str = "add-remove"
    n: int | None = None
    schedule: str = "rounds"
    distinguisher: str | None = None
    check: str | None = None
    update: str = "multiplicative-weights"
    accountant: str | None = None
    rounds: int | None = None
    opening: bool | None = None
    alpha: str | None = None
    beta: str | None = None
    variant: str | None = None
    replay: bool | None = None
    trust: tuple[str, ...] = ()
    seed: int = 0
    cells: int | None = None


def read_documents(queries: str, domain: str | None) -> QueriesDocument:
    """The queries compiled over their domain; a DocumentError says how to get a domain where there is none."""
    return read_queries(queries, read_domain(domain) if domain else None)


def plan_release(request: PlanRequest) -> Plan:
    """The plan of least noise that the request allows. Errors: UsageFault, DocumentError, InfeasiblePlan."""
    budget = PrivacyBudget.parse(request.epsilon, request.delta)
    unit = PrivacyUnit(neighbours=Neighbours(request.neighbours))
    document = read_documents(request.queries, request.domain)
    _require_stated_rules(document.domain, unit)
    problem = Problem(
        domain=document.domain,
        workload=document.workload,
        unit=unit,
        n=_records(request, unit),
        alpha=_fraction(request.alpha, "--alpha"),
        beta=_fraction(request.beta, "--beta") or Fraction(1, 20),
        seed=request.seed,
    )
    wishes = _wishes(request)
    _require_footprint(problem, wishes)
    plan = least_noise(problem, budget, _schedule(request), wishes)
    notes = (*plan.notes, *document.notes, *_warnings(problem, budget))
    memory = plan.roles.update.footprint(plan.problem).bytes
    return replace(plan, notes=notes, bytes=max(plan.bytes, memory))


def _records(request: PlanRequest, unit: PrivacyUnit) -> int | None:
    if unit.neighbours is Neighbours.REPLACE and request.n is None:
        raise UsageFault("--neighbours replace makes n public, so it must be declared: add --n N")
    if request.n is not None and unit.neighbours is Neighbours.ADD_REMOVE and request.schedule != "theory":
        raise UsageFault(
            "--n is private under --neighbours add-remove; only --schedule theory takes it, as a declared n0"
        )
    return request.n


def _fraction(text: str | None, option: str) -> Fraction | None:
    if text is None:
        return None
    value = decimal(text, option=option)
    if not 0 < value < 1:
        raise UsageFault(f"{option} {text}: must lie strictly between 0 and 1")
    return value


def _wishes(request: PlanRequest) -> Wishes:
    options = {} if request.replay is None else {"replay": request.replay}
    if options and request.update != "multiplicative-weights":
        raise UsageFault(f"--replay goes with --update multiplicative-weights, not with {request.update}")
    cells = {} if request.cells is None else {"cells": request.cells}
    return Wishes(
        accountants=_offered(ACCOUNTANTS, request.accountant, request.trust),
        distinguishers=_offered(DISTINGUISHERS, request.distinguisher, request.trust),
        checks=_offered(CHECKS, request.check, request.trust),
        update=UPDATES.load(request.update)(**options, **cells),
    )


def _offered(registry: Registry, name: str | None, trust: tuple[str, ...]) -> tuple[Any, ...]:
    """The one that was named, or every built-in."""
    names = (name,) if name else tuple(registry.builtins)
    return tuple(registry.load(one, trusted=one in trust)() for one in names)


def _schedule(request: PlanRequest) -> Schedule:
    """The schedule with its own options; an option of another schedule is refused, not ignored."""
    own: dict[str, dict[str, Any]] = {
        "rounds": {"rounds": request.rounds, "opening": request.opening},
        "theory": {"variant": request.variant},
    }
    for other, options in own.items():
        for option, value in options.items():
            if other != request.schedule and value is not None:
                raise UsageFault(f"--{option} goes with --schedule {other}, not with {request.schedule}")
    if request.schedule == "rounds" and (request.alpha or request.beta):
        raise UsageFault("--alpha and --beta go with --schedule theory: the rounds schedule has no stop test")
    chosen = {option: value for option, value in own.get(request.schedule, {}).items() if value is not None}
    schedule: Schedule = SCHEDULES.load(request.schedule, trusted=request.schedule in request.trust)(**chosen)
    return schedule


def _require_stated_rules(domain: Domain, unit: PrivacyUnit) -> None:
    """Under `replace` nothing is dropped silently: every fault that a column can have needs a stated rule."""
    unstated = unstated_faults(domain) if unit.neighbours is Neighbours.REPLACE else {}
    for name, faults in unstated.items():
        raise DocumentError(
            f"column {name!r}: under --neighbours replace the domain file must state a rule for {', '.join(faults)} "
            '(in its "dpqr" block: cell, clip, drop or fail)'
        )


def _require_footprint(problem: Problem, wishes: Wishes) -> None:
    refusal = wishes.update.footprint(problem).refusal
    if refusal:
        raise InfeasiblePlan(refusal)


def _warnings(problem: Problem, budget: PrivacyBudget) -> list[str]:
    found = []
    if problem.n and budget.delta * problem.n * 10 > 1:
        found.append(
            f"warning: delta {float(budget.delta):g} is not far below 1/n; a mechanism may then reveal single records"
        )
    for name in failing_attributes(problem.domain):
        found.append(
            f"warning: column {name!r} has a rule `fail`: the exit code tells one bit of the data that the guarantee "
            "does not cover"
        )
    return found
