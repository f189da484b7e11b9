"""Tidy tables of texts and figures, one row an answer, the names of their columns beside the domain's own, and their
files: CSV, JSON and Parquet."""

from __future__ import annotations

import csv as text_csv
import json
import os
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import AnyArray

if TYPE_CHECKING:
    import pyarrow as pa

FIGURES = ("estimate", "error", "measured", "noise_deviation", "lower", "upper")
"""The columns of answers that are numbers; all others are texts."""
NO_TEXT = -1
"""The place of no text."""
Row = dict[str, Any]
"""A row of a table by its columns, for JSON: texts, finite numbers, and None for nothing."""


class Texts(Struct, frozen=True, eq=False):
    """A column of texts. places: of each row's text in `titles`, or NO_TEXT, shape (rows,). Titles may repeat."""

    places: AnyArray
    titles: Sequence[str]

    def shown(self, show: Callable[[str], str], nothing: str | None) -> TextColumn:
        """Each row's text as `show` gives it, or `nothing`; each title is shown once."""
        return TextColumn(self.places, np.array([*map(show, self.titles), nothing], dtype=object))


class TextColumn(Struct, frozen=True, eq=False):
    """Texts as somebody wants them. The last of `looked_up` stands for no text."""

    places: AnyArray
    looked_up: AnyArray

    def rows(self, chosen: slice = slice(None)) -> list[Any]:
        found: list[Any] = self.looked_up[self.places[chosen]].tolist()
        return found


Column = Texts | AnyArray
"""An array holds whole numbers, or floats of which NaN is none."""


class Tidy(Struct, frozen=True, eq=False):
    """Columns by name, in order, all as long as `rows`."""

    rows: int
    columns: Mapping[str, Column]

    def records(self) -> list[Row]:
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


def figure_texts(values: AnyArray) -> list[str]:
    """Shortest decimals, "null" for NaN: msgspec takes a tenth of the time of Python's own."""
    text = msgspec.json.encode(values.tolist()).decode()[1:-1]
    return text.split(",") if text else []


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


# Tables on disk. `dpqr.releases.files.formats` lists the formats, a row each; pyarrow is imported where a file
# needs it.


class TableFiles(ABC):
    """One format of tables on disk."""

    @abstractmethod
    def write(self, tables: Iterator[Tidy], path: Path) -> None:
        """Write one or more tables of the same columns, row below row, to a new file. Equal tables give equal bytes.

        Raises: OSError, for the caller to name the path.
        """

    @abstractmethod
    def read(self, path: Path, only: Sequence[str] | None = None) -> pa.Table:
        """A table as the file has it: columns of the names of FIGURES as numbers, all else as text.

        Args:
            path: of a regular file.
            only: columns that are wanted; None: all.

        Raises:
            OSError, ValueError, KeyError, TypeError or pyarrow.ArrowException where it is no such table.
        """

    def declared_rows(self, path: Path) -> int | None:
        """How many rows the file says that it has, before any is read; None: it does not. Raises: as `read`."""
        return None

    def column_names(self, path: Path) -> Sequence[str] | None:
        """Names of the columns; None where the format does not say them before its rows. Raises: as `read`."""
        return None

    def label(self, text: str) -> str:
        """What a text of the file says."""
        return text


# CSV, whose texts no spreadsheet takes for a formula.

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
    for sign in text:
        shown = unicodedata.category(sign)[0] not in _INVISIBLE and sign not in _BLANKS
        if sign != "'" and shown and not 0xFE00 <= ord(sign) <= 0xFE0F:
            return sign == _MINUS or unicodedata.normalize("NFKC", sign)[0] in _SIGNS
    return False


CHUNK = 2**10
"""Rows that are turned into text at a time."""


