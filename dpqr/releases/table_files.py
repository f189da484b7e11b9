"""One tidy table as CSV, Parquet or JSON, with CSV texts that no spreadsheet takes for a formula."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

import msgspec
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import AnyArray, IntArray
from dpqr.releases.answers.errors import BASES
from dpqr.releases.answers.figures import FigureAnswers
from dpqr.releases.result import FinishedRun
from dpqr.workload.figures import Figure, Largest, Quantiles

_SIGNS = "=+-@"
_MINUS = "\u2212"
"""The mathematical minus sign, which no normalisation makes a hyphen and spreadsheets read as one."""
_BREAKS = "\t\r\n"
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters, marks and patterns that show nothing, and that Unicode does not count among spaces or formats."""
_INVISIBLE = ("Z", "C")
"""Unicode's categories of spaces and separators, and of controls, formats and what has no character."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def inert(text: str) -> str:
    """`text`, with an apostrophe before it where a spreadsheet would start to compute.

    Spreadsheets run a cell that begins with = + - @ as a formula, in their wide, small, raised and lowered forms too,
    and drop what they do not show before them: white space, controls, byte-order and direction marks. A text that
    begins with a tab or a line break is no better. Plain numbers ("-1", "+2.5e3") are left as they are: they compute
    nothing, and the labels of coded columns stay joinable. The rule is reversible: a text that begins with
    apostrophes and then such a sign gets one more, so whoever strips one apostrophe there has the label back. CSV
    only; Parquet and JSON hold labels as they are.
    """
    return "'" + text if _computes(text) and not _NUMBER.fullmatch(text) else text


def undo_inert(text: str) -> str:
    """The text that `inert` has made `text` of.

    >>> undo_inert(inert("=1+1")), undo_inert("'tis"), undo_inert(inert("'-x"))
    ('=1+1', "'tis", "'-x")
    """
    return text[1:] if text.startswith("'") and inert(text[1:]) == text else text


def _computes(text: str) -> bool:
    """Whether something that starts a formula comes first, apostrophes and what is not shown aside."""
    bare = text.lstrip("'")
    if bare[:1] and bare[0] in _BREAKS:
        return True
    first = next((sign for sign in text if sign != "'" and not _invisible(sign)), "")
    return bool(first) and (first == _MINUS or unicodedata.normalize("NFKC", first)[0] in _SIGNS)


def _invisible(sign: str) -> bool:
    return unicodedata.category(sign)[0] in _INVISIBLE or sign in _BLANKS or 0xFE00 <= ord(sign) <= 0xFE0F


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
TableFormat = Literal["csv", "parquet", "json"]

CHUNK = 2**10
"""Rows that are turned into text of a CSV file at a time."""


def write_table(table: Tidy, path: Path, form: TableFormat) -> None:
    """Write a table to a new file; see `write_tables`."""
    write_tables(iter((table,)), path, form)


def write_tables(tables: Iterator[Tidy], path: Path, form: TableFormat) -> None:
    """Write one or more tables of the same columns, row below row, to a new file. Equal tables give equal bytes.

    csv: UTF-8, texts quoted, nothing where there is nothing; texts that a spreadsheet would run are made inert
    (`inert`). parquet: texts as dictionaries. json: an array of records, one a line; nothing is null.
    Figures are the shortest decimals that read back as the same number.
    Raises: OSError, for the caller to name the path.
    """
    if form == "parquet":
        write_parquet(map(arrow_table, tables), path)
        return
    with path.open("w", encoding="utf-8", newline="\n") as file:
        (_write_csv if form == "csv" else _write_json)(tables, file)


def _write_csv(tables: Iterator[Tidy], file: TextIO) -> None:
    named = False
    for table in tables:
        if not named:
            file.write(",".join(map(_quoted, table.columns)) + "\n")
            named = True
        columns = [
            column.shown(_quoted, "") if isinstance(column, Texts) else column for column in table.columns.values()
        ]
        for start in range(0, table.rows, CHUNK):
            cells = [_cells(column, slice(start, start + CHUNK)) for column in columns]
            file.write("\n".join(map(",".join, zip(*cells, strict=True))) + "\n")


def _quoted(text: str) -> str:
    return '"' + inert(text).replace('"', '""') + '"'


def _cells(column: TextColumn | AnyArray, chosen: slice) -> list[str]:
    if isinstance(column, TextColumn):
        return column.rows(chosen)
    figures = column[chosen]
    texts = _figures(figures)
    for place in np.flatnonzero(np.isnan(figures)).tolist() if figures.dtype.kind == "f" else ():
        texts[place] = ""
    return texts


def _figures(values: AnyArray) -> list[str]:
    """Shortest decimals, "null" for NaN: msgspec takes a tenth of the time of Python's own."""
    text = msgspec.json.encode(values.tolist()).decode()[1:-1]
    return text.split(",") if text else []


