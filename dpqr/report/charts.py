"""Bars: answers as lengths beside their intervals, fitted to the width of the screen, in the signs that it can show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from xml.sax.saxutils import escape

import numpy as np
from msgspec import Struct
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
from dpqr.releases.answers.answered import DETAIL, AnsweredBlock
from dpqr.releases.answers.errors import FACTOR
from dpqr.releases.forecast.simulation import ErrorDistribution, PlanForecast
from dpqr.report.answers import (
    GAP,
    LONGEST_WORD,
    UNKNOWN,
    CellColumns,
    FittedTable,
    answer_texts,
    longest_word,
    lower_texts,
    more_words,
    plain_table,
    upper_texts,
)

SHORTEST = 10
"""Columns of text that a bar keeps on the narrowest screen."""


class Signs(Struct, frozen=True, kw_only=True):
    """What a bar is drawn with. inside: its part within the interval; beyond: the interval behind its end."""

    bar: str
    inside: str
    beyond: str


UNICODE, ASCII = Signs(bar="█", inside="▓", beyond="░"), Signs(bar="#", inside="=", beyond="-")


class Bar(Struct, frozen=True, kw_only=True):
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
        text = ""
        for middle in middles.tolist():
            filled = min(self.value, 0) <= middle <= max(self.value, 0)
            if self.lower <= middle <= self.upper:
                text += signs.inside if filled else signs.beyond
            else:
                text += signs.bar if filled else " "
        yield Segment(text.rstrip(), Style(color="cyan"))
        yield Segment.line()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(SHORTEST, options.max_width)


def bars_view(block: AnsweredBlock, rows: int) -> RenderableType:
    """The first `rows` answers of a block as bars of one scale, and how to get the others."""
    shown = block.first(rows)
    estimates = answer_texts(shown.estimate, shown.precision)
    ends = zip(lower_texts(shown.lower, shown.spread), upper_texts(shown.upper, shown.spread), strict=True)
    intervals = [f"{low} to {high}" if low else "" for low, high in ends]
    # One scale that holds every answer, every interval, and nothing.
    figures = np.concatenate([shown.estimate, shown.lower, shown.upper, [0.0]])
    least, most = float(np.nanmin(figures)), float(np.nanmax(figures))
    columns: tuple[FloatArray, ...] = (shown.estimate, shown.lower, shown.upper)
    bars = [
        Bar(low=least, high=most if most > least else least + 1, value=value, lower=lower, upper=upper)
        for value, lower, upper in zip(*(column.tolist() for column in columns), strict=True)
    ]

    def made(apart: bool, _: Sequence[str]) -> Table:
        table, cells = plain_table(expand=True), CellColumns(shown, apart)
        cells.add(table)
        table.add_column("estimate", justify="right", no_wrap=True)
        if shown.certain:
            table.add_column("95% interval", justify="right", no_wrap=True)
        table.add_column("", ratio=1, no_wrap=True)
        for row, bar in enumerate(bars):
            certain = [Text(intervals[row])] if shown.certain else []
            table.add_row(*cells.row(row), Text(estimates[row]), *certain, bar)
        return table

    return Group(FittedTable(made), *more_words(block.rows - rows), shading(shown))


def shading(block: AnsweredBlock) -> Text:
    """What the shades of this block's intervals mean."""
    estimated = "estimated " if block.estimated else ""
    words = f"shaded: {estimated}95% interval for the true answer of the rows used, one by one"
    return Text(words if block.certain else UNKNOWN, style="dim")


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
    # The rows of each map, by the cells of its leading columns.
    places: dict[tuple[str, ...], list[int]] = {}
    for row in range(shown.rows):
        places.setdefault(shown.cells(row)[:-2], []).append(row)
    names = [column.name for column in shown.columns[:-2]]
    maps = [
        _Map(shown, ", ".join(f"{name}={cell}" for name, cell in zip(names, cells, strict=True)), own, texts, levels)
        for cells, own in places.items()
    ]
    return Group(*maps, *more_words(block.rows - rows), Text(LEGEND, style="dim"))


