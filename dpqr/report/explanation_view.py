"""The explanation as text: which strategy suits what is asked, and what each is worth there."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from dpqr.report.facts import Fact, facts
from dpqr.report.wording import amount, bytes_words, counted
from dpqr.strategies.explanation import Explanation, RuleBounds, ScheduleForecast


def explanation_view(told: Explanation) -> RenderableType:
    """The whole explanation. Public facts only; ASCII."""
    return facts([*_question(told), *_schedules(told), *_rules(told), *_best(told)])


def _question(told: Explanation) -> Iterator[Fact]:
    yield "Universe", counted(told.cells, "cell")
    yield "Workload", f"{counted(told.queries, 'query')} in {counted(told.blocks, 'block')}"
    declared = "not declared; --n N tells what depends on it"
    yield "Records", declared if told.n is None else f"{told.n:,}, as declared"
    yield "auto takes", f"{told.chosen}: {told.reason.removeprefix(f'--schedule auto: {told.chosen}, ')}"


def _schedules(told: Explanation) -> Iterator[Fact]:
    yield "", ""
    yield "--schedule", "for this budget"
    for schedule in told.schedules:
        yield f"  {schedule.name}", schedule.use
        yield "", _forecast(schedule)


def _forecast(schedule: ScheduleForecast) -> str:
    if schedule.refusal or schedule.noise is None:
        return f"not here: {schedule.refusal}"
    if not schedule.rounds:
        return f"typical error {amount(schedule.noise)} of every answer (standard deviation, in records)"
    rounds = f"{counted(schedule.rounds, 'round')}, noise typically {amount(schedule.noise)} on a measured answer"
    if schedule.alpha is not None:
        return f"at most {rounds}; no answer off by more than {schedule.alpha:.3g} n"
    return f"{rounds}; the others are estimated, and no error is forecast"


def _rules(told: Explanation) -> Iterator[Fact]:
    yield "", ""
    yield (
        "--update",
        f"longest update sequence T(alpha / 2) at alpha {float(told.alpha):.4g}, on these cells and queries",
    )
    for rule in told.rules:
        yield f"  {rule.name}", rule.use
        yield "", _bounds(rule)
        if unlike := [f"{bound:,} {variant}" for variant, bound in rule.unlike.items() if bound is not None]:
            yield (
                "",
                f"were no two records alike: {', '.join(unlike)}; nothing public tells it, so theory does not use it",
            )
        if rule.alphas:
            promises = ", ".join(f"{float(alpha):.3g} {variant}" for variant, alpha in rule.alphas.items())
            yield "", f"smallest alpha that theory promises with it: {promises}"


def _bounds(rule: RuleBounds) -> str:
    bounds = ", ".join(f"{bound:,} {variant}" for variant, bound in rule.mistakes.items() if bound is not None)
    words = f"T: {bounds}" if bounds else f"no bound is proved{' at this alpha' if rule.alphas else ''}"
    return f"{words}; not here: {rule.refusal}" if rule.refusal else f"{words}; {bytes_words(rule.bytes)}"


def _best(told: Explanation) -> Iterator[Fact]:
    yield "", ""
    if told.best is None:
        yield "theory", "promises nothing here"
        return
    name, variant, alpha = told.best
    yield "theory", f"promises most with --update {name} --variant {variant}: alpha {float(alpha):.3g}"
