"""Parquet files: Arrow tables of one schema, row group by row group."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

GROUP = 2**15
"""Rows that the writer holds encoded at a time; without a limit it takes six times the table's own memory."""


def write_parquet(tables: Iterator[Any], path: Path) -> None:
    """Write one or more Arrow tables of one schema, row below row, to a new file; texts as dictionaries.

    Errors: OSError, for the caller to name the path.
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
