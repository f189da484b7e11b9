"""Tables on disk: one tidy table as CSV, Parquet or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TextIO

import msgspec
import numpy as np

from dpqr.data.arrays import AnyArray
from dpqr.io.outputs.spreadsheet import inert
from dpqr.io.outputs.tidy import Column, Shown, Texts, Tidy

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
    (`spreadsheet`). parquet: texts as dictionaries. json: an array of records, one a line; nothing is null.
    Figures are the shortest decimals that read back as the same number.
    Errors: OSError, for the caller to name the path.
    """
    if form == "parquet":
        from dpqr.io.outputs.arrow_form import arrow_table
        from dpqr.io.outputs.parquet_file import write_parquet

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