def _write_json(tables: Iterator[Tidy], file: TextIO) -> None:
    before = "[\n"
    for table in tables:
        file.write(before + ",\n".join(record_lines(table)))
        before = ",\n"
    file.write("\n]\n")


def record_lines(table: Tidy) -> Iterator[str]:
    """The rows as JSON records, one a line, so that releases can be compared line by line.

    Members are encoded column by column, each title once: far faster than record by record.
    """
    members = [_members(name, column) for name, column in table.columns.items()]
    return (f"{{{', '.join(record)}}}" for record in zip(*members, strict=True))


def _members(name: str, column: Column) -> list[str]:
    """One '"name": value' a row. ValueError for infinity, which JSON has no word for."""
    key = _JSON.encode(name)
    if isinstance(column, Texts):
        return column.shown(lambda text: f"{key}: {_JSON.encode(text)}", f"{key}: null").rows()
    if column.dtype.kind == "f" and np.isinf(column).any():
        raise ValueError(f"{name}: infinity is no JSON number")
    return [f"{key}: {figure}" for figure in _figures(column)]


# Parquet files: tidy tables as Arrow tables of one schema, written row group by row group.

GROUP = 2**15
"""Rows that the writer holds encoded at a time; without a limit it takes six times the table's own memory."""


def write_parquet(tables: Iterator[Any], path: Path) -> None:
    """Write one or more Arrow tables of one schema, row below row, to a new file; texts as dictionaries.

    Raises: OSError, for the caller to name the path.
    """
    with ExitStack() as ending:
        # As bytes: Arrow takes no name for a path that is not UTF-8.
        file = ending.enter_context(pa.OSFile(os.fsencode(path), "wb"))
        writer: Any = None
        for table in tables:
            writer = writer or ending.enter_context(_writer(file, table.schema))
            writer.write_table(table, row_group_size=GROUP)
            del table  # before the next one is made


def _writer(file: Any, schema: Any) -> Any:
    texts = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    return parquet.ParquetWriter(file, schema, use_dictionary=texts)


def arrow_table(table: Tidy) -> Any:
    """Texts as dictionaries; what is nothing is null. Columns of one name have one type in all pieces of a table."""
    return pa.table({name: _array(column) for name, column in table.columns.items()})


def _array(column: Column) -> Any:
    return _dictionary(column) if isinstance(column, Texts) else pa.array(column, from_pandas=True)


def _dictionary(column: Texts) -> Any:
    """Every text is stored once, whether titles repeat (details of several blocks) or not."""
    places, titles = column.places, list(column.titles)
    distinct = list(dict.fromkeys(titles))
    if len(distinct) < len(titles):
        position = {title: index for index, title in enumerate(distinct)}
        moved = np.array([*(position[title] for title in titles), NO_TEXT], dtype=np.int32)
        places = moved[places]
    shown = pa.array(places, mask=places == NO_TEXT)
    return pa.DictionaryArray.from_arrays(shown, pa.array(distinct, type=pa.string()))


# Tidy tables of texts and figures, one row an answer, and the names of their columns beside the domain's own.

