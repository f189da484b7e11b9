"""A series as one tidy table: one row an answer and point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpqr.construction.answers.series import Trend
from dpqr.io.outputs.answer_tables.answered_table import named_cells
from dpqr.io.outputs.answer_tables.tidy import Column, Texts, Tidy

FIGURES = ("estimate", "error", "lower", "upper")
CHANGES = ("change", "change_error")
OWN = ("query", "detail", "point", *FIGURES, *CHANGES)


def series_table(names: Sequence[str], trends: Sequence[Trend]) -> Tidy:
    """The answers of all blocks at all points.

    Columns: query, one for each attribute that some query keeps apart, detail, point (a period, or a release), the
    figures of the answer, its change from the point before, and the error of that.
    """
    points = [point for trend in trends for point in trend.points]
    columns = named_cells(points, OWN)
    blocks = np.repeat(np.arange(len(trends)), [trend.rows * len(names) for trend in trends])
    columns["query"] = Texts(blocks, [trend.name for trend in trends])
    places = [np.repeat(np.arange(len(names)), trend.rows) for trend in trends]
    columns["point"] = Texts(np.concatenate(places), list(names))
    for name in FIGURES:
        held = "precision" if name == "error" else name
        columns[name] = np.concatenate([getattr(point, held) for point in points]) + 0.0
    for name in CHANGES:
        columns[name] = np.concatenate([getattr(trend, name).reshape(-1) for trend in trends]) + 0.0
    return Tidy(len(blocks), _in_order(columns))


def _in_order(columns: dict[str, Column]) -> dict[str, Column]:
    """The point behind the query's name."""
    return {"query": columns["query"], "point": columns["point"], **columns}
