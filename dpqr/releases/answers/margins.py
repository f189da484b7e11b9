"""Margins: the error that noise in the counts of single columns passes on to the answers over several of them.

What a model joins it answers by shares: a cell of a pair is about the first column's count, times the share of the
second one's cell. So noise of deviation s in that count moves the cell by s times the share. A refit shows this but
where noise has taken the count for 0: there all of its cells are estimated as 0, and so are they in every refit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.values import replace
from dpqr.models.hypothesis import Hypothesis
from dpqr.workload.block import QueryBlock
from dpqr.workload.strategy_matrices import squared_norms
from dpqr.workload.workload import Measurement


class MarginNoise(Struct, frozen=True, kw_only=True, eq=False):
    """How well the counts of single columns are known from all marginals that were measured.

    variances: of the count of each column's cells, by attribute; attributes of no measured marginal are left out.
    total: records, as estimated.

    >>> from dpqr.models.hypothesis import DenseDistribution
    >>> from dpqr.workload.block import Factor
    >>> pair = QueryBlock(name="", factors=(Factor.identity(0, 2), Factor.identity(1, 3)))
    >>> even = DenseDistribution.uniform((2, 3), 6.0)
    >>> MarginNoise(variances={0: 18.0, 1: 8.0}, total=6.0).squares(pair, even.answer(pair), even).tolist()
    [4.0, 4.0, 4.0, 4.0, 4.0, 4.0]
    """

    variances: dict[int, float]
    total: float

    @classmethod
    def of(cls, history: Sequence[Measurement], shape: tuple[int, ...], total: float) -> MarginNoise:
        """Every marginal over a column sums to counts of its cells; they are averaged by their precision.

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
        return cls(variances=variances, total=total)

    def squares(self, block: QueryBlock, answers: FloatArray, hypothesis: Hypothesis) -> FloatArray:
        """Mean square errors by this noise of answers over several columns, in squared units of the block's grid, shape
        (rows,); 0 for answers over one.

        Args:
            answers: the hypothesis' own.
        """
        found = np.zeros(block.rows)
        if len(block.factors) < 2 or self.total <= 0.0:
            return found
        for place, factor in enumerate(block.factors):
            variance = self.variances.get(factor.axes[0], 0.0) if len(factor.axes) == 1 else 0.0
            if variance == 0.0:
                continue
            part = variance / self.total**2
            if block.is_marginal:
                table = answers.reshape([each.matrix.rows for each in block.factors])
                found.reshape(table.shape)[...] += part * table.sum(axis=place, keepdims=True) ** 2
            else:
                rest = replace(block, name="", factors=(*block.factors[:place], *block.factors[place + 1 :]))
                sums = np.asarray(hypothesis.answer(rest), dtype=np.float64) ** 2
                norms = squared_norms(replace(block, name="", factors=(factor,)))
                found += part * (norms * sums if block.rowwise else _placed(block, place, norms, sums))
        return found


def _placed(block: QueryBlock, place: int, own: FloatArray, rest: FloatArray) -> FloatArray:
    """Every row of one factor, times every combination of the rows of the others."""
    before = int(np.prod([factor.matrix.rows for factor in block.factors[:place]], dtype=np.int64))
    found: FloatArray = (own[:, None] * rest.reshape(before, 1, -1)).reshape(-1)
    return found
