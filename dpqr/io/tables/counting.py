"""Counting: the question that every source of rows is asked, and what it answers.

"Group-by counts of these column sets, coded by this domain, under this bound on each person's contribution." Files and
tables in memory are counted here; an engine answers by itself, or lets this module count the batches that it hands out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpqr.data.arrays import Axes
from dpqr.data.domain import Domain
from dpqr.data.histogram import RECORDS, Counts
from dpqr.data.packing import Packing
from dpqr.data.unit import PrivacyUnit
from dpqr.io.tables.frames import fitting, lenient
from dpqr.io.tables.intake import Intake, LastAxis, PersonIntake, RowIntake
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.parquet.table import Accepts, sifted
from dpqr.io.tables.persons.bounding import PEAK
from dpqr.io.tables.persons.first_rows import FirstRows
from dpqr.io.tables.persons.person import Splitter
from dpqr.io.tables.row_encoder import Records, RowEncoder
from dpqr.io.tables.tallies import Tally, tally
from dpqr.io.tables.wanted import wanted_columns
from dpqr.io.tables.workers import take_all
from dpqr.noise.source import KeyedNoise, NoiseSource, SystemNoise

Walk = Callable[[], Iterable[tuple[Records, RowEncoder]]]
"""Begins a new pass over all rows."""


def secret_key(noise: NoiseSource) -> bytes:
    """A key of 256 bits, for nothing but the choice of persons' rows."""
    return noise.words(4).tobytes()


_PERSON_WORDS = 4
_ROW_WORDS = 2


