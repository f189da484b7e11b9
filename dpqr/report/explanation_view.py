"""The explanation of strategies as text: which one suits the workload, and what each is worth there."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from dpqr.report.wording import Fact, amount, bytes_words, counted, facts
from dpqr.strategies.explanation import Explanation, RuleBounds, ScheduleForecast


def explanation_view(explanation: Explanation) -> RenderableType:
    """The whole explanation. Public facts only; ASCII."""
    return facts([*_question(explanation), *_schedules(explanation), *_rules(explanation), *_best(explanation)])


def _question(explanation: Explanation) -> Iterator[Fact]:
    yield "Universe", counted(explanation.cells, "cell")
    yield "Workload", f"{counted(explanation.queries, 'query')} in {counted(explanation.blocks, 'block')}"
    declared = "not declared; --n N tells what depends on it"
    yield "Records", declared if explanation.n is None else f"{explanation.n:,}, as declared"
    yield (
        "auto takes",
        f"{explanation.chosen}: {explanation.reason.removeprefix(f'--schedule auto: {explanation.chosen}, ')}",
    )


def _schedules(explanation: Explanation) -> Iterator[Fact]:
    yield "", ""
    yield "--schedule", "for this budget"
    for schedule in explanation.schedules:
        yield f"  {schedule.name}", schedule.use
        yield "", _forecast(schedule)


def _forecast(schedule: ScheduleForecast) -> str:
    if schedule.refusal or schedule.noise is None:
        return f"not here: {schedule.refusal}"
    noise = f"noise typically {amount(schedule.noise)} on a measured answer"
    if schedule.alpha is not None:
        rounds = counted(schedule.rounds, "round")
        return f"at most {rounds}, {noise}; no answer off by more than {schedule.alpha:.3g} n"
    told = f"{counted(schedule.rounds, 'round')}, {noise}" if schedule.rounds else noise
    if schedule.error is not None:
        return f"{told}; mean error {amount(schedule.error)} of an answer, in records"
    return f"{told}; `dpqr plan --schedule {schedule.name}` forecasts the error"


def _rules(explanation: Explanation) -> Iterator[Fact]:
    yield "", ""
    yield (
        "--update",
        f"longest update sequence T(alpha / 2) at alpha {float(explanation.alpha):.4g}, on these cells and queries",
    )
    for rule in explanation.rules:
        yield f"  {rule.name}", rule.use
        yield "", _bounds(rule)
        if unlike := [f"{bound:,} {variant}" for variant, bound in rule.unlike.items() if bound is not None]:
            yield (
                "",
                f"were no two records alike: {', '.join(unlike)}; nothing public tells it, so theory does not use it",
            )
        if rule.alphas:
            promises = ", ".join(f"{float(alpha):.3g} {variant}" for variant, alpha in rule.alphas.items())
            yield "", f"smallest alpha that one fixed plan of theory promises with it: {promises}"


def _bounds(rule: RuleBounds) -> str:
    bounds = ", ".join(f"{bound:,} {variant}" for variant, bound in rule.mistakes.items() if bound is not None)
    words = f"T: {bounds}" if bounds else f"no bound is proved{' at this alpha' if rule.alphas else ''}"
    return f"{words}; not here: {rule.refusal}" if rule.refusal else f"{words}; {bytes_words(rule.bytes)}"


def _best(explanation: Explanation) -> Iterator[Fact]:
    yield "", ""
    if explanation.best is None:
        yield "theory", "promises nothing here"
        return
    name, variant, alpha = explanation.best
    yield "theory", f"promises most with --update {name} --variant {variant}: alpha {float(alpha):.3g}"
    yield "", "--variant anytime, the default, is certain of about as much, and on most tables certifies far less error"