NO_TEXT = -1
"""The place of no text."""


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """A column of texts. places: of each row's text in `titles`, or NOTHING, shape (rows,). Titles may repeat."""

    places: AnyArray
    titles: Sequence[str]

    def shown(self, show: Callable[[str], str], nothing: str | None) -> TextColumn:
        """Each row's text as `show` gives it, or `nothing`; each title is shown once."""
        return TextColumn(self.places, np.array([*map(show, self.titles), nothing], dtype=object))


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn:
    """Texts as somebody wants them. The last of `looked_up` stands for no text."""

    places: AnyArray
    looked_up: AnyArray

    def rows(self, chosen: slice = slice(None)) -> list[Any]:
        found: list[Any] = self.looked_up[self.places[chosen]].tolist()
        return found


Column = Texts | AnyArray
"""An array holds whole numbers, or floats of which NaN is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Tidy:
    """Columns by name, in order, all as long as `rows`."""

    rows: int
    columns: Mapping[str, Column]

    def records(self) -> list[dict[str, Any]]:
        """Rows as plain dicts of strings, numbers and None, built column by column."""
        values = [plain_values(column) for column in self.columns.values()]
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*values, strict=True)]


def plain_values(column: Column) -> list[Any]:
    """A column as strings, numbers and None."""
    if isinstance(column, Texts):
        return column.shown(str, None).rows()
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f" and np.isnan(column).any():
        return [None if value != value else value for value in values]
    return values


PREFIX = "column_"


def free_column_name(reserved: Sequence[str], name: str) -> str:
    """The column that attribute `name` gets in a table that also has the columns `reserved`.

    An attribute called like a reserved column is written with the prefix `column_` ("query" -> "column_query"), and
    so is one whose name is that already, so two attributes never meet. The rule looks at one name alone: an attribute
    has the same column in every release. Upper and lower case count as the same, for many readers fold them.
    """
    bare = name.casefold()
    while bare.startswith(PREFIX):
        bare = bare.removeprefix(PREFIX)
    return PREFIX + name if bare in reserved else name


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
    columns["detail"] = _details(held)
    for name in NUMBERS:
        figures = np.concatenate([getattr(one, name).reshape(-1) for one in held]) + 0.0
        columns[name] = np.where(np.isinf(figures), np.nan, figures)
    columns["basis"] = Texts(_joined([one.basis.reshape(-1) for one in held]), BASES)
    columns["flag"] = Texts(_joined([_flags(one) for one in held]), FLAGS)
    return Tidy(sum(sizes), columns)


def figure_records(release: FinishedRun) -> list[dict[str, Any]]:
    """The same rows as plain dicts, for JSON."""
    return figures_table(release).records()


def _joined(parts: list[Any]) -> IntArray:
    return np.concatenate(parts).astype(np.int64)


def _groups(one: FigureAnswers, axis: int, shape: tuple[int, ...]) -> IntArray:
    """The cell of an attribute for every value of a figure; NOTHING where it makes no groups of it."""
    by, values = one.figure.by, one.estimate.shape[1]
    if axis not in by:
        return np.full(one.estimate.size, NO_TEXT)
    codes = np.unravel_index(np.arange(one.figure.groups), [shape[each] for each in by])
    return np.repeat(codes[by.index(axis)], values)


def _details(held: Sequence[FigureAnswers]) -> Texts:
    titles: list[str] = []
    places = []
    for one in held:
        own = _titles(one.figure)
        cells = np.arange(one.estimate.shape[1]) if one.cells is None else one.cells
        rows = np.broadcast_to(cells, one.estimate.shape).reshape(-1)
        places.append(rows + len(titles) if own else np.full(rows.shape, NO_TEXT))
        titles += own
    return Texts(_joined(places), titles)


def _titles(figure: Figure) -> list[str]:
    match figure.formula:
        case Quantiles(at=at):
            return [f"{float(part):g}" for part in at]
        case Largest(titles=titles):
            return list(titles)
    return []


def _flags(one: FigureAnswers) -> IntArray:
    found: IntArray = np.where(one.small, 0, np.where(one.sure, 1, NO_TEXT)).reshape(-1)
    return found
