"""Public tables: made-up rows over a domain, on which a release is rehearsed or its error forecast.

No table is looked at: rows are a function of domain, number of records and a public seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray
from dpqr.data.domain import Domain
from dpqr.data.histogram import Counts, DenseHistogram, SparseHistogram
from dpqr.noise.public import PublicGenerator, public_generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by `python tests/benchmarks/forecast.py --half set`; figures: tests/benchmarks/RESULTS.md, "Forecast"."""

    tables: int = 3  # made-up tables, each with its own skews and dependences
    rows: int = 1_000_000  # rows drawn at most; of more records each row stands for several
    classes: int = 3  # latent classes
    skew: tuple[float, float] = (0.5, 2.5)  # exponent of a column's Zipf law, uniform between these
    dependence: tuple[float, float] = (0.2, 0.8)  # part of a column's cells that follow the class, uniform
    dense: int = 2**20  # cells of a histogram that is kept dense


TUNING = Tuning()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicTable:
    """name: as messages call it. records: how many there are. counts: by cell; public, so never sealed.

    >>> PublicTable.of("two rows", (2,), np.array([[1], [1]])).counts.marginal((0,)).tolist()
    [0, 2]
    """

    name: str
    records: int
    counts: Counts

    @classmethod
    def of(cls, name: str, shape: tuple[int, ...], codes: AnyArray, records: int | None = None) -> PublicTable:
        """Rows of codes, shape (rows, attributes); records: that they stand for, more than the rows; None: as many."""
        cells, counts = np.unique(codes, axis=0, return_counts=True)
        if records is not None and records > len(codes):
            counts = _scaled(counts, records)
        return cls(name=name, records=int(counts.sum()), counts=_histogram(shape, cells, counts))

    @classmethod
    def resampled(
        cls, name: str, shape: tuple[int, ...], cells: AnyArray, counts: IntArray, records: int, seed: int
    ) -> PublicTable:
        """So many records, drawn with replacement from those of a table; that table where it holds as many.

        Args:
            cells, counts: occupied cells, shape (cells, attributes), and their counts.
        """
        if records != counts.sum() and len(counts):
            counts = public_generator(seed).multinomial(records, counts / counts.sum())
        kept = counts > 0
        return cls(name=name, records=int(counts.sum()), counts=_histogram(shape, cells[kept], counts[kept]))


def made_up_tables(domain: Domain, records: int, seed: int) -> tuple[PublicTable, ...]:
    """Tables of skewed columns that depend on each other through latent classes, each with other skews.

    Why: how far a model is from a table depends on how much the records gather in few cells and on how columns depend
    on each other. Nothing public says either, so both are drawn, and the spread over the tables is part of a forecast.
    """
    rows = min(records, TUNING.rows)
    tables = []
    for place in range(TUNING.tables):
        generator = public_generator(seed + place)
        codes = possible_rows(domain, _latent_classes(generator, rows, domain.shape), generator)
        tables.append(PublicTable.of(f"made-up table {place + 1}", domain.shape, np.stack(codes, axis=1), records))
    return tuple(tables)


def possible_rows(domain: Domain, codes: list[AnyArray], generator: PublicGenerator) -> list[AnyArray]:
    """As many rows, without those that the domain file declares impossible, in whose place others are drawn again.

    Args:
        codes: one column an attribute, shape (rows,).
    """
    rows = len(codes[0]) if codes else 0
    impossible = np.zeros(rows, dtype=bool)
    for region in domain.facts.impossible:
        impossible |= region.cells[tuple(codes[axis] for axis in region.axes)]
    possible = np.flatnonzero(~impossible)
    if not 0 < len(possible) < rows:
        return codes
    chosen = generator.choice(possible, size=rows)
    return [column[chosen] for column in codes]


def _latent_classes(generator: PublicGenerator, rows: int, shape: tuple[int, ...]) -> list[AnyArray]:
    """One column an attribute: a part of its cells has the order of values of the record's class, the others one order
    for all."""
    odds = np.arange(TUNING.classes, 0, -1, dtype=np.float64)
    classes = generator.choice(TUNING.classes, rows, p=odds / odds.sum())
    columns: list[AnyArray] = []
    for size in shape:
        skew, share = generator.uniform(*TUNING.skew), generator.uniform(*TUNING.dependence)
        law = 1.0 / np.arange(1, size + 1) ** skew
        ranks = generator.choice(size, rows, p=law / law.sum())
        orders = np.stack([generator.permutation(size) for _ in range(TUNING.classes + 1)])
        follows = np.where(generator.random(rows) < share, classes, TUNING.classes)
        columns.append(orders[follows, ranks])
    return columns


def _scaled(counts: AnyArray, records: int) -> AnyArray:
    """In proportion, rounded so that they add up to `records`."""
    ends = np.cumsum(counts.astype(np.float64)) / counts.sum() * records
    scaled: AnyArray = np.diff(np.round(ends), prepend=0.0).astype(np.int64)
    return scaled


def _histogram(shape: tuple[int, ...], cells: AnyArray, counts: AnyArray) -> Counts:
    sparse = SparseHistogram(shape, cells, counts)
    if math.prod(shape) > TUNING.dense:
        return sparse
    return DenseHistogram(sparse.marginal(tuple(range(len(shape)))))
