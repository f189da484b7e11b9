"""Sensitivity: the largest change of integer answers of blocks measured together, between neighbours.

Every figure is computed from the integer matrices that multiply the data, in units of each block's own grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import IntArray
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import PAIRWISE_WORK, Identity, IntMatrix, Prefix
from dpqr.workload.ranges import row_extremes
from dpqr.workload.trees import Tree

SUMMED = 2**24
"""Entries of a row-by-row block's columns that are summed, at most; of boxes: cells."""


class Norm(Enum):
    """The norm of the change; the value is the power under the sum (L2 is kept as its integer square)."""

    LARGEST = 0
    L1 = 1
    L2_SQUARED = 2


def sensitivity(blocks: Sequence[QueryBlock], norm: Norm, unit: PrivacyUnit) -> int:
    """Return the largest change of the blocks' integer answers, measured together, between neighbours.

    Statements P28 and P29 of the guide's topic proofs.

    >>> from dpqr.workload.block import Factor
    >>> marginal = QueryBlock(name="ages", factors=(Factor.identity(0, 5),))
    >>> [sensitivity((marginal,), Norm.L1, PrivacyUnit(neighbours=each)) for each in Neighbours]
    [1, 2]

    add-remove: one record adds or removes one column, so the change is a column: the largest column norm.
    replace: one column leaves and another comes, so the change is a difference of two columns. A record that a rule
    of the domain drops is a column of zeros, so a record may also come from nothing or leave to nothing: the largest
    column norm is a lower bound here too.
    Blocks measured together: norms add up (L1 and squared L2) or the largest counts (largest), an upper bound that
    is attained where one cell is worst for all of them.

    Persons of at most K rows: K times the figure of one row under either relation (K^2 times for squared L2).
    Proof: add-remove adds or removes a sum of at most K columns, whose norm is at most K times the largest. Replace
    puts a sum of at most K columns in the place of another such sum; filled up with zeros to K columns each, the two
    can be paired off, so the change is a sum of K differences of two columns or zeros, each within the figure of one
    replaced row because that figure counts the zeros in. Both are attained, by K equal rows. The figure of one
    replaced row is at most twice an added one, so this is never above the 2K of the triangle inequality, and below it
    where no two columns lie that far apart: one 0/1 query moves by K, not by 2K.

    At most m rows of a person in one cell of a table (`PrivacyUnit.cell_rows`): for squared L2 of a plain table of
    counts the K^2 above is `PrivacyUnit.most_squared`. Proof: its columns are orthogonal and of one norm, so what a
    person adds has the squared norm of one row times the sum of squares of that person's counts. Under replace the
    change is x - y with no negative entry in either, so its squared norm is at most |x|^2 + |y|^2: as for one row,
    twice the figure of an added one where the table has two cells or more. That is attained where two persons can
    touch different cells (a table has as many as they need), and an upper bound elsewhere. All other figures are those
    of K rows, of which a table counts no more.

    Tables of persons (`QueryBlock.most_cells`, C): a person counts 0 or 1 in every cell and 1 in at most C of them,
    whatever K is. So an added or removed person moves as many cells by 1, and a replaced one those of both persons, at
    most 2 C and never more than there are. The change has no other entries than -1, 0 and 1, so L1 and squared L2 are
    the number of moved cells, and the largest is 1. That is the unit of at most C rows of which a table counts one a
    cell: K = C and m = 1 above. Attained by two persons of as many different cells. A person moves every table at once,
    by the choice of cells that each table makes, so several tables add up as any blocks do.

    A table by bins of totals is such a table: in each of at most C cells a person counts in one bin, by their own rows.

    Totals of persons between two bounds (`QueryBlock.within`): in each of at most C cells a person adds (S - t, t),
    where S is the distance of the bounds and 0 <= t <= S: L1 norm S, squared L2 norm (S - t)^2 + t^2 <= S^2, no entry
    above S. So one who comes or goes moves at most min(C, cells) S and min(C, cells) S^2. Under replace a cell changes
    by (t' - t, t - t') where both persons have it: L1 norm at most 2 S, squared L2 norm at most 2 S^2, no entry above
    S; a cell that one of them has alone by S and S^2. Each has at most min(C, cells) of them, so both norms are at most
    twice those of one who comes. All are attained at the bounds. `times` multiplies every answer, so L1 and the largest
    by itself, and squared L2 by its square.
    """
    return _together(tuple(blocks), norm, unit.neighbours, unit.rows, unit.most_squared)


