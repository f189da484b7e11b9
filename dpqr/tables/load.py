"""load_table: a private table becomes a sealed histogram database over a public domain.

How many passes are made and whether the histogram is dense follows from file sizes, which are private. It decides how
the work is done, never its result, and nobody is shown it. Standard input can be read once only, so there all persons
must fit together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from dpqr.domain.attribute import Rule
from dpqr.domain.domain import Domain, failing_attributes
from dpqr.domain.histogram import RECORDS, Counts, DenseHistogram, PersonCounts, PersonTable
from dpqr.kernel.arrays import Axes, IntArray
from dpqr.kernel.errors import DataError
from dpqr.kernel.noise.bits import uniforms_below
from dpqr.kernel.noise.source import NoiseSource, SystemNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import PrivacyUnit, whose
from dpqr.kernel.values import replace
from dpqr.tables.counting import Counting, LastAxis, TableCounts, person_groups, secret_key
from dpqr.tables.csv_table import csv_batches
from dpqr.tables.encoders import CodedRows, RowEncoder, TableBatch
from dpqr.tables.engines.known import refused_after
from dpqr.tables.files import TableFile
from dpqr.tables.foreign import unpacked_bytes
from dpqr.tables.frames import frame_batches
from dpqr.tables.limits import COUNTING, Limits, Percent, constantly, discreetly
from dpqr.tables.parquet import Accepts, parquet_batches
from dpqr.tables.persons import BoundedPersons, FirstRows, PeriodFilter
from dpqr.tables.source import TableSource
from dpqr.tables.structure import require_places, require_single_rows
from dpqr.tables.wanted import columns_to_read

if TYPE_CHECKING:
    from dpqr.tables.engines.engine import Engine

UNREADABLE = "the table cannot be read; it is damaged, or needs more memory than there is"


class Batches(Struct, frozen=True, kw_only=True):
    """A table that can be walked over. progress: is given newly read bytes, never rows."""

    source: TableSource
    domain: Domain
    unit: PrivacyUnit
    limits: Limits
    progress: Callable[[int], None] = lambda _: None

    def walk(self) -> Iterator[tuple[TableBatch, RowEncoder]]:
        """Every batch of every file, with what encodes it: the domain's columns, then the count or unit column. Of a
        period, the records in it alone."""
        wanted = columns_to_read(self.domain, self.unit, self.source.count_column, self.source.period)
        period = None if self.source.period is None else PeriodFilter.of(self.source.period, tuple(wanted))
        cap = None if self.source.count_column is None else RECORDS
        rows = RowEncoder.of(self.domain, count_cap=cap)
        for file in self.source.files():
            with closing(self._of_file(file, wanted)) as batches:
                for batch in batches:
                    yield batch if period is None else period.records(batch), rows

    def _of_file(self, file: TableFile, wanted: dict[str, Accepts]) -> Any:
        if file.kind == "foreign":
            # The limits on bytes, before a library reads the file as a whole.
            unpacked = unpacked_bytes(file.path)
            self.limits.require_bytes(unpacked)
            if self.limits.is_decompression_bomb(file.bytes or 0, unpacked):
                raise DataError(
                    f"{file.path} unpacks to more than 100 times its size; state --max-bytes if that is meant"
                )
        if file.frame is not None:
            return frame_batches(file.frame, wanted, self.limits, self.progress, spelt=self.unit.columns)
        if file.kind == "csv":
            return csv_batches(file, tuple(wanted), self.limits, self.progress)
        return parquet_batches(file, wanted, self.limits, self.progress, spelt=self.unit.columns)


_PACKED = 4
_CELLS_A_ROW = 16
_SMALL = 2**16


def bytes_on_disk(files: Sequence[TableFile]) -> int | None:
    """Of all files together; None for standard input, whose size is not known."""
    sizes = [file.bytes for file in files]
    return None if None in sizes else sum(size or 0 for size in sizes)


def group_count(files: Sequence[TableFile], domain: Domain, limits: Limits, ranks: int = 0, names: int = 1) -> int:
    """Groups of persons, one pass each.

    It allows for a person of their own in every row, for as many rows as the files can well hold (two bytes a cell
    and four more a row; a quarter of that in packed files), or `limits.records` where that is less; and for a quarter
    more in one group than in another. A table that needs more all the same ends in a DataError.
    """
    if any(file.bytes is None for file in files):
        return 1
    columns = len(domain.attributes) + names
    return person_groups(sum(_rows(file, columns) for file in files), domain, limits, ranks, names)


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
    packed = file.kind in ("parquet", "foreign") or file.path.lower().endswith(".gz")
    width = 2 * columns + 4
    return (file.bytes or 0) // (max(1, width // _PACKED) if packed else width)


Progress = Callable[[int], None]


def _silent(_: int) -> None:
    """The default observer."""


class LoadedTable(Struct, frozen=True, kw_only=True):
    """What a run may draw from, sealed.

    counts: the records by cell. dropped: the records that were left out, as a histogram without columns; for
    neighbours it moves as `counts` does, by at most K records a person. persons: the tables of persons that were asked
    for; for neighbours each moves by one in at most C cells a person.
    """

    counts: Private[Counts]
    dropped: Private[Counts]
    persons: Private[Counts]


def load_table(
    source: TableSource,
    domain: Domain,
    limits: Limits,
    *,
    unit: PrivacyUnit = PrivacyUnit(),  # noqa: B008 (frozen)
    noise: NoiseSource = SystemNoise(),  # noqa: B008 (frozen)
    declared: int | None = None,
    parts: int | None = None,
    slots: bool = False,
    column_sets: Sequence[Axes] | None = None,
    persons: Sequence[PersonTable] = (),
    progress: Progress = _silent,
) -> LoadedTable:
    """Count the table's rows by cell of `domain` and seal the result.

    A malformed row, and one with a cell whose rule is `drop`, is left out; all others count once (or as the count
    column says), whatever order, batches and files they come in. Where the unit has a column, rows without a person
    are left out, and of each person's other rows K are kept by a uniform choice (`Bounding`; counters: `FirstRows`).

    noise: what the key of that choice is drawn from. declared: the public number of records of the table (of persons,
    where the unit has a column), those included that a rule drops; None: it is private. parts: the number of parts of
    which every record, or person, draws one (`PartDraw`), as a last axis of the counts. slots: whether that axis holds
    the order of the records instead (`Slots`); they are `declared` then. column_sets: those looked at together,
    where all are known: their joint counts may then be all that is kept. persons: tables in which each person counts
    once a cell. progress: receives how much was read
    (`Percent`).

    Raises: UsageFault for parts of a table of counts. DataError, in constant words, on a structural fault, on a broken
    `fail` rule, beyond a limit, or on another number than `declared`.

    **Privacy**: rows count apart from each other, so one more row changes one cell by 1 (or by its count), or else
    `dropped`; for persons see `Bounding`, and `dropped` counts at most K rows of each. A table is the list of its
    records as the grammar of its format cuts them (`TableBatch`), and neighbouring tables differ by one record of it.
    Whether the call succeeds depends on rows only by `fail` rules, declared totals and limits, each of them a bit that
    the plan names; for rules and totals the table is read to its end all the same, and the first broken column in the
    domain's order is named. Whatever it ends with was paid for (`PaidRun`).
    """
    last: LastAxis | None = None if parts is None else PartDraw(count=parts, noise=noise)
    if slots and declared is not None:
        last = Slots(count=declared * unit.rows, most=unit.rows, noise=noise)
    if last is not None:
        require_single_rows(source)
    if slots:
        require_places(source)
    key = b"" if not unit.columns else secret_key(noise)
    assert unit.columns or not persons, "a table without a unit column has no persons"
    question = Counting(
        domain=domain, column_sets=column_sets, persons=persons, unit=unit, limits=limits, key=key, last=last
    )
    columns = tuple(columns_to_read(domain, unit, source.count_column, source.period))
    first = FirstRows.of(source.period, columns)
    question = replace(question, count_column=source.count_column, workers=source.workers, first=first)
    return discreetly(
        lambda: _sealed(_count_with_progress(source, question, progress), question, declared), lambda _: UNREADABLE
    )


def _count_with_progress(source: TableSource, counting: Counting, progress: Progress) -> TableCounts:
    files, limits = source.files(), counting.limits
    ranks, names = int(counting.first is not None), len(counting.unit.columns)
    groups = 1 if not names else group_count(files, counting.domain, limits, ranks, names)
    size = None if source.engine else bytes_on_disk(files)
    watch = Percent(total=None if size is None else groups * size, tell=progress)
    watch.begin()
    try:
        if source.engine is not None:
            return counted_by(source.engine, counting)
        limits.require_bytes(size or 0)
        table = Batches(source=source, domain=counting.domain, unit=counting.unit, limits=limits, progress=watch.read)
        return counting.of_records(table.walk, groups=groups, cells=dense_cells(files, counting.domain, limits))
    finally:
        watch.end()


def counted_by(engine: Engine, counting: Counting) -> TableCounts:
    """What an engine counts. Raises: DataError in one sentence for each engine, or in one of counting's own."""
    return constantly(lambda: engine.count(counting), refused_after(engine), COUNTING)


