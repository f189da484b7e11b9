"""Norms and distances of a matrix' columns, as exact Python integers: what sensitivities are built from."""

from __future__ import annotations

import numpy as np

from dpqr.data.arrays import IntArray

PAIRWISE_WORK = 2**27
"""Coefficients compared at most (columns squared times rows) to find a column distance by trying all pairs."""


def largest_distance(vectors: IntArray, power: int) -> int | None:
    """Largest sum |v - w|^power over pairs of rows of `vectors`; None where trying all pairs would take too long."""
    if vectors.size > PAIRWISE_WORK // 32:
        return None
    distinct = np.unique(vectors, axis=0)
    if len(distinct) * distinct.size > PAIRWISE_WORK:
        return None
    return max(largest_norm(distinct - vector, power) for vector in distinct)


def largest_norm(vectors: IntArray, power: int) -> int:
    """Largest sum |v|^power over the rows of `vectors`; squares are summed as Python integers when int64 is short."""
    sizes = np.abs(vectors)
    largest = int(sizes.max(initial=0))
    if power == 0:
        return largest
    if largest**power * max(sizes.shape[1], 1) >= 2**62:
        return max(int(sum(int(c) ** power for c in row)) for row in sizes)
    return int((sizes**power).sum(axis=1).max(initial=0))
