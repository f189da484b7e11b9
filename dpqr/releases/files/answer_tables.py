"""Answers of several blocks as one tidy table, and as a file of the form that its name says."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from msgspec import Struct
from pyarrow import parquet

from dpqr.domain.periods import PeriodTree
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.releases.answers.answered import DETAIL, AnsweredBlock, Blocks, Earlier, add_periods, answered_block
from dpqr.releases.answers.answered import FIGURES as HELD
from dpqr.releases.answers.errors import BASES
from dpqr.releases.files.atomic import RECORD, SingleFile, reserve_file
from dpqr.releases.files.formats import ENDINGS, FORMATS, TableFormat, files_of, listed_endings, write_table
from dpqr.releases.files.read_release import (
    BlockEntry,
    ReleaseFiles,
    block_entries,
    read_blocks,
    read_figures,
    with_later_columns,
)
from dpqr.releases.files.release_files import ANSWER_COLUMNS, BASIS, CUMULATIVE, FIGURE_COLUMNS, NUMBERS
from dpqr.releases.files.tidy import FIGURES, NO_TEXT, Column, Texts, Tidy, free_column_name
from dpqr.releases.result import FinishedRun

if TYPE_CHECKING:
    import pandas as pd


def answered_table(blocks: Sequence[AnsweredBlock], own: Sequence[str] = ANSWER_COLUMNS) -> Tidy:
    """The answers of some blocks, one row an answer, with the columns of a release's file of answers; of no block, no
    row.

    own: as `named_cells`."""
    columns, rows = named_cells(blocks, own), sum(block.rows for block in blocks)
    for name, held in zip(FIGURES, HELD, strict=True):
        columns[name] = np.concatenate([np.empty(0), *(getattr(block, held) for block in blocks)]) + 0.0
    basis = [np.empty(0, dtype=np.int8), *(block.basis for block in blocks)]
    columns[BASIS] = Texts(np.concatenate(basis), BASES)
    return Tidy(rows, columns)


def named_cells(blocks: Sequence[AnsweredBlock], own: Sequence[str]) -> dict[str, Column]:
    """What each answer of some blocks is about: the query's name, a column for each attribute, the detail.

    own: the columns of the table that no attribute may be called like."""
    rows, names = sum(block.rows for block in blocks), [block.name for block in blocks]
    columns: dict[str, Column] = {"query": Texts(np.repeat(np.arange(len(blocks)), [b.rows for b in blocks]), names)}
    cells = dict.fromkeys(column.name for block in blocks for column in block.columns if column.name != DETAIL)
    for name in (*cells, DETAIL):
        # One column of cells, with nothing where a block sums over it.
        titles: dict[str, int] = {}
        places, start = np.full(rows, NO_TEXT), 0
        for block in blocks:
            for column in block.columns:
                if column.name == name:
                    known = np.array([titles.setdefault(text, len(titles)) for text in column.texts], dtype=np.int64)
                    places[start : start + block.rows] = known[column.places]
            start += block.rows
        columns[name if name == DETAIL else free_column_name(own, name)] = Texts(places, list(titles))
    return columns


class TablePlace(Struct, frozen=True, kw_only=True):
    """A free place for one table, and its form."""

    file: SingleFile
    form: TableFormat

    def write(self, table: Tidy) -> None:
        """Raises: UsageFault."""
        self.file.write(partial(write_table, table, form=self.form))


class AnswersFile(Struct, frozen=True, kw_only=True):
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
    form = next((each for each in FORMATS if each == ending), None)
    if form is None:
        raise UsageFault(f"--out {given}: the ending says the form: {listed_endings()}")
    return TablePlace(file=reserve_file(given), form=form)


def answers_file(given: str) -> AnswersFile:
    """Places by the name of the first one: NAME.csv and NAME.figures.csv. Raises: as `table_place`."""
    answers, path = table_place(given), Path(given)
    figures = str(path.with_name(f"{path.stem}.figures{path.suffix}"))
    return AnswersFile(answers=answers, figures=table_place(figures))


def figures_of(records: Sequence[Mapping[str, Any]]) -> Tidy:
    """Rows of tables of figures as one table."""
    names = list(dict.fromkeys(name for one in records for name in one))
    ordered = [
        *(name for name in FIGURE_COLUMNS[:2] if name in names),
        *(name for name in names if name not in FIGURE_COLUMNS),
    ]
    ordered += [name for name in FIGURE_COLUMNS[2:] if name in names]
    columns: dict[str, Column] = {}
    for name in ordered:
        values = [one.get(name) for one in records]
        if name in NUMBERS:
            columns[name] = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
            continue
        titles = list(dict.fromkeys(value for value in values if value is not None))
        columns[name] = Texts(np.array([NO_TEXT if value is None else titles.index(value) for value in values]), titles)
    return Tidy(len(records), columns)


# The cumulative answers of a counter as a file beside its answers, and read back for the next release.

Pair = tuple[str, str]
"""The columns of an answer and of its error."""
CUMULATIVE_COLUMNS: Pair = ("estimate", "error")
EARLIER: Pair = ("earlier", "earlier_error")


def cumulative_table(release: FinishedRun) -> Tidy | None:
    """The cumulative answers of a counter's release; None: it is of no counter.

    Columns: those of its answers; what was added to the answers of the rows that were read (`EARLIER`); and, for later
    releases, the counts up to the last multiple of base^j, for each level j above 0 (`_handed`). 0 for no period.

    Privacy:
        Post-processing.
    """
    turn = release.plan.problem.turn
    if turn is None:
        return None
    tree, domain = turn.counter.tree, release.plan.problem.domain
    earlier = (release.earlier or Earlier()).counts
    own = tuple(answered_block(each, domain) for each in release.answers)
    blocks = add_periods(own, earlier.get(turn.level))
    table = answered_table(blocks, _columns(tree))
    parts = {EARLIER: earlier.get(turn.level)}
    parts |= {_handed(level): blocks if level <= turn.level else earlier.get(level) for level in _levels(tree)}
    columns = dict(table.columns)
    for pair, held in parts.items():
        for name, figure in zip(pair, CUMULATIVE_COLUMNS, strict=True):
            columns[name] = (
                np.zeros(table.rows)
                if held is None
                else np.concatenate([getattr(block, figure) for block in held]) + 0.0
            )
    return Tidy(table.rows, columns)


def read_cumulative(
    files: ReleaseFiles, tree: PeriodTree, wanted: Sequence[BlockEntry], pair: Pair = CUMULATIVE_COLUMNS
) -> Blocks:
    """The cumulative answers of some blocks, or another pair of columns in their place.

    Args:
        tree: of the counter.

    Raises:
        DocumentError: there are none, or they are damaged.
    """
    own = _columns(tree)

    def shown(table: pa.Table) -> pa.Table:
        for name, held in zip(CUMULATIVE_COLUMNS, pair, strict=True):
            table = table.set_column(table.column_names.index(name), name, table[held].cast(pa.float64()))
        return table.drop_columns([name for name in own if name not in ANSWER_COLUMNS])

    return tuple(read_blocks(files, wanted, CUMULATIVE, own, shown))


def handed_on(files: ReleaseFiles, tree: PeriodTree, number: int) -> dict[int, Blocks]:
    """The counts that release `number` of a counter hands on, by level. Raises: as `read_cumulative`."""
    pairs = {0: CUMULATIVE_COLUMNS} | {level: _handed(level) for level in _levels(tree)}
    return _read(files, tree, {level: pair for level, pair in pairs.items() if number >= tree.base**level})


def handed_over(files: ReleaseFiles, tree: PeriodTree, number: int) -> dict[int, Blocks]:
    """The counts that release `number` was handed itself, as far as it has used them or hands them on. Raises: as
    `read_cumulative`."""
    own = tree.level(number)
    pairs = {own: EARLIER} | {level: _handed(level) for level in _levels(tree) if level > own}
    return _read(files, tree, {level: pair for level, pair in pairs.items() if number > tree.base**level})


def _read(files: ReleaseFiles, tree: PeriodTree, pairs: Mapping[int, Pair]) -> dict[int, Blocks]:
    entries = block_entries(files)
    return {level: read_cumulative(files, tree, entries, pair) for level, pair in pairs.items()}


def _levels(tree: PeriodTree) -> range:
    return range(1, tree.levels)


def _handed(level: int) -> Pair:
    return f"level_{level}", f"level_{level}_error"


def _columns(tree: PeriodTree) -> tuple[str, ...]:
    return (*ANSWER_COLUMNS, *EARLIER, *(name for level in _levels(tree) for name in _handed(level)))


# Answers as a pandas DataFrame, from a release or from its files.

DETAIL_COLUMN = "detail"
_ANSWERS = re.compile(rf"(rehearsal-)?answers\.({ENDINGS})")
_CUMULATIVE = re.compile(rf"(rehearsal-)?cumulative\.({ENDINGS})")
_SYNTHETIC = re.compile(r"(rehearsal-)?synthetic\.parquet")


def answers_frame(table: Tidy) -> pd.DataFrame:
    """The columns of `table` in their order: texts as categoricals, ordered as the domain and the workload order them,
    figures as floats. Details, which describe and do not count, are texts."""
    import pandas as pd

    columns: dict[str, object] = {}
    for name, column in table.columns.items():
        if not isinstance(column, Texts):
            columns[name] = column
        elif name == DETAIL_COLUMN:
            columns[name] = column.shown(str, None).rows()
        else:
            places = np.asarray(column.places)
            titles = list(column.titles)
            columns[name] = pd.Categorical.from_codes(places, categories=titles, ordered=name != BASIS)
    return pd.DataFrame(columns)


def read_answers_frame(files: ReleaseFiles) -> pd.DataFrame:
    """The same from the files of a release. A category stands where it first occurs, which is the domain's order: a
    block lists the cells of each of its columns in that order.

    Raises: DocumentError where the answers cannot be read.
    """
    return _read_frame(files, _listed(files, _ANSWERS, "answers"))


def read_cumulative_frame(files: ReleaseFiles) -> pd.DataFrame:
    """The cumulative answers of a counter, in the same way. Raises: DocumentError."""
    return _read_frame(files, _listed(files, _CUMULATIVE, "cumulative answers"))


def _read_frame(files: ReleaseFiles, path: Path) -> pd.DataFrame:
    """All columns behind `basis` are figures, too."""
    import pandas as pd

    try:
        form = files_of(path)
        table = with_later_columns(form.read(path))
        files.require_unchanged(path.name)
        names = table.column_names
        figures = {*FIGURES, *names[names.index(BASIS) + 1 :]}
        columns: dict[str, object] = {}
        for name in names:
            if name in figures:
                columns[name] = table[name].cast(pa.float64()).to_numpy()
                continue
            texts = table[name].to_pylist()
            labels = {text: form.label(text) for text in dict.fromkeys(texts) if text is not None}
            shown = [labels.get(text) for text in texts]
            if name == BASIS:
                columns[name] = pd.Categorical(shown, categories=BASES)
            elif name == DETAIL_COLUMN:
                columns[name] = shown
            else:
                columns[name] = pd.Categorical(shown, categories=list(labels.values()), ordered=True)
        return pd.DataFrame(columns)
    except (OSError, ValueError, pa.ArrowException):
        raise DocumentError(f"{path}: cannot be read as answers; release again, or restore it") from None


def plain_frame(table: Tidy) -> pd.DataFrame:
    """Texts as they are, nothing as None; numbers as numbers."""
    import pandas as pd

    return pd.DataFrame(
        {
            name: pd.Series(column.shown(str, None).rows(), dtype=object) if isinstance(column, Texts) else column
            for name, column in table.columns.items()
        }
    )


def read_figures_frame(files: ReleaseFiles) -> pd.DataFrame:
    """The figures from the files of a release; empty where it has none. Raises: DocumentError."""
    import pandas as pd

    records = read_figures(files)
    kinds = {name: float if name in NUMBERS else object for name in (records[0] if records else FIGURE_COLUMNS)}
    columns = {name: pd.Series([one[name] for one in records], dtype=kind) for name, kind in kinds.items()}
    return pd.DataFrame(columns)


def synthetic_frame(table: Any) -> pd.DataFrame:
    """Synthetic rows or cells: categoricals are ordered as the domain is."""
    frame: pd.DataFrame = table.to_pandas()
    for name in frame.columns[frame.dtypes == "category"]:
        frame[name] = frame[name].cat.as_ordered()
    return frame


def read_synthetic_frame(files: ReleaseFiles) -> pd.DataFrame:
    """The same from the files of a release. Raises: DocumentError."""
    path = _listed(files, _SYNTHETIC, "synthetic data")
    try:
        table = parquet.read_table(os.fspath(path))
        files.require_unchanged(path.name)
        return synthetic_frame(table)
    except (OSError, pa.ArrowException):
        raise DocumentError(f"{path}: cannot be read as synthetic data; release again, or restore it") from None


def _listed(files: ReleaseFiles, form: re.Pattern[str], what: str) -> Path:
    """The file of that form, of a release or of a rehearsal."""
    name = next((each for each in files.record["files"] if form.fullmatch(str(each))), None)
    if name is None:
        raise DocumentError(f"{files.path / RECORD}: lists no {what}; make the release with them")
    return files.path / str(name)
