"""Column pairs: how far apart two columns of a Kronecker product lie, from pairs of columns of its factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.workload.matrix import PAIRWISE_WORK, Identity, IntMatrix, Prefix
from dpqr.workload.tree import Tree

LARGEST = 2**62
"""Bound on what int64 arithmetic may reach."""

MOST = 2**13
"""Pairs of a factor, beyond which products of them are not formed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPairs:
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
