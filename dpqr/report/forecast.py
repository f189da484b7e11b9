"""The explanation of strategies as text: which one suits the workload, and what each is worth there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dpqr.kernel.budget import upward_text
from dpqr.kernel.wording import Fact, amount, bytes_words, count_words, plain
from dpqr.releases.forecast.by_epsilon import Goal
from dpqr.releases.forecast.levers import ExplainedQuery
from dpqr.releases.forecast.shares import ShareInside
from dpqr.releases.forecast.simulation import ErrorDistribution, PlanForecast
from dpqr.report.answers import plain_table
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
    measured = f"{count_words(schedule.rounds, 'round')}, {noise}" if schedule.rounds else noise
    if schedule.error is not None:
        return f"{measured}; mean error {amount(schedule.error)} of an answer, in records"
    return f"{measured}; `dpqr plan --schedule {schedule.name}` forecasts the error"


# Forecasts as text: the expected error of each block by epsilon, what it rests on, and the epsilon of a goal.

TOP = 20
NOTHING = 1000
"""Of a mean, the part that a reader takes for 0."""
MEASURE = (
    "mean absolute error of an answer in one release, in records (a sum's in its column's unit, a figure's in its "
    "own); L1 / n as in `dpqr evaluate`; every error is an estimate, against the rows used"
)

PERSONS = (
    "of a table of persons the error is that of its noise alone, in persons, of a mean that of the two sums behind it, "
    "in the column's unit: over a group's number of persons it is about the most that the mean errs; the mean of the "
    "queries leaves both out"
)


def forecast_view(
    found: Sequence[PlanForecast],
    notes: Sequence[str],
    goal: Goal | None = None,
    *,
    top: int = TOP,
    improved: Sequence[str] = (),
) -> RenderableType:
    """Forecasts of one workload by epsilon or by --max-rows, ascending: what was asked for, then each query, then what
    makes them better and what they rest on. Public; ASCII but for names that documents bring.

    improved: the levers of the first.
    """
    first, several = found[0], len(found) > 1
    rows = several and first.max_rows != found[-1].max_rows
    labels = [f"max-rows {one.max_rows}" if rows else f"eps {upward_text(one.epsilon)}" for one in found]
    head = [("Goal", goal.words)] if goal is not None else []
    for one, label in zip(found, labels, strict=True):
        if goal is not None:
            head.append((label if rows else "Epsilon", _goal_words(goal, one)))
        spread = "one run shows no spread" if one.runs == 1 else f"{nine_of_ten(one.error)} in 9 of 10 releases"
        figures = f"mean of the queries {amount(one.error.mean)} ({spread}), L1 / n {one.over_n.mean:.3g}"
        head.append((label, f"{one.schedule}: {figures}"))
        if (cut := one.left_out) is not None:
            noise = f" (+-{cut.deviation:.1%}, the noise of these counts)" if cut.deviation else ""
            more = f"answers about all rows err by at most {amount(cut.error)} more, L1 / n {cut.over_n:.3g}"
            head.append(("", f"leaves out {cut.share:.1%} of the rows{noise}: {more}"))
    # One forecast with all its figures; of several the mean errors alone.
    near = first.shares if goal is not None and not several else ()
    meant = [one for one in near if one.counts or (goal is not None and one.name in goal.names)]
    shares = {one.name: f"{one.share(goal.confidence):.1%}" for one in meant} if goal is not None else {}
    within = [f"within {goal.most:.6g}"] if goal is not None and shares else []
    columns = labels if several else ["error", "in 9 of 10 releases", *within, "L1 / n"]
    table = _table("query", "answers", columns)
    ranked = sorted(
        (block for block in first.blocks if block.by_itself), key=lambda block: -block.over_n(first.records)
    )
    means = [{block.name: block.error.mean for block in one.blocks} for one in found]
    for block in ranked[:top]:
        cells = [amount(known[block.name]) for known in means]
        if not several:
            cells += [nine_of_ten(block.error), *([shares.get(block.name, "")] if within else [])]
            cells += [f"{block.over_n(first.records):.3g}"]
        table.add_row(Text(plain(block.name)), f"{block.answers:,}", *cells)
    parts: list[RenderableType] = [facts(head), Text(), *([table] if ranked else [])]
    if len(ranked) > top:
        more = count_words(len(ranked) - top, "more query") if len(ranked) - top > 1 else "1 more query"
        parts.append(Text(f"... and {more} of smaller error: --top N shows more"))
    if any(one.kind != "top" for one in first.figures):  # the largest counts are among the queries
        own = {one.name: shares[one.name] for one in first.figures if one.name in shares}
        heads = labels if several else [*columns[:2], *(within if own else [])]
        parts += [*([Text()] if ranked else []), _figures(found, heads, own)]
    if first.persons:
        of_persons = _table("table of persons", "answers", labels if several else columns[:2])
        for place, table_of in enumerate(first.persons):
            errors = [amount(one.persons[place].error.mean) for one in found]
            errors += [] if several else [nine_of_ten(table_of.error)]
            of_persons.add_row(Text(plain(table_of.name)), f"{table_of.answers:,}", *errors)
        parts += [*([Text()] if ranked else []), of_persons]
    if several and not rows:
        parts += [Text(), MarksPlot(found=tuple(found))]
    better = [("" if place else "Better", words) for place, words in enumerate(improved)]
    persons = [("Persons", PERSONS)] if first.persons else []
    rest = [("Error", MEASURE), *persons, ("Basis", basis(first)), *(("Note", note) for note in notes)]
    return Group(*parts, Text(), facts([*better, *rest]))


def _figures(found: Sequence[PlanForecast], columns: Sequence[str], shares: Mapping[str, str]) -> Table:
    """Means, medians, ratios and the like, in their own units."""
    table = _table("in its own unit", "values", columns)
    for place, figure in enumerate(found[0].figures):
        if figure.kind == "top":
            continue
        errors = [one.figures[place].error for one in found]
        # A median of whole numbers may be right in every simulated release, which is no promise.
        cells = ["unknown" if error is None else amount(error.mean) if error.mean else "none seen" for error in errors]
        if len(found) == 1:
            cells += [nine_of_ten(errors[0]) if errors[0] is not None and errors[0].mean else ""]
            cells += [shares.get(figure.name, "")] if shares else []
        table.add_row(Text(plain(figure.name)), f"{figure.values:,}", *cells)
    return table


def _table(first: str, second: str, columns: Sequence[str]) -> Table:
    table = plain_table()
    table.add_column(first, overflow="fold")
    for name in (second, *columns):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def queries_view(
    queries: Sequence[ExplainedQuery], price: str, found: PlanForecast, notes: Sequence[str]
) -> RenderableType:
    """Each query's noise and error, and what would make it better. Public; ASCII but for names that documents bring."""
    parts: list[RenderableType] = []
    for one in queries:
        answers = count_words(one.answers, one.kind if one.kind in ("count", "sum") else "value")
        lines = [("Answers", f"{answers}{'' if one.kind in ('count', 'sum') else f' of the {one.kind}'}")]
        lines += [("Noise", f"standard deviation {amount(one.noise)} on each answer that it is made from")]
        if one.error is not None and one.error_bound is not None:
            unit = {"count": "records", "sum": "in the column's unit"}.get(one.kind, "in its own unit")
            most = f"at most {amount(one.error_bound)} in 95% of the releases"
            seen = f"{amount(one.error)} {unit}, the mean of a release; {most}" if one.error else "none seen"
            lines += [("Error", seen)]
        lines += [("Better" if not place else "", words) for place, words in enumerate(one.better)]
        parts += [Text(plain(one.name), style="bold"), Padding(facts(lines), (0, 0, 1, 2))]
    rest = [("Price", price), ("Basis", f"{found.schedule}, {basis(found)}"), *(("Note", note) for note in notes)]
    return Group(*parts, facts(rest))


