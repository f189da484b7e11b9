"""Tables on disk: one tidy table as CSV, Parquet or JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pyarrow import csv, parquet

from dpqr.io.outputs.answers import column_values
from dpqr.io.outputs.spreadsheet import inert_table

_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
TableFormat = Literal["csv", "parquet", "json"]

GROUP = 2**15
"""Rows that the Parquet writer holds encoded at a time; without a limit it takes six times the table's own memory."""

CHUNK = 2**12
"""Rows that are turned into text of a CSV file at a time."""


def write_table(table: Any, path: Path, form: TableFormat) -> None:
    """Write an Arrow table to a new file; see `write_tables`."""
    write_tables(iter((table,)), path, form)


def write_tables(tables: Iterator[Any], path: Path, form: TableFormat) -> None:
    """Write one or more Arrow tables of one schema, row below row, to a new file. Equal tables give equal bytes.

    csv: UTF-8, texts quoted, nulls empty; texts that a spreadsheet would run are made inert (`spreadsheet`).
    parquet: texts as dictionaries. json: an array of records, one a line; nulls are null.
    Errors: OSError, for the caller to name the path.
    """
    write = {"csv": _write_csv, "parquet": _write_parquet, "json": _write_json}[form]
    with pa.OSFile(os.fsencode(path), "wb") as file:  # as bytes: Arrow takes no name for a path that is not UTF-8
        write(tables, file)


def _write_csv(tables: Iterator[Any], file: Any) -> None:
    with ExitStack() as ending:
        writer: Any = None
        for table in map(inert_table, tables):
            writer = writer or ending.enter_context(csv.CSVWriter(file, table.schema))
            writer.write_table(table, max_chunksize=CHUNK)
            del table  # before the next one is made


def _write_parquet(tables: Iterator[Any], file: Any) -> None:
    with ExitStack() as ending:
        writer: Any = None
        for table in tables:
            writer = writer or ending.enter_context(_parquet_writer(file, table.schema))
            writer.write_table(table, row_group_size=GROUP)
            del table  # before the next one is made


def _parquet_writer(file: Any, schema: Any) -> Any:
    texts = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    return parquet.ParquetWriter(file, schema, use_dictionary=texts)


def _write_json(tables: Iterator[Any], file: Any) -> None:
    before = b"[\n"
    for table in tables:
        file.write(before + ",\n".join(record_lines(table)).encode())
        before = b",\n"
    file.write(b"\n]\n")


def record_lines(table: Any) -> Iterator[str]:
    """The rows as JSON records, one a line, so that releases can be compared line by line.

    Members are encoded column by column, each distinct text once: ten times faster than record by record.
    """
    members = [_members(name, column) for name, column in zip(table.column_names, table.columns, strict=True)]
    return (f"{{{', '.join(record)}}}" for record in zip(*members, strict=True))


def _members(name: str, column: Any) -> list[str]:
    """One '"name": value' a row. One call of the encoder for the whole column; it refuses NaN and infinity."""
    key, values = _JSON.encode(name), column_values(column)
    if pa.types.is_dictionary(column.type):
        known = {text: f"{key}: {_JSON.encode(text)}" for text in set(values)}
        return [known[text] for text in values]
    figures = _JSON.encode(values)[1:-1].split(", ")
    return [f"{key}: {figure}" for figure in figures]
