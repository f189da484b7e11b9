"""The explanation of strategies as text: which one suits the workload, and what each is worth there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dpqr.kernel.budget import upward_text
from dpqr.kernel.wording import Fact, amount, bytes_words, count_words, plain, seconds_words
from dpqr.releases.forecast import Goal
from dpqr.releases.forecast_error import ErrorDistribution, PlanForecast
from dpqr.report.charts import HIGH, LOW, MarksPlot
from dpqr.report.html import facts
from dpqr.strategies.explanation import Explanation, ScheduleForecast


def explanation_view(explanation: Explanation) -> RenderableType:
    """The whole explanation. Public facts only; ASCII."""
    return facts(_explanation_facts(explanation))


def _explanation_facts(explanation: Explanation) -> Iterator[Fact]:
    yield "Universe", count_words(explanation.cells, "cell")
    yield "Workload", f"{count_words(explanation.queries, 'query')} in {count_words(explanation.blocks, 'block')}"
    declared = "not declared; --n N tells what depends on it"
    yield "Records", declared if explanation.n is None else f"{explanation.n:,}, as declared"
    reason = explanation.reason.removeprefix(f"--schedule auto: {explanation.chosen}, ")
    yield "auto takes", f"{explanation.chosen}: {reason}"
    yield "", ""
    yield "--schedule", "for this budget"
    for schedule in explanation.schedules:
        yield f"  {schedule.name}", schedule.use
        yield "", _schedule_words(schedule)
    yield "", ""
    sequence = f"longest update sequence T(alpha / 2) at alpha {float(explanation.alpha):.4g}"
    yield "--update", f"{sequence}, on these cells and queries"
    for rule in explanation.rules:
        yield f"  {rule.name}", rule.use
        bounds = ", ".join(f"{bound:,} {variant}" for variant, bound in rule.mistakes.items() if bound is not None)
        words = f"T: {bounds}" if bounds else f"no bound is proved{' at this alpha' if rule.alphas else ''}"
        yield "", f"{words}; not here: {rule.refusal}" if rule.refusal else f"{words}; {bytes_words(rule.bytes)}"
        if unlike := [f"{bound:,} {variant}" for variant, bound in rule.unlike.items() if bound is not None]:
            unused = "nothing public tells it, so theory does not use it"
            yield "", f"were no two records alike: {', '.join(unlike)}; {unused}"
        if rule.alphas:
            promises = ", ".join(f"{float(alpha):.3g} {variant}" for variant, alpha in rule.alphas.items())
            yield "", f"smallest alpha that one fixed plan of theory promises with it: {promises}"
    yield "", ""
    if explanation.best is None:
        yield "theory", "promises nothing here"
        return
    name, variant, alpha = explanation.best
    yield "theory", f"promises most with --update {name} --variant {variant}: alpha {float(alpha):.3g}"
    yield "", "--variant anytime, the default, is certain of about as much, and on most tables certifies far less error"


def _schedule_words(schedule: ScheduleForecast) -> str:
    """What a schedule is worth here, or why it is refused."""
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
    first = found[0]
    head = []
    if goal is not None:
        # The epsilon, the goal's own figure there, and the mean, which is below it.
        mean = f"{goal.typical(first):.4g}{' n' if goal.relative else ' records'} on average"
        most = f"at most {goal.reached(first):.4g} with probability {float(goal.confidence):g}"
        smallest = f"{upward_text(first.epsilon)} is the smallest that is forecast to keep it"
        head += [("Goal", goal.words), ("Epsilon", f"{smallest}: {mean}, {most}")]
    head += [("Error", MEASURE), ("Basis", basis(first))]
    for one in found:
        spread = "one run shows no spread" if one.runs == 1 else f"{nine_of_ten(one.error)} in 9 of 10 releases"
        figures = f"mean of the blocks {amount(one.error.mean)} ({spread}), L1 / n {one.over_n.mean:.3g}"
        head.append((f"eps {upward_text(one.epsilon)}", f"{one.schedule}: {figures}"))
    if seconds:
        time = f"about {seconds_words(seconds)} of one processor for the forecast of one epsilon"
        head.append(("Time", time))
    # One epsilon with all figures of a block; of several the mean errors alone.
    single = ("error", "in 9 of 10 releases", "L1 / n")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("query", overflow="fold")
    columns = single if len(found) == 1 else [f"eps {upward_text(one.epsilon)}" for one in found]
    for name in ("answers", *columns):
        table.add_column(name, justify="right", no_wrap=True)
    ranked = sorted(first.blocks, key=lambda block: -block.over_n(first.records))
    means = [{block.name: block.error.mean for block in one.blocks} for one in found]
    for block in ranked[:top]:
        cells = [amount(known[block.name]) for known in means]
        if len(found) == 1:
            cells += [nine_of_ten(block.error), f"{block.over_n(first.records):.3g}"]
        table.add_row(Text(plain(block.name)), f"{block.answers:,}", *cells)
    parts: list[RenderableType] = [facts(head), Text(), table]
    if len(ranked) > top:
        more = count_words(len(ranked) - top, "more query") if len(ranked) - top > 1 else "1 more query"
        parts.append(Text(f"... and {more} of smaller error: --top N shows more"))
    if len(found) > 1:
        parts += [Text(), MarksPlot(found=tuple(found))]
    return Group(*parts, Text(), facts(("Note", note) for note in notes))


def basis(found: PlanForecast) -> str:
    """What a forecast was simulated on."""
    tables = found.tables[0] if len(found.tables) == 1 else count_words(len(found.tables), "made-up table")
    over = f"over {count_words(found.runs, 'simulated release')} of {tables} ({found.records:,} records)"
    return f"a closed form for the means, spreads {over}" if found.closed else over


def nine_of_ten(error: ErrorDistribution) -> str:
    """The range of one release."""
    return f"{amount(error.at_most(LOW))} to {amount(error.at_most(HIGH))}"
