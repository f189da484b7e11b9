"""Published files as a report shows them: the first synthetic rows, the columns of tables, the hash of every file."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyarrow import parquet

from dpqr.errors import DocumentError
from dpqr.io.outputs.records.record import RECORD
from dpqr.io.outputs.releases.read_release import ReleaseFiles
from dpqr.io.outputs.releases.release_files import file_hash

ANSWERS, ROWS = "answers.", "synthetic"
"""How the names of files of answers begin, and of synthetic data."""


def first_rows(files: ReleaseFiles, count: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]] | None:
    """Column names and the first synthetic rows, as texts; None where the release has none. Raises: DocumentError."""
    name = next((str(each) for each in files.record["files"] if str(each).startswith(ROWS)), None)
    if name is None:
        return None
    path = files.path / name
    try:
        with parquet.ParquetFile(path) as opened:
            batch = next(opened.iter_batches(batch_size=count), None)
            names = tuple(opened.schema_arrow.names)
        files.require_unchanged(name)
        columns = [[] if batch is None else batch.column(place).to_pylist() for place in range(len(names))]
    except (OSError, pa.ArrowException):
        raise DocumentError(f"{path}: cannot be read as synthetic data; release again, or restore it") from None
    return names, [tuple("" if cell is None else str(cell) for cell in row) for row in zip(*columns, strict=True)]


def table_columns(files: ReleaseFiles) -> Mapping[str, Sequence[str]]:
    """Column names of the answers and of synthetic rows, where they are tables, by file. Raises: DocumentError."""
    found = {}
    for name in (str(each) for each in files.record["files"] if str(each).startswith((ANSWERS, ROWS))):
        path = files.path / name
        try:
            if name.endswith(".csv"):
                with path.open(encoding="utf-8", newline="") as opened:
                    found[name] = next(csv.reader(opened), [])
            elif name.endswith(".parquet"):
                found[name] = parquet.read_schema(path).names
            files.require_unchanged(name)
        except (OSError, ValueError, csv.Error, pa.ArrowException):
            raise DocumentError(f"{path}: cannot be read as a table; release again, or restore it") from None
    return found


def file_hashes(files: ReleaseFiles) -> Mapping[str, str]:
    """SHA-256 of the record and of every file that it lists, by name. DocumentError where one is missing."""
    found = {}
    for name in sorted({RECORD, *map(str, files.record["files"])}):
        try:
            found[name] = file_hash(files.path / name)
        except OSError:
            raise DocumentError(f"{files.path / name}: cannot be read, and the record lists it; restore it") from None
    return found
