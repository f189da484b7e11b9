"""Intakes: what becomes of a table's batches, where the unit is a row and where it is a person."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray, WordArray
from dpqr.data.packing import Packing
from dpqr.io.tables.arrow_arrays import mask, numpy_values
from dpqr.io.tables.persons.bounding import Bounded, Bounding
from dpqr.io.tables.persons.first_rows import FirstRows
from dpqr.io.tables.persons.person import Splitter, last_in_order, persons
from dpqr.io.tables.row_encoder import CodedRows, Records, RowEncoder
from dpqr.io.tables.tallies import Tally

_UNPACKED = 2**20


class Intake(Protocol):
    """Takes every batch of a table, pass after pass. All of it is private.

    cells: what has been counted. read: records seen in the pass under way. units: rows (or persons) that the table
    holds, those included of which nothing is kept. dropped: records that were left out. malformed: whether any row was.
    """

    cells: Tally
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

    place: of the unit column in a batch. key: chooses the rows. in_order: rows come in the order of persons
    (`last_in_order`), so those of one person at a time are held. first: bounds rows over the life of a counter; None:
    over this table. A malformed row is nobody's: whose it is cannot be
    read. A row counts as left out only if somebody has it: nothing bounds how many rows without a person one person may
    have brought.
    """

    cells: Tally
    packing: Packing
    place: int
    splitter: Splitter
    most: int
    memory: int
    key: bytes = field(repr=False)
    in_order: bool = False
    first: FirstRows | None = None
    last: LastAxis | None = None
    read: int = 0
    units: int = 0
    dropped: int = 0
    malformed: bool = False
    _group: int = 0
    _bounding: Bounding | None = None
    _before: Any = field(default=None, repr=False)

    @property
    def passes(self) -> int:
        return self.splitter.groups

    def take(self, batch: Records, rows: RowEncoder) -> frozenset[str]:
        self.read += batch.count
        self.malformed |= len(batch.malformed) > 0
        cells = batch.rows.column(self.place)
        if self.in_order:
            self._before = last_in_order(self._before, cells)
        people, chosen = persons(cells)
        mine = self.splitter.group(people) == self._group
        if not mine.all():
            people = people.filter(mask(mine))
            chosen = chosen.copy()
            chosen[chosen] = mine
        own = batch.rows if chosen.all() else batch.rows.filter(mask(chosen))
        if self.first:
            ranked, failed = self.first.ranked(own, rows, self.packing)
            self._add(people, np.arange(len(people)), ranked)
            return failed
        coded = rows.encode(own)
        places = np.arange(len(people)) if coded.places is None else coded.places
        self._add(people, places, self.packing.pack(coded.codes, coded.rows))
        return coded.failed

    def _add(self, people: Any, places: AnyArray, rows: WordArray) -> None:
        """Where rows come in order, more rows may follow of the batch's last person only."""
        from pyarrow import compute

        if self.in_order and len(people):
            ended = int(np.count_nonzero(numpy_values(compute.not_equal(people, people[-1]))))
            before = int(np.searchsorted(places, ended))
            if ended:
                self._open.add(people[:ended], places[:before], rows[:, :before])
                self._finish()
            people, places, rows = people[ended:], places[before:] - ended, rows[:, before:]
        self._open.add(people, places, rows)

    def close(self) -> None:
        self._finish()
        self.read, self._group = 0, self._group + 1

    def _finish(self) -> None:
        bounded = self._open.finish()
        bounded = self.first.counted(bounded) if self.first else bounded
        drawn = self.last.of_persons(bounded) if self.last else None
        for start in range(0, bounded.rows.shape[1], _UNPACKED):
            codes = self.packing.unpack(bounded.rows[:, start : start + _UNPACKED])
            last = () if drawn is None else (drawn[start : start + _UNPACKED],)
            self.cells.add((*codes.T, *last), len(codes), None)
        self.units += bounded.persons
        self.dropped += bounded.lost
        self._bounding = None

    @property
    def _open(self) -> Bounding:
        if self._bounding is None:
            words = len(self.packing.groups) + (self.first is not None)
            self._bounding = Bounding(self.most, words, self.memory, self.key, ranked=self.first is not None)
        return self._bounding
