"""Gram matrices of a workload, as strategy designs read them: over one attribute, or over the buckets of a
partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, FloatArray, IntArray
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import Identity, IntMatrix
from dpqr.workload.partition import Boxes
from dpqr.workload.ranges import Overlaps, everything, group_sums, spans

SLICE = 2**21
"""Coefficients of queries that are held in memory together."""


class CellQueries(Protocol):
    """What a design reads of a workload over a row of cells."""

    @property
    def size(self) -> int: ...

    def gram(self, edges: IntArray) -> tuple[FloatArray, FloatArray]:
        """Gram matrix summed over pairs of groups of neighbouring cells, and its diagonal summed over groups."""
        ...

    def energies(self, widths: tuple[int, ...]) -> FloatArray:
        """Sum of |q P|^2 over the queries, P the projection on groups of each width; shape (widths,)."""
        ...


class AxisQueries(Struct, frozen=True, kw_only=True, eq=False):
    """Queries over the cells of one attribute, each with the weight of its squared error.

    Attributes:
        size: number of cells.
        terms: matrices, each with one weight per row, shape (rows,).

    >>> from dpqr.workload.matrix import Prefix
    >>> queries = AxisQueries(size=4, terms=((Prefix(4), np.ones(4)),))
    >>> queries.gram(np.array([0, 2, 4]))[1]
    array([7., 3.])
    """

    size: int
    terms: tuple[tuple[IntMatrix, FloatArray], ...]

    @property
    def plain(self) -> bool:
        """Whether only single cells are asked for."""
        return all(isinstance(matrix, Identity) for matrix, _ in self.terms)

    def gram(self, edges: IntArray) -> tuple[FloatArray, FloatArray]:
        """Sum of weight q^T q over the queries q, on groups of neighbouring cells.

        Args:
            edges: first cells of the groups, and the end; shape (groups + 1,).

        Returns:
            Sums over pairs of groups, shape (groups, groups), and sums of the diagonal, shape (groups,).
        """
        groups = len(edges) - 1
        pairs, diagonal = np.zeros((groups, groups)), np.zeros(groups)
        for matrix, weights in self.terms:
            ends = spans(matrix)
            if ends is not None:
                overlaps = Overlaps.of(*ends, edges)
                pairs += overlaps.gram(weights)
                diagonal += overlaps.sums(weights)
                continue
            for start, stop in _slices(matrix.rows, matrix.cells):
                share = weights[start:stop]
                sums, squares = group_sums(matrix, edges, start, stop)
                pairs += (sums * share[:, None]).T @ sums
                diagonal += share @ squares
        return pairs, diagonal

    def energies(self, widths: tuple[int, ...]) -> FloatArray:
        """Sum of weight |q P|^2 for each width, P the projection on vectors constant on groups of that width.

        The last group is padded with cells that no query reads.

        Returns:
            Shape (widths,).
        """
        total = np.zeros(len(widths))
        for matrix, weights in self.terms:
            ends = spans(matrix)
            if ends is not None:
                # (1 / width) sum over groups of |overlap|^2: whole groups inside, and the two that the ends cut.
                starts, stops = ends
                for level, width in enumerate(widths):
                    first, last = -(-starts // width), stops // width
                    inside = np.maximum(last - first, 0) * float(width) ** 2
                    within = starts // width == (stops - 1) // width
                    head = np.where(within, 0, first * width - starts).astype(np.float64)
                    tail = np.where(within, 0, stops - last * width).astype(np.float64)
                    lone = np.where(within & (stops - starts < width), stops - starts, 0).astype(np.float64)
                    total[level] += float(weights @ ((inside + head**2 + tail**2 + lone**2) / width))
                continue
            own = np.zeros(len(widths))
            for start, stop in _slices(matrix.rows, matrix.cells):
                table = matrix.table(start, stop).astype(np.float64)
                for level, width in enumerate(widths):
                    sums = np.add.reduceat(table, np.arange(0, matrix.cells, width), axis=1)
                    own[level] += float(weights[start:stop] @ (sums**2).sum(axis=1)) / width
            total += own
        return total


def importance(block: QueryBlock) -> float:
    """Weight of a query's squared error: the user's weight over the square of the block's largest coefficient.

    Counts and sums thus weigh alike in one objective.
    """
    return float(block.weight) / max(block.largest_coefficient, 1) ** 2


class BucketQueries(Struct, frozen=True, kw_only=True, eq=False):
    """Gram matrix of real-valued queries over buckets.

    Attributes:
        matrix: sum of weight q^T q over the queries, shape (buckets, buckets).

    >>> BucketQueries(matrix=np.diag([1.0, 2.0])).plain
    True
    """

    matrix: FloatArray

    @property
    def size(self) -> int:
        return len(self.matrix)

    @property
    def plain(self) -> bool:
        """Whether only single buckets are asked for."""
        return bool((self.matrix == np.diag(np.diag(self.matrix))).all())

    def gram(self, edges: IntArray) -> tuple[FloatArray, FloatArray]:
        """See `AxisQueries.gram`; groups of neighbouring buckets."""
        first = np.asarray(edges[:-1])
        pairs = np.add.reduceat(np.add.reduceat(self.matrix, first, axis=0), first, axis=1)
        return pairs, np.add.reduceat(np.diag(self.matrix), first)

    def energies(self, widths: tuple[int, ...]) -> FloatArray:
        """See `AxisQueries.energies`."""
        sums = []
        for width in widths:
            edges = np.array([*range(0, self.size, width), self.size])
            sums.append(float(np.trace(self.gram(edges)[0])) / width)
        return np.array(sums)

    def error(self, coefficients: FloatArray) -> float:
        """Weighted sum of squared errors over all queries at noise of variance 1: tr G (A^T A)^-1.

        Args:
            coefficients: A, the measured queries, of full column rank, shape (rows, buckets).
        """
        return float(np.trace(np.linalg.solve(coefficients.T @ coefficients, self.matrix)))


def bucket_queries(blocks: Sequence[QueryBlock], axes: Axes, boxes: Boxes) -> BucketQueries:
    """Gram matrix of all queries on the buckets `boxes`, each with the weight of its squared error.

    Uniformity assumption: a query that holds a share of a bucket's cells asks for that share of its records.

    Args:
        blocks: each factor has one attribute.
        axes: attributes of the boxes.
    """
    total = np.zeros((len(boxes), len(boxes)))
    for block in blocks:
        own = {factor.axes[0]: factor.matrix for factor in block.factors}
        parts = [own.get(axis, everything(int(boxes.stops[:, k].max()))) for k, axis in enumerate(axes)]
        if block.rowwise:
            total += _rowwise(parts, [axis in own for axis in axes], boxes) * importance(block)
            continue
        # Kronecker products: the elementwise product of the Gram matrices of the axes.
        gram = np.ones((len(boxes), len(boxes)))
        for position, matrix in enumerate(parts):
            gram *= _of_axis(matrix, boxes, position)
        total += gram * importance(block)
    cells = np.maximum(boxes.cells, 1).astype(np.float64)
    return BucketQueries(matrix=total / np.multiply.outer(cells, cells))


def _of_axis(matrix: IntMatrix, boxes: Boxes, position: int) -> FloatArray:
    """The Gram matrix of one axis' rows, summed over each box's side on it; shape (boxes, boxes)."""
    ends = spans(matrix)
    if ends is not None:
        # Sides of boxes are runs of the groups between all of their ends.
        sides = np.stack([boxes.starts[:, position], boxes.stops[:, position]])
        edges = np.union1d([0, matrix.cells], sides)
        low, high = np.searchsorted(edges, sides)
        sums = np.zeros((len(edges), len(edges)))
        sums[1:, 1:] = Overlaps.of(*ends, edges).gram(np.ones(matrix.rows)).cumsum(axis=0).cumsum(axis=1)
        runs: FloatArray = sums[high] - sums[low]
        gram: FloatArray = runs[:, high] - runs[:, low]
        return gram
    gram = np.zeros((len(boxes), len(boxes)))
    for start, stop in _slices(matrix.rows, max(matrix.cells, len(boxes))):
        sums = _sums(matrix, boxes, position, start, stop)
        gram += sums.T @ sums
    return gram


def _rowwise(parts: Sequence[IntMatrix], has_factor: Sequence[bool], boxes: Boxes) -> FloatArray:
    """Row by row: row r is the product of every axis' row r; an axis without a factor counts in full."""
    rows = next(matrix.rows for matrix, named in zip(parts, has_factor, strict=True) if named)
    gram = np.zeros((len(boxes), len(boxes)))
    for start, stop in _slices(rows, max(*(matrix.cells for matrix in parts), len(boxes))):
        product = np.ones((stop - start, len(boxes)))
        for position, (matrix, named) in enumerate(zip(parts, has_factor, strict=True)):
            product *= _sums(matrix, boxes, position, *((start, stop) if named else (0, 1)))
        gram += product.T @ product
    return gram


def _sums(matrix: IntMatrix, boxes: Boxes, position: int, start: int, stop: int) -> FloatArray:
    """Coefficients of the rows start .. stop - 1 summed over each box's side on one axis, shape (rows, boxes)."""
    low, high = boxes.starts[:, position], boxes.stops[:, position]
    all_ends = spans(matrix)
    if all_ends is not None:
        starts, stops = (ends[start:stop, None] for ends in all_ends)
        overlap = np.maximum(np.minimum(stops, high) - np.maximum(starts, low), 0)
        return np.asarray(overlap, dtype=np.float64)
    sums = np.zeros((stop - start, matrix.cells + 1))
    np.cumsum(matrix.table(start, stop), axis=1, out=sums[:, 1:])
    return np.asarray(sums[:, high] - sums[:, low])


def _slices(rows: int, entries: int) -> list[tuple[int, int]]:
    step = max(1, SLICE // max(entries, 1))
    return [(start, min(start + step, rows)) for start in range(0, rows, step)]
