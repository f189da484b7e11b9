"""The number of records, where it is private: what the measurements say of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from dpqr.data.arrays import FloatArray, frozen
from dpqr.strategies.problem import Problem
from dpqr.strategies.updates.evidence import SMALLEST_DEVIATION
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import IntMatrix
from dpqr.workload.ranges import Ranges
from dpqr.workload.workload import Measurement


def records_total(
    problem: Problem, history: Sequence[Measurement], answer: Callable[[QueryBlock], FloatArray]
) -> float:
    """What the practical rules take for the number of records.

    The public n, where it is public. Otherwise what the measurements tell; the declared n0 while none tells it;
    without one the total that best matches `answer`, the hypothesis' answers at one record. Within the bounds of the
    public facts, and of what a declared number allows; else it may be negative.
    """
    if problem.n is not None and problem.unit.rows_public:
        return float(problem.n)
    facts = problem.domain.facts
    told = _told_total(problem, history, answer) if facts.records is None else float(facts.records)
    least = float(facts.least) if facts.least else -math.inf
    bounds = [float(most) for most in (facts.most, problem.most) if most is not None]
    return min([max(told, least), *bounds])


def _told_total(problem: Problem, history: Sequence[Measurement], answer: Callable[[QueryBlock], FloatArray]) -> float:
    measured = measured_total(history)
    if measured is not None:
        return measured
    return float(problem.n) if problem.n is not None else matched_total(history, answer)


def measured_total(history: Sequence[Measurement]) -> float | None:
    """Inverse-variance mean of the totals that single blocks tell, in records; None where no block tells one.

    A block tells the total where some combination of its queries counts every record once: a marginal's cells, the
    last entry of a prefix, the root of a tree. May be negative: it is noise plus a count.
    """
    weighted, shares = 0.0, 0.0
    for measurement in history:
        for block, values in zip(measurement.blocks, measurement.values, strict=True):
            combination = _combination(block)
            if combination is not None:
                share = 1.0 / (
                    float(combination @ combination) * max(measurement.law.deviation, SMALLEST_DEVIATION) ** 2
                )
                weighted += share * float(combination @ values)
                shares += share
    return weighted / shares if shares else None


def matched_total(history: Sequence[Measurement], answer: Callable[[QueryBlock], FloatArray]) -> float:
    """The least-squares total for a distribution: `answer` gives its answers at one record.

    The fallback where no block tells the total by itself: N that minimises sum (value - N answer)^2 / deviation^2.
    """
    product, square = 0.0, 0.0
    for measurement in history:
        share = max(measurement.law.deviation, SMALLEST_DEVIATION) ** -2
        for block, values in zip(measurement.blocks, measurement.values, strict=True):
            told = answer(block)
            product += share * float(told @ values)
            square += share * float(told @ told)
    return product / square if square > 0.0 else 0.0


@lru_cache(maxsize=512)
def _combination(block: QueryBlock) -> FloatArray | None:
    """Weights of the block's queries whose sum counts every record once, shape (rows,); None if none is seen.

    Kept, for the whole history is asked about in every round.
    """
    if block.rowwise and len(block.factors) > 1:
        return None
    parts = [_unit_combination(factor.matrix) for factor in block.factors]
    whole = np.ones(1)
    for part in parts:
        if part is None:
            return None
        whole = np.multiply.outer(whole, part).reshape(-1)
    return frozen(whole)


def _unit_combination(matrix: IntMatrix) -> FloatArray | None:
    """Row weights c with c M = 1: the mean of rows of ones, or all rows alike where columns have equal sums.

    The one with the smaller |c|^2, and so with less noise. Two cheap tests instead of a general least-squares solve:
    they find every matrix that the query language builds around a total.
    """
    if isinstance(matrix, Ranges) and matrix.rows == 1:  # no need to pass over all cells
        return np.ones(1) if int(matrix.stops[0] - matrix.starts[0]) == matrix.cells else None
    found: list[FloatArray] = []
    sums = matrix.apply(np.ones((matrix.cells, 1)))[:, 0]
    if matrix.smallest >= 0 and matrix.column_norm(0) == 1:
        ones = sums == matrix.cells
        if ones.any():
            found.append(ones / float(ones.sum()))
    columns = matrix.adjoint(np.ones((matrix.rows, 1)))[:, 0]
    if columns[0] > 0 and (columns == columns[0]).all():
        found.append(np.full(matrix.rows, 1.0 / float(columns[0])))
    return min(found, key=lambda weights: math.fsum(weights * weights), default=None)
