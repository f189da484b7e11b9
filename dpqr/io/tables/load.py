"""load_counts: a private table becomes a sealed histogram database over a public domain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from dpqr.data.attribute import Labels
from dpqr.data.counts import Counts
from dpqr.data.domain import Domain
from dpqr.data.faults import failing_attributes
from dpqr.errors import DataError
from dpqr.io.tables.csv_table import csv_batches
from dpqr.io.tables.discreet import discreetly
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.parquet_table import parquet_batches
from dpqr.io.tables.row_encoder import RowEncoder
from dpqr.io.tables.source import TableFile, TableSource
from dpqr.io.tables.structure import wanted_columns
from dpqr.io.tables.tally import Tally, tally
from dpqr.privacy.sealed import Private

Progress = Callable[[int], None]


def _silent(_: int) -> None:
    """The default observer."""


def load_counts(
    source: TableSource,
    domain: Domain,
    limits: Limits,
    *,
    records: int | None = None,
    progress: Progress = _silent,
) -> Private[Counts]:
    """Count the table's rows by cell of `domain` and seal the result.

    A row with a cell whose rule is `drop` is left out; all others count once (or as the count column says). Rows in
    any order, cut into batches and files in any way, give the same histogram. Memory does not grow with the number
    of rows: 8 bytes a cell up to `limits.cells`, a multiple of the occupied cells beyond.

    records: the declared, public number of records of the table (`replace`), those included that a rule drops (how
    many these are depends on their cells); None: it is private.
    progress: is given newly read bytes, never rows.

    Errors: DataError on a structural fault, on a broken `fail` rule, on a count column that does not hold counts, on
    more than `limits.records` records, or on another number than `records`. The words are constant: they do not
    depend on the fault's row or value, and no other error keeps them company.

    **Privacy**: rows count apart from each other, so one more row changes one cell by 1 (or by its count). Whether
    the call succeeds depends on rows only by `fail` rules, the count column's contract and declared totals; the
    table is then read to its end all the same, and the first broken column in the domain's order is named.
    """
    return discreetly(lambda: _load(source, domain, limits, records, progress), _unexpected)


def _load(
    source: TableSource, domain: Domain, limits: Limits, records: int | None, progress: Progress
) -> Private[Counts]:
    cells = tally(domain.shape, domain.size, limits.cells)
    failed: set[str] = set()
    read = 0
    for batch, rows in _batches(source, domain, limits, progress):
        coded = rows.encode(batch)
        failed |= coded.failed
        read += coded.read
        if read > limits.records:
            raise DataError("the table holds more records than the declared limit; raise the limit on records")
        if not failed:
            cells.add(coded.codes, coded.rows, coded.counts)
    _refuse_failed(failed, source, domain, limits)
    if records is not None and read != records:
        raise DataError(f"the table does not hold the declared number of records, {records}; correct --n or the table")
    return _sealed(cells)


def _batches(
    source: TableSource, domain: Domain, limits: Limits, progress: Progress
) -> Iterator[tuple[Any, RowEncoder]]:
    """Every batch of every file, with what encodes it."""
    wanted = wanted_columns(source, domain)
    cap = None if source.count_column is None else limits.records
    labels = [attribute.name for attribute in domain.attributes if isinstance(attribute.axis, Labels)]
    for file in source.files():
        rows = RowEncoder.of(domain, text=file.kind == "csv", count_cap=cap)
        with closing(_file_batches(file, wanted, labels, limits, progress)) as batches:
            for batch in batches:
                yield batch, rows


def _file_batches(file: TableFile, wanted: Any, labels: list[str], limits: Limits, progress: Progress) -> Any:
    if file.kind == "csv":
        return csv_batches(file, tuple(wanted), limits, progress)
    return parquet_batches(file, wanted, limits, progress, dictionaries=labels)


def _refuse_failed(failed: set[str], source: TableSource, domain: Domain, limits: Limits) -> None:
    for name, faults in failing_attributes(domain).items():
        if name in failed:
            raise DataError(
                f"column {name!r} has a cell that its rule in the domain file does not allow\n"
                f"the rule is 'fail' for: {', '.join(faults)}; mend the table, or choose another rule"
            )
    if failed:
        raise DataError(
            f"the count column {source.count_column!r} must hold whole numbers from 0 to {limits.records}; mend it"
        )


def _sealed(cells: Tally) -> Private[Counts]:
    return Private(cells.histogram())


def _unexpected(_: Exception) -> str:
    return "the table cannot be read; it is damaged, or needs more memory than there is"
