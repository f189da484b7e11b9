"""Counting: the question that every source of rows is asked, and what it answers.

"Group-by counts of these column sets, coded by this domain, under this bound on each person's contribution." Files and
tables in memory are counted here; an engine answers by itself, or lets this module count the batches that it hands out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
from msgspec import Struct

from dpqr.domain.domain import Domain
from dpqr.domain.histogram import RECORDS, Counts, Packing, PersonTable
from dpqr.kernel.arrays import AnyArray, Axes, IntArray, WordArray
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.source import KeyedNoise, NoiseSource, SystemNoise
from dpqr.kernel.unit import Every, PrivacyUnit
from dpqr.tables.cell_values import mask, numpy_values
from dpqr.tables.encoders import CodedRows, RowEncoder, TableBatch
from dpqr.tables.frames import fitting, lenient
from dpqr.tables.limits import CELL_ROWS_UNKNOWN, Limits
from dpqr.tables.parquet import Accepts, drop_malformed_rows
from dpqr.tables.persons import (
    PEAK,
    BoundedPersons,
    Bounding,
    FirstRows,
    PersonTally,
    Splitter,
    last_in_order,
    persons,
    units,
)
from dpqr.tables.tallies import SeparateTally, Tally, tally
from dpqr.tables.wanted import columns_to_read

Walk = Callable[[], Iterable[tuple[TableBatch, RowEncoder]]]
"""Begins a new pass over all rows."""


def secret_key(noise: NoiseSource) -> bytes:
    """A key of 256 bits, for nothing but the choice of persons' rows."""
    return noise.words(4).tobytes()


_PERSON_WORDS = 4
_ROW_WORDS = 2