@lru_cache(maxsize=2**16)
def _together(blocks: tuple[QueryBlock, ...], norm: Norm, neighbours: Neighbours, rows: int, squared: int) -> int:
    """Cached by the blocks' identity (they are frozen), as every round asks for it. rows: of one person. squared: the
    largest sum of squares of a person's counts in a table."""
    of_block = _added_column if neighbours is Neighbours.ADD_REMOVE else _replaced_column
    changes = []
    for block in blocks:
        if block.most_cells is not None:
            persons, step = 1 if neighbours is Neighbours.ADD_REMOVE else 2, block.person_step
            moved = min(block.most_cells, block.person_cells) * persons
            if not block.sums_totals:
                moved = min(moved, block.rows)  # who leaves a count and who comes to it leave it as it is
            changes.append(step if norm is Norm.LARGEST else moved * step**norm.value)
            continue
        whole_table = block.is_marginal and block.axes != ()  # the number of records is of all rows that are used
        times = rows if norm is not Norm.L2_SQUARED else squared if whole_table else rows * rows
        changes.append(times * of_block(block, norm))
    return max(changes, default=0) if norm is Norm.LARGEST else sum(changes)


def _added_column(block: QueryBlock, norm: Norm) -> int:
    """Largest column norm. Kronecker: a column is a product of columns, so its norm is the product of norms.

    Row by row: where it is cheap, columns are summed (`_largest_column_sum`). Elsewhere |product of entries|^p summed
    over rows is at most the product over all factors but one of their largest entries^p, times that one's column norm;
    the smallest such bound is returned.
    """
    power = norm.value
    norms = [factor.matrix.column_norm(power) for factor in block.factors]
    if not block.rowwise or norm is Norm.LARGEST or len(norms) == 1:
        return math.prod(norms)
    summed = _largest_column_sum(block)
    if summed is not None and (norm is Norm.L1 or block.largest_coefficient == 1):
        return summed
    tops = [int(factor.matrix.column_norm(0) ** power) for factor in block.factors]
    return min(n * math.prod(tops[:i] + tops[i + 1 :]) for i, n in enumerate(norms))


@lru_cache(maxsize=2**12)
def _largest_column_sum(block: QueryBlock) -> int | None:
    """Largest sum of a column of a row-by-row block without negative entries: its L1 norm, and its squared L2 norm if
    all entries are 0 or 1. None where entries may be negative, or beyond the limits of time and of int64."""
    work = block.cells if block.ends is not None else block.cells * block.rows
    if work > SUMMED or block.rows * block.largest_coefficient >= 2**62:
        return None
    if any(factor.matrix.smallest < 0 for factor in block.factors):
        return None
    return int(block.adjoint(np.ones(block.rows, dtype=np.int64)).max())


def _replaced_column(block: QueryBlock, norm: Norm) -> int:
    """Largest distance of two columns, one of which may be the zeros of a dropped record."""
    return max(_distance(block, norm), _added_column(block, norm))


def _distance(block: QueryBlock, norm: Norm) -> int:
    """Largest distance of two columns, exact where it is cheap to know and otherwise a proved upper bound.

    In turn: one query (its largest minus its smallest coefficient); one factor with a known distance; a Kronecker
    product of factors without negative coefficients (`kronecker_distance`); otherwise the triangle inequality,
    |a - b|_1 <= 2 max |a|_1, and |a - b|_2^2 <= 4 max |a|_2^2 (2 max where no coefficient is negative, for then
    <a, b> >= 0; both attained by two different cells of a marginal).
    """
    if block.rows == 1:
        spread = _spread(block)
        return spread * spread if norm is Norm.L2_SQUARED else spread
    if len(block.factors) == 1:
        known = block.factors[0].matrix.column_distance(norm.value)
        if known is not None:
            return known
    nonnegative = all(factor.matrix.smallest >= 0 for factor in block.factors)
    if norm is Norm.LARGEST:
        return _added_column(block, norm) * (1 if nonnegative else 2)
    if nonnegative and not block.rowwise:
        apart = kronecker_distance([factor.matrix for factor in block.factors], norm.value)
        if apart is not None:
            return apart
    doubled = 4 if norm is Norm.L2_SQUARED and not nonnegative else 2
    return doubled * _added_column(block, norm)


def _spread(block: QueryBlock) -> int:
    """Largest minus smallest coefficient of a one-row block: products of the factors' extremes."""
    low, high = 1, 1
    for factor in block.factors:
        corners = [bound * edge for bound in (low, high) for edge in row_extremes(factor.matrix)]
        low, high = min(corners), max(corners)
    return high - low


# Column pairs: how far apart two columns of a Kronecker product lie, from pairs of columns of its factors.

LARGEST = 2**62
"""Bound on what int64 arithmetic may reach."""

MOST = 2**13
"""Pairs of a factor, beyond which products of them are not formed."""