def _sealed(counted: TableCounts, counting: Counting, declared: int | None) -> LoadedTable:
    for name, faults in failing_attributes(counting.domain).items():
        if name in counted.failed:
            raise DataError(
                f"column {name!r} has a cell that its rule in the domain file does not allow\n"
                f"the rule is 'fail' for: {', '.join(faults)}; fix the table, or choose another rule"
            )
    if counted.malformed and counting.domain.malformed is Rule.FAIL:
        raise DataError(
            "the table has a malformed row: ragged, too long, not UTF-8, with a quote that is never closed, or without "
            "its count\nthe rule is 'fail' for: malformed; fix the table, or choose another rule"
        )
    if declared is not None and counted.units != declared:
        key = whose(counting.unit.columns, counting.unit.per) if counting.unit.columns else ""
        what = (
            "records" if not key else f"persons in column {key}" if counting.unit.noun == "person" else f"units ({key})"
        )
        raise DataError(f"the table does not hold the declared number of {what}, {declared}; correct --n or the table")
    return LoadedTable(
        counts=Private(counted.counts),
        dropped=Private(DenseHistogram(np.array(counted.dropped, dtype=np.int64))),
        persons=Private(PersonCounts(counting.domain.shape, dict(zip(counting.persons, counted.persons, strict=True)))),
    )


