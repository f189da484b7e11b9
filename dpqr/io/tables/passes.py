"""Passes: over how many groups of persons a table is read, and which histograms are dense, so that memory suffices.

Functions of file sizes, and private as these are: they decide how the work is done, never its result, and nobody is
shown them. Standard input can be read once only, so there all persons must fit together.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpqr.data.domain import Domain
from dpqr.data.packing import Packing
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.persons.bounding import PEAK
from dpqr.io.tables.source import TableFile

_PACKED = 4
_PERSON_WORDS = 4
_ROW_WORDS = 2
_CELLS_A_ROW = 16
_SMALL = 2**16


def bytes_on_disk(files: Sequence[TableFile]) -> int | None:
    """Of all files together; None for standard input, whose size is not known."""
    sizes = [file.bytes for file in files]
    return None if None in sizes else sum(size or 0 for size in sizes)


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


def dense_cells(files: Sequence[TableFile], domain: Domain, limits: Limits) -> int:
    """Most cells of a histogram that is kept dense: `limits.cells`, or fewer where the files can well hold so few rows
    that nearly all of them would be empty. Then the occupied ones take less room; a packed file that holds many more
    rows than that, nearly all different, may take several times more.
    """
    if any(file.bytes is None for file in files):
        return limits.cells
    rows = sum(_rows(file, len(domain.attributes)) for file in files)
    return min(limits.cells, max(_SMALL, _CELLS_A_ROW * rows))


def _rows(file: TableFile, columns: int) -> int:
    packed = file.kind == "parquet" or file.path.lower().endswith(".gz")
    width = 2 * columns + 4
    return (file.bytes or 0) // (max(1, width // _PACKED) if packed else width)
