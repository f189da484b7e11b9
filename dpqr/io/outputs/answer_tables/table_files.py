"""One tidy table as CSV, Parquet or JSON, with CSV texts that no spreadsheet takes for a formula."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TextIO

import msgspec
import numpy as np

from dpqr.data.arrays import AnyArray
from dpqr.io.outputs.answer_tables.tidy import Column, Shown, Texts, Tidy

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


def as_written(text: str) -> str:
    """The text that `inert` has made `text` of.

    >>> as_written(inert("=1+1")), as_written("'tis"), as_written(inert("'-x"))
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
        from dpqr.io.outputs.answer_tables.parquet_file import arrow_table, write_parquet

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


def _cells(column: Shown | AnyArray, chosen: slice) -> list[str]:
    if isinstance(column, Shown):
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