# The last axis: one more code for each row, after those of the domain, for learners.
#
# Parts: which of several disjoint parts of the table a record belongs to. Slots: at which step of a stream a record
# is learned from.


class PartDraw(Struct, frozen=True, kw_only=True):
    """Draws one of `count` parts, uniformly and for each unit apart.

    **Privacy** A unit's part depends on nothing else, so between neighbours the draws of all others can be made alike
    and one part differs: under add-remove the part that the unit came to, under replace the one part that both of
    them drew. A shuffle into equal parts could move other records when one comes or goes.
    """

    count: int
    noise: NoiseSource

    def of_rows(self, coded: CodedRows) -> IntArray:
        """A part for each kept row of the next batch."""
        return uniforms_below(self.count, coded.rows, self.noise)

    def of_persons(self, bounded: BoundedPersons) -> IntArray:
        """A part for each row of the next group of persons, the same for all rows of a person."""
        drawn: IntArray = uniforms_below(self.count, bounded.persons, self.noise)[bounded.owners]
        return drawn


KEY = 1 << 62


@dataclass(slots=True, kw_only=True)
class Slots:
    """One of `count` slots for each row: rows have the one of their place among all rows read, those included that a
    rule drops and the malformed ones, which leave theirs empty. Persons have `most` slots each, one after the other,
    their rows in the order of their codes; which ones is drawn, for a place in a file would tell how many rows others
    have.

    **Privacy** (replace; `count` is public.) Rows: a row that takes another one's place takes its slot, or leaves it
    empty, and moves no other. Persons: their places are a uniform permutation, whatever numbers they came in with, so
    that of the tables' common persons can be made alike, and whoever replaces a person takes that one's slots. A
    person's rows are sorted among themselves only.
    """

    count: int
    most: int
    noise: NoiseSource
    _read: int = 0
    _places: IntArray | None = field(default=None, repr=False)

    def of_rows(self, coded: CodedRows) -> IntArray:
        """A slot for each kept row of the next batch."""
        found = (self._read + coded.origins) % self.count  # more rows than declared end in an error once all are read
        self._read += coded.read
        return np.asarray(found, dtype=np.int64)

    def of_persons(self, bounded: BoundedPersons) -> IntArray:
        """A slot for each row of the next group of persons."""
        persons = self.count // self.most
        if self._places is None:
            self._places = _permutation(persons, self.noise)
        mine = self._places[(self._read + np.arange(bounded.persons)) % persons]
        self._read += bounded.persons
        ordered = np.lexsort((*bounded.rows, bounded.owners))
        owners = bounded.owners[ordered]
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        ranks = np.arange(len(owners)) - np.repeat(starts, np.diff(starts, append=len(owners)))
        found = np.empty(len(owners), dtype=np.int64)
        found[ordered] = mine[owners] * self.most + ranks
        return found


def _permutation(count: int, noise: NoiseSource) -> IntArray:
    """Uniform: the order of distinct uniform keys."""
    while True:
        keys = uniforms_below(KEY, count, noise)
        if len(np.unique(keys)) == count:
            return np.argsort(keys)
