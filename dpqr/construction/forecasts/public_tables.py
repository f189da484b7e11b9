"""Public tables: made-up rows over a domain, on which a release is rehearsed or its error forecast.

No table is looked at: rows are a function of domain, number of records and a public seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.data.domain import Domain
from dpqr.data.histogram import Counts, DenseHistogram, SparseHistogram
from dpqr.noise.public import PublicGenerator, public_generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Laws of made-up columns: set on skews and dependences of 16 published tables (`tests/benchmarks/real_tables.py`).
    Figures: tests/benchmarks/RESULTS.md, "Forecast"."""

    tables: int = 8  # made-up tables, each with its own skews and dependences
    rows: int = 300_000  # rows drawn at most; of more records each row stands for several
    decay: tuple[float, float] = (1.7, 9.0)  # from the most to the least frequent cell; a table's own, between these
    unlike: float = 0.7  # deviation of the logarithm of a column's decay from its table's
    bend: tuple[float, float] = (0.5, 1.2)  # exponent of the rank in a column's law; small: few cells hold most records
    factors: int = 2  # hidden normal factors that columns depend on
    independence: tuple[float, float] = (0.13, 0.6)  # a table's own; 0: columns are functions of the factors
    dense: int = 2**20  # cells of a histogram that is kept dense


TUNING = Tuning()
GOLDEN = (math.sqrt(5) - 1) / 2
"""Its multiples, without their whole parts, spread evenly, and in another order than the multiples of a fraction."""


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
        cls, name: str, shape: tuple[int, ...], cells: AnyArray, counts: IntArray, records: int | None, seed: int
    ) -> PublicTable:
        """So many records, drawn with replacement from those of a table; None: that table.

        Args:
            cells, counts: occupied cells, shape (cells, attributes), and their counts.
        """
        if records is not None and len(counts):
            counts = public_generator(seed).multinomial(records, counts / counts.sum())
        kept = counts > 0
        return cls(name=name, records=int(counts.sum()), counts=_histogram(shape, cells[kept], counts[kept]))


def made_up_tables(domain: Domain, records: int, seed: int) -> tuple[PublicTable, ...]:
    """Tables of skewed columns that depend on each other through hidden factors, each more or less than the others.

    Why: how far a model is from a table depends on how much the records gather in few cells and on how columns depend
    on each other. Nothing public says either, so both are drawn, and the spread over the tables is part of a forecast.
    """
    rows, count = min(records, TUNING.rows), TUNING.tables
    tables = []
    for place in range(count):
        generator = public_generator(seed + place)
        skew, apart = (place + 0.5) / count, (place * GOLDEN + 0.5) % 1.0
        codes = possible_rows(domain, _columns(generator, rows, domain.shape, skew, apart), generator)
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


def _columns(
    generator: PublicGenerator, rows: int, shape: tuple[int, ...], skew: float, apart: float
) -> list[AnyArray]:
    """One column an attribute, by a Gaussian copula.

    Args:
        skew, apart: where the table's decay and independence lie between their ends, from 0 to 1.
    """
    from scipy.special import ndtr

    decay, power = _between(TUNING.decay, skew), _between(TUNING.independence, apart)
    factors = generator.standard_normal((rows, TUNING.factors))
    columns: list[AnyArray] = []
    for size in shape:
        ends = _law(generator, size, decay).cumsum()
        direction = generator.standard_normal(TUNING.factors)
        loading = generator.random() ** power
        common = factors @ (direction * (loading / np.linalg.norm(direction)))
        scores = ndtr(common + math.sqrt(1.0 - loading**2) * generator.standard_normal(rows))
        columns.append(np.minimum(np.searchsorted(ends / ends[-1], scores), size - 1))
    return columns


def _law(generator: PublicGenerator, size: int, decay: float) -> FloatArray:
    """Frequencies of a column's cells, which fall with the distance from the most frequent one, shape (size,)."""
    own = decay * math.exp(TUNING.unlike * generator.standard_normal())
    distance = np.abs(np.arange(size) - generator.integers(size))
    ranks = np.argsort(np.argsort(distance, kind="stable")) / (size + 2)
    law: FloatArray = np.exp(-own * ranks ** generator.uniform(*TUNING.bend))
    return law


def _between(ends: tuple[float, float], part: float) -> float:
    """On a logarithmic scale."""
    return float(ends[0] * (ends[1] / ends[0]) ** part)


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
