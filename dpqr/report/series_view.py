"""Series on a screen: each answer from point to point, as a table or as curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dpqr.construction.answers.answered import DETAIL, AnsweredBlock
from dpqr.construction.answers.intervals import FACTOR
from dpqr.construction.answers.series import Trend
from dpqr.data.arrays import FloatArray
from dpqr.report.answers_view import add_texts, heading, plain_table
from dpqr.report.charts.curve import Curve, Drawing
from dpqr.report.digits import answer_texts, error_texts
from dpqr.report.wording import plain

SeriesForm = Literal["table", "curve"]
MARK = "*"
LEGEND = (
    f"change: from the point before, with the errors of both; {MARK}: more than {FACTOR} of its errors",
    "error: standard error of the estimate",
)


def series_view(names: Sequence[str], trends: Sequence[Trend], form: SeriesForm = "table") -> RenderableType:
    """Every answer of every block at all points."""
    parts: list[RenderableType] = []
    for trend in trends:
        parts += [heading(trend.points[0]), (_table if form == "table" else _curves)(names, trend), Text("")]
    legend = LEGEND if form == "table" else ("shaded: 95% interval of each point, where there is one",)
    return Group(*parts, *(Text(line, style="dim") for line in legend))


def title(block: AnsweredBlock, row: int) -> str:
    """Which cells an answer is about; nothing where the query's name says it all."""
    pairs = zip(block.columns, block.cells(row), strict=True)
    return plain(", ".join(text if column.name == DETAIL else f"{column.name}={text}" for column, text in pairs))


def _table(names: Sequence[str], trend: Trend) -> Table:
    table = plain_table()
    if trend.points[0].columns:
        add_texts(table, "cells", (title(trend.points[0], row) for row in range(trend.rows)))
    add_texts(table, "point", map(plain, names))
    for name in ("estimate", "error", "change", "+-", ""):
        table.add_column(name, justify="right", no_wrap=True)
    for row in range(trend.rows):
        for place, cells in enumerate(_lines(trend, row)):
            about = [title(trend.points[0], row) if place == 0 else ""] if trend.points[0].columns else []
            table.add_row(*map(Text, (*about, plain(names[place]), *cells)))
    return table


def _lines(trend: Trend, row: int) -> list[tuple[str, ...]]:
    """The figures of one answer, point by point."""
    values, errors = (np.array([getattr(one, name)[row] for one in trend.points]) for name in ("estimate", "precision"))
    change, unsure = trend.change[:, row], trend.change_error[:, row]
    marks = [MARK if abs(moved) > FACTOR * error else "" for moved, error in zip(change, unsure, strict=True)]
    texts = (answer_texts(values, errors), error_texts(errors), answer_texts(change, unsure), error_texts(unsure))
    return list(zip(*texts, marks, strict=True))


def _curves(names: Sequence[str], trend: Trend) -> RenderableType:
    curves = [_curve(names, trend, row) for row in range(trend.rows)]
    high = max((curve.top for curve in curves), default=0.0) or 1.0
    return Group(*(Drawing(curve=curve, high=high) for curve in curves))


def _curve(names: Sequence[str], trend: Trend, row: int) -> Curve:
    def along(figure: str) -> FloatArray:
        return np.array([getattr(point, figure)[row] for point in trend.points])

    return Curve(
        title=title(trend.points[0], row),
        names=tuple(names),
        values=along("estimate"),
        lower=along("lower"),
        upper=along("upper"),
    )