class ColumnPairs(Struct, frozen=True, kw_only=True):
    """Pairs of columns a and b without negative entries: norms |a| and |b|, and what a and b share. All int64.

    In squared L2 they share the inner product <a, b>; in L1 the sum of their smaller entries. Either way the distance
    is first + second - 2 shared. Pairs that another pair exceeds everywhere (larger norms, less shared) are left out:
    they are not the farthest apart, neither here nor as factors of a product.

    >>> pairs = ColumnPairs.of(Identity(3), 1)
    >>> pairs.distance(pairs)
    2
    """

    first: IntArray
    second: IntArray
    shared: IntArray

    @classmethod
    def of(cls, matrix: IntMatrix, power: int) -> ColumnPairs | None:
        """All pairs of columns of a matrix, each with itself too; None beyond PAIRWISE_WORK.

        Args:
            matrix: without negative entries.
            power: 1 for the L1 norm, 2 for the squared L2 norm.
        """
        if isinstance(matrix, Identity | Tree):  # all columns have one norm
            norm, apart = matrix.column_norm(power), matrix.column_distance(power)
            assert apart is not None, "known of both kinds"
            alike = np.array([norm])
            return cls(first=alike, second=alike, shared=alike - apart // 2)
        if isinstance(matrix, Prefix):
            counts = np.arange(0 if matrix.others else 1, matrix.size + 1)
            most = np.full(len(counts), matrix.size)
            return cls(
                first=np.concatenate([most, counts]),
                second=np.concatenate([counts, most]),
                shared=np.concatenate([counts, counts]),
            )
        if matrix.rows * matrix.cells > PAIRWISE_WORK // 32:
            return None
        columns = np.unique(matrix.table(0, matrix.rows).T, axis=0)
        if len(columns) * columns.size > PAIRWISE_WORK or matrix.column_norm(0) ** 2 * matrix.rows >= LARGEST:
            return None
        norms = (columns**power).sum(axis=1)
        smaller = (np.minimum(one, columns).sum(axis=1) for one in columns)
        shared = columns @ columns.T if power == 2 else np.stack(list(smaller))
        first, second = np.broadcast_arrays(norms[:, None], norms)
        return cls(first=first.reshape(-1), second=second.reshape(-1), shared=shared.reshape(-1))._undominated()

    def times(self, other: ColumnPairs) -> ColumnPairs:
        """Pairs of columns of the Kronecker product: norms and inner products multiply; in L1 the product of the two
        shared sums is a lower bound on what the product's columns share, and exact for entries 0 and 1."""
        return ColumnPairs(
            first=np.multiply.outer(self.first, other.first).reshape(-1),
            second=np.multiply.outer(self.second, other.second).reshape(-1),
            shared=np.multiply.outer(self.shared, other.shared).reshape(-1),
        )._undominated()

    def distance(self, other: ColumnPairs) -> int:
        """The largest distance in the Kronecker product, or an upper bound where `shared` is a lower one."""
        rows = zip(self.first.tolist(), self.second.tolist(), self.shared.tolist(), strict=True)
        return max(int((a * other.first + b * other.second - 2 * c * other.shared).max()) for a, b, c in rows)

    def _undominated(self) -> ColumnPairs:
        """Of each two norms the least that is shared; without those that larger norms share no more."""
        norms, places = np.unique(np.concatenate([self.first, self.second]), return_inverse=True)
        first, second = places.reshape(2, -1)
        if len(norms) ** 2 > PAIRWISE_WORK // 8:
            return self
        least = np.full((len(norms) + 1, len(norms) + 1), LARGEST)
        np.minimum.at(least, (first, second), self.shared)
        larger = np.minimum.accumulate(np.minimum.accumulate(least[::-1, ::-1], axis=0), axis=1)[::-1, ::-1]
        kept = np.nonzero(least[:-1, :-1] < np.minimum(larger[1:, :-1], larger[:-1, 1:]))
        return ColumnPairs(first=norms[kept[0]], second=norms[kept[1]], shared=least[kept])


def kronecker_distance(matrices: Sequence[IntMatrix], power: int) -> int | None:
    """Largest distance of two columns of the Kronecker product of matrices without negative entries.

    Exact in squared L2, |a (x) a' - b (x) b'|^2 = |a|^2 |a'|^2 + |b|^2 |b'|^2 - 2 <a, b> <a', b'>, and in L1 where all
    entries are 0 or 1. Else, in L1, an upper bound: the smaller of two products is at least the product of the smaller
    factors.

    Args:
        matrices: without negative entries.
        power: 1 for the L1 norm, 2 for the squared L2 norm.

    Returns:
        The distance; None where there are too many pairs, or numbers beyond int64.

    >>> kronecker_distance([Prefix(10), Prefix(10)], 2)
    99
    """
    if 4 * math.prod(matrix.column_norm(power) for matrix in matrices) >= LARGEST:
        return None
    nothing = np.ones(1, dtype=np.int64)
    found = ColumnPairs(first=nothing, second=nothing, shared=nothing)
    for matrix in matrices[:-1]:
        pairs = ColumnPairs.of(matrix, power)
        if pairs is None or len(pairs.first) * len(found.first) > MOST:
            return None
        found = found.times(pairs)
    last = ColumnPairs.of(matrices[-1], power) if matrices else found
    return None if last is None or len(last.first) > MOST else found.distance(last)
