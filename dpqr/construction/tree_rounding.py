"""Whole counts of a hierarchy: non-negative, and each node's is the sum of its children's. The raw answers stay.

Controlled rounding down the tree, without a draw. The highest nodes are cut off at 0 and rounded. Below, the children's
answers are moved by one number for all, and cut off at 0, so that they add up to their parent's whole count (the
nearest such point: the projection on a simplex), and rounded by the largest remainders, the first of equals.

Bias: a node whose answer noise may push below 0 is raised, at the cost of its siblings. No other level is moved by it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import Identity
from dpqr.workload.nested_tree import Nesting
from dpqr.workload.partition import groups_of


def whole_answers(blocks: Sequence[QueryBlock], answers: Sequence[FloatArray], base: int = 1) -> list[IntArray] | None:
    """Whole counts of the levels of one column, each crossed with the same others.

    Args:
        blocks: one a level, in any order; their factors on other columns are marginals.
        answers: of each block, in records, shape (rows,).
        base: counts are multiples of it.

    Returns:
        As `answers`; None where the blocks are no such levels.

    Privacy:
        Post-processing of released answers and public blocks.

    References:
        Projection on a simplex: Held, Wolfe and Crowder 1974. Top-down integers: Abowd et al. 2022.
    """
    axis = _column(blocks)
    levels = None if axis is None else _levels(blocks, axis)
    if axis is None or levels is None:
        return None
    order = sorted(range(len(blocks)), key=lambda place: blocks[place].rows)
    nesting = _nesting([levels[place] for place in order])
    if nesting is None:
        return None
    tables = [_by_node(blocks[place], answers[place], axis) for place in order]
    found: dict[int, IntArray] = {}
    for place, whole in zip(order, whole_nodes(nesting, tables, base), strict=True):
        found[place] = _as_answers(blocks[place], whole, axis)
    return [found[place] for place in range(len(blocks))]


def whole_nodes(nesting: Nesting, values: Sequence[FloatArray], base: int = 1) -> list[IntArray]:
    """Whole counts of all nodes, level by level.

    Args:
        values: of every level, coarsest first, shape (nodes, columns): each column is a tree of its own.
        base: counts are multiples of it.

    Returns:
        int64, of the same shapes.

    >>> nesting = Nesting(3, (np.zeros(3, dtype=np.int64),))
    >>> [each.ravel().tolist() for each in whole_nodes(nesting, [np.array([[7.6]]), np.array([[5.2], [3.4], [-1.0]])])]
    [[8], [5, 3, 0]]
    """
    scaled = [np.nan_to_num(np.asarray(each, dtype=np.float64)) / base for each in values]
    whole = [np.rint(np.maximum(scaled[0], 0.0)).astype(np.int64)]
    for parents, table in zip(nesting.parents, scaled[1:], strict=True):
        above = whole[-1]
        columns = np.arange(table.shape[1])
        places = parents[:, None] * len(columns) + columns  # a parent in each column
        whole.append(_children(table.reshape(-1), places.reshape(-1), above.reshape(-1)).reshape(table.shape))
    return [each * base for each in whole]


def _children(values: FloatArray, parents: IntArray, totals: IntArray) -> IntArray:
    """Non-negative whole numbers near `values` whose sums by parent are `totals`."""
    order = np.lexsort((-values, parents))
    parent, sorted_values = parents[order], values[order]
    starts = np.searchsorted(parent, np.arange(len(totals)))
    summed = np.cumsum(sorted_values)
    within = summed - (summed[starts] - sorted_values[starts])[parent]
    ranks = np.arange(len(values)) - starts[parent] + 1
    moved = (within - totals[parent]) / ranks
    above = np.add.reduceat((sorted_values > moved).astype(np.int64), starts)
    shift = np.where(above > 0, moved[starts + np.maximum(above, 1) - 1], math.inf)
    exact = np.maximum(values - shift[parents], 0.0)
    return _rounded(exact, parents, totals)


def _rounded(exact: FloatArray, parents: IntArray, totals: IntArray) -> IntArray:
    """The method of largest remainders (Hamilton), parent by parent."""
    whole = np.floor(exact).astype(np.int64)
    sums = np.zeros(len(totals), dtype=np.int64)
    np.add.at(sums, parents, whole)
    order = np.lexsort((whole - exact, parents))
    starts = np.searchsorted(parents[order], np.arange(len(totals)))
    ranks = np.empty(len(exact), dtype=np.int64)
    ranks[order] = np.arange(len(exact)) - starts[parents[order]]
    return whole + (ranks < (totals - sums)[parents])


def _column(blocks: Sequence[QueryBlock]) -> int | None:
    """The one column of which some block counts nodes."""
    found = {
        factor.axes
        for block in blocks
        for factor in block.factors
        if groups_of(factor.matrix) is not None and not isinstance(factor.matrix, Identity)
    }
    axes = next(iter(found)) if len(found) == 1 else ()
    return axes[0] if len(axes) == 1 else None


def _levels(blocks: Sequence[QueryBlock], axis: int) -> list[IntArray] | None:
    """The node of every cell, block by block; None where a block is no level, or is crossed with other columns."""
    others = {block.axes for block in blocks}
    found = [groups_of(factor.matrix) for block in blocks for factor in block.factors if factor.axes == (axis,)]
    plain = all(
        factor.axes == (axis,) or isinstance(factor.matrix, Identity) for block in blocks for factor in block.factors
    )
    levels = [each for each in found if each is not None]
    return levels if plain and len(others) == 1 and len(levels) == len(blocks) else None


def _nesting(levels: Sequence[IntArray]) -> Nesting | None:
    """Of levels, coarsest first, the last of which need not be the cells; None where they are not nested."""
    parents = []
    for above, below in pairwise(levels):
        parent = np.zeros(int(below.max()) + 1, dtype=np.int64)
        parent[below] = above
        if not np.array_equal(parent[below], above):
            return None
        parents.append(parent)
    return Nesting(int(levels[-1].max()) + 1, tuple(parents))


def _shape(block: QueryBlock, axis: int) -> tuple[list[int], int]:
    """Rows of every factor, and the place of the column's."""
    place = next(at for at, factor in enumerate(block.factors) if factor.axes == (axis,))
    return [factor.matrix.rows for factor in block.factors], place


def _by_node(block: QueryBlock, answers: FloatArray, axis: int) -> FloatArray:
    shape, place = _shape(block, axis)
    table: FloatArray = np.moveaxis(answers.reshape(shape), place, 0).reshape(shape[place], -1)
    return table


def _as_answers(block: QueryBlock, table: IntArray, axis: int) -> IntArray:
    shape, place = _shape(block, axis)
    front = [shape[place], *(size for at, size in enumerate(shape) if at != place)]
    answers: IntArray = np.moveaxis(table.reshape(front), 0, place).reshape(-1)
    return answers
