"""AnsweredBlock: the answers of one block beside the names of their cells, for everything that shows answers.

Made from a release in memory, or from its files (`dpqr.io.outputs.releases.read_answers`).

Examples:
    >>> sex = CellColumn(name="sex", texts=("F", "M"), places=np.array([0, 1]), ordered=False)
    >>> none = np.full(2, np.nan)
    >>> block = AnsweredBlock(
    ...     name="by sex",
    ...     columns=(sex,),
    ...     estimate=np.array([12.0, 8.5]),
    ...     error=none,
    ...     measured=none,
    ...     deviation=none,
    ...     lower=none,
    ...     upper=none,
    ...     basis=np.full(2, NO_BASIS, dtype=np.int8),
    ... )
    >>> block.rows, block.cells(1), block.certain
    (2, ('M',), False)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpqr.construction.answers.block_answers import BlockAnswers
from dpqr.construction.answers.intervals import CERTIFIED, COMPARED, ESTIMATE, NO_BASIS, BasisArray
from dpqr.data.arrays import FloatArray, IntArray
from dpqr.data.domain import Domain
from dpqr.workload.naming import row_names

DETAIL = "detail"
"""The column of what else distinguishes a query ("<= 30")."""
FIGURES = ("estimate", "error", "measured", "deviation", "lower", "upper")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellColumn:
    """A column that tells the answers of a block apart: `texts[places[row]]` names a row's cell.

    places: shape (rows,). ordered: the texts stand in the order of what they name, as bins do. own: of the last texts,
    how many are cells for null and the like, which have no place in that order.
    """

    name: str
    texts: tuple[str, ...]
    places: IntArray
    ordered: bool
    own: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnsweredBlock:
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
        bound, bounded = (self.upper - self.lower) / 2, np.isin(self.basis, (CERTIFIED, COMPARED))
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


def answered(answers: BlockAnswers, domain: Domain) -> AnsweredBlock:
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
