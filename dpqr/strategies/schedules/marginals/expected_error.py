"""ExpectedError: what noise of a given size expected in a marginal after the fit, forecast from one-way marginals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.workload.block import QueryBlock

GRID = np.geomspace(1e-3, 1e7, 21)
"""Deviations, in records, at which errors are worked out; in between they are interpolated in logarithms."""

NOTHING = 1e-12
"""Stands for the error of a block without records, whose logarithm is needed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExpectedError:
    """For blocks b and deviations s: sum over cells of s m / (s + m), m the product of one-way sums, records; of a
    block that is no marginal, over its answers.

    Why: a fit that leaves a residual of s log(m / base) passes the share m / (s + m) of the noise on, so a cell of
    many records keeps sqrt(2 / pi) s of it and a cell of few nearly none; what it holds back of the truth has the
    same form. A function of what was released.

    curves: one row a block, at GRID. places: the blocks' rows by name.
    """

    curves: FloatArray = field(repr=False)
    places: Mapping[str, int]

    @classmethod
    def of(cls, blocks: Sequence[QueryBlock], singles: Mapping[int, FloatArray]) -> ExpectedError:
        """singles: noisy one-way marginals by attribute, records; the total of all products is `estimated_records`."""
        total = estimated_records(singles)
        shares = {axis: _shares(values) for axis, values in singles.items()}
        curves = [_curve(shares, total, block) for block in blocks]
        return cls(curves=np.array(curves), places={block.name: row for row, block in enumerate(blocks)})

    def joined(self, more: ExpectedError) -> ExpectedError:
        """Of these blocks and of more."""
        places = {name: len(self.curves) + row for name, row in more.places.items()}
        return ExpectedError(curves=np.concatenate([self.curves, more.curves]), places={**self.places, **places})

    def at(self, block: QueryBlock, deviation: float) -> float:
        """Expected L1 error of one block, in records."""
        return float(_interpolated(self.curves[self.places[block.name]], deviation))

    def each(self, blocks: Sequence[QueryBlock], deviation: float | FloatArray) -> FloatArray:
        """The same of many blocks, shape (blocks,). deviation: one, or one a block."""
        rows = [self.places[block.name] for block in blocks]
        place = np.interp(np.log(np.maximum(deviation, GRID[0])), np.log(GRID), np.arange(len(GRID)))
        lower = np.minimum(place.astype(np.int64), len(GRID) - 2)
        least, next_one = np.log(self.curves[rows, lower]), np.log(self.curves[rows, lower + 1])
        found: FloatArray = np.exp(least + (place - lower) * (next_one - least))
        return found

    def mean(self, blocks: Sequence[QueryBlock], deviation: float) -> float:
        """The mean over blocks, all measured with one deviation."""
        rows = [self.places[block.name] for block in blocks]
        return float(_interpolated(self.curves[rows].mean(axis=0), deviation))

    def deviation(self, blocks: Sequence[QueryBlock], error: float) -> float:
        """The deviation at which the blocks' mean error is `error`; at most the largest of the grid."""
        curve = self.curves[[self.places[block.name] for block in blocks]].mean(axis=0)
        return float(np.exp(np.interp(np.log(max(error, 1e-9)), np.log(curve), np.log(GRID))))


def estimated_records(singles: Mapping[int, FloatArray]) -> float:
    """n, at least 1, estimated from noisy one-way marginals of one deviation: the mean of their sums, weighted by the
    inverse of their numbers of cells, which are in proportion to the sums' variances. 1 where there are none."""
    if not singles:
        return 1.0
    sums, sizes = zip(*((values.sum(), values.size) for values in singles.values()), strict=True)
    return max(1.0, float(np.average(sums, weights=1.0 / np.array(sizes))))


def _shares(values: FloatArray) -> FloatArray:
    """Non-negative parts of 1; a uniform remainder keeps every cell in play."""
    positive = np.maximum(values, 0.0)
    sums = positive.sum()
    if sums <= 0.0:
        return np.full(values.size, 1.0 / values.size)
    shares: FloatArray = positive / sums
    return shares


def _curve(shares: Mapping[int, FloatArray], total: float, block: QueryBlock) -> FloatArray:
    cells = np.asarray(total)
    for factor in block.factors:
        own = np.ones(1)
        for axis in factor.axes:
            own = np.multiply.outer(own, shares[axis]).reshape(-1)
        cells = np.multiply.outer(cells, factor.matrix.apply(own[:, None])[:, 0])
    cells = cells[cells > 0.0].reshape(-1)
    return np.array([max(float((cells / (1.0 + cells / deviation)).sum()), NOTHING) for deviation in GRID])


def _interpolated(curve: FloatArray, deviation: float) -> FloatArray:
    logs: FloatArray = np.exp(np.interp(np.log(max(deviation, GRID[0])), np.log(GRID), np.log(curve)))
    return logs
