"""AnsweredBlock: the answers of one block beside the names of their cells, for everything that shows answers.

Made from a release in memory, or from its files (`dpqr.releases.files.read_release`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, field

from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.values import replace
from dpqr.releases.answers.errors import (
    CERTIFIED,
    COMPARED,
    ESTIMATE,
    FACTOR,
    NO_BASIS,
    AnswerIntervals,
    BasisArray,
    consistent_with_draws,
    distance_error,
    is_measured_exactly,
)
from dpqr.releases.answers.noisy import Noisy, narrower
from dpqr.releases.answers.refits import MeasuredBlocks
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement, row_names

DETAIL = "detail"
"""The column of what else distinguishes a query ("<= 30")."""
FIGURES = ("estimate", "error", "measured", "deviation", "lower", "upper")


class CellColumn(Struct, frozen=True, kw_only=True, eq=False):
    """A column that tells the answers of a block apart: `texts[places[row]]` names a row's cell.

    places: shape (rows,). ordered: the texts stand in the order of what they name, as bins do. own: of the last texts,
    how many are cells for null and the like, which have no place in that order.
    """

    name: str
    texts: tuple[str, ...]
    places: IntArray
    ordered: bool
    own: int = 0


class AnsweredBlock(Struct, frozen=True, kw_only=True, eq=False):
    """Answers of one block, every array of shape (rows,), in records (or the summed column's unit).

    error: estimated root mean square error of the estimate. measured, deviation: the last unbiased draw, and its noise.
    lower, upper: the interval that `basis` names, by its place in BASES. NaN, and NO_BASIS, where there is none.
    """

    name: str
    columns: tuple[CellColumn, ...]
    estimate: FloatArray
    error: FloatArray
    measured: FloatArray
    deviation: FloatArray
    lower: FloatArray
    upper: FloatArray
    basis: BasisArray

    @property
    def rows(self) -> int:
        return len(self.estimate)

    @property
    def certain(self) -> bool:
        """Whether some answer has an interval."""
        return bool((self.basis != NO_BASIS).any())

    @property
    def estimated(self) -> bool:
        """Whether some interval is estimated, not proved."""
        return bool((self.basis == ESTIMATE).any())

    @property
    def erring(self) -> bool:
        """Whether some estimate has an error of its own, which is not that of the draw beside it."""
        return bool((~np.isnan(self.error) & (self.error != self.deviation)).any())

    @property
    def spread(self) -> FloatArray:
        """The size of each interval's error: of the estimate, or of the noise, or the bound of a certificate or of a
        comparison."""
        bound, bounded = self.upper - self.estimate, np.isin(self.basis, (CERTIFIED, COMPARED))
        return np.where(bounded, bound, np.where(self.basis == ESTIMATE, self.error, self.deviation))

    @property
    def precision(self) -> FloatArray:
        """The error of each estimate; where none is known, that of the draw beside it."""
        return np.where(np.isnan(self.error), self.deviation, self.error)

    def first(self, rows: int) -> AnsweredBlock:
        """The same without the answers behind the first `rows`."""
        return self.chosen(np.arange(min(rows, self.rows)))

    def chosen(self, rows: IntArray) -> AnsweredBlock:
        """The answers of these rows, in this order."""
        columns = tuple(replace(column, places=column.places[rows]) for column in self.columns)
        return replace(self, columns=columns, **{name: getattr(self, name)[rows] for name in (*FIGURES, "basis")})

    def cells(self, row: int) -> tuple[str, ...]:
        """The texts of one row, column by column."""
        return tuple(column.texts[column.places[row]] for column in self.columns)


def answered_block(answers: BlockAnswers, domain: Domain) -> AnsweredBlock:
    """The answers of one block of a release.

    Privacy:
        Post-processing.
    """
    names, noisy, intervals = row_names(answers.block), answers.noisy, answers.intervals
    columns = []
    for axis, codes in names.cells.items():
        attribute = domain.attributes[axis]
        columns.append(
            CellColumn(
                name=attribute.name,
                texts=attribute.titles(),
                places=codes,
                ordered=attribute.ordered,
                own=len(attribute.own_cells),
            )
        )
    if names.detail is not None:
        columns.append(CellColumn(name=DETAIL, texts=names.details, places=names.detail, ordered=False))
    return AnsweredBlock(
        name=answers.block.name,
        columns=tuple(columns),
        estimate=answers.estimate,
        error=answers.error,
        measured=noisy.values,
        deviation=noisy.deviation,
        lower=intervals.lower,
        upper=intervals.upper,
        basis=intervals.basis,
    )


# BlockAnswers: one block's part of the answers of a release, with their errors and intervals.


class BlockAnswers(Struct, frozen=True, kw_only=True, eq=False):
    """One block's part of the answers, every array of shape (rows,), in records (or the summed column's unit).

    estimate: the final hypothesis' answers. error: their estimated root mean square errors; NaN where none is known.
    noisy: the last unbiased noisy answers (the estimates themselves, where these are unbiased with a known spread),
    with their noise and intervals; NaN where nothing was measured. bound: the certificate's, on every estimate of the
    release, where it holds at LEVEL at least, or of a session's comparison (`bounded_by`); else NaN.
    from_zero: intervals begin at 0 where no true answer is negative; those that versions before 0.12 wrote do not.

    >>> import numpy as np
    >>> one = np.array([8.0])
    >>> BlockAnswers(block=QueryBlock(name="records"), estimate=one, error=one / 4, noisy=Noisy.absent(1)).known_error
    array([nan])
    """

    block: QueryBlock
    estimate: FloatArray
    error: FloatArray
    noisy: Noisy
    bound: float = math.nan
    bounded_by: int = CERTIFIED
    from_zero: bool = True

    @property
    def intervals(self) -> AnswerIntervals:
        found = AnswerIntervals.of(self.estimate, self.error, self.noisy, self.bound, self.bounded_by)
        return found.from_zero() if self.from_zero and self.block.is_non_negative else found

    @property
    def known_error(self) -> FloatArray:
        return distance_error(self.estimate, self.noisy)

    def with_error(self, errors: Mapping[str, FloatArray], summed: Mapping[str, Noisy]) -> BlockAnswers:
        """With the block's error, if there is one; a sum then keeps its interval where it is no wider."""
        if self.block.name not in errors:
            return self
        error = consistent_with_draws(errors[self.block.name], self.estimate, self.noisy)
        noisy = narrower(self.noisy, FACTOR * error) if self.noisy is summed.get(self.block.name) else self.noisy
        return replace(self, error=error, noisy=noisy)


