"""What most update rules that keep every cell of the domain share, to be taken as methods.

A rule writes `start, footprint = uniform_start, dense_footprint` into its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.hypotheses.dense import DenseDistribution
from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.strategies.updates.single_query import on_domain
from dpqr.workload.block import QueryBlock

DENSE_LIMIT = 2**24
"""Cells up to which a hypothesis is kept cell by cell (128 MiB per array)."""

TENSORS = 4
"""Arrays of the domain's size that a step holds at once: cells and logs, before it and after."""

LOGS = "logs"
"""Potential of single steps: the log of every weight."""


def uniform_start(_rule: Any, problem: Problem) -> DenseDistribution:
    """The uniform distribution, over the public number of records (0 where it is private)."""
    return DenseDistribution.uniform(problem.domain.shape, float(problem.n or 0))


def dense_footprint(_rule: Any, problem: Problem) -> Footprint:
    """Memory of exponential steps; a refusal where the domain is too large to be listed."""
    size = problem.domain.size
    if size > DENSE_LIMIT:
        refusal = (
            f"the domain has {size} cells, and this update rule keeps at most {DENSE_LIMIT} cell by cell; leave "
            "columns out of the domain file, merge bins, or take --update multiplicative-weights"
        )
        return Footprint(bytes=0, refusal=refusal)
    return Footprint(bytes=8 * TENSORS * size)


def no_bound(_rule: Any, _problem: Problem, _level: Level) -> int | None:
    """No mistake bound is proved: the schedule `theory` refuses the rule."""
    return None


def any_block(_rule: Any, _problem: Problem, _measured: Sequence[QueryBlock], _candidate: Sequence[QueryBlock]) -> bool:
    """Every block fits: the hypothesis does not grow with what was measured."""
    return True


def exponential_step(distribution: DenseDistribution, block: QueryBlock, exponents: FloatArray) -> DenseDistribution:
    """Multiply every cell by the exponential of its sum over the block's queries, coefficient times exponent.

    Logs of the weights are kept: no weight vanishes for good by underflow.

    Args:
        exponents: shape (block.rows,), finite.

    Returns:
        A distribution of the same number of records.

    >>> from dpqr.workload.block import Factor
    >>> marginal = QueryBlock(name="m", factors=(Factor.identity(0, 2),))
    >>> start = DenseDistribution.uniform((2,), 10.0)
    >>> exponential_step(start, marginal, np.log([3.0, 1.0])).probabilities
    array([0.75, 0.25])
    """
    move = on_domain(block.adjoint(exponents), block.axes, len(distribution.shape))
    return of_logs(logs_of(distribution) + move, distribution.total)


def logs_of(distribution: DenseDistribution) -> FloatArray:
    """Logs of the weights, shape = domain shape: those kept by earlier steps, else those of the cells."""
    known = distribution.potentials.get(LOGS)
    return np.log(np.maximum(distribution.probabilities, np.finfo(np.float64).tiny)) if known is None else known


def of_logs(logs: FloatArray, total: float) -> DenseDistribution:
    """The distribution whose weights have these logs."""
    logs = logs - logs.max()
    logs.flags.writeable = False
    cells = np.exp(logs)
    cells /= cells.sum()
    cells.flags.writeable = False
    return DenseDistribution(probabilities=cells, total=total, potentials={LOGS: logs})