def _goal_words(goal: Goal, found: PlanForecast) -> str:
    """The epsilon, and how the goal stands there."""
    words = f"{upward_text(found.epsilon)} is the smallest that is forecast to keep it: "
    counts = [one for one in found.shares if one.counts]
    if goal.within:
        meant = "each" if goal.names else f"of {sum(one.answers for one in counts):,} counts"
        words += f"{1 - goal.reached(found):.1%} {meant}, averaged over the noise"
        worst = goal.worst_share(found)
        return words if worst is None else f"{words}; least in {worst.name!r}, {worst.share(goal.confidence):.1%}"
    unit = " n" if goal.relative else "" if goal.names else " records"
    words += (
        f"{goal.typical(found):.4g}{unit} on average, at most {goal.reached(found):.4g} in {goal.part} of the releases"
    )
    if not counts or goal.names:
        return words
    share = ShareInside.together(counts).share(goal.confidence)
    return f"{words}; of the single counts {share:.0%} lie within {goal.most:.6g}, and --within is about these"


def basis(found: PlanForecast) -> str:
    """What a forecast was simulated on."""
    tables = found.tables[0] if len(found.tables) == 1 else count_words(len(found.tables), "made-up table")
    over = f"over {count_words(found.runs, 'simulated release')} of {tables} ({found.records:,} records)"
    return f"a closed form for the means, spreads {over}" if found.closed else over


def nine_of_ten(error: ErrorDistribution) -> str:
    """The range of one release; without its lower end where that is next to nothing."""
    low, high = error.at_most(LOW), error.at_most(HIGH)
    return f"up to {amount(high)}" if low < error.mean / NOTHING else f"{amount(low)} to {amount(high)}"
