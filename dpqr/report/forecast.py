"""The explanation of strategies as text: which one suits the workload, and what each is worth there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dpqr.kernel.budget import upward_text
from dpqr.kernel.wording import Fact, amount, bytes_words, count_words, plain, seconds_words
from dpqr.releases.forecast import Goal
from dpqr.releases.forecast_error import ErrorDistribution, ExpectedBlockError, PlanForecast
from dpqr.report.charts import HIGH, LOW, MarksPlot
from dpqr.report.html import facts
from dpqr.strategies.explanation import Explanation, ScheduleForecast


def explanation_view(explanation: Explanation) -> RenderableType:
    """The whole explanation. Public facts only; ASCII."""
    return facts([*_question(explanation), *_schedules(explanation), *_rules(explanation), *_best(explanation)])


def _question(explanation: Explanation) -> Iterator[Fact]:
    yield "Universe", count_words(explanation.cells, "cell")
    yield "Workload", f"{count_words(explanation.queries, 'query')} in {count_words(explanation.blocks, 'block')}"
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
        rounds = count_words(schedule.rounds, "round")
        return f"at most {rounds}, {noise}; no answer off by more than {schedule.alpha:.3g} n"
    told = f"{count_words(schedule.rounds, 'round')}, {noise}" if schedule.rounds else noise
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
        bounds = ", ".join(f"{bound:,} {variant}" for variant, bound in rule.mistakes.items() if bound is not None)
        words = f"T: {bounds}" if bounds else f"no bound is proved{' at this alpha' if rule.alphas else ''}"
        yield "", f"{words}; not here: {rule.refusal}" if rule.refusal else f"{words}; {bytes_words(rule.bytes)}"
        if unlike := [f"{bound:,} {variant}" for variant, bound in rule.unlike.items() if bound is not None]:
            yield (
                "",
                f"were no two records alike: {', '.join(unlike)}; nothing public tells it, so theory does not use it",
            )
        if rule.alphas:
            promises = ", ".join(f"{float(alpha):.3g} {variant}" for variant, alpha in rule.alphas.items())
            yield "", f"smallest alpha that one fixed plan of theory promises with it: {promises}"


def _best(explanation: Explanation) -> Iterator[Fact]:
    yield "", ""
    if explanation.best is None:
        yield "theory", "promises nothing here"
        return
    name, variant, alpha = explanation.best
    yield "theory", f"promises most with --update {name} --variant {variant}: alpha {float(alpha):.3g}"
    yield "", "--variant anytime, the default, is certain of about as much, and on most tables certifies far less error"


# Forecasts as text: the expected error of each block by epsilon, what it rests on, and the epsilon of a goal.

TOP = 20
MEASURE = (
    "mean absolute error of an answer in one release, in records (a sum's in its column's unit); L1 / n as in `dpqr "
    "evaluate`; every figure is an estimate"
)


def forecast_view(
    found: Sequence[PlanForecast],
    notes: Sequence[str],
    goal: Goal | None = None,
    *,
    top: int = TOP,
    seconds: float = 0.0,
) -> RenderableType:
    """Forecasts of one workload by epsilon, ascending. Public; ASCII but for names that documents bring.

    seconds: that the forecast of one epsilon took, about.
    """
    parts: list[RenderableType] = [facts(_head(found, goal, seconds)), Text()]
    ranked = sorted(found[0].blocks, key=lambda block: -block.over_n(found[0].records))
    parts.append(_single(found[0], ranked[:top]) if len(found) == 1 else _several(found, ranked[:top]))
    if len(ranked) > top:
        more = count_words(len(ranked) - top, "more query") if len(ranked) - top > 1 else "1 more query"
        parts.append(Text(f"... and {more} of smaller error: --top N shows more"))
    if len(found) > 1:
        parts += [Text(), MarksPlot(found=tuple(found))]
    return Group(*parts, Text(), facts(("Note", note) for note in notes))


def _head(found: Sequence[PlanForecast], goal: Goal | None, seconds: float) -> Iterator[Fact]:
    first = found[0]
    if goal is not None:
        yield "Goal", goal.words
        yield "Epsilon", _kept(first, goal)
    yield "Error", MEASURE
    yield "Basis", basis(first)
    for one in found:
        mean = amount(one.error.mean)
        spread = "one run shows no spread" if one.runs == 1 else f"{nine_of_ten(one.error)} in 9 of 10 releases"
        figures = f"mean of the blocks {mean} ({spread}), L1 / n {one.over_n.mean:.3g}"
        yield f"eps {upward_text(one.epsilon)}", f"{one.schedule}: {figures}"
    if seconds:
        yield "Time", f"about {seconds_words(seconds)} of one processor for the forecast of one epsilon"


def basis(found: PlanForecast) -> str:
    """What a forecast was simulated on."""
    tables = found.tables[0] if len(found.tables) == 1 else count_words(len(found.tables), "made-up table")
    over = f"over {count_words(found.runs, 'simulated release')} of {tables} ({found.records:,} records)"
    return f"a closed form for the means, spreads {over}" if found.closed else over


def _kept(found: PlanForecast, goal: Goal) -> str:
    """The epsilon, the goal's own figure there, and the mean, which is below it."""
    head = f"{upward_text(found.epsilon)} is the smallest that is forecast to keep it"
    mean = f"{goal.typical(found):.4g}{' n' if goal.relative else ' records'} on average"
    return f"{head}: {mean}, at most {goal.reached(found):.4g} with probability {float(goal.confidence):g}"


def _single(found: PlanForecast, blocks: Sequence[ExpectedBlockError]) -> Table:
    table = _table("answers", "error", "in 9 of 10 releases", "L1 / n")
    for block in blocks:
        over_n = f"{block.over_n(found.records):.3g}"
        table.add_row(_name(block), f"{block.answers:,}", amount(block.error.mean), nine_of_ten(block.error), over_n)
    return table


def _several(found: Sequence[PlanForecast], blocks: Sequence[ExpectedBlockError]) -> Table:
    table = _table("answers", *(f"eps {epsilon}" for epsilon in tuple(upward_text(one.epsilon) for one in found)))
    errors = [{block.name: block.error.mean for block in one.blocks} for one in found]
    for block in blocks:
        table.add_row(_name(block), f"{block.answers:,}", *(amount(known[block.name]) for known in errors))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("query", overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _name(block: ExpectedBlockError) -> Text:
    return Text(plain(block.name))


def nine_of_ten(error: ErrorDistribution) -> str:
    """The range of one release."""
    return f"{amount(error.at_most(LOW))} to {amount(error.at_most(HIGH))}"
