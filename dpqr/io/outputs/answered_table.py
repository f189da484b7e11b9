"""Answers of several blocks as one tidy table, and as a file of the form that its name says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np

from dpqr.construction.answered import DETAIL, AnsweredBlock
from dpqr.construction.answered import FIGURES as HELD
from dpqr.construction.intervals import BASES
from dpqr.errors import UsageFault
from dpqr.io.outputs.atomic import SingleFile, reserve_file
from dpqr.io.outputs.release_files import BASIS, FIGURES, OWN_COLUMNS
from dpqr.io.outputs.table_files import TableFormat, write_table
from dpqr.io.outputs.tidy import NOTHING, Column, Texts, Tidy, beside


def answered_table(blocks: Sequence[AnsweredBlock]) -> Tidy:
    """The answers of some blocks, one row an answer, with the columns of a release's file of answers."""
    rows, names = sum(block.rows for block in blocks), [block.name for block in blocks]
    columns: dict[str, Column] = {"query": Texts(np.repeat(np.arange(len(blocks)), [b.rows for b in blocks]), names)}
    cells = dict.fromkeys(column.name for block in blocks for column in block.columns if column.name != DETAIL)
    for name in (*cells, DETAIL):
        columns[name if name == DETAIL else beside(OWN_COLUMNS, name)] = _texts(name, blocks, rows)
    for name, held in zip(FIGURES, HELD, strict=True):
        columns[name] = np.concatenate([getattr(block, held) for block in blocks]) + 0.0
    columns[BASIS] = Texts(np.concatenate([block.basis for block in blocks]), BASES)
    return Tidy(rows, columns)


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


def answers_file(given: str) -> tuple[SingleFile, TableFormat]:
    """A place for answers, and their form. UsageFault for an ending that names no form; as `reserve_file`."""
    ending = Path(given).suffix.removeprefix(".").lower()
    forms: tuple[TableFormat, ...] = get_args(TableFormat)
    form = next((each for each in forms if each == ending), None)
    if form is None:
        raise UsageFault(f"--out {given}: the ending says the form: .csv, .parquet or .json")
    return reserve_file(given), form


def write_answers(blocks: Sequence[AnsweredBlock], place: SingleFile, form: TableFormat) -> None:
    """Write answers into a new file. Raises: UsageFault."""
    place.write(lambda path: write_table(answered_table(blocks), path, form))