def person_groups(rows: int, domain: Domain, limits: Limits, ranks: int = 0) -> int:
    """Groups of persons, one pass each, that a person of their own in every row needs; a quarter more may be in one
    group than in another. ranks: words of a row's rank (`FirstRows`), 0 or 1."""
    words = len(Packing(domain.shape).groups) + ranks + _ROW_WORDS + _PERSON_WORDS
    needed = PEAK * min(rows, limits.records) * 8 * words
    return 1 if needed <= limits.memory else -(-5 * needed // (4 * limits.memory))


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What was counted in a table, or in a part of it. Private: all of it.

    counts: records by cell, of the asked column sets or of all columns. read: records, those included that are not
    counted. units: the same of persons, where the unit is one. dropped: records left out by a rule or the bound.
    failed: columns in which a rule `fail` was broken. malformed: whether a record could not be read.
    """

    counts: Counts = field(repr=False)
    read: int
    units: int
    dropped: int
    failed: frozenset[str]
    malformed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """What is to be counted. Public, but for the key.

    domain: the code of every cell and the rules. asked: sets of axes whose joint counts are all that is looked at;
    None: all columns together. unit: whose rows, and how many of one person's at most. count_column: where rows stand
    for several records. limits: of memory, records and bytes a row. key: secret; it chooses the rows of a person, the
    same ones wherever they are counted. first: bounds a person's rows over the life of a counter. last: one more axis,
    of which each record, or person, draws its place (learners). workers: threads that count, each in arrays of its own;
    they do not change the result.
    """

    domain: Domain
    asked: Sequence[Axes] | None = None
    unit: PrivacyUnit = PrivacyUnit()  # noqa: RUF009 (frozen)
    count_column: str | None = None
    limits: Limits = Limits()  # noqa: RUF009 (frozen)
    key: bytes = field(default_factory=lambda: secret_key(SystemNoise()), repr=False)
    first: FirstRows | None = None
    last: LastAxis | None = None
    workers: int = 1

    @property
    def columns(self) -> Mapping[str, Accepts]:
        """The columns that are read, in order: the domain's, then the count or the unit column; each with the Arrow
        types that it may have: None, or else the types that it may have, in words."""
        return {name: lenient(accepts) for name, accepts in self._strict.items()}

    @property
    def _strict(self) -> Mapping[str, Accepts]:
        return wanted_columns(self.domain, self.unit, self.count_column)

    def encoder(self, *, text: bool) -> RowEncoder:
        """What codes a batch. text: the attribute's missing texts stand for null."""
        return RowEncoder.of(self.domain, text=text, count_cap=None if self.count_column is None else RECORDS)

    def counted(self, batches: Callable[[], Iterable[Any]], *, groups: int = 1, in_order: bool = False) -> Counted:
        """Count rows once each.

        batches: begins a pass over them, as Arrow record batches whose columns are `columns`, in that order. Each pass
        must see the same rows, in any order. groups: of persons, one pass each, where all do not fit in memory
        (`person_groups`). in_order: rows come in the order of persons, numbers by value or texts by their bytes; then
        one pass is enough, and the rows of one person at a time are held.

        Where the unit is a row, any division of a table into parts may be counted part by part (`together`). Where it
        is a person, all rows of a person must be in one part.

        **Privacy** Every row must come once a pass. What counts a part again, because an attempt failed, must discard
        what that attempt counted.
        """
        rows, columns, most = self.encoder(text=True), self._strict, self.limits.batch_rows

        def walk() -> Iterator[tuple[Records, RowEncoder]]:
            for batch in batches():
                for start in range(0, batch.num_rows, most):
                    piece = fitting(batch.slice(start, most), columns)
                    yield sifted(piece, self.unit.column, self.limits.row_bytes), rows

        return self.of_records(walk, groups=groups, in_order=in_order)

    def of_records(self, walk: Walk, *, groups: int = 1, in_order: bool = False, cells: int | None = None) -> Counted:
        """The same of records that are cut out of a format. cells: most of an array that is kept dense."""
        intakes = [self._intake(self._tally(cells), groups, in_order) for _ in range(self._threads)]
        failed: set[str] = set()
        read = 0
        for _ in range(intakes[0].passes):
            failed |= take_all(walk(), intakes, self.limits.require_records)
            read = sum(each.read for each in intakes)
            for each in intakes:
                each.close()
        sums = intakes[0].cells
        for each in intakes[1:]:
            sums.include(each.cells.histogram())
        return Counted(
            counts=sums.histogram(),
            read=read,
            units=sum(each.units for each in intakes),
            dropped=sum(each.dropped for each in intakes),
            failed=frozenset(failed),
            malformed=any(each.malformed for each in intakes),
        )

    def together(self, parts: Iterable[Counted]) -> Counted:
        """The sum over the parts of a table, exact and in any order. Each part is added as it comes, and none is kept.

        Raises: DataError above the limit on records.
        """
        cells, failed = self._tally(None), set[str]()
        read = units = dropped = 0
        malformed = False
        for part in parts:
            cells.include(part.counts)
            read, units, dropped = read + part.read, units + part.units, dropped + part.dropped
            failed |= part.failed
            malformed |= part.malformed
            self.limits.require_records(read)
        return Counted(
            counts=cells.histogram(),
            read=read,
            units=units,
            dropped=dropped,
            failed=frozenset(failed),
            malformed=malformed,
        )

    @property
    def _threads(self) -> int:
        """One where rows have an order, or are looked at together."""
        return self.workers if self.unit.column is None and self.last is None else 1

    def _tally(self, cells: int | None) -> Tally:
        shape = self.domain.shape
        largest = self.limits.cells if cells is None else cells
        return tally(shape, largest, self.asked) if self.last is None else tally((*shape, self.last.count), largest)

    def _intake(self, cells: Tally, groups: int, in_order: bool) -> Intake:
        if self.unit.column is None:
            return RowIntake(cells=cells, last=self.last)
        return PersonIntake(
            cells=cells,
            packing=Packing(self.domain.shape),
            place=len(self.domain.attributes),
            splitter=Splitter.draw(groups, KeyedNoise(key=self.key)),
            most=self.unit.rows,
            memory=self.limits.memory,
            key=self.key,
            in_order=in_order,
            first=self.first,
            last=self.last,
        )
