"""Sensitivity: the largest change of integer answers of blocks measured together, between neighbours.

Every figure is computed from the integer matrices that multiply the data, in units of each block's own grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

import numpy as np

from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.workload.block import QueryBlock
from dpqr.workload.column_pairs import kronecker_distance
from dpqr.workload.ranges import row_extremes

SUMMED = 2**24
"""Entries of a row-by-row block's columns that are summed, at most; of boxes: cells."""


class Norm(Enum):
    """The norm of the change; the value is the power under the sum (L2 is kept as its integer square)."""

    LARGEST = 0
    L1 = 1
    L2_SQUARED = 2


def sensitivity(blocks: Sequence[QueryBlock], norm: Norm, unit: PrivacyUnit) -> int:
    """Return the largest change of the blocks' integer answers, measured together, between neighbours.

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
    """
    times = unit.rows * unit.rows if norm is Norm.L2_SQUARED else unit.rows
    return times * _together(tuple(blocks), norm, unit.neighbours)


@lru_cache(maxsize=2**16)
def _together(blocks: tuple[QueryBlock, ...], norm: Norm, neighbours: Neighbours) -> int:
    """The figure of one row. Cached by the blocks' identity (they are frozen), as every round asks for it."""
    of_block = _added_column if neighbours is Neighbours.ADD_REMOVE else _replaced_column
    changes = [of_block(block, norm) for block in blocks]
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
