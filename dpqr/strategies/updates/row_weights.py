"""RowWeights: multiplicative weights over a bounded public list of rows, with replay of all measured tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.weighted_rows import LISTED, Tilt, WeightedRows
from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

STRENGTH = 0.25
"""Deviations of residual that a tilt of size one costs. Less than one: a surprise that was just measured should be no
surprise again. Set by `python tests/benchmarks/online.py --seeds 1`, beside 1."""
LARGEST_STEP = 1.0
"""Of a logarithm of weights in one step."""
SETTLED = 0.01
"""In deviations of the noise: where no answer moves further in a sweep over all tables, the fit ends."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowWeights:
    """w_i <- w_i exp(t), t the tilt of the cell of a measured table that row i lies in, until all tables are met.

    The fixed point minimises sum (N p - y)^2 / (2 c s N) + KL(p || start), c = STRENGTH: a tilt of size one costs c
    deviations of residual. `MaximumEntropyFit` is the same over all cells of the domain, where this is over the listed
    rows alone.

    start_rows: what the weights start from. sweeps: over all tables in one update, at most.

    References:
        Hardt and Rothblum 2010 (private multiplicative weights, over a bounded universe); Deming and Stephan 1940.

    >>> rows = WeightedRows(shape=(2,), codes=np.array([[0], [1]]), shares=np.array([0.5, 0.5]), total=100.0)
    >>> RowWeights(start_rows=rows).name
    'row-weights'
    """

    name: ClassVar[str] = "row-weights"
    cumulative: ClassVar[bool] = True

    start_rows: WeightedRows
    sweeps: int = 12

    @property
    def trust(self) -> tuple[str, ...]:
        if int(np.prod([float(size) for size in self.start_rows.shape])) <= LISTED:
            return ()
        return (f"the hypothesis weighs {LISTED:,} rows, not every cell of the domain: no mistake bound is proved",)

    def start(self, problem: Problem) -> WeightedRows:
        """The rows as they are."""
        return self.start_rows

    def update(self, problem: Problem, hypothesis: WeightedRows, history: Sequence[Measurement]) -> WeightedRows:
        """The weights after all tables, those that are new since `hypothesis` added to its tilts."""
        blocks = [
            (block, values, one.law.deviation)
            for one in history
            for block, values in zip(one.blocks, one.values, strict=True)
        ]
        new = [self._tilt(hypothesis, *each) for each in blocks[len(hypothesis.tilts) :]]
        return self._fitted(hypothesis, [*hypothesis.tilts, *new])

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """None: replay over some of the cells has no proved bound."""
        return None

    def footprint(self, problem: Problem) -> Footprint:
        """Codes, shares, and a place in each measured table."""
        return Footprint(bytes=int(self.start_rows.codes.nbytes + 16 * len(self.start_rows.shares)))

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Every table has room."""
        return True

    def _tilt(self, rows: WeightedRows, block: QueryBlock, values: IntArray, deviation: float) -> Tilt:
        scale = float(block.largest_coefficient or 1)
        wanted = values.astype(np.float64)
        if block.rows == 1:
            places, wanted = (rows.coefficients(block) == 0).astype(np.uint8), wanted / scale
            wanted = np.array([wanted[0], rows.total - wanted[0]])
            deviation /= scale
        else:
            places = cells_of(rows, block)
        kept = places.astype(np.min_scalar_type(max(wanted.size - 1, 1)))
        return Tilt(places=kept, wanted=wanted, deviation=max(deviation, 1.0), logs=np.zeros(wanted.size))

    def _fitted(self, rows: WeightedRows, tilts: Sequence[Tilt]) -> WeightedRows:
        """Sweeps over all tables; the weights carry on from where they are."""
        shares, logs = rows.shares, [tilt.logs for tilt in tilts]
        for _ in range(self.sweeps):
            furthest = 0.0
            for place, tilt in enumerate(tilts):
                step = _step(tilt, logs[place], shares, rows.total)
                expected = rows.total * np.bincount(tilt.places, weights=shares, minlength=step.size)
                furthest = max(furthest, float(np.max(np.abs(step) * expected)) / tilt.deviation)
                logs[place] = logs[place] + step
                shares = shares * np.exp(step)[tilt.places]
                shares = shares / shares.sum()
            if furthest < SETTLED:
                break
        made = tuple(replace(tilt, logs=each) for tilt, each in zip(tilts, logs, strict=True))
        return replace(rows, shares=shares, tilts=made)


def _step(tilt: Tilt, logs: FloatArray, shares: FloatArray, total: float) -> FloatArray:
    """Newton's step of one table's tilts, the others held."""
    expected = total * np.bincount(tilt.places, weights=shares, minlength=logs.size)
    ridge = STRENGTH * tilt.deviation
    return np.clip((tilt.wanted - expected - ridge * logs) / (expected + ridge), -LARGEST_STEP, LARGEST_STEP)


def cells_of(rows: WeightedRows, block: QueryBlock) -> IntArray:
    """Return the query of a block that counts each row, where each cell of the block is counted by exactly one.

    Raises:
        InfeasiblePlan: a block of other queries.
    """
    place = np.zeros(len(rows.codes), dtype=np.int64)
    for factor in block.factors:
        table = np.asarray(factor.matrix.table(0, factor.matrix.rows))
        if not (np.isin(table, (0, 1)).all() and (table.sum(axis=0) == 1).all()):
            raise InfeasiblePlan(f"query {block.name!r}: its queries overlap; weigh rows by one query at a time")
        place = place * factor.matrix.rows + table.argmax(axis=0)[rows.places(factor.axes)]
    return place
