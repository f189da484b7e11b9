"""JSON files of tables: an array of records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpqr.releases.tidy import Column, Texts, Tidy, figure_texts

if TYPE_CHECKING:
    import pyarrow as pa

_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def label(text: str) -> str:
    """As it stands."""
    return text


def write(tables: Iterator[Tidy], path: Path) -> None:
    """An array of records, one a line, so that releases can be compared line by line; nothing is null. ValueError for
    infinity, which JSON has no word for."""
    before = "[\n"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for table in tables:
            # Members are encoded column by column, each title once: far faster than record by record.
            members = [_members(name, column) for name, column in table.columns.items()]
            records = (f"{{{', '.join(record)}}}" for record in zip(*members, strict=True))
            file.write(before + ",\n".join(records))
            before = ",\n"
        file.write("\n]\n")


def _members(name: str, column: Column) -> list[str]:
    """One '"name": value' a row. ValueError for infinity, which JSON has no word for."""
    key = _JSON.encode(name)
    if isinstance(column, Texts):
        return column.shown(lambda text: f"{key}: {_JSON.encode(text)}", f"{key}: null").rows()
    if column.dtype.kind == "f" and np.isinf(column).any():
        raise ValueError(f"{name}: infinity is no JSON number")
    return [f"{key}: {figure}" for figure in figure_texts(column)]


def read(path: Path, only: Sequence[str] | None = None) -> pa.Table:
    """ValueError for what is no array of records."""
    import pyarrow as pa

    records = json.loads(path.read_bytes())
    if not isinstance(records, list) or not all(isinstance(each, dict) for each in records):
        raise ValueError("no array of records")
    table = pa.Table.from_pylist(records)
    return table if only is None else table.select(list(only))


def declared_rows(path: Path) -> None:
    """None: its records are all that it has."""


def column_names(path: Path) -> None:
    """None: each record names its own."""
