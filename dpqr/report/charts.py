"""Bars: answers as lengths beside their intervals, fitted to the width of the screen, in the signs that it can show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from xml.sax.saxutils import escape

import numpy as np
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.budget import upward_text
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.wording import plain
from dpqr.releases.answers.answered import DETAIL, AnsweredBlock, CellColumn
from dpqr.releases.answers.errors import FACTOR
from dpqr.releases.forecast_error import ErrorDistribution, PlanForecast
from dpqr.report.answers import (
    GAP,
    LONGEST_WORD,
    UNKNOWN,
    AnswersTable,
    CellColumns,
    answer_texts,
    longest_word,
    lower_texts,
    more_words,
    plain_table,
    upper_texts,
)

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

    def made(cells: CellColumns) -> Table:
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

    return Group(AnswersTable(shown, made), *more_words(block.rows - rows), shading(shown))


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


# Heat maps: the answers of a pair of columns as a table whose cells are shaded.

SHADES, ASCII_SHADES = " ░▒▓█", " .:+#"
LABEL, TITLE = 20, 8
"""Columns of text of names, of a line and of a column, that are not wrapped."""
LEGEND = "shaded: from nothing to the largest estimate of the block"


def heat_map_view(block: AnsweredBlock, rows: int) -> RenderableType:
    """The first `rows` answers of a block: its last column across, the one before it down, a map for every combination
    of the others. Raises: UsageFault where it has one column or none."""
    if len(block.columns) < 2:
        raise UsageFault(f"--as heatmap: {block.name!r} is not about a pair of columns; --as bars shows it")
    shown = block.first(rows)
    texts = answer_texts(shown.estimate, shown.precision)
    most = max(float(shown.estimate.max(initial=0.0)), np.finfo(np.float64).tiny)
    levels = np.clip(shown.estimate / most * len(SHADES), 0, len(SHADES) - 1).astype(int).tolist()
    maps = [_Map(shown, title, places, texts, levels) for title, places in _maps(shown)]
    return Group(*maps, *more_words(block.rows - rows), Text(LEGEND, style="dim"))


def _maps(block: AnsweredBlock) -> Iterator[tuple[str, list[int]]]:
    """For each map what its leading columns are, and its rows."""
    found: dict[tuple[str, ...], list[int]] = {}
    for row in range(block.rows):
        found.setdefault(block.cells(row)[:-2], []).append(row)
    names = [column.name for column in block.columns[:-2]]
    for cells, rows in found.items():
        yield ", ".join(f"{name}={cell}" for name, cell in zip(names, cells, strict=True)), rows


@dataclass(frozen=True, slots=True, eq=False)
class _Map:
    """One map. Where the screen is too narrow for all columns, the others follow below."""

    block: AnsweredBlock
    title: str
    rows: list[int]
    texts: list[str]
    levels: list[int]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        down, across = self.block.columns[-2:]
        cells = {(down.places[row], across.places[row]): row for row in self.rows}
        label, taken = _label(down), list(dict.fromkeys(across.places[self.rows].tolist()))
        room, shades = options.max_width - label, ASCII_SHADES if options.ascii_only else SHADES
        if self.title:
            yield Text(f"\n{plain(self.title)}", style="bold")
        while taken:
            count = max(_fitting([self._width(place) for place in taken], room), 1)
            yield self._table(label, taken[:count], cells, shades)
            taken = taken[count:]

    def _width(self, place: int) -> int:
        across = self.block.columns[-1]
        figures = (self.texts[row] for row in self.rows if across.places[row] == place)
        title = plain(across.texts[place])
        return max(longest_word(title), min(cell_len(title), TITLE), *(len(text) + 3 for text in figures))

    def _table(self, label: int, taken: list[int], cells: dict[tuple[int, int], int], shades: str) -> Table:
        table, (down, across) = plain_table(), self.block.columns[-2:]
        table.add_column(Text(plain(down.name)), overflow="fold", width=label)
        for place in taken:
            table.add_column(Text(plain(across.texts[place]), justify="right"), width=self._width(place))
        for line in dict.fromkeys(down.places[self.rows].tolist()):
            figures = (self._cell(cells.get((line, place)), self._width(place) - 3, shades) for place in taken)
            table.add_row(Text(plain(down.texts[line])), *figures)
        return table

    def _cell(self, row: int | None, width: int, shades: str) -> Text:
        """A figure, on the right of so many columns of text, and its shade."""
        if row is None:
            return Text()
        return Text.assemble(f"{self.texts[row]:>{width}} ", (shades[self.levels[row]] * 2, "cyan"))


def _label(down: CellColumn) -> int:
    """Columns of text for the names of the lines: short ones stand on one line, words are never broken."""
    shown = [plain(text) for text in (down.name, *down.texts)]
    return min(max(*map(longest_word, shown), min(max(map(cell_len, shown)), LABEL)), LONGEST_WORD)


def _fitting(widths: list[int], room: int) -> int:
    """How many of the first columns fit."""
    return int((np.cumsum([GAP + width for width in widths]) <= room).sum())


# Curves: cumulative answers as steps over their thresholds.

ADDED = "shaded: estimated 95% interval, the errors of the answers added up"
HEIGHT, NARROWEST = 9, 20
"""Lines of a curve (odd: one is in the middle), and the fewest columns of text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pen:
    """flat, riser, and the corners of a step up (`foot`, then `head`) and of a step down (`drop`, then `base`)."""

    flat: str
    riser: str
    foot: str
    head: str
    drop: str
    base: str
    axis: str
    corner: str
    shade: str


