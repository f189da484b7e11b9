"""The number of records that practical update rules scale to, where it is private: estimated from measurements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from dpqr.kernel.arrays import FloatArray, freeze
from dpqr.models.fit.evidence import SMALLEST_DEVIATION
from dpqr.strategies.problem import Problem
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import IntMatrix
from dpqr.workload.ranges import Ranges
from dpqr.workload.workload import Measurement


def records_total(
    problem: Problem, history: Sequence[Measurement], answer: Callable[[QueryBlock], FloatArray]
) -> float:
    """The number of records: public, or estimated from the measurements.

    Where n is private: the total that single blocks estimate, else the declared n0, else the total that best matches
    the hypothesis' answers; clipped to the bounds of the public facts and of a declared number.

    Args:
        answer: the hypothesis' answers at one record.

    Returns:
        Records; negative where noise makes it so and no bound excludes it.

    Privacy:
        Post-processing of released values and public facts.
    """
    if problem.n is not None and problem.unit.rows_public:
        return float(problem.n)
    observed = measured_total(history)
    if observed is None:
        observed = matched_total(history, answer) if problem.n is None else float(problem.n)
    return bounded_total(problem, observed)


def bounded_total(problem: Problem, observed: float) -> float:
    """The number of records: public, or an estimate clipped to the bounds of the public facts and of a declared number.

    Args:
        observed: the estimate, in records.
    """
    if problem.n is not None and problem.unit.rows_public:
        return float(problem.n)
    facts = problem.domain.facts
    observed = observed if facts.records is None else float(facts.records)
    least = float(facts.least) if facts.least else -math.inf
    bounds = [float(most) for most in (facts.most, problem.most) if most is not None]
    return min([max(observed, least), *bounds])


def measured_total(history: Sequence[Measurement]) -> float | None:
    """Inverse-variance mean of the totals that single blocks estimate, in records; None where no block does.

    A block estimates the total where some combination of its queries counts every record once: a marginal's cells, the
    last entry of a prefix, the root of a tree. May be negative.

    >>> measured_total([]) is None
    True
    """
    return mean_total(block_totals(history))


def block_totals(history: Sequence[Measurement]) -> list[tuple[float, float]]:
    """The totals that single blocks estimate, in records, each with the variance of its noise."""
    totals = []
    for measurement in history:
        for block, values in zip(measurement.blocks, measurement.values, strict=True):
            combination = _combination(tuple(factor.matrix for factor in block.factors), block.rowwise)
            if combination is not None:
                variance = float(combination @ combination) * max(measurement.law.deviation, SMALLEST_DEVIATION) ** 2
                totals.append((float(combination @ values), variance))
    return totals


def mean_total(totals: Sequence[tuple[float, float]]) -> float | None:
    """Inverse-variance mean of totals with their variances; None where there are none."""
    shares = sum(1.0 / variance for _, variance in totals)
    return sum(total / variance for total, variance in totals) / shares if shares else None


def matched_total(history: Sequence[Measurement], answer: Callable[[QueryBlock], FloatArray]) -> float:
    """The least-squares total for a distribution: N that minimises sum (value - N answer)^2 / deviation^2.

    Args:
        answer: its answers at one record.

    Returns:
        Records.
    """
    product, square = 0.0, 0.0
    for measurement in history:
        share = max(measurement.law.deviation, SMALLEST_DEVIATION) ** -2
        for block, values in zip(measurement.blocks, measurement.values, strict=True):
            expected = answer(block)
            product += share * float(expected @ values)
            square += share * float(expected @ expected)
    return product / square if square > 0.0 else 0.0


@lru_cache(maxsize=512)
def _combination(matrices: tuple[IntMatrix, ...], rowwise: bool) -> FloatArray | None:
    """Weights of a block's queries whose sum counts every record once, shape (rows,); None where none is found.

    Cached, for the whole history is read in every round, and most blocks are alike.

    Args:
        matrices: of the block's factors.
    """
    if rowwise and len(matrices) > 1:
        return None
    parts = [_unit_combination(matrix) for matrix in matrices]
    whole = np.ones(1)
    for part in parts:
        if part is None:
            return None
        whole = np.multiply.outer(whole, part).reshape(-1)
    return freeze(whole)


def _unit_combination(matrix: IntMatrix) -> FloatArray | None:
    """Row weights c with c M = 1, of the smaller |c|^2: the mean of rows of ones, or all rows alike.

    Two cheap tests in place of a least-squares solve find every matrix that the query language builds around a total.
    """
    if isinstance(matrix, Ranges) and matrix.rows == 1:  # no need to pass over all cells
        return np.ones(1) if int(matrix.stops[0] - matrix.starts[0]) == matrix.cells else None
    combinations: list[FloatArray] = []
    sums = matrix.apply(np.ones((matrix.cells, 1)))[:, 0]
    if matrix.smallest >= 0 and matrix.column_norm(0) == 1:
        ones = sums == matrix.cells
        if ones.any():
            combinations.append(ones / float(ones.sum()))
    columns = matrix.adjoint(np.ones((matrix.rows, 1)))[:, 0]
    if columns[0] > 0 and (columns == columns[0]).all():
        combinations.append(np.full(matrix.rows, 1.0 / float(columns[0])))
    return min(combinations, key=lambda weights: math.fsum(weights * weights), default=None)
