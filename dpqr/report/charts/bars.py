"""Bars: answers as lengths beside their intervals, fitted to the width of the screen, in the signs that it can show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from dpqr.construction.answers.answered import AnsweredBlock
from dpqr.data.arrays import FloatArray
from dpqr.report.answers_view import UNKNOWN, Cells, Fitted, more_words, plain_table
from dpqr.report.digits import answer_texts, lower_texts, upper_texts

SHORTEST = 10
"""Columns of text that a bar keeps on the narrowest screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What a bar is drawn with. inside: its part within the interval; beyond: the interval behind its end."""

    bar: str
    inside: str
    beyond: str


UNICODE, ASCII = Signs(bar="█", inside="▓", beyond="░"), Signs(bar="#", inside="=", beyond="-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar from nothing to `value`, as wide as its column. low, high: what the column's ends stand for.

    lower, upper: ends of the interval, NaN for none.
    """

    low: float
    high: float
    value: float
    lower: float
    upper: float

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        signs, width = (ASCII if options.ascii_only else UNICODE), options.max_width
        middles = self.low + (np.arange(width) + 0.5) * (self.high - self.low) / width
        text = "".join(self._sign(middle, signs) for middle in middles.tolist()).rstrip()
        yield Segment(text, Style(color="cyan"))
        yield Segment.line()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(SHORTEST, options.max_width)

    def _sign(self, place: float, signs: Signs) -> str:
        filled = min(self.value, 0) <= place <= max(self.value, 0)
        if self.lower <= place <= self.upper:
            return signs.inside if filled else signs.beyond
        return signs.bar if filled else " "


def bars_view(block: AnsweredBlock, rows: int) -> RenderableType:
    """The first `rows` answers of a block as bars of one scale, and how to get the others."""
    shown = block.first(rows)
    estimates, intervals, bars = answer_texts(shown.estimate, shown.precision), _intervals(shown), _bars(shown)

    def made(cells: Cells) -> Table:
        table = plain_table(expand=True)
        cells.add(table)
        table.add_column("estimate", justify="right", no_wrap=True)
        if shown.certain:
            table.add_column("95% interval", justify="right", no_wrap=True)
        table.add_column("", ratio=1, no_wrap=True)
        for row, bar in enumerate(bars):
            certain = [Text(intervals[row])] if shown.certain else []
            table.add_row(*cells.row(row), Text(estimates[row]), *certain, bar)
        return table

    return Group(Fitted(shown, made), *more_words(block.rows - rows), shading(shown))


def shading(block: AnsweredBlock) -> Text:
    """What the shades of this block's intervals mean."""
    estimated = "estimated " if block.estimated else ""
    words = f"shaded: {estimated}95% interval for the true answer, query by query"
    return Text(words if block.certain else UNKNOWN, style="dim")


def _intervals(block: AnsweredBlock) -> list[str]:
    ends = zip(lower_texts(block.lower, block.spread), upper_texts(block.upper, block.spread), strict=True)
    return [f"{low} to {high}" if low else "" for low, high in ends]


def _bars(block: AnsweredBlock) -> list[Bar]:
    """On one scale that holds every answer, every interval, and nothing."""
    ends = np.concatenate([block.estimate, block.lower, block.upper, [0.0]])
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    columns: tuple[FloatArray, ...] = (block.estimate, block.lower, block.upper)
    return [
        Bar(low=low, high=high if high > low else low + 1, value=value, lower=lower, upper=upper)
        for value, lower, upper in zip(*(column.tolist() for column in columns), strict=True)
    ]
