"""The plan as text: what a run will do, cost and be worth, before any data is opened."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import groupby

from rich.console import RenderableType

from dpqr.construction.forecasts.forecast import closed_mean
from dpqr.construction.forecasts.resources import Resources
from dpqr.construction.sentences import choice_words, dropped_words, errors_words, guarantee, parallel_words
from dpqr.privacy.accountants.pld import PrivacyLossDistribution
from dpqr.privacy.accountants.zcdp import ZeroConcentrated
from dpqr.privacy.budget import Price, upward_text
from dpqr.privacy.events import ExponentialEvent, PermuteAndFlipEvent, PrivacyEvent
from dpqr.privacy.reason import Reason
from dpqr.report.wording import (
    DIGITS,
    Fact,
    amount,
    bytes_words,
    counted,
    facts,
    figures_words,
    plain,
    price_words,
    prices_words,
    seconds_words,
)
from dpqr.strategies.plan import BlockForecast, Phase, Plan, StopTest

BESIDE = (ZeroConcentrated(), PrivacyLossDistribution())
"""Accountants whose prices a plan under Gaussian DP shows too."""


def plan_view(plan: Plan, taken: Resources | None = None) -> RenderableType:
    """The whole plan, for `--dry-run`. Public facts only; ASCII but for names that documents bring.

    taken: the forecast of time and memory; None: that of a run without files.
    """
    return facts(plan_facts(plan, taken))


def plan_facts(plan: Plan, taken: Resources | None = None) -> tuple[Fact, ...]:
    """The same, line by line."""
    takes = _takes(taken or Resources.of(plan))
    return (*_question(plan), *_draws(plan), *_worth(plan), *_means(plan), *takes, *_notes(plan))


def approved_view(plan: Plan, sha256: str, dataset: str, reason: Reason) -> RenderableType:
    """What was approved: whose budget pays once, for what, and by which plan."""
    forecast = [line for line in _worth(plan) if line[0]]
    approved = ("Approved", plain(f"one release of {dataset!r} by this plan, {reason.words}"))
    means = (
        "Schedule",
        f"{plan.schedule.name}, {plan.roles.check.name} noise, charged by {plan.roles.accountant.name}",
    )
    return facts((*_question(plan), means, *forecast, *_notes(plan), ("Plan", sha256), approved))


def _question(plan: Plan) -> Iterator[Fact]:
    problem = plan.problem
    yield "Guarantee", guarantee(plan)
    columns = counted(len(problem.domain.attributes), "column")
    yield "Universe", f"{counted(problem.domain.size, 'cell')} in {columns}"
    yield "Workload", f"{counted(problem.workload.rows, 'query')} in {counted(len(problem.workload.blocks), 'block')}"
    if named := figures_words([figure.name for figure in problem.workload.figures]):
        yield "Figures", named
    if problem.n is not None:
        yield "Records", f"{problem.n:,}, as declared"
    elif problem.most is not None and problem.persons is None:
        yield "Records", f"{problem.most:,}, as declared, those included that the domain's rules leave out"
    if problem.persons is not None:
        yield "Persons", f"{problem.persons:,}, as declared"


def drawn_alike(plan: Plan) -> Iterator[tuple[Phase, ...]]:
    """The phases, of which measurements before any selection that follow one another differ in price alone."""
    for noun, found in groupby(plan.phases, key=lambda phase: phase.noun):
        phases = tuple(found)
        yield from (phases,) if noun == "opening" else ((phase,) for phase in phases)


def _draws(plan: Plan) -> Iterator[Fact]:
    """What is drawn, how often, and the price of each draw: a line a phase, and one for both draws of a round."""
    yield "Schedule", plan.schedule.name
    for phases in drawn_alike(plan):
        phase = phases[0]
        match phase.noun:
            case "left out":
                unit, price = plan.problem.unit, price_words(phase.price)
                yield "Left out", f"a noisy count of {dropped_words(unit)}, {price}{parallel_words(unit)}"
            case "opening":
                yield "First", _opening(plan, phases)
            case "questions":
                yield "Questions", f"one at a time; all surprises together {price_words(phase.price)}"
            case "measurement" if plan.rounds:
                yield ("Then" if plan.opening else "Rounds"), _round(plan, plan.named("selection")[0], phase)
    if stages := plan.named("stage"):
        prices = [phase.price for phase in stages for _ in range(phase.count)]
        most = f"up to {counted(len(prices), 'measurement')}, each decided by what was released before"
        yield "Then", f"{most}; together {price_words(reduce(Price.plus, prices))}"
    for phase in (*plan.named("errors"), *plan.named("bounds")):
        each = "each " if phase.count > 1 else ""
        yield "Errors", f"{errors_words(phase)}, {each}{price_words(phase.price)}"
    if plan.stop and plan.stop.stages:
        yield from _staged(plan, plan.stop)
    elif plan.stop and plan.stop.threshold is not None and plan.problem.alpha is not None:
        yield from _stopping(plan, plan.stop, plan.stop.threshold, plan.problem.alpha)


def _opening(plan: Plan, phases: Sequence[Phase]) -> str:
    """phases: measurements that follow one another, which may differ in price."""
    nothing = "" if plan.named("stage") else "for the whole workload, nothing is selected"
    covered = "before any selection" if plan.rounds else nothing
    count, prices = sum(phase.count for phase in phases), [phase.price for phase in phases]
    return f"{counted(count, 'measurement')} {covered}".rstrip() + f", {prices_words(count, prices)}"


def _round(plan: Plan, selection: Phase, measurement: Phase) -> str:
    chosen = _alone(selection.price, next((_epsilon(event) for event, _ in selection.events), None))
    measured = _alone(measurement.price, measurement.price.pure if plan.roles.check.pure else None)
    prices = (
        f"choosing costs {price_words(selection.price)}{chosen}, measuring {price_words(measurement.price)}{measured}"
    )
    each = "in the one round" if plan.rounds == 1 else f"each of {plan.rounds:,} rounds"
    return f"{f'on paper, {each}' if plan.schedule.adaptive else each}: {prices}"


def _epsilon(event: PrivacyEvent) -> Fraction | None:
    return event.epsilon if isinstance(event, ExponentialEvent | PermuteAndFlipEvent) else None


def _alone(price: Price, epsilon: Fraction | None) -> str:
    """The epsilon of one draw by itself, for a price that is counted in rho or mu^2."""
    return "" if price.epsilon is not None or epsilon is None else f" (eps {upward_text(epsilon, DIGITS)} by itself)"


def _staged(plan: Plan, stop: StopTest) -> Iterator[Fact]:
    """What is likely and what is certain; certain figures are rounded up."""
    first, last = (f"{float(alpha):.3g}" for alpha in (stop.stages[0], stop.stages[-1]))
    beta = upward_text(plan.problem.beta, DIGITS)
    yield "Stages", f"alpha falls from {first} to {last} of the records in {counted(len(stop.stages), 'stage')} at most"
    yield "", "a noisy answer within 3/4 alpha n ends a stage, with a certificate; the best one is released"
    yield "Accuracy", f"certificates hold all at once, except with probability beta = {beta}"
    if stop.certain is None:
        yield "", "certain beforehand: no alpha below 1"
    else:
        stated = ", if the rule's stated mistake bound holds" if stop.promise == "stated" else ""
        yield "", f"certain beforehand, on every table: alpha = {upward_text(stop.certain, DIGITS)}{stated}"
    if stop.paper is not None:
        yield "", f"likely: about {float(stop.paper):.2g}, what {plan.rounds:,} rounds reach; `dpqr plan` simulates it"


def _stopping(plan: Plan, stop: StopTest, threshold: Fraction, alpha: Fraction) -> Iterator[Fact]:
    """The theory's promise; alpha and beta are rounded up."""
    beta = plan.problem.beta
    yield "Stop test", f"a noisy answer within {amount(float(threshold))} records (3/4 alpha n) ends the loop"
    if stop.promise != "heuristic":
        stated = ", if the rule's stated mistake bound holds" if stop.promise == "stated" else ""
        kept = f"except with probability beta no answer is off by more than alpha n{stated}"
    else:
        kept = "a heuristic aim for the largest error, alpha n: no proof stands behind the number of rounds"
    figures = f"alpha = {upward_text(alpha, DIGITS)} of the records, beta = {upward_text(beta, DIGITS)}"
    yield "Accuracy", f"{figures}: {kept}"
    yield "", f"T0 = {plan.rounds:,} rounds at most, all of them in the guarantee wherever the loop stops"