def distance_errors(answers: Sequence[BlockAnswers], history: Sequence[Measurement]) -> dict[str, FloatArray]:
    """By name, the errors of the blocks that are known without refits (`is_measured_exactly`)."""
    places = MeasuredBlocks.of(history)
    return {
        each.block.name: each.known_error
        for each in answers
        if is_measured_exactly(each.block, each.noisy, history, places)
    }


# Series: the answers of one block at several points in time, and how they change.


class Trend(Struct, frozen=True, kw_only=True, eq=False):
    """One block of answers at every point, earliest first.

    points: the same answers, in the same order. change: from the point before, in records, shape (points, rows).
    change_error: its standard error. Both NaN at the first point, and where an answer has an interval but no error;
    change_error also where no error is known.
    """

    points: tuple[AnsweredBlock, ...]
    change: FloatArray
    change_error: FloatArray

    @property
    def name(self) -> str:
        return self.points[0].name

    @property
    def rows(self) -> int:
        return self.points[0].rows


def trend(points: Sequence[AnsweredBlock], shared: Sequence[FloatArray] | None = None) -> Trend:
    """Return the changes of a block from point to point.

    The error of a change is that of both answers: their noise is independent, so squares add up.

    Args:
        shared: errors of the noise that each point shares with the one before, in records, each of shape (rows,);
            None: they share none. Shared noise cancels in a change.

    Privacy:
        Post-processing.
    """
    values, errors = (np.stack([getattr(point, name) for point in points]) for name in ("estimate", "precision"))
    common = np.zeros_like(errors) if shared is None else np.stack(shared)
    change, change_error = np.full_like(values, np.nan), np.full_like(values, np.nan)
    change[1:] = np.diff(values, axis=0)
    squares = errors[1:] ** 2 + errors[:-1] ** 2 - 2 * common[1:] ** 2
    change_error[1:] = np.sqrt(np.maximum(squares, 0))
    # Of a figure whose denominator may be 0 the interval alone speaks: a change would say nothing.
    silent = np.isnan(errors) & np.stack([point.basis != NO_BASIS for point in points])
    change[1:][silent[1:] | silent[:-1]] = np.nan
    return Trend(points=tuple(points), change=change, change_error=change_error)


# Cumulative answers: those of a counter's new node, added to what earlier releases have counted.

Blocks = tuple[AnsweredBlock, ...]


class Earlier(Struct, frozen=True, kw_only=True):
    """What the release before hands on to the next one of the same counter. Public.

    counts: cumulative answers, by level j: up to the last period before the new one whose number is a multiple of
    base^j; nothing at a level where that is 0. Blocks in workload order; their estimates and errors alone count.
    period: of the release before; empty: there is none. sha256: of its record.
    """

    counts: Mapping[int, Blocks] = field(default_factory=dict)
    period: str = ""
    sha256: str = ""


def add_periods(own: Blocks, earlier: Blocks | None) -> Blocks:
    """Add the answers of a node to those of all periods before it.

    Both are unbiased and their noise is independent, so estimates add up, and so do squared errors. The interval of a
    sum is estimate +- 1.96 errors, an estimated 95%.

    Args:
        own: answers of the rows that this release has read.
        earlier: cumulative answers up to the period before those; None: there is none.

    Returns:
        The sums; `measured` and `deviation` are of no single draw, and NaN.

    Privacy:
        Post-processing.
    """
    before = [None] * len(own) if earlier is None else earlier
    return tuple(_added(one, other) for one, other in zip(own, before, strict=True))


def _added(own: AnsweredBlock, earlier: AnsweredBlock | None) -> AnsweredBlock:
    none = np.full(own.rows, np.nan)
    alone = replace(own, error=own.precision, measured=none, deviation=none)
    if earlier is None:
        return alone
    estimate, error = own.estimate + earlier.estimate, np.hypot(own.precision, earlier.error)
    return replace(
        alone,
        estimate=estimate,
        error=error,
        lower=estimate - FACTOR * error,
        upper=estimate + FACTOR * error,
        basis=np.full(own.rows, ESTIMATE, dtype=np.int8),
    )
