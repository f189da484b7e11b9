"""Forecasts as text: the expected error of each block by epsilon, what it rests on, and the epsilon of a goal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dpqr.construction.forecasts.forecast import BlockError, Expected, Forecast
from dpqr.construction.forecasts.goal import Goal
from dpqr.privacy.budget import upward_text
from dpqr.report.charts.forecast_plot import HIGH, LOW, MarksPlot
from dpqr.report.wording import Fact, amount, counted, facts, plain, seconds_words

TOP = 20
MEASURE = (
    "mean absolute error of an answer in one release, in records (a sum's in its column's unit); L1 / n as in `dpqr "
    "evaluate`; every figure is an estimate"
)


def forecast_view(
    found: Sequence[Forecast], notes: Sequence[str], goal: Goal | None = None, *, top: int = TOP, seconds: float = 0.0
) -> RenderableType:
    """Forecasts of one workload by epsilon, ascending. Public; ASCII but for names that documents bring.

    seconds: that the forecast of one epsilon took, about.
    """
    parts: list[RenderableType] = [facts(_head(found, goal, seconds)), Text()]
    ranked = sorted(found[0].blocks, key=lambda block: -block.over_n(found[0].records))
    parts.append(_single(found[0], ranked[:top]) if len(found) == 1 else _several(found, ranked[:top]))
    if len(ranked) > top:
        more = counted(len(ranked) - top, "more query") if len(ranked) - top > 1 else "1 more query"
        parts.append(Text(f"... and {more} of smaller error: --top N shows more"))
    if len(found) > 1:
        parts += [Text(), MarksPlot(found=tuple(found))]
    return Group(*parts, Text(), facts(("Note", note) for note in notes))


def _head(found: Sequence[Forecast], goal: Goal | None, seconds: float) -> Iterator[Fact]:
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


def basis(found: Forecast) -> str:
    """What a forecast was simulated on."""
    tables = found.tables[0] if len(found.tables) == 1 else counted(len(found.tables), "made-up table")
    over = f"over {counted(found.runs, 'simulated release')} of {tables} ({found.records:,} records)"
    return f"a closed form for the means, spreads {over}" if found.closed else over


def _kept(found: Forecast, goal: Goal) -> str:
    """The epsilon, the goal's own figure there, and the mean, which is below it."""
    head = f"{upward_text(found.epsilon)} is the smallest that is forecast to keep it"
    mean = f"{goal.typical(found):.4g}{' n' if goal.relative else ' records'} on average"
    return f"{head}: {mean}, at most {goal.reached(found):.4g} with probability {float(goal.confidence):g}"


def _single(found: Forecast, blocks: Sequence[BlockError]) -> Table:
    table = _table("answers", "error", "in 9 of 10 releases", "L1 / n")
    for block in blocks:
        over_n = f"{block.over_n(found.records):.3g}"
        table.add_row(_name(block), f"{block.answers:,}", amount(block.error.mean), nine_of_ten(block.error), over_n)
    return table


def _several(found: Sequence[Forecast], blocks: Sequence[BlockError]) -> Table:
    table = _table("answers", *(f"eps {epsilon}" for epsilon in _epsilons(found)))
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


def _name(block: BlockError) -> Text:
    return Text(plain(block.name))


def nine_of_ten(error: Expected) -> str:
    """The range of one release."""
    return f"{amount(error.at_most(LOW))} to {amount(error.at_most(HIGH))}"


def _epsilons(found: Sequence[Forecast]) -> tuple[str, ...]:
    return tuple(upward_text(one.epsilon) for one in found)