def _worth(plan: Plan) -> Iterator[Fact]:
    """The noise of measured answers; and the error of all, where it has a closed form."""
    if not plan.forecast:
        return
    ranked = sorted(plan.forecast, key=lambda block: block.deviation)
    narrowest, widest = ranked[0], ranked[-1]
    paper = "on paper, " if plan.named("search") else ""
    typical = f"{paper}typically {amount(plan.typical_noise)} on a measured answer"
    yield "Noise", f"{typical} (standard deviation, in records)"
    if widest.deviation > narrowest.deviation:
        yield "", f"widest {_block(widest)}, narrowest {_block(narrowest)}; a sum's is in its column's unit"
    if (error := closed_mean(plan)) is not None:
        yield (
            "Error",
            f"{amount(error)} on average: mean of the queries' mean absolute errors, in records (closed form)",
        )
    else:
        yield "Error", "depends on the table: `dpqr plan` forecasts it by simulation"


def _block(block: BlockForecast) -> str:
    figure = block.deviation if block.deviation < 10**DIGITS else float(f"{block.deviation:.{DIGITS}g}")
    return f"{amount(figure)} in {plain(block.name)!r}"


def _means(plan: Plan) -> Iterator[Fact]:
    roles = plan.roles
    yield "Accountant", f"{roles.accountant.name}: {choice_words(plan)}"
    if theorem := _summary(roles.accountant):
        yield "", theorem
    proved = upward_text(plan.epsilon, DIGITS)
    yield "", f"it proves eps {proved} for this plan, within the budget's eps {upward_text(plan.budget.epsilon)}"
    if roles.accountant.name == "gdp":
        beside = ((one.name, one.epsilon(plan.events, plan.budget.delta)) for one in BESIDE)
        words = (f"eps {upward_text(found, DIGITS)} by {name}" for name, found in beside if found)
        yield "", f"the same draws cost {', '.join(words)}"
    yield "Strategies", f"{roles.distinguisher.name} selection, {roles.check.name} noise, {roles.update.name} update"


def _takes(taken: Resources) -> Iterator[Fact]:
    """Time, memory and disk, about."""
    reading = f"and {seconds_words(taken.reading)} for each million rows of the table"
    yield "Time", f"about {seconds_words(taken.seconds)} of one processor, {reading}"
    files = "" if taken.files is None else f"; files of about {bytes_words(taken.files)}, synthetic rows not counted"
    yield "Memory", f"about {bytes_words(taken.memory)}{files}"


def _summary(strategy: object) -> str:
    """The first paragraph of a strategy's own description."""
    return " ".join((inspect.getdoc(type(strategy)) or "").split("\n\n", 1)[0].split())


def _notes(plan: Plan) -> Iterator[Fact]:
    for note in plan.notes:
        yield "Note", plain(note)
