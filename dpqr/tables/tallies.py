"""Tallies: count rows of codes, batch by batch, in memory free of the number of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dpqr.domain.histogram import (
    Counts,
    DenseHistogram,
    GroupedHistogram,
    Packing,
    SeparateTables,
    SparseHistogram,
    marginals,
    mixed_radix,
    occupied_cells,
    passes,
)
from dpqr.kernel.arrays import AnyArray, Axes, IntArray

_LEAST_PENDING = 2**15
_WORD = 64
_PIECE = 2**16
"""Rows whose indices are made at a time. tests/benchmarks/counting.py"""
_WAITING = 2**19
"""Rows that are counted at a time, at most."""
_WAITING_BYTES = 2**23
"""Their codes take no more, but for rows so wide that fewer than _WHOLE would wait."""
_WHOLE = 2**17
"""Cells up to which the table of all columns is counted, whatever is asked."""


class Tally(Protocol):
    """Counts records by cell. The result does not depend on the order or the batches in which rows come."""

    def add(self, codes: Sequence[AnyArray], rows: int, counts: IntArray | None) -> None:
        """Count `rows` rows, given by one array of codes an attribute; counts: records a row, None for one each."""
        ...

    def include(self, other: Counts) -> None:
        """Add what another one of the same kind has counted."""
        ...

    def histogram(self) -> Counts: ...


class JointTally:
    """Arrays of joint counts. Rows wait until they are many; then each group of columns is counted by itself, for one
    array at a time stays in the processor's cache.

    groups: columns that are counted together, each with the sets of columns whose sums are kept.
    """

    def __init__(self, shape: tuple[int, ...], groups: Sequence[tuple[Axes, Sequence[Axes]]]) -> None:
        self._shape, self._groups = shape, groups
        kept = [axes for _, members in groups for axes in members]
        self._cells = {axes: np.zeros([shape[axis] for axis in axes], dtype=np.int64) for axes in kept}
        kinds = [np.min_scalar_type(max(size, 1) - 1) for size in shape]
        most = min(_WAITING, max(_WHOLE, _WAITING_BYTES // max(sum(kind.itemsize for kind in kinds), 1)))
        self._codes = [np.empty(most, dtype=kind) for kind in kinds]
        self._counts = np.empty(most, dtype=np.int64)
        self._rows, self._weighted = 0, False

    def add(self, codes: Sequence[AnyArray], rows: int, counts: IntArray | None) -> None:
        start = 0
        while start < rows:
            stop = min(rows, start + len(self._counts) - self._rows)
            waiting = slice(self._rows, self._rows + stop - start)
            for kept, each in zip(self._codes, codes, strict=True):
                kept[waiting] = each[start:stop]
            self._counts[waiting] = 1 if counts is None else counts[start:stop]
            self._weighted |= counts is not None
            self._rows, start = waiting.stop, stop
            if self._rows == len(self._counts):
                self._count()

    def include(self, other: Counts) -> None:
        for axes, cells in self._cells.items():
            cells += other.marginal(axes)

    def _count(self) -> None:
        for union, members in self._groups if self._rows else ():
            alone = tuple(members) == (union,)
            joint = self._cells[union] if alone else np.zeros([self._shape[axis] for axis in union], dtype=np.int64)
            for start in range(0, self._rows, _PIECE):
                piece = slice(start, min(start + _PIECE, self._rows))
                index = mixed_radix(joint.shape, [self._codes[axis][piece] for axis in union], piece.stop - start)
                np.add.at(joint.reshape(-1), index, self._counts[piece] if self._weighted else 1)
            within = {tuple(union.index(axis) for axis in axes): axes for axes in members if not alone}
            for places, cells in marginals(joint, [*within]):
                self._cells[within[places]] += cells
        self._rows = 0

    def histogram(self) -> Counts:
        self._count()
        everything = self._cells.get(tuple(range(len(self._shape))))
        return GroupedHistogram(self._shape, self._cells) if everything is None else DenseHistogram(everything)


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

    def include(self, other: Counts) -> None:
        codes, counts = occupied_cells(other)
        self.add(tuple(codes.T), len(counts), counts)

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
    return summed(words, counts)


def summed(words: AnyArray, numbers: IntArray) -> tuple[AnyArray, IntArray]:
    """Distinct columns of `words`, as in `merged`, and the sum of the numbers of each, which may have any sign."""
    order = ordered(words)
    words, numbers = words[:, order], numbers[order]
    del order
    starts = np.ones(len(numbers), dtype=bool)
    starts[1:] = (words[:, 1:] != words[:, :-1]).any(axis=0)
    places = np.flatnonzero(starts)
    return words[:, starts], np.add.reduceat(numbers, places) if len(places) else numbers


def ordered(words: AnyArray) -> AnyArray:
    """The order of the columns of `words`, most significant word first; any order among equal ones.

    Words that fit into one together are sorted as one, which is several times faster.
    """
    if not words.size:
        return np.zeros(0, dtype=np.int64)
    joined = words[0]
    for word in words[1:]:
        bits = int(word.max()).bit_length()
        if int(joined.max()).bit_length() + bits > _WORD:
            return np.lexsort(words[::-1])
        joined = (joined << np.uint64(bits)) | word
    return np.argsort(joined)


def bounded_table(owners: IntArray, cells: IntArray, size: int, cell_rows: int) -> IntArray:
    """Count rows by cell, at most `cell_rows` of one owner in a cell; shape (size,).

    owners, cells: whose each row is and in which cell, shape (rows,), in any order; all rows of an owner.

    >>> bounded_table(np.array([0, 0, 0, 1]), np.array([2, 2, 1, 2]), 4, 1).tolist()
    [0, 1, 2, 0]

    **Privacy** An owner adds min(rows in the cell, m) to each cell, whatever rows others have.
    """
    words = np.stack([owners, cells]).astype(np.uint64)
    pairs, rows = merged(words, np.ones(len(cells), dtype=np.int64))
    table = np.zeros(size, dtype=np.int64)
    np.add.at(table, pairs[1].astype(np.int64), np.minimum(rows, cell_rows))
    return table


class SeparateTally:
    """A table of its own for each set of columns, which counts at most m rows of a person in one cell.

    column_sets: the sets of columns; () is the number of rows, of which all count. cell_rows: m.

    **Privacy** Of rows that a bound has left (at most K of a person) a person adds to each table counts of at most m
    that add up to at most K, whatever rows others have; so neighbours' tables differ by what `PrivacyUnit.most_squared`
    bounds, and by K at most in L1, jointly over all tables by the sum.
    """

    def __init__(self, shape: tuple[int, ...], column_sets: Sequence[Axes], cell_rows: int) -> None:
        self._shape, self._cell_rows = shape, cell_rows
        wanted = dict.fromkeys(tuple(sorted(axes)) for axes in ((), *column_sets))
        self._tables = {axes: np.zeros([shape[axis] for axis in axes], dtype=np.int64) for axes in wanted}

    def add(self, codes: Sequence[AnyArray], owners: IntArray) -> None:
        """Count rows, given by one array of codes an attribute and their owners: all rows of each of these."""
        for axes, table in self._tables.items():
            cells = mixed_radix(table.shape, [codes[axis] for axis in axes], len(owners))
            most = self._cell_rows if axes else len(owners)
            table += bounded_table(owners, cells, table.size, most).reshape(table.shape)

    def include(self, other: Counts) -> None:
        """Add what another one has counted, of other persons."""
        for axes, table in self._tables.items():
            table += other.marginal(axes)

    def histogram(self) -> SeparateTables:
        return SeparateTables(self._shape, self._tables)


def tally(shape: tuple[int, ...], largest: int, column_sets: Sequence[Axes] | None = None) -> Tally:
    """Of groups of columns that hold all `column_sets`, of these alone, or of all columns together, in at most
    `largest` cells; of the occupied cells where these are more.

    column_sets: columns that are looked at together; None: nobody knows beforehand.
    """
    everything = tuple(range(len(shape)))
    if column_sets is not None and _cells(shape, everything) > _WHOLE:
        wanted = tuple(dict.fromkeys(tuple(sorted(axes)) for axes in column_sets))
        groups = [(tuple(sorted(union)), members) for union, members in passes(shape, wanted)]
        unions = [(union, (union,)) for union, _ in groups]
        joined, alone = _together(shape, [union for union, _ in groups]), _together(shape, wanted)
        if min(joined, alone) <= largest:
            return JointTally(shape, unions if joined <= alone else groups)
    whole = _cells(shape, everything) <= largest
    return JointTally(shape, [(everything, (everything,))]) if whole else SparseTally(shape)


def _together(shape: tuple[int, ...], groups: Sequence[Axes]) -> int:
    return sum(_cells(shape, axes) for axes in groups)


def _cells(shape: tuple[int, ...], axes: Axes) -> int:
    return math.prod(shape[axis] for axis in axes)
