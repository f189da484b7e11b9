"""Passes: over how many groups of persons a table is read, so that each fits the declared memory.

Public: a function of file sizes and declared limits. Standard input can be read once only, so there all persons must
fit together.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpqr.data.domain import Domain
from dpqr.data.packing import Packing
from dpqr.io.tables.bounding import PEAK
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import TableFile

_PACKED = 4
_PERSON_WORDS = 4
_ROW_WORDS = 2


def group_count(files: Sequence[TableFile], domain: Domain, limits: Limits) -> int:
    """Groups of persons, one pass each.

    It allows for a person of their own in every row, for as many rows as the files can well hold (two bytes a cell
    and four more a row; a quarter of that in packed files), or `limits.records` where that is less; and for a quarter
    more in one group than in another. A table that needs more all the same ends in a DataError.
    """
    if any(file.bytes is None for file in files):
        return 1
    columns, words = len(domain.attributes) + 1, len(Packing(domain.shape).groups)
    rows = min(limits.records, sum(_rows(file, columns) for file in files))
    needed = PEAK * rows * 8 * (words + _ROW_WORDS + _PERSON_WORDS)
    return 1 if needed <= limits.memory else -(-5 * needed // (4 * limits.memory))


def _rows(file: TableFile, columns: int) -> int:
    packed = file.kind == "parquet" or file.path.lower().endswith(".gz")
    width = 2 * columns + 4
    return (file.bytes or 0) // (max(1, width // _PACKED) if packed else width)
