"""BucketQueries: what a workload asks of the buckets of a partition, if records lie evenly in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import Axes, FloatArray, IntArray
from dpqr.strategies.designs.kronecker import importance
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import IntMatrix
from dpqr.workload.partition import Boxes
from dpqr.workload.ranges import everything, spans

SLICE = 2**21
"""Coefficients of queries that are looked at together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BucketQueries:
    """The Gram matrix of real-valued queries over buckets: all that a design needs of them.

    matrix: sum of weight q^T q over the queries, shape (buckets, buckets).
    """

    matrix: FloatArray

    @property
    def size(self) -> int:
        return len(self.matrix)

    @property
    def plain(self) -> bool:
        """Whether single buckets are all that is asked for."""
        return bool((self.matrix == np.diag(np.diag(self.matrix))).all())

    def gram(self, edges: IntArray) -> tuple[FloatArray, FloatArray]:
        """As AxisQueries.gram: sums over pairs of groups of neighbouring buckets, and of the diagonal over groups."""
        first = np.asarray(edges[:-1])
        pairs = np.add.reduceat(np.add.reduceat(self.matrix, first, axis=0), first, axis=1)
        return pairs, np.add.reduceat(np.diag(self.matrix), first)

    def energies(self, widths: tuple[int, ...]) -> FloatArray:
        """As AxisQueries.energies: sum of |q P|^2 for groups of each width."""
        found = []
        for width in widths:
            edges = np.array([*range(0, self.size, width), self.size])
            found.append(float(np.trace(self.gram(edges)[0])) / width)
        return np.array(found)

    def error(self, coefficients: FloatArray) -> float:
        """Weighted sum of squared errors over all queries, at noise of variance 1 on the answers to `coefficients`,
        shape (rows, buckets), of full column rank: tr G (A^T A)^-1."""
        return float(np.trace(np.linalg.solve(coefficients.T @ coefficients, self.matrix)))


def bucket_queries(blocks: Sequence[QueryBlock], axes: Axes, boxes: Boxes) -> BucketQueries:
    """The Gram matrix of all queries on the buckets `boxes` over `axes`, each with the weight of its squared error.

    A query that holds a share of a bucket's cells asks for that share of its records. Factors speak of single axes.
    """
    total = np.zeros((len(boxes), len(boxes)))
    for block in blocks:
        own = {factor.axes[0]: factor.matrix for factor in block.factors}
        parts = [own.get(axis, everything(int(boxes.stops[:, k].max()))) for k, axis in enumerate(axes)]
        asked = [axis in own for axis in axes]
        gram = _rowwise(parts, asked, boxes) if block.rowwise else _combined(parts, boxes)
        total += gram * importance(block)
    cells = np.maximum(boxes.cells, 1).astype(np.float64)
    return BucketQueries(matrix=total / np.multiply.outer(cells, cells))


def _combined(parts: Sequence[IntMatrix], boxes: Boxes) -> FloatArray:
    """Every combination of rows: the Gram matrices of the axes, entry by entry."""
    whole = np.ones((len(boxes), len(boxes)))
    for position, matrix in enumerate(parts):
        gram = np.zeros_like(whole)
        for start, stop in _slices(matrix.rows, max(matrix.cells, len(boxes))):
            sums = _sums(matrix, boxes, position, start, stop)
            gram += sums.T @ sums
        whole *= gram
    return whole


def _rowwise(parts: Sequence[IntMatrix], asked: Sequence[bool], boxes: Boxes) -> FloatArray:
    """Row r is the product of every axis' row r; an axis that is not asked about counts whole."""
    rows = next(matrix.rows for matrix, named in zip(parts, asked, strict=True) if named)
    gram = np.zeros((len(boxes), len(boxes)))
    for start, stop in _slices(rows, max(*(matrix.cells for matrix in parts), len(boxes))):
        product = np.ones((stop - start, len(boxes)))
        for position, (matrix, named) in enumerate(zip(parts, asked, strict=True)):
            product *= _sums(matrix, boxes, position, *((start, stop) if named else (0, 1)))
        gram += product.T @ product
    return gram


def _sums(matrix: IntMatrix, boxes: Boxes, position: int, start: int, stop: int) -> FloatArray:
    """Coefficients of the rows start .. stop - 1 summed over every box's side on one axis: shape (rows, boxes)."""
    low, high = boxes.starts[:, position], boxes.stops[:, position]
    known = spans(matrix)
    if known is not None:
        starts, stops = (ends[start:stop, None] for ends in known)
        overlap: FloatArray = np.maximum(np.minimum(stops, high) - np.maximum(starts, low), 0).astype(np.float64)
        return overlap
    sums = np.zeros((stop - start, matrix.cells + 1))
    np.cumsum(matrix.table(start, stop), axis=1, out=sums[:, 1:])
    found: FloatArray = sums[:, high] - sums[:, low]
    return found


def _slices(rows: int, entries: int) -> list[tuple[int, int]]:
    step = max(1, SLICE // max(entries, 1))
    return [(start, min(start + step, rows)) for start in range(0, rows, step)]
