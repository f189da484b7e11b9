"""Points: the public rows that predictions are asked for."""

from __future__ import annotations

import numpy as np

from dpqr.data.arrays import AnyArray
from dpqr.data.domain import Domain
from dpqr.data.unit import PrivacyUnit
from dpqr.errors import DataError
from dpqr.io.tables.batches import Batches
from dpqr.io.tables.discreet import discreetly
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import TableSource
from dpqr.io.tables.structure import check_table


def read_points(source: TableSource, features: Domain, limits: Limits) -> AnyArray:
    """Codes of every row, shape (points, columns), in the order of the files; below 0 where a cell fits nothing.

    A row is never left out, for every point gets its prediction: a cell whose rule is `drop` or `fail` counts as
    unknown. Errors: DataError on a structural fault, or more points than `limits.records`.

    **Privacy** Points are public by declaration: a guarantee holds for whatever is asked, so they may be anything but
    rows that need protection themselves.
    """
    check_table(source, features, limits)
    return discreetly(lambda: _read(source, features, limits), _unexpected)


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


def _unexpected(_: Exception) -> str:
    return "--points cannot be read; the table is damaged, or needs more memory than there is"
