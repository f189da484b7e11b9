"""The plan as text: what a run will do, cost and be worth, before any data is opened."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import accumulate

from rich.console import RenderableType

from dpqr.construction.sentences import choice_words, dropped_words, guarantee, parallel_words
from dpqr.privacy.budget import Price, upward_text
from dpqr.privacy.events import ExponentialEvent, PermuteAndFlipEvent
from dpqr.report.wording import DIGITS, Fact, amount, bytes_words, counted, facts, plain, price_words
from dpqr.strategies.plan import BlockForecast, Plan


def plan_view(plan: Plan) -> RenderableType:
    """The whole plan, for `--dry-run`. Public facts only; ASCII but for names that documents bring."""
    return facts([*_question(plan), *_rounds(plan), *_worth(plan), *_means(plan), *_notes(plan)])


def _question(plan: Plan) -> Iterator[Fact]:
    problem = plan.problem
    yield "Guarantee", guarantee(plan)
    columns = counted(len(problem.domain.attributes), "column")
    yield "Universe", f"{counted(problem.domain.size, 'cell')} in {columns}"
    yield "Workload", f"{counted(problem.workload.rows, 'query')} in {counted(len(problem.workload.blocks), 'block')}"
    if problem.n is not None:
        yield "Records", f"{problem.n:,}, as declared"
    elif problem.most is not None and problem.persons is None:
        yield "Records", f"{problem.most:,}, as declared, those included that the domain's rules leave out"
    if problem.persons is not None:
        yield "Persons", f"{problem.persons:,}, as declared"


def _rounds(plan: Plan) -> Iterator[Fact]:
    """What is drawn, how often, and the price of each draw."""
    yield "Schedule", plan.schedule.name
    if plan.dropped:
        unit, price = plan.problem.unit, price_words(plan.dropped)
        yield "Left out", f"a noisy count of {dropped_words(unit)}, {price}{parallel_words(unit)}"
    if plan.opening and plan.opening_price:
        openings = counted(len(plan.opening), "measurement")
        nothing = "" if plan.stages else "for the whole workload, nothing is selected"
        covered = "before any selection" if plan.rounds else nothing
        each = "each " if len(plan.opening) > 1 else ""
        yield "First", f"{openings} {covered}".rstrip() + f", {each}{price_words(plan.opening_price)}"
    if plan.stages:
        most = f"up to {counted(len(plan.stages), 'measurement')}, each decided by what was released before"
        yield "Then", f"{most}; together {price_words(reduce(Price.plus, plan.stages))}"
    if plan.select and plan.measure:
        chosen, measured = _alone(plan.select, _selection(plan)), _alone(plan.measure, _pure(plan, plan.measure))
        prices = f"choosing costs {price_words(plan.select)}{chosen}, measuring {price_words(plan.measure)}{measured}"
        each = "in the one round" if plan.rounds == 1 else f"each of {plan.rounds:,} rounds"
        each = f"on paper, {each}" if plan.schedule.adaptive else each
        yield ("Then" if plan.opening else "Rounds"), f"{each}: {prices}"
    if plan.threshold is not None and plan.problem.alpha is not None:
        yield from _stopping(plan, plan.threshold, plan.problem.alpha)


def _alone(price: Price, epsilon: Fraction | None) -> str:
    """The epsilon of one draw by itself, for a price that is counted in rho."""
    return "" if price.rho is None or epsilon is None else f" (eps {upward_text(epsilon, DIGITS)} by itself)"


def _selection(plan: Plan) -> Fraction | None:
    drawn = (event for event, _ in plan.events if isinstance(event, ExponentialEvent | PermuteAndFlipEvent))
    return next((event.epsilon for event in drawn), None)


def _pure(plan: Plan, price: Price) -> Fraction | None:
    return price.pure if plan.roles.check.pure else None


def _stopping(plan: Plan, threshold: Fraction, alpha: Fraction) -> Iterator[Fact]:
    """The theory's promise; alpha and beta are rounded up."""
    beta = plan.problem.beta
    yield "Stop test", f"a noisy answer within {amount(float(threshold))} records (3/4 alpha n) ends the loop"
    if plan.promise != "heuristic":
        stated = ", if the rule's stated mistake bound holds" if plan.promise == "stated" else ""
        kept = f"except with probability beta no answer is off by more than alpha n{stated}"
    else:
        kept = "a heuristic aim for the largest error, alpha n: no proof stands behind the number of rounds"
    figures = f"alpha = {upward_text(alpha, DIGITS)} of the records, beta = {upward_text(beta, DIGITS)}"
    yield "Accuracy", f"{figures}: {kept}"
    yield "", f"T0 = {plan.rounds:,} rounds at most, all of them in the guarantee wherever the loop stops"


def _worth(plan: Plan) -> Iterator[Fact]:
    """The noise of measured answers; what is not measured is estimated, and no forecast covers that."""
    if not plan.forecast:
        return
    ranked = sorted(plan.forecast, key=lambda block: block.deviation)
    narrowest, widest = ranked[0], ranked[-1]
    yield "Noise", f"typically {amount(_typical(ranked))} on a measured answer (standard deviation, in records)"
    if widest.deviation > narrowest.deviation:
        yield "", f"widest {_block(widest)}, narrowest {_block(narrowest)}; a sum's is in its column's unit"
    if plan.rounds and plan.threshold is None:
        yield "", "answers that no round measures are estimated from those that were; their error is not forecast"


def _typical(ranked: Sequence[BlockForecast]) -> float:
    """The median over all answers: a mean would be that of the sums, whose unit is another one."""
    middle = sum(block.rows for block in ranked) / 2
    reached = accumulate(block.rows for block in ranked)
    return next(block.deviation for block, rows in zip(ranked, reached, strict=True) if rows >= middle)


def _block(block: BlockForecast) -> str:
    return f"{amount(block.deviation)} in {plain(block.name)!r}"


def _means(plan: Plan) -> Iterator[Fact]:
    roles = plan.roles
    yield "Accountant", f"{roles.accountant.name}: {choice_words(plan)}"
    if theorem := _summary(roles.accountant):
        yield "", theorem
    proved = upward_text(plan.epsilon, DIGITS)
    yield "", f"it proves eps {proved} for this plan, within the budget's eps {upward_text(plan.budget.epsilon)}"
    yield "Strategies", f"{roles.distinguisher.name} selection, {roles.check.name} noise, {roles.update.name} update"
    if plan.bytes:
        yield "Memory", f"about {bytes_words(plan.bytes)} for the hypothesis and its update"


def _summary(strategy: object) -> str:
    """The first paragraph of a strategy's own description."""
    return " ".join((inspect.getdoc(type(strategy)) or "").split("\n\n", 1)[0].split())


def _notes(plan: Plan) -> Iterator[Fact]:
    for note in plan.notes:
        yield "Note", plain(note)