UNICODE_PEN = Pen(flat="─", riser="│", foot="┘", head="┌", drop="┐", base="└", axis="│", corner="└", shade="░")
ASCII_PEN = Pen(flat="-", riser="|", foot="+", head="+", drop="+", base="+", axis="|", corner="+", shade=":")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """Steps over the width of the screen. values, lower, upper: by threshold, shape (steps,), NaN for no interval."""

    title: str
    names: tuple[str, ...]
    values: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def top(self) -> float:
        return float(np.nanmax([*self.values, *self.upper, 0.0]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawing:
    """A curve over the width of the screen. high: what its top stands for."""

    curve: Curve
    high: float

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        pen = ASCII_PEN if options.ascii_only else UNICODE_PEN
        marks = answer_texts(np.array([self.high, self.high / 2, 0.0]), np.full(3, np.nan))
        margin = max(map(len, marks))
        width = max(options.max_width - margin - 2, NARROWEST)
        if self.curve.title:
            yield Text(f"\n{plain(self.curve.title)}", style="bold")
        for number, line in enumerate(self._canvas(width, pen)):
            mark = marks[number * 2 // (HEIGHT - 1)] if number % (HEIGHT // 2) == 0 else ""
            yield Text.assemble(f"{mark:>{margin}} {pen.axis}", ("".join(line).rstrip(), "cyan"))
        yield Text(f"{'':>{margin}} {pen.corner}{pen.flat * width}")
        yield Text(f"{'':>{margin}}  {self._thresholds(width)}")

    def _canvas(self, width: int, pen: Pen) -> list[list[str]]:
        canvas = [[" "] * width for _ in range(HEIGHT)]
        steps = _steps(width, len(self.curve.names)).tolist()
        low, high = (self._lines(ends) for ends in (self.curve.lower, self.curve.upper))
        for column, step in enumerate(steps):
            if not np.isnan(self.curve.lower[step]):
                for line in range(high[step], low[step] + 1):
                    canvas[line][column] = pen.shade
        levels = self._lines(self.curve.values)
        before = levels[0]
        for column, step in enumerate(steps):
            _step(canvas, column, before, levels[step], pen)
            before = levels[step]
        return canvas

    def _lines(self, values: FloatArray) -> list[int]:
        """The line of each value."""
        shares = np.clip(np.nan_to_num(values) / self.high, 0.0, 1.0)
        return [round((1 - share) * (HEIGHT - 1)) for share in shares.tolist()]

    def _thresholds(self, width: int) -> str:
        """As many names as fit, each where its step begins."""
        line, starts = (
            "",
            np.searchsorted(_steps(width, len(self.curve.names)), np.arange(len(self.curve.names))).tolist(),
        )
        for start, name in zip(starts, map(plain, self.curve.names), strict=True):
            if (not line or start > len(line) + 1) and start + len(name) <= width:
                line = f"{line:<{start}}{name}"
        return line


def _step(canvas: list[list[str]], column: int, before: int, now: int, pen: Pen) -> None:
    if now == before:
        canvas[now][column] = pen.flat
        return
    for line in range(min(now, before) + 1, max(now, before)):
        canvas[line][column] = pen.riser
    canvas[before][column] = pen.foot if now < before else pen.drop
    canvas[now][column] = pen.head if now < before else pen.base


def _steps(width: int, count: int) -> IntArray:
    """Which threshold each column of text belongs to."""
    return np.arange(width, dtype=np.int64) * count // width


def curve_view(block: AnsweredBlock, rows: int) -> RenderableType:
    """The first `rows` answers of a block as cumulative curves on one scale, one for every combination of its columns
    but the last. Raises: UsageFault where the last one has no order."""
    shown = block.first(rows)
    prefix = _is_prefix(shown)
    curves = list(_curves(shown, prefix))
    high = max((curve.top for curve in curves), default=0.0) or 1.0
    legend = [shading(shown)] if prefix and shown.certain else [Text(ADDED, style="dim")] if shown.erring else []
    return Group(*(Drawing(curve=curve, high=high) for curve in curves), *more_words(block.rows - rows), *legend)


def _is_prefix(block: AnsweredBlock) -> bool:
    """Whether the answers are cumulative already, or are to be added up. UsageFault where neither can be."""
    last = block.columns[-1] if block.columns else None
    prefix = last is not None and last.name == DETAIL and all(text.startswith("<") for text in last.texts)
    if last is None or not (prefix or last.ordered):
        raise UsageFault(f"--as curve: {block.name!r} has no order to add up in; --as bars shows it")
    return prefix


def _curves(block: AnsweredBlock, prefix: bool) -> Iterator[Curve]:
    """The error of a sum is at most the sum of the errors, however they depend on each other."""
    *others, last = block.columns
    found: dict[tuple[str, ...], list[int]] = {}
    for row in range(block.rows):
        if prefix or last.places[row] < len(last.texts) - last.own:
            found.setdefault(block.cells(row)[:-1], []).append(row)
    for cells, rows in found.items():
        values, margin = np.cumsum(block.estimate[rows]), FACTOR * np.cumsum(block.error[rows])
        yield Curve(
            title=", ".join(f"{column.name}={cell}" for column, cell in zip(others, cells, strict=True)),
            names=tuple(last.texts[last.places[row]] for row in rows),
            values=block.estimate[rows] if prefix else values,
            lower=block.lower[rows] if prefix else values - margin,
            upper=block.upper[rows] if prefix else values + margin,
        )


# Plots of forecasts: error against epsilon, both logarithmic, in the terminal and as SVG.

LINES, NARROWEST_PLOT, WIDEST, MARGIN = 9, 20, 64, 9
"""Lines of a plot in the terminal, its fewest and most columns, and those of its labels."""
PLOT_TITLE = "forecast error: mean L1 / n of the queries, by epsilon"
LOW, HIGH = Fraction(5, 100), Fraction(95, 100)
TINY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class LogScale:
    """A logarithmic scale from `low` at 0 to `high` at 1."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> LogScale:
        return cls(low=math.log(max(min(values), TINY)), high=math.log(max(*values, TINY)))

    def at(self, value: float) -> float:
        """Between 0 and 1; in the middle of a scale without length."""
        span = self.high - self.low
        return (math.log(max(value, TINY)) - self.low) / span if span > 0 else 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class MarksPlot:
    """A mark a forecast, for the terminal; ASCII."""

    found: tuple[PlanForecast, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(min(options.max_width - MARGIN - 2, WIDEST), NARROWEST_PLOT)
        epsilons, errors = [float(one.epsilon) for one in self.found], [one.over_n.mean for one in self.found]
        across, up = LogScale.of(epsilons), LogScale.of(errors)
        canvas, names = [[" "] * width for _ in range(LINES)], ""
        for one, epsilon, error in zip(self.found, epsilons, errors, strict=True):
            column = round(across.at(epsilon) * (width - 1))
            canvas[round((1 - up.at(error)) * (LINES - 1))][column] = "*"
            if not names or column > len(names):
                names = f"{names:<{column}}{upward_text(one.epsilon)}"
        yield Text(PLOT_TITLE, style="bold")
        for number, line in enumerate(canvas):
            mark = {0: f"{max(errors):.3g}", LINES - 1: f"{min(errors):.3g}"}.get(number, "")
            yield Text.assemble(f"{mark:>{MARGIN}} |", ("".join(line).rstrip(), "cyan"))
        yield Text(f"{'':>{MARGIN}} +{'-' * width}")
        yield Text(f"{'':>{MARGIN}}  {names}")


WIDTH, SVG_HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 80, 30, 50, 50
INK, LINE, BAND = "#222222", "#1b6ca8", "#cfe2f3"


def forecast_svg(found: Sequence[PlanForecast]) -> str:
    """The same with a band that nine of ten releases are forecast to lie in: one SVG file without references."""
    epsilons = [float(one.epsilon) for one in found]
    ends = [end for one in found for end in _band(one.over_n)]
    across, up = LogScale.of(epsilons), LogScale.of([end for end in ends if end > 0] or [1.0])

    def point(epsilon: float, error: float) -> str:
        x = LEFT + across.at(epsilon) * (WIDTH - LEFT - RIGHT)
        return f"{x:.1f},{SVG_HEIGHT - BOTTOM - up.at(error) * (SVG_HEIGHT - TOP - BOTTOM):.1f}"

    lower, upper = ([_band(one.over_n)[end] for one in found] for end in (0, 1))
    outline = [*zip(epsilons, upper, strict=True), *reversed(list(zip(epsilons, lower, strict=True)))]
    middle = [point(float(one.epsilon), one.over_n.mean) for one in found]
    words = "; ".join(f"epsilon {upward_text(one.epsilon)}: {one.over_n.mean:.3g}" for one in found)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {SVG_HEIGHT}" font-family="sans-serif" '
        f'font-size="13" role="img" aria-label="{escape(PLOT_TITLE)}">',
        f"<title>{escape(PLOT_TITLE)}</title><desc>{escape(words)}</desc>",
        f'<rect width="{WIDTH}" height="{SVG_HEIGHT}" fill="white"/>',
        f'<polygon points="{" ".join(point(*each) for each in outline)}" fill="{BAND}" stroke="{BAND}"/>',
        f'<polyline points="{" ".join(middle)}" fill="none" stroke="{LINE}" stroke-width="2"/>',
        *(f'<circle cx="{x}" cy="{y}" r="4" fill="{LINE}"/>' for x, y in (each.split(",") for each in middle)),
        *_words(found, middle),
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _band(error: ErrorDistribution) -> tuple[float, float]:
    return error.at_most(LOW), error.at_most(HIGH)


def _words(found: Sequence[PlanForecast], places: Sequence[str]) -> Iterator[str]:
    """Title, axes and figures."""
    yield _text(LEFT, 24, PLOT_TITLE, "start")
    yield _text(LEFT, 42, "band: 9 of 10 releases; both axes logarithmic; estimated", "start")
    base = SVG_HEIGHT - BOTTOM
    yield f'<path d="M{LEFT} {TOP}V{base}H{WIDTH - RIGHT}" fill="none" stroke="{INK}"/>'
    yield _text(WIDTH / 2, SVG_HEIGHT - 10, "epsilon", "middle")
    for one, place in zip(found, places, strict=True):
        x, y = map(float, place.split(","))
        yield _text(x, base + 18, upward_text(one.epsilon), "middle")
        yield _text(LEFT - 8, y + 4, f"{one.over_n.mean:.3g}", "end")


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" text-anchor="{anchor}">{escape(words)}</text>'
