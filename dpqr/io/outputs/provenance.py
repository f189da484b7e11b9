"""Provenance: which budgets paid for a file, by the records that lie beside it.

A copy, or a hard link, that lies elsewhere has no record beside it and is not recognised: contents are compared with
nothing, for a ledger keeps no trace of a table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpqr.errors import DataError, DocumentError
from dpqr.io.outputs.directory import MARK
from dpqr.io.outputs.prediction_document import MODEL_FORMAT, RELEASE_FORMAT
from dpqr.io.outputs.prediction_files import record_path
from dpqr.io.outputs.record import RECORD, read_record
from dpqr.io.tables.source import STDIN, TableSource

STANDARD_INPUT = "/dev/fd/0"
"""Where the system names a file that was redirected to standard input."""


def release_around(path: str) -> str | None:
    """The release directory that this is, or that holds this file, whatever links and `..` lead there.

    Errors: DocumentError for a record that cannot be read.
    """
    directories = (place if os.path.isdir(place) else os.path.dirname(place) for place in _places(path))
    return next((each for each in directories if _release_record(Path(each))), None)


def payers(source: TableSource) -> tuple[str, ...]:
    """The datasets whose budgets paid for files of a table: releases, predictions, models. No table is opened.

    Errors: DocumentError for a record that cannot be read, for then nobody knows who paid.
    """
    places = [place for path in _paths(source) for place in _places(path)]
    around = dict.fromkeys(place if os.path.isdir(place) else os.path.dirname(place) for place in places)
    records = [_release_record(Path(directory)) for directory in around]
    records += [_prediction_record(Path(record_path(place))) for place in places]
    return tuple(dict.fromkeys(dataset for record in records if record for dataset in _dataset(record)))


def _paths(source: TableSource) -> list[str]:
    """The files of a table. What is wrong with them is told when the table is opened."""
    if source.from_stdin:
        return [STANDARD_INPUT]
    try:
        return [*source.paths, *(file.path for file in source.files())]
    except DataError:
        return list(source.paths)


def _places(path: str) -> tuple[str, ...]:
    """The absolute path, before and after links are followed. None of a name that no file can have."""
    if path == STDIN:
        path = STANDARD_INPUT
    try:
        return tuple(dict.fromkeys((os.path.abspath(path), os.path.realpath(path))))
    except ValueError:
        return ()


def _dataset(record: dict[str, Any]) -> Iterator[str]:
    ledger = record.get("ledger")
    if isinstance(ledger, dict) and isinstance(ledger.get("dataset"), str):
        yield ledger["dataset"]


def _release_record(directory: Path) -> dict[str, Any] | None:
    """None where no record lies, or what lies there under its name is of another kind."""
    found = _record(directory, RECORD)
    return found if found and str(found.get("dpqr")).startswith(MARK) else None


def _prediction_record(path: Path) -> dict[str, Any] | None:
    found = _record(path.parent, path.name)
    return found if found and found.get("dpqr") in (RELEASE_FORMAT, MODEL_FORMAT) else None


def _record(directory: Path, name: str) -> dict[str, Any] | None:
    if not os.path.lexists(directory / name):
        return None
    try:
        found = read_record(directory, name)
    except (OSError, ValueError):
        raise DocumentError(
            f"{directory / name}: cannot be read, so nobody knows whose budget paid; restore it, or move it away"
        ) from None
    return found if isinstance(found, dict) else None
