"""Answers of several blocks as one tidy table, and as a file of the form that its name says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from dpqr.construction.answers.answered import DETAIL, AnsweredBlock
from dpqr.construction.answers.answered import FIGURES as HELD
from dpqr.construction.answers.intervals import BASES
from dpqr.errors import UsageFault
from dpqr.io.outputs.answer_tables.figures_table import NUMBERS, OWN
from dpqr.io.outputs.answer_tables.table_files import TableFormat, write_table
from dpqr.io.outputs.answer_tables.tidy import NOTHING, Column, Texts, Tidy, beside
from dpqr.io.outputs.atomic import SingleFile, reserve_file
from dpqr.io.outputs.releases.release_files import BASIS, FIGURES, OWN_COLUMNS


def answered_table(blocks: Sequence[AnsweredBlock], own: Sequence[str] = OWN_COLUMNS) -> Tidy:
    """The answers of some blocks, one row an answer, with the columns of a release's file of answers.

    own: as `named_cells`."""
    columns, rows = named_cells(blocks, own), sum(block.rows for block in blocks)
    for name, held in zip(FIGURES, HELD, strict=True):
        columns[name] = np.concatenate([getattr(block, held) for block in blocks]) + 0.0
    columns[BASIS] = Texts(np.concatenate([block.basis for block in blocks]), BASES)
    return Tidy(rows, columns)


def named_cells(blocks: Sequence[AnsweredBlock], own: Sequence[str]) -> dict[str, Column]:
    """What each answer of some blocks is about: the query's name, a column for each attribute, the detail.

    own: the columns of the table that no attribute may be called like."""
    rows, names = sum(block.rows for block in blocks), [block.name for block in blocks]
    columns: dict[str, Column] = {"query": Texts(np.repeat(np.arange(len(blocks)), [b.rows for b in blocks]), names)}
    cells = dict.fromkeys(column.name for block in blocks for column in block.columns if column.name != DETAIL)
    for name in (*cells, DETAIL):
        columns[name if name == DETAIL else beside(own, name)] = _texts(name, blocks, rows)
    return columns


def _texts(name: str, blocks: Sequence[AnsweredBlock], rows: int) -> Texts:
    """One column of cells, with nothing where a block sums over it."""
    titles: dict[str, int] = {}
    places, start = np.full(rows, NOTHING), 0
    for block in blocks:
        for column in block.columns:
            if column.name == name:
                known = np.array([titles.setdefault(text, len(titles)) for text in column.texts], dtype=np.int64)
                places[start : start + block.rows] = known[column.places]
        start += block.rows
    return Texts(places, list(titles))


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlace:
    """A free place for one table, and its form."""

    file: SingleFile
    form: TableFormat

    def write(self, table: Tidy) -> None:
        """Raises: UsageFault."""
        self.file.write(partial(write_table, table, form=self.form))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersFile:
    """Free places for answers, and for figures beside them."""

    answers: TablePlace
    figures: TablePlace

    def write(self, blocks: Sequence[AnsweredBlock], figures: Tidy) -> None:
        """Write what there is of both. Raises: UsageFault."""
        for place, table in ((self.answers, answered_table(blocks) if blocks else None), (self.figures, figures)):
            if table is not None and table.rows:
                place.write(table)


def table_place(given: str) -> TablePlace:
    """A place whose ending says its form. UsageFault for an ending that names none; as `reserve_file`."""
    ending = Path(given).suffix.removeprefix(".").lower()
    forms: tuple[TableFormat, ...] = get_args(TableFormat)
    form = next((each for each in forms if each == ending), None)
    if form is None:
        raise UsageFault(f"--out {given}: the ending says the form: .csv, .parquet or .json")
    return TablePlace(file=reserve_file(given), form=form)


def answers_file(given: str) -> AnswersFile:
    """Places by the name of the first one: NAME.csv and NAME.figures.csv. Raises: as `table_place`."""
    path = Path(given)
    figures = str(path.with_name(f"{path.stem}.figures{path.suffix}"))
    return AnswersFile(answers=table_place(given), figures=table_place(figures))


def figures_of(records: Sequence[Mapping[str, Any]]) -> Tidy:
    """Rows of tables of figures as one table."""
    names = list(dict.fromkeys(name for one in records for name in one))
    ordered = [*(name for name in OWN[:2] if name in names), *(name for name in names if name not in OWN)]
    ordered += [name for name in OWN[2:] if name in names]
    columns: dict[str, Column] = {}
    for name in ordered:
        values = [one.get(name) for one in records]
        if name in NUMBERS:
            columns[name] = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
            continue
        titles = list(dict.fromkeys(value for value in values if value is not None))
        columns[name] = Texts(np.array([NOTHING if value is None else titles.index(value) for value in values]), titles)
    return Tidy(len(records), columns)
