"""QueryBlock: linear queries that are asked, measured and answered together.

A marginal has thousands of cells, but one record changes only one of them: all cells together cost as much as one. A
single linear query is a block of one row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np
from msgspec import Struct

from dpqr.domain.domain import Region
from dpqr.domain.histogram import MarginalSource, PersonCounts, PersonTable, PersonTotal
from dpqr.kernel.arrays import AnyArray, Axes, IntArray
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.workload.matrix import Identity, IntMatrix
from dpqr.workload.ranges import Ends, box_adjoint, box_sums, row_tops, single_row, spans

ROWWISE_ENTRIES = 2**22
"""Entries of the largest intermediate of a row-by-row product (32 MB)."""


class Factor(Struct, frozen=True, kw_only=True, eq=False):
    """An integer matrix over one group of attributes.

    axes, sizes: the group's attributes and their cell counts; the matrix has prod(sizes) cells, in C order.
    labels: names of the rows in the answers; empty for an identity, whose rows are cells, and for a single row.
    """

    axes: Axes
    sizes: tuple[int, ...]
    matrix: IntMatrix
    labels: tuple[str, ...] = ()

    @classmethod
    @lru_cache(maxsize=2**12)
    def identity(cls, axis: int, size: int) -> Factor:
        """One for all blocks of the column."""
        return cls(axes=(axis,), sizes=(size,), matrix=Identity(size))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryBlock:
    """Integer queries on disjoint groups of attributes, as a Kronecker product or row by row.

    factors: every combination of their rows is one query (Kronecker product; the last factor's rows vary fastest).
    With `rowwise`, query r is the product of row r of every factor. No factors: the count of all records.
    weight: relative importance, used in selections only.
    scale: step of the public grid; an answer is `scale` times the integer that `answer` returns.
    most_cells: C, of a table of persons: each person counts once in a cell of this marginal, and in C cells at most.
    None: records are counted. A table of persons is no linear query of the records: no model answers it.
    within: of a table of persons' totals, two bounds or the edges of bins, in steps. Its last factor is the summed
    column, with a row for each answer of a cell; the second one holds the values that are added up. Between two bounds
    a person adds (most - total, total - least) to two answers of a cell, their total there clipped to [least, most];
    between more edges 1 to the bin that their total lies in, the outer ones without end.
    where: of a table of persons, the cells that the rows which are looked at lie in, by groups of columns; () is all.
    times: what every count or total of persons is multiplied by, so that one draw suits tables of different steps.
    axes: all attributes of the block, factor by factor.
    is_marginal: whether the block is a plain marginal (every factor an identity); the total counts as one.
    rows: number of queries.

    >>> block = QueryBlock(name="sex by region", factors=(Factor.identity(0, 2), Factor.identity(1, 3)))
    >>> block.rows, block.axes, block.is_marginal
    (6, (0, 1), True)
    >>> block.apply(np.array([[1, 2, 3], [4, 5, 6]])).tolist()
    [1, 2, 3, 4, 5, 6]
    """

    name: str
    factors: tuple[Factor, ...] = ()
    rowwise: bool = False
    weight: Fraction = Fraction(1)
    scale: Fraction = Fraction(1)
    most_cells: int | None = None
    within: tuple[int, ...] | None = None
    where: tuple[Region, ...] = ()
    times: int = 1
    axes: Axes = field(init=False, repr=False)
    is_marginal: bool = field(init=False, repr=False)
    rows: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        axes = tuple(axis for factor in self.factors for axis in factor.axes)
        object.__setattr__(self, "axes", axes)
        plain = all(isinstance(factor.matrix, Identity) for factor in self.factors)
        object.__setattr__(self, "is_marginal", plain)
        rows = [factor.matrix.rows for factor in self.factors]
        object.__setattr__(self, "rows", rows[0] if self.rowwise else math.prod(rows))
        by = self.factors if self.within is None else self.factors[:-1]
        in_cells = all(isinstance(factor.matrix, Identity) for factor in by) and self.times >= 1
        of_persons = self.most_cells >= 1 and in_cells if self.most_cells is not None else not self.where
        assert of_persons, "persons are counted in the cells of a plain marginal"

    @property
    def person_table(self) -> PersonTable | None:
        """Of a table of persons what loaders count; None where records are counted."""
        if self.most_cells is None:
            return None
        if self.within is None:
            return PersonTable(self.axes, self.most_cells, where=self.where)
        total = PersonTotal(self.axes[-1], tuple(self.factors[-1].matrix.row(1).tolist()), self.within)
        return PersonTable(self.axes[:-1], self.most_cells, total, self.where)

    @property
    def sums_totals(self) -> bool:
        """Whether persons' totals are added up; in other tables persons are counted."""
        return self.within is not None and len(self.within) == 2

    @property
    def person_step(self) -> int:
        """What a person moves a cell of a table of persons by, in L1, where they come or go."""
        return self.times * (self.within[1] - self.within[0] if self.within and self.sums_totals else 1)

    @property
    def person_cells(self) -> int:
        """The cells of a table of persons: each has one answer, and of totals two, or one a bin."""
        return self.rows if self.within is None else self.rows // self.factors[-1].matrix.rows

    @property
    def cells(self) -> int:
        """Size of the marginal that the block is evaluated on."""
        return math.prod(factor.matrix.cells for factor in self.factors)

    @property
    def is_non_negative(self) -> bool:
        """Whether no true answer can be below 0: it counts, or adds up values that are not negative.

        Of persons' totals it adds up how far they lie from bounds that they are clipped to.
        """
        return self.most_cells is not None or all(factor.matrix.smallest >= 0 for factor in self.factors)

    @property
    def largest_coefficient(self) -> int:
        """Largest absolute coefficient, all factors multiplied out; of persons the most that one adds to an answer."""
        if self.most_cells is not None:
            return self.person_step
        return math.prod(factor.matrix.column_norm(0) for factor in self.factors)

    def answer(self, source: MarginalSource) -> AnyArray:
        """Answer from the marginal over `axes`.

        Returns:
            Answers in units of `scale`, shape (rows,): int64 on counts, float64 (records) on a hypothesis.

        Raises:
            InfeasiblePlan: a table of persons is asked of anything but counts of persons.
        """
        if self.person_table is None:
            return self.apply(source.marginal(self.axes))
        if not isinstance(source, PersonCounts):
            raise InfeasiblePlan(f"query {self.name!r} counts persons, and these are counts of records")
        return source.table(self.person_table).reshape(-1) * self.times

    def apply(self, marginal: AnyArray) -> AnyArray:
        """Multiply the marginal tensor over `axes`; returns shape (rows,)."""
        if self.is_marginal and not self.rowwise:
            return marginal.reshape(-1)
        tensor = marginal.reshape([factor.matrix.cells for factor in self.factors] or [1])
        if self.rowwise:
            # Boxes use running sums; other rows are multiplied in slices of about ROWWISE_ENTRIES entries.
            ends = self.ends
            if ends is not None:
                return box_sums(ends, tensor)
            answers = np.empty(self.rows, dtype=tensor.dtype)
            flat = tensor.reshape(tensor.shape[0], -1)
            for start, stop in _slices(self.rows, max(flat.shape)):
                tables = [factor.matrix.table(start, stop).astype(tensor.dtype, copy=False) for factor in self.factors]
                partial = _product(tables[0], flat)
                for table in tables[1:]:
                    partial = np.einsum("rc,rck->rk", table, partial.reshape(*table.shape, -1))
                answers[start:stop] = partial[:, 0]
            return answers
        for position, factor in enumerate(self.factors):
            tensor = _along(factor.matrix, tensor, position)
        return tensor.reshape(-1)

    @property
    def ends(self) -> tuple[Ends, ...] | None:
        """Starts and stops of every row along each factor's cells; None unless all rows are intervals."""
        known = [spans(factor.matrix) for factor in self.factors]
        return None if None in known else tuple(ends for ends in known if ends is not None)

    def adjoint(self, values: AnyArray) -> AnyArray:
        """Multiply values of shape (rows,) by the transpose; returns a tensor over `axes`, shape = their sizes."""
        sizes = [size for factor in self.factors for size in factor.sizes]
        if self.rowwise:
            ends, cells = self.ends, [factor.matrix.cells for factor in self.factors]
            summed = sum_of_products(self, values) if ends is None else box_adjoint(ends, values, cells)
            return summed.reshape(sizes)
        tensor = values.reshape([factor.matrix.rows for factor in self.factors] or [1])
        for position, factor in enumerate(self.factors):
            tensor = _along(factor.matrix, tensor, position, adjoint=True)
        return tensor.reshape(sizes)

    def row(self, index: int) -> QueryBlock:
        """Return query `index` alone, as a block of one row on the same grid."""
        picks = self._factor_rows(index)
        factors = tuple(
            Factor(axes=factor.axes, sizes=factor.sizes, matrix=single_row(factor.matrix, pick))
            for factor, pick in zip(self.factors, picks, strict=True)
        )
        name = f"{self.name}[{index}]" if self.rows > 1 else self.name
        return QueryBlock(name=name, factors=factors, weight=self.weight, scale=self.scale)

    @property
    def largest_row(self) -> QueryBlock:
        """The first query with the largest absolute coefficient: no query of non-negative coefficients moves further
        between neighbours, under either relation. (Any other moves at most twice as far, where a record is replaced.)
        """
        if self.rows == 1:
            return self
        tops = [row_tops(factor.matrix) for factor in self.factors]
        if self.rowwise:
            return self.row(int(np.prod(tops, axis=0).argmax()))
        picks = tuple(int(top.argmax()) for top in tops)
        return self.row(int(np.ravel_multi_index(picks, tuple(len(top) for top in tops))) if picks else 0)

    def _factor_rows(self, index: int) -> tuple[int, ...]:
        if self.rowwise:
            return (index,) * len(self.factors)
        shape = tuple(factor.matrix.rows for factor in self.factors)
        return tuple(int(pick) for pick in np.unravel_index(index, shape)) if shape else ()

    def coefficients(self) -> Iterator[IntArray]:
        """Yield each query's coefficients over the block's own cells, shape (cells,); for small universes only."""
        for index in range(self.rows):
            row = np.ones(1, dtype=np.int64)
            for factor, pick in zip(self.factors, self._factor_rows(index), strict=True):
                row = np.multiply.outer(row, factor.matrix.row(pick)).reshape(-1)
            yield row


def _along(matrix: IntMatrix, tensor: AnyArray, position: int, *, adjoint: bool = False) -> AnyArray:
    """Multiply along one dimension of `tensor`, by the matrix or by its transpose."""
    if isinstance(matrix, Identity):
        return tensor
    multiply, size = (matrix.adjoint, matrix.cells) if adjoint else (matrix.apply, matrix.rows)
    if tensor.ndim == 1:  # no axes to move: rounds ask hundreds of single queries
        return multiply(tensor[:, None])[:, 0]
    front = np.moveaxis(tensor, position, 0)
    product = multiply(front.reshape(front.shape[0], -1))
    return np.moveaxis(product.reshape((size, *front.shape[1:])), 0, position)


def _slices(rows: int, entries: int) -> Iterator[tuple[int, int]]:
    """Cut `rows` rows of `entries` entries each into slices of bounded size."""
    step = max(1, ROWWISE_ENTRIES // max(entries, 1))
    for start in range(0, rows, step):
        yield start, min(start + step, rows)


def _product(rows: AnyArray, tensor: AnyArray) -> AnyArray:
    """Matrix product; floats use BLAS, and einsum is twice as fast as `@` on integers."""
    product: AnyArray = rows @ tensor if tensor.dtype.kind == "f" else np.einsum("rc,ck->rk", rows, tensor)
    return product


def sum_of_products(block: QueryBlock, values: AnyArray) -> AnyArray:
    """Sum, over rows r, values[r] times the product of every factor's row r; shape = their cells."""
    last = block.factors[-1].matrix
    total = np.zeros((block.cells // last.cells, last.cells), dtype=values.dtype)
    for start, stop in _slices(block.rows, max(total.shape)):
        partial = values[start:stop, None]
        for factor in block.factors[:-1]:
            table = factor.matrix.table(start, stop).astype(values.dtype, copy=False)
            partial = np.einsum("rk,rc->rkc", partial, table).reshape(stop - start, -1)
        total += _product(np.ascontiguousarray(partial.T), last.table(start, stop).astype(values.dtype, copy=False))
    return total
