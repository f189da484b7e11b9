"""Points: the public rows that predictions are asked for; and what else may be no file of the private table."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

import numpy as np

from dpqr.domain.domain import Domain
from dpqr.domain.text.documents import Identity, refuse_private_files
from dpqr.kernel.arrays import AnyArray
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.engines.known import named_files
from dpqr.tables.files import TableFile
from dpqr.tables.limits import Limits, discreetly
from dpqr.tables.load import Batches
from dpqr.tables.source import TableSource
from dpqr.tables.structure import check_table

_UNREADABLE = "--points cannot be read; the table is damaged, or needs more memory than there is"


def require_public(points: TableSource, table: TableSource) -> None:
    """UsageFault for points that are a file of the private table.

    **Privacy** How many points there are, and whether all of them can be read, is shown, and no budget pays for it. Of
    the private rows that would be their number, exactly, by `--max-records` even before anything is reserved. Files
    are distinguished by device and number, so a copy under another name is not found: that points are public remains
    the word of whoever names them.
    """
    if points.engine is not None:
        raise UsageFault("--points takes files, so that rows of the private table are found out; write them to a file")
    private = _identities(table)
    for file in points.files():
        if _identity(file) in private:
            raise UsageFault(
                f"--points {file.path} is a file of the private table, and how many points there are is shown\n"
                "give public rows, as a file of their own"
            )


def refuse_table_as_document(table: TableSource | None) -> AbstractContextManager[None]:
    """Refuse the private table's own files as documents, inside the block (`refuse_private_files`)."""
    return refuse_private_files(frozenset() if table is None else _identities(table))


def _identities(table: TableSource) -> frozenset[Identity]:
    """Of the table's files, also those that an engine reads by name; none where they are not what a run could read, for
    that is reported later."""
    try:
        place = named_files(table.paths)
        files = table.files() if place is None else TableSource(paths=(place,)).files()
    except DataError:
        files = ()
    return frozenset(filter(None, map(_identity, files)))


def _identity(file: TableFile) -> Identity | None:
    """Device and number of a file; None for what is none: standard input, a table in memory."""
    if file.bytes is None or file.kind == "frame":
        return None
    status = os.stat(file.path)
    return status.st_dev, status.st_ino


def read_points(source: TableSource, features: Domain, limits: Limits) -> AnyArray:
    """Codes of every row, shape (points, columns), in the order of the files; below 0 where a cell fits nothing.

    A row is never left out, for every point gets its prediction: a cell whose rule is `drop` or `fail` counts as
    unknown. Raises: DataError on a structural fault, or more points than `limits.records`.

    **Privacy** Points are public by declaration: a guarantee holds for whatever is asked, so they may be anything but
    rows that need protection themselves.
    """
    check_table(source, features, limits)
    return discreetly(lambda: _read(source, features, limits), lambda _: _UNREADABLE)


def _read(source: TableSource, features: Domain, limits: Limits) -> AnyArray:
    table = Batches(source=source, domain=features, unit=PrivacyUnit(), limits=limits)
    parts, count = [np.zeros((0, len(features.attributes)), dtype=np.int64)], 0
    for batch, rows in table.walk():
        if len(batch.malformed):
            raise DataError("--points holds a row that cannot be read: ragged, too long, or not UTF-8; fix it")
        parts.append(rows.places(batch.rows))
        count += len(parts[-1])
        if count > limits.records:
            raise DataError("--points holds more rows than the declared limit; raise --max-records, or split it")
    return np.concatenate(parts)