def person_groups(rows: int, domain: Domain, limits: Limits, ranks: int = 0, names: int = 1) -> int:
    """Groups of persons, one pass each, that a person of their own in every row needs; a quarter more may be in one
    group than in another. ranks: words of a row's rank (`FirstRows`), 0 or 1. names: columns that name a unit."""
    words = len(Packing(domain.shape).groups) + ranks + _ROW_WORDS + names * _PERSON_WORDS
    needed = PEAK * min(rows, limits.records) * 8 * words
    return 1 if needed <= limits.memory else -(-5 * needed // (4 * limits.memory))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCounts:
    """What was counted in a table, or in a part of it. Private: all of it.

    counts: records by cell, of the asked column sets or of all columns. read: records, those included that are not
    counted. units: the same of persons, where the unit is one. dropped: records left out by a rule or the bound.
    failed: columns in which a rule `fail` was broken. malformed: whether a record could not be read. persons: the cells
    of each table of persons that was asked for.
    """

    counts: Counts = field(repr=False)
    read: int
    units: int
    dropped: int
    failed: frozenset[str]
    malformed: bool
    persons: tuple[IntArray, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """What is to be counted. Public, but for the key.

    domain: the code of every cell and the rules. column_sets: axes whose joint counts are all that is looked at;
    None: all columns together. persons: tables in which each person counts once a cell. unit: whose rows, and how many
    of one person's at most, in all and in one cell of such a table. count_column: where rows stand for several
    records. limits: of memory, records and bytes a row. key: secret; it chooses the rows and cells of a person, the
    same ones wherever they are counted. first: bounds a person's rows over the life of a counter. last: one more axis,
    of which each record, or person, draws its place (learners). workers: threads that count, each in arrays of its own;
    they do not change the result.
    """

    domain: Domain
    column_sets: Sequence[Axes] | None = None
    persons: Sequence[PersonTable] = ()
    unit: PrivacyUnit = PrivacyUnit()  # noqa: RUF009 (frozen)
    count_column: str | None = None
    limits: Limits = Limits()  # noqa: RUF009 (frozen)
    key: bytes = field(default_factory=lambda: secret_key(SystemNoise()), repr=False)
    first: FirstRows | None = None
    last: LastAxis | None = None
    workers: int = 1

    @property
    def columns(self) -> Mapping[str, Accepts]:
        """The columns that are read, in order: the domain's, then the count or the unit's columns; each with the Arrow
        types that it may have: None, or else the types that it may have, in words."""
        return {name: lenient(accepts) for name, accepts in self._strict.items()}

    @property
    def _strict(self) -> Mapping[str, Accepts]:
        return columns_to_read(self.domain, self.unit, self.count_column)

    @property
    def encoder(self) -> RowEncoder:
        """What codes a batch."""
        return RowEncoder.of(self.domain, count_cap=None if self.count_column is None else RECORDS)

    def counted(self, batches: Callable[[], Iterable[Any]], *, groups: int = 1, in_order: bool = False) -> TableCounts:
        """Count rows once each.

        batches: begins a pass over them, as Arrow record batches whose columns are `columns`, in that order. Each pass
        must see the same rows, in any order. groups: of persons, one pass each, where all do not fit in memory
        (`person_groups`). in_order: rows come in the order of persons (the unit's first column), numbers by value or
        texts by their bytes; then one pass is enough, and the rows of one person at a time are held.

        Where the unit is a row, any division of a table into parts may be counted part by part (`together`). Where it
        is a person, all rows of a person must be in one part.

        **Privacy** Every row must come once a pass. What counts a part again, because an attempt failed, must discard
        what that attempt counted. The order is that of the column as it comes: floats are read by their decimal texts,
        whose order is another, and a person 10 beside a person 9 would end the run.
        """
        rows, columns, most = self.encoder, self._strict, self.limits.batch_rows
        person = [*columns].index(self.unit.columns[0]) if in_order and self.unit.columns else None

        def walk() -> Iterator[tuple[TableBatch, RowEncoder]]:
            last = None
            for batch in batches():
                for start in range(0, batch.num_rows, most):
                    piece = batch.slice(start, most)
                    last = None if person is None else last_in_order(last, piece.column(person))
                    fit = fitting(piece, columns)
                    yield drop_malformed_rows(fit, self.unit.columns, self.limits.row_bytes), rows

        return self.of_records(walk, groups=groups, in_order=in_order)

    def of_records(
        self, walk: Walk, *, groups: int = 1, in_order: bool = False, cells: int | None = None
    ) -> TableCounts:
        """The same of records that are cut out of a format. cells: most of an array that is kept dense."""
        # One intake where rows have an order, or are looked at together.
        intakes: list[Intake]
        people = PersonTally(tables=self.persons, packing=Packing(self.domain.shape), key=self.key)
        if not self.unit.columns:
            workers = self.workers if self.last is None else 1
            intakes = [RowIntake(cells=self._tally(cells), last=self.last) for _ in range(workers)]
        else:
            person = PersonIntake(
                cells=self._sums(cells),
                packing=Packing(self.domain.shape),
                places=tuple(map(tuple(self._strict).index, self.unit.columns)),
                per=self.unit.per,
                splitter=Splitter.draw(groups, KeyedNoise(key=self.key)),
                most=self.unit.rows,
                memory=self.limits.memory,
                key=self.key,
                in_order=in_order,
                first=self.first,
                last=self.last,
                people=people,
            )
            intakes = [person]
        failed: set[str] = set()
        read = 0
        for _ in range(intakes[0].passes):
            failed |= take_all(walk(), intakes, self.limits.require_records)
            read = sum(each.read for each in intakes)
            for each in intakes:
                each.close()
        sums: Tally | SeparateTally = intakes[0].cells
        for each in intakes[1:]:
            sums.include(each.cells.histogram())
        return TableCounts(
            counts=sums.histogram(),
            read=read,
            units=sum(each.units for each in intakes),
            dropped=sum(each.dropped for each in intakes),
            failed=frozenset(failed),
            malformed=any(each.malformed for each in intakes),
            persons=tuple(people.counts),
        )

    def together(self, parts: Iterable[TableCounts]) -> TableCounts:
        """The sum over the parts of a table, exact and in any order. Each part is added as it comes, and none is kept.

        Raises: DataError above the limit on records.
        """
        cells, failed = self._sums(None), set[str]()
        people = PersonTally(tables=self.persons, packing=Packing(self.domain.shape), key=self.key).counts
        read = units = dropped = 0
        malformed = False
        for part in parts:
            cells.include(part.counts)
            read, units, dropped = read + part.read, units + part.units, dropped + part.dropped
            failed |= part.failed
            malformed |= part.malformed
            for whole, own in zip(people, part.persons, strict=True):
                whole += own
            self.limits.require_records(read)
        return TableCounts(
            counts=cells.histogram(),
            read=read,
            units=units,
            dropped=dropped,
            failed=frozenset(failed),
            malformed=malformed,
            persons=tuple(people),
        )

    def _tally(self, cells: int | None) -> Tally:
        shape = self.domain.shape
        largest = self.limits.cells if cells is None else cells
        return (
            tally(shape, largest, self.column_sets) if self.last is None else tally((*shape, self.last.count), largest)
        )

    def _sums(self, cells: int | None) -> Tally | SeparateTally:
        """What counts persons' rows. Raises: InfeasiblePlan where no bound on rows in one cell can be kept."""
        if self.unit.cell_rows is None:
            return self._tally(cells)
        if self.column_sets is None or self.last is not None or self.first is not None:
            raise InfeasiblePlan(CELL_ROWS_UNKNOWN)
        return SeparateTally(self.domain.shape, self.column_sets, self.unit.cell_rows)


# Intakes: what becomes of a table's batches, where the unit is a row and where it is a person.

_UNPACKED = 2**20


class Intake(Protocol):
    """Takes every batch of a table, pass after pass. All of it is private.

    cells: what has been counted. read: records seen in the pass under way. units: rows (or persons) that the table
    holds, those included of which nothing is kept. dropped: records that were left out. malformed: whether any row was.
    """

    @property
    def cells(self) -> Tally | SeparateTally: ...

    read: int
    units: int
    dropped: int
    malformed: bool

    @property
    def passes(self) -> int: ...

    def take(self, batch: TableBatch, rows: RowEncoder) -> frozenset[str]:
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

    def of_persons(self, bounded: BoundedPersons) -> IntArray: ...


class RowIntake(Struct, kw_only=True):
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

    def take(self, batch: TableBatch, rows: RowEncoder) -> frozenset[str]:
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

    places: of the unit's columns in a batch, that of persons first; per: the last of them counts by its periods. key:
    chooses the rows. in_order: rows come in the order of persons (`last_in_order`), so those of one person at a time
    are held, and with them all rows of each of that person's units. first: bounds rows over the life of a counter;
    None: over this table. people: counts persons themselves, from all their rows that the rules let pass. A malformed
    row is nobody's: whose it is cannot be read. A row counts as left out only if somebody has it: nothing bounds how
    many rows without a person one person may have brought.
    """

    cells: Tally | SeparateTally
    packing: Packing
    places: tuple[int, ...]
    splitter: Splitter
    most: int
    memory: int
    key: bytes = field(repr=False)
    per: Every | None = None
    in_order: bool = False
    first: FirstRows | None = None
    last: LastAxis | None = None
    people: PersonTally | None = None
    read: int = 0
    units: int = 0
    dropped: int = 0
    malformed: bool = False
    _group: int = 0
    _bounding: Bounding | None = None

    @property
    def passes(self) -> int:
        return self.splitter.groups

    def take(self, batch: TableBatch, rows: RowEncoder) -> frozenset[str]:
        self.read += batch.count
        self.malformed |= len(batch.malformed) > 0
        named = [batch.rows.column(place) for place in self.places]
        people, chosen = units(named, self.per)
        mine = self.splitter.group(people) == self._group
        if not mine.all():
            people = people.filter(mask(mine))
            chosen = chosen.copy()
            chosen[chosen] = mine
        own = batch.rows if chosen.all() else batch.rows.filter(mask(chosen))
        owners = people if len(self.places) == 1 or not self.in_order else persons(own.column(self.places[0]))[0]
        if self.first:
            ranked, failed = self.first.ranked(own, rows, self.packing)
            self._add(people, owners, np.arange(len(people)), ranked)
            return failed
        coded = rows.encode(own)
        places = np.arange(len(people)) if coded.places is None else coded.places
        self._add(people, owners, places, self.packing.pack(coded.codes, coded.rows))
        return coded.failed

    def _add(self, people: Any, owners: Any, places: AnyArray, rows: WordArray) -> None:
        """Where rows come in order, more rows may follow of the batch's last person only. owners: by the unit's first
        column, which alone has an order."""
        from pyarrow import compute

        if self.in_order and len(people):
            ended = int(np.count_nonzero(numpy_values(compute.not_equal(owners, owners[-1]))))
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
        if self.people is not None and bounded.held is not None:
            self.people.add(bounded.held)
        bounded = self.first.counted(bounded) if self.first else bounded
        drawn = self.last.of_persons(bounded) if self.last else None
        owners, start = bounded.owners, 0
        while start < len(owners):
            # All rows of a person lie together, and are counted together.
            stop = int(np.searchsorted(owners, owners[min(start + _UNPACKED, len(owners)) - 1], side="right"))
            codes = self.packing.unpack(bounded.rows[:, start:stop])
            if isinstance(self.cells, SeparateTally):
                self.cells.add(tuple(codes.T), owners[start:stop])
            else:
                self.cells.add((*codes.T, *(() if drawn is None else (drawn[start:stop],))), len(codes), None)
            start = stop
        self.units += bounded.persons
        self.dropped += bounded.lost
        self._bounding = None

    @property
    def _open(self) -> Bounding:
        if self._bounding is None:
            words = len(self.packing.groups) + (self.first is not None)
            self._bounding = Bounding(self.most, words, self.memory, self.key, ranked=self.first is not None)
        return self._bounding


# Workers: several threads that code and count the batches of one pass, each into an intake of its own.


def take_all(
    batches: Iterable[tuple[TableBatch, RowEncoder]], intakes: Sequence[Intake], check: Callable[[int], None]
) -> frozenset[str]:
    """Give every batch to one of the intakes; which one depends on the threads' speed.

    check: is called with the records read so far, in this thread. Returns: the columns whose `fail` rule was broken.
    No more batches are held than there are intakes and one; whatever a thread raises ends the pass.
    """
    failed: set[str] = set()
    if len(intakes) == 1:
        for batch, rows in batches:
            failed |= intakes[0].take(batch, rows)
            check(intakes[0].read)
        return frozenset(failed)
    idle: SimpleQueue[Intake | Exception] = SimpleQueue()
    for each in intakes:
        idle.put(each)

    def take(intake: Intake, batch: TableBatch, rows: RowEncoder) -> None:
        try:
            failed.update(intake.take(batch, rows))
            idle.put(intake)
        except Exception as error:  # shown by whoever waits for an intake
            idle.put(error)

    with ThreadPoolExecutor(len(intakes)) as pool:
        for batch, rows in batches:
            pool.submit(take, _free(idle), batch, rows)
            check(sum(each.read for each in intakes))
        for _ in intakes:
            _free(idle)
    check(sum(each.read for each in intakes))
    return frozenset(failed)


def _free(idle: SimpleQueue[Intake | Exception]) -> Intake:
    """An intake that waits. Raises: what a thread has raised."""
    found = idle.get()
    if isinstance(found, Exception):
        raise found
    return found
