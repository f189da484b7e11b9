"""Margins: the error that noise in the counts of single columns passes on to the answers over several of them.

What a model joins it answers by shares: a cell of a pair is about the number of records, times the shares of both
columns' cells. So noise in one count moves the cell by the share of the other. A refit shows this but where noise has
taken a count, or all, for 0: there all of its cells are estimated as 0, and so are they in every refit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.values import replace
from dpqr.models.hypothesis import Hypothesis
from dpqr.strategies.plan import TINY
from dpqr.workload.block import QueryBlock
from dpqr.workload.strategy_matrices import squared_norms
from dpqr.workload.workload import Measurement


class MarginNoise(Struct, frozen=True, kw_only=True, eq=False):
    """How well the counts of single columns are known from all marginals that were measured.

    variances: of the count of each column's cells, by attribute; attributes of no measured marginal are left out.
    total: records, as estimated. of_total: its variance, at most; None: no marginal over a column was measured.

    >>> from dpqr.models.hypothesis import DenseDistribution
    >>> from dpqr.workload.block import Factor
    >>> pair = QueryBlock(name="", factors=(Factor.identity(0, 2), Factor.identity(1, 3)))
    >>> even = DenseDistribution.uniform((2, 3), 6.0)
    >>> MarginNoise(variances={0: 18.0, 1: 8.0}, total=6.0).squares(pair, even.answer(pair), even).tolist()
    [8.0, 8.0, 8.0, 8.0, 8.0, 8.0]
    """

    variances: dict[int, float]
    total: float
    of_total: float | None = None

    @classmethod
    def of(cls, history: Sequence[Measurement], shape: tuple[int, ...], total: float) -> MarginNoise:
        """Every marginal over a column sums to counts of its cells; they are averaged by their precision.

        Each also sums to the number of records, whose average by precision is the model's total.

        With c cells, the counts of T records, of T +- t, are taken to vary by no more than under the law of shares that
        weighs as much as one record does, (T^2 + t^2) (c - 1) / (2 c^2): of few records noise knows less than that.

        References:
            Perks 1947, Some observations on inverse probability including a new indifference rule.
        """
        known, records = dict[int, float](), 0.0
        for one in history:
            for block in one.blocks if one.law.deviation > 0.0 else ():
                if block.is_marginal and block.scale == 1:
                    precision = one.law.deviation**-2 / block.cells
                    records += precision
                    for factor in block.factors:
                        known[factor.axes[0]] = known.get(factor.axes[0], 0.0) + precision * factor.matrix.cells
        most = total**2 + (1.0 / records if records > 0.0 else 0.0)
        bounds = {axis: most * (shape[axis] - 1) / (2 * shape[axis] ** 2) for axis in known}
        variances = {axis: 1.0 / (known[axis] + 1.0 / bounds[axis]) for axis in known if bounds[axis] > 0.0}
        return cls(variances=variances, total=total, of_total=1.0 / records if known else None)

    def squares(self, block: QueryBlock, answers: FloatArray, hypothesis: Hypothesis) -> FloatArray:
        """Mean square errors by this noise of answers over several columns, in squared units of the block's grid, shape
        (rows,); 0 for answers over one.

        Columns and their noise are taken for independent. Then an answer's square is on average the product of those of
        the records and of its columns' shares, each raised by its variance: all that is left where they are 0.

        Args:
            answers: the hypothesis' own.

        References:
            Goodman 1960, On the exact variance of products.
        """
        records = self.total**2 + (self.of_total or 0.0)
        if len(block.factors) < 2 or records <= 0.0:
            return np.zeros(block.rows)
        table = answers.reshape([factor.matrix.rows for factor in block.factors]) if block.is_marginal else None
        alone, noisy = np.ones(1), np.ones(1)
        join = np.multiply if block.rowwise else np.multiply.outer
        for place, factor in enumerate(block.factors):
            others = tuple(other for other in range(len(block.factors)) if other != place)
            single = block if table is not None else replace(block, name="", factors=(factor,), rowwise=False)
            sums = np.asarray(hypothesis.answer(single)) if table is None else table.sum(axis=others)
            squares = (sums / max(self.total, TINY)) ** 2
            variance = self.variances.get(factor.axes[0], 0.0) if len(factor.axes) == 1 else 0.0
            norms = 1.0 if table is not None or not variance else squared_norms(single)
            raised = squares + variance / records * norms
            alone, noisy = join(alone, squares).reshape(-1), join(noisy, raised).reshape(-1)
        found: FloatArray = records * np.maximum(noisy - alone, 0.0)
        return found
