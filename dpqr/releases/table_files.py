"""Tables on disk, in any format; and the table of figures: means, quantiles, ratios and the like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import IntArray
from dpqr.releases.answers.errors import BASES
from dpqr.releases.answers.figures import FigureAnswers
from dpqr.releases.formats.known import FORMATS, TableFormat
from dpqr.releases.result import FinishedRun
from dpqr.releases.tidy import NO_TEXT, Column, Row, Texts, Tidy, free_column_name
from dpqr.workload.figures import Largest, Quantiles


def write_table(table: Tidy, path: Path, form: TableFormat) -> None:
    """Write a table to a new file. Raises: OSError, for the caller to name the path."""
    FORMATS[form].files.write(iter((table,)), path)


# The table of figures: means, quantiles, ratios and the like, one row for each value of each group.

NUMBERS = ("estimate", "error", "lower", "upper")
FIGURE_COLUMNS = ("figure", "kind", "detail", *NUMBERS, "basis", "flag")
FLAGS = ("small denominator", "sure")
"""The interval is all that a table can give; the cell is among the k largest by its interval."""


def figures_table(release: FinishedRun) -> Tidy:
    """The figures of a release, in the order of the workload, as `table_of_figures`."""
    return table_of_figures(release.figures, release.plan.problem.domain)


def table_of_figures(held: Sequence[FigureAnswers], domain: Domain) -> Tidy:
    """Figures over a domain, in their order.

    figure: its name. kind: of the entry. One column for every attribute that groups some figure, in domain order.
    detail: the part of a quantile, or the cell of a largest count. estimate, error, lower, upper, basis: as of answers;
    nothing for an end that is unbounded.
    flag: one of FLAGS.

    Privacy:
        Post-processing of a release.
    """
    if not held:
        return Tidy(
            0,
            {
                name: np.zeros(0) if name in NUMBERS else Texts(np.zeros(0, dtype=np.int64), ())
                for name in FIGURE_COLUMNS
            },
        )
    axes = sorted({axis for one in held for axis in one.figure.by})
    sizes = [one.estimate.size for one in held]
    columns: dict[str, Column] = {
        "figure": Texts(np.repeat(np.arange(len(held)), sizes), [one.figure.name for one in held]),
        "kind": Texts(np.repeat(np.arange(len(held)), sizes), [one.figure.kind for one in held]),
    }
    for axis in axes:
        places = [_groups(one, axis, domain.shape) for one in held]
        columns[free_column_name(FIGURE_COLUMNS, domain.attributes[axis].name)] = Texts(
            _joined(places), domain.attributes[axis].titles()
        )
    titles: list[str] = []
    rows_of = []
    for one in held:
        match one.figure.formula:
            case Quantiles(at=at):
                own = [f"{float(part):g}" for part in at]
            case Largest(titles=listed):
                own = list(listed)
            case _:
                own = []
        cells = np.arange(one.estimate.shape[1]) if one.cells is None else one.cells
        rows = np.broadcast_to(cells, one.estimate.shape).reshape(-1)
        rows_of.append(rows + len(titles) if own else np.full(rows.shape, NO_TEXT))
        titles += own
    columns["detail"] = Texts(_joined(rows_of), titles)
    for name in NUMBERS:
        figures = np.concatenate([getattr(one, name).reshape(-1) for one in held]) + 0.0
        columns[name] = np.where(np.isinf(figures), np.nan, figures)
    columns["basis"] = Texts(_joined([one.basis.reshape(-1) for one in held]), BASES)
    flags = [np.where(one.small, 0, np.where(one.sure, 1, NO_TEXT)).reshape(-1) for one in held]
    columns["flag"] = Texts(_joined(flags), FLAGS)
    return Tidy(sum(sizes), columns)


def figure_records(release: FinishedRun) -> list[Row]:
    """The same rows as plain dicts, for JSON."""
    return figures_table(release).records()


def _joined(parts: list[Any]) -> IntArray:
    return np.concatenate(parts).astype(np.int64)


def _groups(one: FigureAnswers, axis: int, shape: tuple[int, ...]) -> IntArray:
    """The cell of an attribute for every value of a figure; NO_TEXT where it makes no groups of it."""
    by, values = one.figure.by, one.estimate.shape[1]
    if axis not in by:
        return np.full(one.estimate.size, NO_TEXT)
    codes = np.unravel_index(np.arange(one.figure.groups), [shape[each] for each in by])
    return np.repeat(codes[by.index(axis)], values)
