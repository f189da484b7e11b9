"""CSV files of tables, whose texts no spreadsheet takes for a formula."""

from __future__ import annotations

import csv as text_csv
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpqr.kernel.arrays import AnyArray
from dpqr.releases.tidy import FIGURES, TextColumn, Texts, Tidy, figure_texts

if TYPE_CHECKING:
    import pyarrow as pa

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


label = undo_inert
CHUNK = 2**10
"""Rows that are turned into text at a time."""


def write(tables: Iterator[Tidy], path: Path) -> None:
    """UTF-8, texts quoted, nothing where there is nothing; texts that a spreadsheet would run are made inert
    (`inert`). Figures are the shortest decimals that read back as the same number."""
    named = False
    with path.open("w", encoding="utf-8", newline="\n") as file:
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
    texts = figure_texts(figures)
    for place in np.flatnonzero(np.isnan(figures)).tolist() if figures.dtype.kind == "f" else ():
        texts[place] = ""
    return texts


def read(path: Path, only: Sequence[str] | None = None) -> pa.Table:
    """Texts as they stand in the file, inert ones too (`label`)."""
    import pyarrow as pa
    from pyarrow import csv

    kinds = {name: pa.float64() if name in FIGURES else pa.string() for name in column_names(path)}
    options = csv.ConvertOptions(
        column_types=kinds,
        include_columns=only,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    with pa.OSFile(os.fsencode(path), "rb") as file:
        return csv.read_csv(file, parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=options)


def declared_rows(path: Path) -> None:
    """None: its lines are all that it has."""


def column_names(path: Path) -> Sequence[str]:
    """Those of its first line, in order."""
    with path.open(encoding="utf-8", newline="") as file:
        return next(text_csv.reader(file), [])
