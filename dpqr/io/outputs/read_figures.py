"""The figures of a release, read back from its directory."""

from __future__ import annotations

import csv
import re
from typing import Any

import pyarrow as pa

from dpqr.errors import DocumentError
from dpqr.io.outputs.read_answers import read_table
from dpqr.io.outputs.read_release import ReleaseFiles
from dpqr.io.outputs.table_files import as_written

_FIGURES = re.compile(r"(rehearsal-)?figures\.(csv|parquet|json)")


def read_figures(files: ReleaseFiles) -> list[dict[str, Any]]:
    """One plain dict for every value of every figure, named as in the file; none where the release has no figures.

    Raises: DocumentError where the file cannot be read.
    """
    name = next((str(each) for each in files.record["files"] if _FIGURES.fullmatch(str(each))), None)
    if name is None:
        return []
    path = files.path / name
    try:
        records: list[dict[str, Any]] = read_table(path).to_pylist()
        files.require_unchanged(name)
    except (OSError, ValueError, csv.Error, pa.ArrowException):
        raise DocumentError(f"{path}: cannot be read as figures; release again, or restore it") from None
    if not name.endswith(".csv"):
        return records
    return [{key: as_written(each) if isinstance(each, str) else each for key, each in one.items()} for one in records]
