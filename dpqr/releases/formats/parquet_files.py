"""Parquet files of tables: tidy tables as Arrow tables of one schema, written row group by row group."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from dpqr.releases.tidy import NO_TEXT, Texts, Tidy

GROUP = 2**15
"""Rows that the writer holds encoded at a time; without a limit it takes six times the table's own memory."""


def label(text: str) -> str:
    """As it stands."""
    return text


def write(tables: Iterator[Tidy], path: Path) -> None:
    """Texts as dictionaries; what is nothing is null."""
    write_parquet(map(arrow_table, tables), path)


def read(path: Path, only: Sequence[str] | None = None) -> pa.Table:
    """Texts as dictionaries."""
    with pa.OSFile(os.fsencode(path), "rb") as file:
        return parquet.read_table(file, columns=only)


def declared_rows(path: Path) -> int:
    """Those of its footer."""
    with pa.OSFile(os.fsencode(path), "rb") as file:
        return int(parquet.read_metadata(file).num_rows)


def column_names(path: Path) -> Sequence[str]:
    """Those of its schema, in order."""
    names: Sequence[str] = parquet.read_schema(path).names
    return names


def write_parquet(tables: Iterator[Any], path: Path) -> None:
    """Write one or more Arrow tables of one schema, row below row, to a new file; texts as dictionaries.

    Raises: OSError, for the caller to name the path.
    """
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
    return pa.table(
        {
            name: _dictionary(column) if isinstance(column, Texts) else pa.array(column, from_pandas=True)
            for name, column in table.columns.items()
        }
    )


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
