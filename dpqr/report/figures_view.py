"""Figures and views on a screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from dpqr.report.answers_view import add_texts, plain_table
from dpqr.report.digits import answer_texts, error_texts, lower_texts, upper_texts
from dpqr.report.wording import plain

NUMBERS = ("estimate", "error", "lower", "upper")
SAID = ("figure", "kind", "detail", *NUMBERS, "basis", "flag")
"""Columns that are no cells of groups."""
LEGEND = (
    "lower, upper: 95% interval, one by one; by whole bins for quantiles",
    "small denominator: the interval is all that a table can give; sure: among the largest by its interval",
)


def figure_texts(records: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Rows of the table of figures: name, cells, NUMBERS, basis and flag."""
    return [
        (plain(one["figure"]), _about(one), *each, one["basis"] or "", one["flag"] or "")
        for one, each in zip(records, _numbers(records), strict=True)
    ]


def legend(records: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """What their columns mean."""
    return LEGEND[: 2 if {one["flag"] for one in records} - {None} else 1]


def figures_view(records: Sequence[dict[str, Any]]) -> RenderableType:
    """Rows of the table of figures, as text for people."""
    rows = figure_texts(records)
    table = plain_table()
    add_texts(table, "figure", (row[0] for row in rows))
    add_texts(table, "cells", (row[1] for row in rows))
    for name in NUMBERS:
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("basis", "flag"):
        table.add_column(name)
    for row in rows:
        table.add_row(*map(Text, row))
    return Group(table, *(Text(line, style="dim") for line in legend(records)))


def views_view(records: Sequence[dict[str, Any]], bias: Sequence[str], base: int) -> RenderableType:
    """Rows of the table of views."""
    table = plain_table()
    said = ("query", "answer", "integer", "rounded", "mark")
    rows = [(plain(one["query"]), _cells(one, said)) for one in records]
    add_texts(table, "query", (row[0] for row in rows))
    add_texts(table, "cells", (row[1] for row in rows))
    for name in ("integer", f"by {base}"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("mark")
    for row, one in zip(rows, records, strict=True):
        table.add_row(*map(Text, (*row, f"{one['integer']:,}", f"{one['rounded']:,}", one["mark"] or "")))
    legend = [*bias, "unsure: the error of the answer is above a third of it"]
    return Group(table, *(Text(line, style="dim") for line in legend))


def _about(one: dict[str, Any]) -> str:
    cells = _cells(one, SAID)
    return ", ".join(filter(None, (cells, plain(one["detail"] or ""))))


def _cells(one: dict[str, Any], said: Sequence[str]) -> str:
    return plain(", ".join(f"{name}={text}" for name, text in one.items() if name not in said and text is not None))


def _numbers(records: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Estimate, error, lower and upper with the digits of their errors, figure by figure."""
    found: list[tuple[str, ...]] = []
    for name in dict.fromkeys(one["figure"] for one in records):
        own = [one for one in records if one["figure"] == name]
        values = {key: np.array([one[key] for one in own], dtype=float) for key in NUMBERS}
        wide = (values["upper"] - values["lower"]) / 4
        digits = np.where(np.isnan(values["error"]), wide, values["error"])
        columns = (
            answer_texts(values["estimate"], digits),
            [f"+-{text}" if text else "" for text in error_texts(values["error"])],
            lower_texts(values["lower"], digits),
            upper_texts(values["upper"], digits),
        )
        found += zip(*columns, strict=True)
    return found
