"""Curves: cumulative answers as steps over their thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from dpqr.construction.answers.answered import DETAIL, AnsweredBlock
from dpqr.construction.answers.intervals import FACTOR
from dpqr.data.arrays import FloatArray, IntArray
from dpqr.errors import UsageFault
from dpqr.report.answers_view import more_words
from dpqr.report.charts.bars import shading
from dpqr.report.digits import answer_texts
from dpqr.report.wording import plain

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


UNICODE = Pen(flat="─", riser="│", foot="┘", head="┌", drop="┐", base="└", axis="│", corner="└", shade="░")
ASCII = Pen(flat="-", riser="|", foot="+", head="+", drop="+", base="+", axis="|", corner="+", shade=":")


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
        pen = ASCII if options.ascii_only else UNICODE
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
