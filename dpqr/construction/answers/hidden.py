"""Hidden: by how much buckets of merged cells may hide the true answer of a linear function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.partition import Merged
from dpqr.workload.workload import Measurement

MOST_COEFFICIENTS = 2**24
"""Of all rows over all cells; of more nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hidden:
    """How far below and above its answer from the buckets' counts a row may truly be, in units of the block's scale,
    shape (rows,).

    >>> Hidden(below=np.array([0.5]), above=np.array([2.0])).most.tolist()
    [2.0]
    """

    below: FloatArray
    above: FloatArray

    @property
    def most(self) -> FloatArray:
        return np.maximum(self.below, self.above)


def hidden(block: QueryBlock, hypothesis: Hypothesis, history: Sequence[Measurement]) -> Hidden | None:
    """What the last buckets of the block's columns hide; None where no cells were merged.

    The records of a bucket may all lie in the cell where a row counts most, or least, and the answer counts them by the
    bucket's mean. The counts of the buckets are the estimate's. Infinite where that is too much to work out.

    Privacy:
        Post-processing of released values.
    """
    source = _merged(block, history)
    if source is None:
        return None
    merged = source.factors[0].matrix
    assert isinstance(merged, Merged), "a bucketed block has one merged factor"
    if block.rows * merged.cells > MOST_COEFFICIENTS:
        endless = np.full(block.rows, np.inf)
        return Hidden(below=endless, above=endless)
    order = np.argsort(merged.buckets, kind="stable")
    starts = np.flatnonzero(np.diff(merged.buckets[order], prepend=-1))
    sizes = np.diff(starts, append=merged.cells)
    counts = np.maximum(np.add.reduceat(_cells(source, hypothesis)[order], starts), 0.0)
    below, above = np.empty(block.rows), np.empty(block.rows)
    for row, coefficients in enumerate(block.coefficients()):
        own = _over(source, block, coefficients)[order]
        mean = np.add.reduceat(own, starts) / sizes
        below[row] = counts @ (mean - np.minimum.reduceat(own, starts))
        above[row] = counts @ (np.maximum.reduceat(own, starts) - mean)
    scale = float(block.scale)
    return Hidden(below=below * scale, above=above * scale)


def _merged(block: QueryBlock, history: Sequence[Measurement]) -> QueryBlock | None:
    """The last measured block of buckets over all of a block's columns."""
    held = [
        one
        for measured in history
        for one in measured.blocks
        if len(one.factors) == 1 and isinstance(one.factors[0].matrix, Merged) and set(block.axes) <= set(one.axes)
    ]
    return held[-1] if held else None


def _cells(source: QueryBlock, hypothesis: Hypothesis) -> FloatArray:
    """The estimated counts of all cells."""
    sizes = source.factors[0].sizes
    factors = tuple(Factor.identity(axis, size) for axis, size in zip(source.axes, sizes, strict=True))
    return np.asarray(hypothesis.answer(QueryBlock(name=source.name, factors=factors)), dtype=np.float64)


def _over(source: QueryBlock, block: QueryBlock, coefficients: IntArray) -> FloatArray:
    """A row's coefficients over all cells of the buckets' columns."""
    own = [size for factor in block.factors for size in factor.sizes]
    shape = [size if axis in block.axes else 1 for axis, size in zip(source.axes, source.factors[0].sizes, strict=True)]
    turned = coefficients.reshape(own).transpose([block.axes.index(axis) for axis in source.axes if axis in block.axes])
    whole = np.broadcast_to(turned.reshape(shape), source.factors[0].sizes)
    return whole.reshape(-1).astype(np.float64)
