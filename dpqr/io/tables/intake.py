"""Intakes: what becomes of a table's batches, where the unit is a row and where it is a person; tallies count rows of
codes, in memory free of the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray
from dpqr.data.histogram import Counts, DenseHistogram, SparseHistogram
from dpqr.data.packing import Packing
from dpqr.io.tables.arrow_arrays import mask
from dpqr.io.tables.persons.bounding import Bounded, Bounding
from dpqr.io.tables.persons.person import Splitter, persons
from dpqr.io.tables.row_encoder import CodedRows, Records, RowEncoder
from dpqr.noise.source import NoiseSource

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


_UNPACKED = 2**20


class Intake(Protocol):
    """Takes every batch of a table, pass after pass. All of it is private.

    read: records seen in the pass under way. units: rows (or persons) that the table holds, those included of which
    nothing is kept. dropped: records that were left out. malformed: whether any row was.
    """

    read: int
    units: int
    dropped: int
    malformed: bool

    @property
    def passes(self) -> int: ...

    def take(self, batch: Records, rows: RowEncoder) -> frozenset[str]:
        """Count a batch; the columns whose `fail` rule was broken in it."""
        ...

    def close(self) -> None:
        """End a pass."""
        ...


class LastAxis(Protocol):
    """What gives each row one more code, after those of the domain: a part of the table, or a slot."""

    @property
    def count(self) -> int:
        """How many codes there are."""
        ...

    def of_rows(self, coded: CodedRows) -> IntArray: ...

    def of_persons(self, bounded: Bounded) -> IntArray: ...


@dataclass(slots=True, kw_only=True)
class RowIntake:
    """Every row counts at once, by its own codes only. last: one more axis, or none."""

    cells: Tally
    last: LastAxis | None = None
    read: int = 0
    units: int = 0
    dropped: int = 0
    malformed: bool = False

    @property
    def passes(self) -> int:
        return 1

    def take(self, batch: Records, rows: RowEncoder) -> frozenset[str]:
        coded = rows.encode(batch.rows, batch.malformed)
        last = (self.last.of_rows(coded),) if self.last else ()
        self.cells.add((*coded.codes, *last), coded.rows, coded.counts)
        self.read += coded.read
        self.units += coded.read
        self.dropped += coded.read - coded.kept
        self.malformed |= len(coded.malformed) > 0
        return coded.failed

    def close(self) -> None:
        """Nothing waits."""


@dataclass(slots=True, kw_only=True)
class PersonIntake:
    """One group of persons a pass: rows of nobody are left out, then rows that a rule drops, then rows beyond K.

    place: of the unit column in a batch. A malformed row is nobody's: whose it is cannot be read. A row counts as left
    out only if somebody has it: nothing bounds how many rows without a person one person may have brought.
    """

    cells: Tally
    packing: Packing
    place: int
    splitter: Splitter
    most: int
    memory: int
    noise: NoiseSource
    last: LastAxis | None = None
    read: int = 0
    units: int = 0
    dropped: int = 0
    malformed: bool = False
    _group: int = 0
    _bounding: Bounding | None = None

    @property
    def passes(self) -> int:
        return self.splitter.groups

    def take(self, batch: Records, rows: RowEncoder) -> frozenset[str]:
        self.read += batch.count
        self.malformed |= len(batch.malformed) > 0
        people, chosen = persons(batch.rows.column(self.place))
        mine = self.splitter.group(people) == self._group
        if not mine.all():
            people = people.filter(mask(mine))
            chosen = chosen.copy()
            chosen[chosen] = mine
        coded = rows.encode(batch.rows if chosen.all() else batch.rows.filter(mask(chosen)))
        places = np.arange(len(people)) if coded.places is None else coded.places
        self._open.add(people, places, self.packing.pack(coded.codes, coded.rows))
        return coded.failed

    def close(self) -> None:
        bounded = self._open.finish()
        drawn = self.last.of_persons(bounded) if self.last else None
        for start in range(0, bounded.rows.shape[1], _UNPACKED):
            codes = self.packing.unpack(bounded.rows[:, start : start + _UNPACKED])
            last = () if drawn is None else (drawn[start : start + _UNPACKED],)
            self.cells.add((*codes.T, *last), len(codes), None)
        self.units += bounded.persons
        self.dropped += bounded.lost
        self.read, self._group, self._bounding = 0, self._group + 1, None

    @property
    def _open(self) -> Bounding:
        if self._bounding is None:
            words = len(self.packing.groups)
            self._bounding = Bounding(self.most, words, self.memory, self.noise)
        return self._bounding