class CsvFiles(TableFiles):
    """UTF-8, texts quoted, nothing where there is nothing; texts that a spreadsheet would run are made inert
    (`inert`). Figures are the shortest decimals that read back as the same number."""

    def write(self, tables: Iterator[Tidy], path: Path) -> None:
        named = False
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for table in tables:
                if not named:
                    file.write(",".join(map(_quoted, table.columns)) + "\n")
                    named = True
                columns = [
                    column.shown(_quoted, "") if isinstance(column, Texts) else column
                    for column in table.columns.values()
                ]
                for start in range(0, table.rows, CHUNK):
                    cells = [_cells(column, slice(start, start + CHUNK)) for column in columns]
                    file.write("\n".join(map(",".join, zip(*cells, strict=True))) + "\n")

    def read(self, path: Path, only: Sequence[str] | None = None) -> pa.Table:
        """Texts as they stand in the file, inert ones too (`label`)."""
        import pyarrow as pa
        from pyarrow import csv

        kinds = {name: pa.float64() if name in FIGURES else pa.string() for name in self.column_names(path)}
        options = csv.ConvertOptions(
            column_types=kinds,
            include_columns=only,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        with pa.OSFile(os.fsencode(path), "rb") as file:
            return csv.read_csv(file, parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=options)

    def column_names(self, path: Path) -> Sequence[str]:
        with path.open(encoding="utf-8", newline="") as file:
            return next(text_csv.reader(file), [])

    def label(self, text: str) -> str:
        return undo_inert(text)


def _quoted(text: str) -> str:
    return '"' + inert(text).replace('"', '""') + '"'


def _cells(column: TextColumn | AnyArray, chosen: slice) -> list[str]:
    if isinstance(column, TextColumn):
        return column.rows(chosen)
    figures = column[chosen]
    texts = figure_texts(figures)
    for place in np.flatnonzero(np.isnan(figures)).tolist() if figures.dtype.kind == "f" else ():
        texts[place] = ""
    return texts


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


class JsonFiles(TableFiles):
    """An array of records, one a line, so that releases can be compared line by line; nothing is null."""

    def write(self, tables: Iterator[Tidy], path: Path) -> None:
        """ValueError for infinity, which JSON has no word for."""
        before = "[\n"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for table in tables:
                # Members are encoded column by column, each title once: far faster than record by record.
                members = [_members(name, column) for name, column in table.columns.items()]
                records = (f"{{{', '.join(record)}}}" for record in zip(*members, strict=True))
                file.write(before + ",\n".join(records))
                before = ",\n"
            file.write("\n]\n")

    def read(self, path: Path, only: Sequence[str] | None = None) -> pa.Table:
        import pyarrow as pa

        records = json.loads(path.read_bytes())
        if not isinstance(records, list) or not all(isinstance(each, dict) for each in records):
            raise ValueError("no array of records")
        table = pa.Table.from_pylist(records)
        return table if only is None else table.select(list(only))


def _members(name: str, column: Column) -> list[str]:
    """One '"name": value' a row."""
    key = _JSON.encode(name)
    if isinstance(column, Texts):
        return column.shown(lambda text: f"{key}: {_JSON.encode(text)}", f"{key}: null").rows()
    if column.dtype.kind == "f" and np.isinf(column).any():
        raise ValueError(f"{name}: infinity is no JSON number")
    return [f"{key}: {figure}" for figure in figure_texts(column)]


GROUP = 2**15
"""Rows that the writer holds encoded at a time; without a limit it takes six times the table's own memory."""


class ParquetFiles(TableFiles):
    """Arrow tables of one schema, row group by row group; texts as dictionaries, nothing as null."""

    def write(self, tables: Iterator[Tidy], path: Path) -> None:
        write_parquet(map(arrow_table, tables), path)

    def read(self, path: Path, only: Sequence[str] | None = None) -> pa.Table:
        import pyarrow as pa
        from pyarrow import parquet

        with pa.OSFile(os.fsencode(path), "rb") as file:
            return parquet.read_table(file, columns=only)

    def declared_rows(self, path: Path) -> int:
        """Those of its footer."""
        import pyarrow as pa
        from pyarrow import parquet

        with pa.OSFile(os.fsencode(path), "rb") as file:
            return int(parquet.read_metadata(file).num_rows)

    def column_names(self, path: Path) -> Sequence[str]:
        from pyarrow import parquet

        names: Sequence[str] = parquet.read_schema(path).names
        return names


def write_parquet(tables: Iterator[Any], path: Path) -> None:
    """Write one or more Arrow tables of one schema, row below row, to a new file; texts as dictionaries.

    Raises: OSError, for the caller to name the path.
    """
    import pyarrow as pa
    from pyarrow import parquet

    with ExitStack() as ending:
        # As bytes: Arrow takes no name for a path that is not UTF-8.
        file = ending.enter_context(pa.OSFile(os.fsencode(path), "wb"))
        writer: Any = None
        for table in tables:
            if writer is None:
                texts = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
                writer = ending.enter_context(parquet.ParquetWriter(file, table.schema, use_dictionary=texts))
            writer.write_table(table, row_group_size=GROUP)
            del table  # before the next one is made


def arrow_table(table: Tidy) -> Any:
    """Texts as dictionaries; what is nothing is null. Columns of one name have one type in all pieces of a table."""
    import pyarrow as pa

    return pa.table(
        {
            name: _dictionary(column) if isinstance(column, Texts) else pa.array(column, from_pandas=True)
            for name, column in table.columns.items()
        }
    )


def _dictionary(column: Texts) -> Any:
    """Every text is stored once, whether titles repeat (details of several blocks) or not."""
    import pyarrow as pa

    places, titles = column.places, list(column.titles)
    distinct = list(dict.fromkeys(titles))
    if len(distinct) < len(titles):
        position = {title: index for index, title in enumerate(distinct)}
        moved = np.array([*(position[title] for title in titles), NO_TEXT], dtype=np.int32)
        places = moved[places]
    shown = pa.array(places, mask=places == NO_TEXT)
    return pa.DictionaryArray.from_arrays(shown, pa.array(distinct, type=pa.string()))