class _Map(Struct, frozen=True, eq=False):
    """One map. Where the screen is too narrow for all columns, the others follow below."""

    block: AnsweredBlock
    title: str
    rows: list[int]
    texts: list[str]
    levels: list[int]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        down, across = self.block.columns[-2:]
        cells = {(down.places[row], across.places[row]): row for row in self.rows}
        # Columns of text for the names of the lines: short ones stand on one line, words are never broken.
        shown = [plain(text) for text in (down.name, *down.texts)]
        label = min(max(*map(longest_word, shown), min(max(map(cell_len, shown)), LABEL)), LONGEST_WORD)
        taken = list(dict.fromkeys(across.places[self.rows].tolist()))
        room, shades = options.max_width - label, ASCII_SHADES if options.ascii_only else SHADES
        if self.title:
            yield Text(f"\n{plain(self.title)}", style="bold")
        while taken:
            # How many of the first columns fit.
            widths = [self._width(place) for place in taken]
            count = max(int((np.cumsum([GAP + width for width in widths]) <= room).sum()), 1)
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
            # Figures on the right of their columns, each with its shade.
            figures = []
            for place in taken:
                row = cells.get((line, place))
                shaded = (
                    ()
                    if row is None
                    else (f"{self.texts[row]:>{self._width(place) - 3}} ", (shades[self.levels[row]] * 2, "cyan"))
                )
                figures.append(Text.assemble(*shaded))
            table.add_row(Text(plain(down.texts[line])), *figures)
        return table


# Curves: cumulative answers as steps over their thresholds.

ADDED = "shaded: estimated 95% interval, the errors of the answers added up"
HEIGHT, NARROWEST = 9, 20
"""Lines of a curve (odd: one is in the middle), and the fewest columns of text."""


class Pen(Struct, frozen=True, kw_only=True):
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


class Curve(Struct, frozen=True, kw_only=True, eq=False):
    """Steps over the width of the screen. values, lower, upper: by threshold, shape (steps,), NaN for no interval."""

    title: str
    names: tuple[str, ...]
    values: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def top(self) -> float:
        return float(np.nanmax([*self.values, *self.upper, 0.0]))


class Drawing(Struct, frozen=True, kw_only=True, eq=False):
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
        # As many names of thresholds as fit, each where its step begins.
        named = ""
        starts = np.searchsorted(_steps(width, len(self.curve.names)), np.arange(len(self.curve.names))).tolist()
        for start, name in zip(starts, map(plain, self.curve.names), strict=True):
            if (not named or start > len(named) + 1) and start + len(name) <= width:
                named = f"{named:<{start}}{name}"
        yield Text(f"{'':>{margin}}  {named}")

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
            now = levels[step]
            if now == before:
                canvas[now][column] = pen.flat
                continue
            for line in range(min(now, before) + 1, max(now, before)):
                canvas[line][column] = pen.riser
            canvas[before][column] = pen.foot if now < before else pen.drop
            canvas[now][column] = pen.head if now < before else pen.base
            before = now
        return canvas

    def _lines(self, values: FloatArray) -> list[int]:
        """The line of each value."""
        shares = np.clip(np.nan_to_num(values) / self.high, 0.0, 1.0)
        return [round((1 - share) * (HEIGHT - 1)) for share in shares.tolist()]


def _steps(width: int, count: int) -> IntArray:
    """Which threshold each column of text belongs to."""
    return np.arange(width, dtype=np.int64) * count // width


