"""Tallies: rows of codes become a histogram, dense or of occupied cells only, in memory free of the number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray
from dpqr.data.histogram import Counts, DenseHistogram, SparseHistogram
from dpqr.data.packing import Packing

_LEAST_PENDING = 2**15


class Tally(Protocol):
    """Counts records by cell. The result does not depend on the order or the batches in which rows come."""

    def add(self, codes: Sequence[AnyArray], rows: int, counts: IntArray | None) -> None:
        """Count `rows` rows, given by one array of codes an attribute; counts: records a row, None for one each."""
        ...

    def histogram(self) -> Counts: ...


class DenseTally:
    """An array of every cell; a row's index in it is its codes in mixed radix."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._cells = np.zeros(int(np.prod(shape)), dtype=np.int64)

    def add(self, codes: Sequence[AnyArray], rows: int, counts: IntArray | None) -> None:
        index = np.zeros(rows, dtype=np.int64)
        for column, size in zip(codes, self._shape, strict=True):
            index *= size
            index += column.astype(np.int64, copy=False)
        np.add.at(self._cells, index, 1 if counts is None else counts)

    def histogram(self) -> DenseHistogram:
        return DenseHistogram(self._cells.reshape(self._shape))


class SparseTally:
    """Sorted packed rows and their counts; new rows wait until they are as many as the cells, then are merged in.

    So merging costs O(log) per row on the whole, and memory stays within a small multiple of the occupied cells.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._packing = Packing(shape)
        self._shape = shape
        self._cells: tuple[AnyArray, IntArray] = (self._packing.empty(), np.zeros(0, dtype=np.int64))
        self._waiting: list[tuple[AnyArray, IntArray]] = []
        self._pending = 0

    def add(self, codes: Sequence[AnyArray], rows: int, counts: IntArray | None) -> None:
        words = self._packing.pack(codes, rows)
        self._waiting.append((words, np.ones(rows, dtype=np.int64) if counts is None else counts))
        self._pending += rows
        if self._pending >= max(_LEAST_PENDING, len(self._cells[1])):
            self._merge()

    def _merge(self) -> None:
        if self._waiting:
            self._cells = merged(*self._joined())
            self._pending = 0

    def _joined(self) -> tuple[AnyArray, IntArray]:
        """The cells and the rows that wait, which nothing else holds then: merging has their room."""
        parts = [self._cells, *self._waiting]
        self._cells, self._waiting = (self._packing.empty(), np.zeros(0, dtype=np.int64)), []
        words = np.concatenate([part[0] for part in parts], axis=1)
        return words, np.concatenate([part[1] for part in parts])

    def histogram(self) -> SparseHistogram:
        self._merge()
        words, counts = self._cells
        return SparseHistogram(self._shape, self._packing.unpack(words), counts)


def merged(words: AnyArray, counts: IntArray) -> tuple[AnyArray, IntArray]:
    """Distinct columns of `words` (shape (words a row, m), most significant word first), sorted, and their counts.

    Rows that count nothing leave no cell.
    """
    if not counts.all():
        words, counts = words[:, counts > 0], counts[counts > 0]
    order = np.argsort(words[0]) if len(words) == 1 else np.lexsort(words[::-1])
    words, counts = words[:, order], counts[order]
    del order
    starts = np.ones(len(counts), dtype=bool)
    starts[1:] = (words[:, 1:] != words[:, :-1]).any(axis=0)
    places = np.flatnonzero(starts)
    return words[:, starts], np.add.reduceat(counts, places) if len(places) else counts


def tally(shape: tuple[int, ...], cells: int, largest: int) -> Tally:
    """Dense up to `largest` cells, sparse beyond."""
    return DenseTally(shape) if cells <= largest else SparseTally(shape)
