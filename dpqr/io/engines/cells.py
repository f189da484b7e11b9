"""What was counted in one part of a table, as rows that an engine can carry and add up, and the sum as counts again.

A row is (set, cell, n): the number of a set of columns, the codes of a cell in it, and how many records. What is
counted beside the cells (records, persons, rules that were broken) are rows of the set OTHER. Equal (set, cell) add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray, Axes, IntArray
from dpqr.data.histogram import Counts, DenseHistogram, GroupedHistogram, SparseHistogram, occupied
from dpqr.errors import DataError
from dpqr.io.tables.counting import Counted, Counting

NAMES = ("set", "cell", "n")
OTHER = -1
_FAILED, _FIGURES = b"failed:", ("read", "units", "dropped", "malformed")


def rows_of(counted: Counted) -> Iterator[Any]:
    """Record batches of all that is not zero."""
    for number, (_, codes, counts) in enumerate(_sets(counted.counts)):
        yield _batch(number, np.ascontiguousarray(codes, dtype=np.int32), counts)
    others = {name.encode(): int(getattr(counted, name)) for name in _FIGURES}
    others |= {_FAILED + name.encode(): 1 for name in counted.failed}
    yield _others(others)


def failure_rows(words: str) -> Iterator[Any]:
    """The same of a part that could not be counted. words: a constant text."""
    yield _others({b"!" + words.encode(): 1})


def counted_again(rows: Any, asked: Counting) -> Counted:
    """What the rows of all parts say together; rows: an Arrow table. Raises: DataError for a part that failed."""
    import pyarrow as pa
    from pyarrow import compute

    sums = pa.table(rows).group_by(["set", "cell"]).aggregate([("n", "sum")])
    others = sums.filter(compute.equal(sums["set"], OTHER))
    found = dict(zip(others["cell"].to_pylist(), others["n_sum"].to_pylist(), strict=True))
    failed = next((name[1:].decode() for name in found if name.startswith(b"!")), None)
    if failed is not None:
        raise DataError(failed)
    empty = asked.counted(lambda: ())
    whole = replace(
        empty,
        counts=_counts(empty.counts, sums),
        failed=frozenset(name.removeprefix(_FAILED).decode() for name in found if name.startswith(_FAILED)),
        read=found.get(b"read", 0),
        units=found.get(b"units", 0),
        dropped=found.get(b"dropped", 0),
        malformed=bool(found.get(b"malformed", 0)),
    )
    asked.limits.require_records(whole.read)
    return whole


def _counts(empty: Counts, sums: Any) -> Counts:
    """Counts of the kind of `empty`."""
    from pyarrow import compute

    filled: dict[Axes, IntArray] = {}
    for number, (axes, _, _) in enumerate(_sets(empty)):
        own = sums.filter(compute.equal(sums["set"], number))
        codes = np.frombuffer(b"".join(own["cell"].to_pylist()), dtype=np.int32).reshape(own.num_rows, len(axes))
        counts = own["n_sum"].to_numpy().astype(np.int64)
        if isinstance(empty, SparseHistogram):
            return SparseHistogram(empty.shape, codes, counts)
        shape = tuple(empty.shape[axis] for axis in axes)
        cells = np.zeros(math.prod(shape), dtype=np.int64)
        cells[np.ravel_multi_index(tuple(codes.T), shape) if axes else np.zeros(len(codes), dtype=np.int64)] = counts
        filled[axes] = cells.reshape(shape)
    return (
        GroupedHistogram(empty.shape, filled) if isinstance(empty, GroupedHistogram) else DenseHistogram(filled[axes])
    )


def _sets(counts: Counts) -> Iterator[tuple[Axes, AnyArray, IntArray]]:
    """Axes, codes and counts of the occupied cells of each set that is counted."""
    if not isinstance(counts, GroupedHistogram):
        yield (tuple(range(len(counts.shape))), *occupied(counts))
        return
    for axes, cells in counts.joints.items():
        yield axes, np.argwhere(cells), cells[cells != 0]


def _batch(number: int, codes: AnyArray, counts: IntArray) -> Any:
    import pyarrow as pa

    rows, width = codes.shape
    places = pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * np.int32(4 * width))
    cells = pa.Array.from_buffers(pa.binary(), rows, [None, places, pa.py_buffer(codes.tobytes())])
    sets = pa.array(np.full(rows, number, dtype=np.int32))
    return pa.RecordBatch.from_arrays([sets, cells, pa.array(counts.astype(np.int64))], names=list(NAMES))


def _others(found: dict[bytes, int]) -> Any:
    import pyarrow as pa

    sets = pa.array([OTHER] * len(found), pa.int32())
    cells, counts = pa.array(list(found), pa.binary()), pa.array(list(found.values()), pa.int64())
    return pa.RecordBatch.from_arrays([sets, cells, counts], names=list(NAMES))