def curve_view(block: AnsweredBlock, rows: int) -> RenderableType:
    """The first `rows` answers of a block as cumulative curves on one scale, one for every combination of its columns
    but the last. Raises: UsageFault where the last one has no order."""
    shown = block.first(rows)
    # The answers are cumulative already, or are to be added up.
    last = shown.columns[-1] if shown.columns else None
    prefix = last is not None and last.name == DETAIL and all(text.startswith("<") for text in last.texts)
    if last is None or not (prefix or last.ordered):
        raise UsageFault(f"--as curve: {shown.name!r} has no order to add up in; --as bars shows it")
    # A curve for every combination of the other columns. The error of a sum is at most the sum of the errors, however
    # they depend on each other.
    places: dict[tuple[str, ...], list[int]] = {}
    for row in range(shown.rows):
        if prefix or last.places[row] < len(last.texts) - last.own:
            places.setdefault(shown.cells(row)[:-1], []).append(row)
    curves = []
    for cells, own in places.items():
        values, margin = np.cumsum(shown.estimate[own]), FACTOR * np.cumsum(shown.error[own])
        curve = Curve(
            title=", ".join(f"{column.name}={cell}" for column, cell in zip(shown.columns, cells, strict=False)),
            names=tuple(last.texts[last.places[row]] for row in own),
            values=shown.estimate[own] if prefix else values,
            lower=shown.lower[own] if prefix else values - margin,
            upper=shown.upper[own] if prefix else values + margin,
        )
        curves.append(curve)
    high = max((curve.top for curve in curves), default=0.0) or 1.0
    legend = [shading(shown)] if prefix and shown.certain else [Text(ADDED, style="dim")] if shown.erring else []
    return Group(*(Drawing(curve=curve, high=high) for curve in curves), *more_words(block.rows - rows), *legend)


# Plots of forecasts: error against epsilon, both logarithmic, in the terminal and as SVG.

LINES, NARROWEST_PLOT, WIDEST, MARGIN = 9, 20, 64, 9
"""Lines of a plot in the terminal, its fewest and most columns, and those of its labels."""
PLOT_TITLE = "forecast error: mean L1 / n of the queries, by epsilon"
LOW, HIGH = Fraction(5, 100), Fraction(95, 100)
TINY = 1e-300


class LogScale(Struct, frozen=True, kw_only=True):
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


class MarksPlot(Struct, frozen=True, kw_only=True):
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
    base = SVG_HEIGHT - BOTTOM
    words = "; ".join(f"epsilon {upward_text(one.epsilon)}: {one.over_n.mean:.3g}" for one in found)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {SVG_HEIGHT}" font-family="sans-serif" '
        f'font-size="13" role="img" aria-label="{escape(PLOT_TITLE)}">',
        f"<title>{escape(PLOT_TITLE)}</title><desc>{escape(words)}</desc>",
        f'<rect width="{WIDTH}" height="{SVG_HEIGHT}" fill="white"/>',
        f'<polygon points="{" ".join(point(*each) for each in outline)}" fill="{BAND}" stroke="{BAND}"/>',
        f'<polyline points="{" ".join(middle)}" fill="none" stroke="{LINE}" stroke-width="2"/>',
        *(f'<circle cx="{x}" cy="{y}" r="4" fill="{LINE}"/>' for x, y in (each.split(",") for each in middle)),
        _text(LEFT, 24, PLOT_TITLE, "start"),
        _text(LEFT, 42, "band: 9 of 10 releases; both axes logarithmic; estimated", "start"),
        f'<path d="M{LEFT} {TOP}V{base}H{WIDTH - RIGHT}" fill="none" stroke="{INK}"/>',
        _text(WIDTH / 2, SVG_HEIGHT - 10, "epsilon", "middle"),
    ]
    for one, place in zip(found, middle, strict=True):
        x, y = map(float, place.split(","))
        parts.append(_text(x, base + 18, upward_text(one.epsilon), "middle"))
        parts.append(_text(LEFT - 8, y + 4, f"{one.over_n.mean:.3g}", "end"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _band(error: ErrorDistribution) -> tuple[float, float]:
    return error.at_most(LOW), error.at_most(HIGH)


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" text-anchor="{anchor}">{escape(words)}</text>'
