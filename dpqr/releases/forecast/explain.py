"""The explanation of strategies: which of them suit a workload, and why, from public documents alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from msgspec import structs

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import replace
from dpqr.releases.forecast.simulation import closed_mean
from dpqr.releases.planning import RIVALS, fraction, plan_release, read_documents, unit_of
from dpqr.releases.requests import PlanRequest
from dpqr.releases.roles import resolve_auto_schedule, schedule_row
from dpqr.strategies.explanation import Explanation, RuleBounds, ScheduleForecast
from dpqr.strategies.known import SCHEDULES, UPDATES
from dpqr.strategies.problem import Level, Problem, Variant
from dpqr.strategies.updates.interface import DistinctRecordsBound
from dpqr.workload.queries_file import QueriesDocument

VARIANTS: tuple[Variant, ...] = ("printed", "sharp")
USUAL_ALPHA = Fraction(1, 10)
"""Where neither the user states an alpha nor the theory promises one."""


def explain(request: PlanRequest) -> Explanation:
    """Plan every built-in schedule; nothing is drawn, and no table is opened.

    request: the length of update sequences is bounded at its `alpha`; None: the smallest that `theory` promises.
    Raises: UsageFault, DocumentError.
    """
    document = read_documents(request.queries, request.domain, strict=request.strict)
    stated, unstated = fraction(request.alpha, "--alpha"), replace(request, alpha=None)
    chosen, reasons = _choose_schedule(unstated, document)
    forecasts = tuple(_forecast(unstated, document, name) for name in SCHEDULES.builtins if name != "auto")
    promised = {rule: dict(_provable_alphas(unstated, document, rule)) for rule in UPDATES.builtins}
    smallest = min((alpha for alphas in promised.values() for alpha in alphas.values()), default=USUAL_ALPHA)
    problem = Problem(
        domain=document.domain,
        workload=document.workload,
        unit=unit_of(request.neighbours, None, None, stated=document.domain.unit),
        n=request.n,
        alpha=stated or smallest,
    )
    return Explanation(
        cells=document.domain.size,
        queries=document.workload.rows,
        blocks=len(document.workload.blocks),
        n=request.n,
        chosen=chosen,
        reason=reasons or SCHEDULES.builtins[chosen].use,
        schedules=forecasts,
        alpha=stated or smallest,
        rules=tuple(_bounds(problem, name, promised[name]) for name in UPDATES.builtins),
    )


def explanation_document(explanation: Explanation) -> dict[str, object]:
    """The explanation as plain JSON."""
    best = explanation.best
    named = {"update": best[0], "variant": best[1], "alpha": float(best[2])} if best else None
    return {
        **structs.asdict(explanation),
        "schedules": [structs.asdict(schedule) for schedule in explanation.schedules],
        "alpha": float(explanation.alpha),
        "rules": [
            {**structs.asdict(rule), "alphas": {variant: float(alpha) for variant, alpha in rule.alphas.items()}}
            for rule in explanation.rules
        ],
        "theory": named,
    }


def explanation_rows(explanation: Explanation) -> list[dict[str, Any]]:
    """The explanation as a table: one row a schedule or update rule. A bound is the best of whose constants."""
    schedules = (
        {
            "role": "schedule",
            "name": each.name,
            "use": each.use,
            "chosen": each.name == explanation.chosen,
            "rounds": each.rounds or None,
            "noise_deviation": each.noise,
            "alpha": each.alpha,
            "refusal": each.refusal or None,
        }
        for each in explanation.schedules
    )
    rules = (
        {
            "role": "update",
            "name": each.name,
            "use": each.use,
            "alpha": float(min(each.alphas.values())) if each.alphas else None,
            "mistakes": min((bound for bound in each.mistakes.values() if bound is not None), default=None),
            "refusal": each.refusal or None,
        }
        for each in explanation.rules
    )
    return [*schedules, *rules]


def _choose_schedule(request: PlanRequest, document: QueriesDocument) -> tuple[str, str]:
    """The schedule that a release takes, and why."""
    settled_request, reasons = resolve_auto_schedule(request, document.workload)
    try:
        plan = plan_release(_request_with_schedule(request, "auto"), document)
    except InfeasiblePlan:
        return settled_request.schedule, " ".join(reasons)
    rival = RIVALS.get(plan.schedule.name)
    return plan.schedule.name, rival if rival in plan.notes else " ".join(reasons)


def _request_with_schedule(request: PlanRequest, schedule: str) -> PlanRequest:
    """The request with that schedule; under add-remove a declared n goes only to those that use one."""
    idle = request.neighbours == Neighbours.ADD_REMOVE.value and not schedule_row(schedule).uses_n
    return replace(request, schedule=schedule, n=None if idle else request.n)


def _forecast(request: PlanRequest, document: QueriesDocument, name: str) -> ScheduleForecast:
    try:
        plan = plan_release(_request_with_schedule(request, name), document)
    except InfeasiblePlan as refusal:
        return ScheduleForecast(name=name, use=SCHEDULES.builtins[name].use, refusal=str(refusal))
    alpha = None if plan.promised is None else float(plan.promised)
    noise, error = plan.typical_noise, closed_mean(plan)
    use = SCHEDULES.builtins[name].use
    return ScheduleForecast(name=name, use=use, rounds=plan.rounds, noise=noise, error=error, alpha=alpha)


def _provable_alphas(request: PlanRequest, document: QueriesDocument, rule: str) -> Iterator[tuple[Variant, Fraction]]:
    """The smallest alpha of `theory` with that update rule, by whose constants; nothing where it promises none."""
    for variant in VARIANTS:
        try:
            plan = plan_release(
                replace(_request_with_schedule(request, "theory"), update=rule, variant=variant), document
            )
        except InfeasiblePlan:
            continue
        if plan.promised is not None:
            yield variant, plan.promised


def _bounds(problem: Problem, name: str, promised: dict[Variant, Fraction]) -> RuleBounds:
    """The rule at the problem's alpha; the loop of `theory` runs it at half of that."""
    rule, half = UPDATES.load(name)(), (problem.alpha or USUAL_ALPHA) / 2
    mistakes = {variant: rule.mistakes(problem, Level(value=half, variant=variant)) for variant in VARIANTS}
    unlike: dict[Variant, int | None] = {}
    if isinstance(rule, DistinctRecordsBound):
        unlike = {each: rule.mistakes_distinct(problem, Level(value=half, variant=each)) for each in VARIANTS}
    footprint = rule.footprint(problem)
    if footprint.refusal:  # halving needs a level
        footprint = rule.footprint(replace(problem, level=Level(value=half)))
    return RuleBounds(
        name=name,
        use=UPDATES.builtins[name].use,
        mistakes=mistakes,
        unlike=unlike,
        alphas=promised,
        bytes=footprint.bytes,
        refusal=footprint.refusal or "",
    )
