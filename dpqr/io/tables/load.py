"""load_table: a private table becomes a sealed histogram database over a public domain.

How many passes are made and whether the histogram is dense follows from file sizes, which are private. It decides how
the work is done, never its result, and nobody is shown it. Standard input can be read once only, so there all persons
must fit together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpqr.data.arrays import Axes
from dpqr.data.attribute import Rule
from dpqr.data.domain import Domain, failing_attributes
from dpqr.data.histogram import Counts, DenseHistogram
from dpqr.data.packing import Packing
from dpqr.data.unit import PrivacyUnit
from dpqr.errors import DataError
from dpqr.io.tables.foreign import unpacked_bytes
from dpqr.io.tables.frames import frame_batches
from dpqr.io.tables.intake import Intake, LastAxis, PersonIntake, RowIntake
from dpqr.io.tables.last_axis import Parts, Slots
from dpqr.io.tables.limits import Limits, Percent, discreetly
from dpqr.io.tables.parquet.table import Accepts, parquet_batches
from dpqr.io.tables.persons.bounding import PEAK
from dpqr.io.tables.persons.person import Splitter
from dpqr.io.tables.row_encoder import Records, RowEncoder
from dpqr.io.tables.source import TableFile, TableSource
from dpqr.io.tables.structure import require_single_rows, wanted_columns
from dpqr.io.tables.tallies import Tally, tally
from dpqr.io.tables.text.csv_table import csv_batches
from dpqr.mechanisms.noisy_answers import RECORDS
from dpqr.noise.source import NoiseSource, SystemNoise
from dpqr.privacy.sealed import Private


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """A table that can be walked over. progress: is given newly read bytes, never rows."""

    source: TableSource
    domain: Domain
    unit: PrivacyUnit
    limits: Limits
    progress: Callable[[int], None] = lambda _: None

    def walk(self) -> Iterator[tuple[Records, RowEncoder]]:
        """Every batch of every file, with what encodes it: the domain's columns, then the count or unit column."""
        wanted = wanted_columns(self.source, self.domain, self.unit)
        cap = None if self.source.count_column is None else RECORDS
        for file in self.source.files():
            rows = RowEncoder.of(self.domain, text=file.kind != "parquet", count_cap=cap)
            with closing(self._of_file(file, wanted)) as batches:
                for batch in batches:
                    yield batch, rows

    def _of_file(self, file: TableFile, wanted: dict[str, Accepts]) -> Any:
        if file.kind == "foreign":
            self._require_sane(file)
        if file.frame is not None:
            return frame_batches(file, file.frame, wanted, self.limits, self.progress, spelt=self.unit.column)
        if file.kind == "csv":
            return csv_batches(file, tuple(wanted), self.limits, self.progress)
        return parquet_batches(file, wanted, self.limits, self.progress, spelt=self.unit.column)

    def _require_sane(self, file: TableFile) -> None:
        """The limits on bytes, before a library reads the file as a whole."""
        unpacked = unpacked_bytes(file.path)
        self.limits.require_bytes(unpacked)
        if self.limits.is_decompression_bomb(file.bytes or 0, unpacked):
            raise DataError(f"{file.path} unpacks to more than 100 times its size; state --max-bytes if that is meant")


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
    packed = file.kind in ("parquet", "foreign") or file.path.lower().endswith(".gz")
    width = 2 * columns + 4
    return (file.bytes or 0) // (max(1, width // _PACKED) if packed else width)


Progress = Callable[[int], None]


