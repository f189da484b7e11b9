"""Strategies of least expected error for queries over the buckets of a partition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpqr.data.arrays import Axes, FloatArray, IntArray
from dpqr.strategies.designs.gram import BucketQueries, bucket_queries
from dpqr.strategies.designs.hierarchy import hierarchy
from dpqr.strategies.designs.p_identity import p_identity
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity, IntMatrix
from dpqr.workload.partition import Bisection, Boxes, Merged
from dpqr.workload.sensitivity import Norm
from dpqr.workload.tree import Tree

LEVELS_APART = 2
"""Equal buckets are designed for at every second level; errors in between are interpolated, within 2%."""

LARGEST_TABLE = 256
"""Most equal buckets whose error is computed; beyond, the error of single cells is the next known one."""


def bucket_design(queries: BucketQueries, norm: Norm) -> tuple[IntMatrix, float]:
    """The best of identity, hierarchy and p-Identity over the buckets.

    Returns:
        The strategy, and its weighted sum of squared errors at noise of variance 1 if its columns had norm 1.

    >>> matrix, error = bucket_design(BucketQueries(matrix=np.eye(4)), Norm.L1)
    >>> matrix.cells, error
    (4, 4.0)
    """
    options: list[IntMatrix] = [Identity(queries.size)]
    if queries.size > 1 and not queries.plain:
        options += [hierarchy(queries, norm), p_identity(queries, norm)]
    scaled = [(_unit_error(matrix, queries, norm), index) for index, matrix in enumerate(options)]
    error, best = min(scaled)
    return options[best], error


def _unit_error(matrix: IntMatrix, queries: BucketQueries, norm: Norm) -> float:
    column = float(matrix.column_norm(norm.value))
    error = queries.error(matrix.table(0, matrix.rows).astype(np.float64))
    return error * (column**2 if norm is Norm.L1 else column)


@lru_cache(maxsize=256)
def partition_design(
    blocks: tuple[QueryBlock, ...], axes: Axes, ends: tuple[tuple[int, ...], ...], norm: Norm
) -> IntMatrix:
    """The best strategy for the blocks' queries on a partition.

    Args:
        ends: starts and then stops of every box, as integers; with the blocks' identity the key of the cache.
    """
    sides = np.array(ends, dtype=np.int64)
    boxes = Boxes(starts=sides[:, : len(axes)], stops=sides[:, len(axes) :])
    return bucket_design(bucket_queries(blocks, axes, boxes), norm)[0]


def merged_block(name: str, axes: Axes, shape: tuple[int, ...], matrix: IntMatrix, buckets: IntArray) -> QueryBlock:
    """`matrix` over the buckets as a block over the cells of `axes`.

    Args:
        axes, shape: attributes and their numbers of cells.
        matrix: over the buckets.
        buckets: of every cell in C order, shape (cells,).
    """
    return QueryBlock(name=name, factors=(Factor(axes=axes, sizes=shape, matrix=Merged(matrix, buckets)),))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EqualBuckets:
    """Expected error of measuring a number of buckets, from equally large ones.

    Attributes:
        logarithms: of the numbers of buckets, base 2, rising.
        roots: of the weighted sums of squared errors at unit noise.

    >>> EqualBuckets(logarithms=np.array([0.0, 2.0]), roots=np.array([1.0, 3.0])).error(2)
    4.0
    """

    logarithms: FloatArray
    roots: FloatArray

    def error(self, buckets: float) -> float:
        """Weighted sum of squared errors at noise of variance 1 and columns of norm 1."""
        return float(np.interp(math.log2(max(buckets, 1.0)), self.logarithms, self.roots)) ** 2


@lru_cache(maxsize=64)
def level_queries(blocks: tuple[QueryBlock, ...], axes: Axes, shape: tuple[int, ...], level: int) -> BucketQueries:
    """What the blocks ask of all boxes of one level. Cached by the blocks' identity.

    Args:
        axes, shape: attributes of the blocks and their numbers of cells.
        level: of `Bisection(shape)`, which has 2^level boxes.
    """
    bisection = Bisection(shape)
    return bucket_queries(blocks, axes, bisection.boxes(level, np.arange(2**level)))


@lru_cache(maxsize=64)
def level_tree(blocks: tuple[QueryBlock, ...], axes: Axes, shape: tuple[int, ...], level: int, norm: Norm) -> Tree:
    """The best tree of counts over the boxes of one level and of all levels above."""
    return hierarchy(level_queries(blocks, axes, shape, level), norm)


@lru_cache(maxsize=64)
def equal_buckets(
    blocks: tuple[QueryBlock, ...], axes: Axes, shape: tuple[int, ...], norm: Norm, whole: float
) -> EqualBuckets:
    """The error of equal buckets for a workload. Public: a function of the workload alone.

    Args:
        whole: the error where every cell is a bucket.
    """
    depth = Bisection(shape).depth
    levels: Sequence[int] = range(0, min(depth, LARGEST_TABLE.bit_length()), LEVELS_APART)
    asked = [level_queries(blocks, axes, shape, level) for level in levels]
    roots = [bucket_design(queries, norm)[1] ** 0.5 for queries in asked]
    logarithms = [*levels, math.log2(math.prod(shape))]
    return EqualBuckets(logarithms=np.array(logarithms), roots=np.array([*roots, math.sqrt(whole)]))