def _silent(_: int) -> None:
    """The default observer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTable:
    """What a run may draw from, sealed.

    counts: the records by cell. dropped: the records that were left out, as a histogram without columns; for
    neighbours it moves as `counts` does, by at most K records a person.
    """

    counts: Private[Counts]
    dropped: Private[Counts]


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
    asked: Sequence[Axes] | None = None,
    progress: Progress = _silent,
) -> LoadedTable:
    """Count the table's rows by cell of `domain` and seal the result.

    A malformed row, and one with a cell whose rule is `drop`, is left out; all others count once (or as the count
    column says). Rows in any order, cut into batches and files in any way, give the same histogram, in memory free of
    their number (`tally`). Where the unit has a column, rows without a person are left out, and of each person's other
    rows K are kept by a uniform choice; order, batches and files do not change its law. Memory then grows with the
    persons, up to `limits.memory`; files that could need more are read once for each of several groups of persons.

    noise: what that choice is drawn from. declared: the public number of records of the table (of persons, where the
    unit has a column), those included that a rule drops, for that depends on their cells; None: it is private.
    parts: the number of parts of which every record, or person, draws one (`Parts`), as a last axis of the counts.
    slots: whether that axis holds the order of the records instead (`Slots`); they are `declared` then.
    asked: columns that are looked at together, where all are known: their joint counts may then be all that is kept.
    progress: receives how much was read, in percent (`Percent`).

    Raises: UsageFault for parts of a table of counts, whose records cannot draw one by one. DataError on a structural
    fault, on a broken `fail` rule, on more than `limits.records` records or `limits.bytes` bytes, on persons beyond
    `limits.memory`, or on another number than `declared`. The words are constant: they do not depend on the fault's
    row or value, and no other error keeps them company.

    **Privacy**: rows count apart from each other, so one more row changes one cell by 1 (or by its count), or else
    `dropped`; for persons see `Bounding`, and `dropped` counts at most K rows of each. A table is the list of its
    records as the grammar of its format cuts them (`Records`), and neighbouring tables differ by one record of it.
    Whether the call succeeds depends on rows only by `fail` rules, declared totals and limits, each of them a bit that
    the plan names; for rules and totals the table is read to its end all the same, and the first broken column in the
    domain's order is named. Whatever it ends with was paid for (`PaidRun`).
    """
    last = _last_axis(parts, declared if slots else None, unit, noise)
    if last is not None:
        require_single_rows(source)
    table = Batches(source=source, domain=domain, unit=unit, limits=limits)
    return discreetly(lambda: _watched(table, noise, declared, last, asked, progress), _unexpected)


def _last_axis(parts: int | None, slots: int | None, unit: PrivacyUnit, noise: NoiseSource) -> LastAxis | None:
    if slots is not None:
        return Slots(count=slots * unit.rows, most=unit.rows, noise=noise)
    return None if parts is None else Parts(count=parts, noise=noise)


def _watched(
    table: Batches,
    noise: NoiseSource,
    declared: int | None,
    last: LastAxis | None,
    asked: Sequence[Axes] | None,
    progress: Progress,
) -> LoadedTable:
    files, limits = table.source.files(), table.limits
    groups = 1 if table.unit.column is None else group_count(files, table.domain, limits)
    size = bytes_on_disk(files)
    watch = Percent(total=None if size is None else groups * size, tell=progress)
    watch.begin()
    try:
        limits.require_bytes(size or 0)
        return _load(replace(table, progress=watch.read), groups, noise, declared, last, asked)
    finally:
        watch.end()


def _load(
    table: Batches,
    groups: int,
    noise: NoiseSource,
    declared: int | None,
    last: LastAxis | None,
    asked: Sequence[Axes] | None,
) -> LoadedTable:
    domain, limits = table.domain, table.limits
    shape = domain.shape if last is None else (*domain.shape, last.count)
    cells = tally(shape, dense_cells(table.source.files(), domain, limits), asked if last is None else None)
    by_row = table.unit.column is None
    intake = RowIntake(cells=cells, last=last) if by_row else _of_persons(cells, table, groups, noise, last)
    failed: set[str] = set()
    for _ in range(intake.passes):
        for batch, rows in table.walk():
            failed |= intake.take(batch, rows)
            limits.require_records(intake.read)
        intake.close()
    _refuse_failed(failed, domain, malformed=intake.malformed)
    _refuse_miscounted(intake, table.unit, declared)
    return LoadedTable(
        counts=Private(cells.histogram()),
        dropped=Private(DenseHistogram(np.array(intake.dropped, dtype=np.int64))),
    )


def _of_persons(cells: Tally, table: Batches, groups: int, noise: NoiseSource, last: LastAxis | None) -> PersonIntake:
    packing, columns = Packing(table.domain.shape), len(table.domain.attributes)
    return PersonIntake(
        cells=cells,
        packing=packing,
        place=columns,
        splitter=Splitter.draw(groups, noise),
        most=table.unit.rows,
        memory=table.limits.memory,
        noise=noise,
        last=last,
    )


def _refuse_miscounted(intake: Intake, unit: PrivacyUnit, declared: int | None) -> None:
    if declared is not None and intake.units != declared:
        what = "records" if unit.column is None else f"persons in column {unit.column!r}"
        raise DataError(f"the table does not hold the declared number of {what}, {declared}; correct --n or the table")


def _refuse_failed(failed: set[str], domain: Domain, *, malformed: bool) -> None:
    for name, faults in failing_attributes(domain).items():
        if name in failed:
            raise DataError(
                f"column {name!r} has a cell that its rule in the domain file does not allow\n"
                f"the rule is 'fail' for: {', '.join(faults)}; fix the table, or choose another rule"
            )
    if malformed and domain.malformed is Rule.FAIL:
        raise DataError(
            "the table has a malformed row: ragged, too long, not UTF-8, with a quote that is never closed, or without "
            "its count\nthe rule is 'fail' for: malformed; fix the table, or choose another rule"
        )


def _unexpected(_: Exception) -> str:
    return "the table cannot be read; it is damaged, or needs more memory than there is"
