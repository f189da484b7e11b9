"""Plan forecast: the error that a plan is expected to leave, by which candidate plans are compared.

All errors are means over the queries' blocks of the L1 error over n. Where nobody knows n, a plan is judged by the
geometric mean of its errors at POSSIBLE_RECORDS.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations

import numpy as np

from dpqr.kernel.arrays import FloatArray
from dpqr.strategies.plan import TINY, Plan
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import NORMAL
from dpqr.strategies.schedules.marginals.forecast import TUNING
from dpqr.workload.block import QueryBlock
from dpqr.workload.strategy_matrices import squared_norms
from dpqr.workload.trees import Tree

POSSIBLE_RECORDS = tuple(float(number) for number in np.geomspace(100, 10**6, 9))
"""Numbers of records at which a plan is judged where nobody knows them."""


def forecast_error(plan: Plan) -> float:
    """Forecast error of a plan: what its schedule expects; where it expects none, that of its blocks' noise."""
    if plan.expected is not None:
        return plan.expected
    return direct_error(plan, fitted=plan.schedule.name == "rounds")


def direct_error(plan: Plan, *, fitted: bool) -> float:
    """Forecast error among the possible records of a plan by which every block is measured, or estimated unbiased.

    Args:
        fitted: whether a fit cuts noise on cells of few records; else an answer is off by its noise, or by no more than
            even records would be.
    """
    units = []
    for block, known in zip(plan.problem.workload.blocks, plan.forecast, strict=True):
        # Nearly all noise of a large budget is 0, and its size is far below its deviation: where known, it is taken.
        deviation = known.deviation if fitted or known.error is None else known.error / NORMAL
        total = known.rows * deviation / float(block.scale)
        units.append((total / max(block.largest_coefficient, 1), NoiseSpread(block=block).even, 0.0))
    noise, errors = Noise.of(units), []
    for records in possible_records(plan.problem):
        n = max(1.0, records)
        found = noise.errors(n, 1.0, 0.0) if fitted else np.minimum(NORMAL * noise.total / n, noise.even)
        errors.append(float(found.mean()))
    return mean_error(errors)


def public_records(problem: Problem) -> float | None:
    """n, where it is declared or a public fact; or as it was counted with noise."""
    known = problem.n if problem.n is not None else problem.domain.facts.records
    return problem.counted if known is None else known


def error_words(error: float) -> str:
    """An L1 error over n. No two tables of n records are further than 2 apart, so no more is said of a larger one.

    >>> error_words(0.123), error_words(5e6)
    ('0.12', 'above 2')
    """
    return f"{error:.2g}" if error <= 2.0 else "above 2"


def possible_records(problem: Problem) -> tuple[float, ...]:
    """The known number, or POSSIBLE_RECORDS."""
    known = public_records(problem)
    return POSSIBLE_RECORDS if known is None else (float(known),)


def mean_error(errors: Sequence[float]) -> float:
    """The geometric mean of errors at different numbers of records."""
    return math.exp(float(np.mean(np.log(np.maximum(errors, TINY)))))


# Noise of blocks, and the error that it leaves after the fit.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise:
    """Of blocks, where some blocks are measured; shapes (blocks,).

    total: deviations of all answers together, in units of the most that a record changes one. even: share of even
    records that the answers hold together. hidden: part of the records that what is measured is assumed not to show.
    """

    total: FloatArray
    even: FloatArray
    hidden: FloatArray

    @classmethod
    def of(cls, blocks: Iterable[tuple[float, float, float]]) -> Noise:
        """Of every block its total, even and hidden."""
        total, even, hidden = np.array([*blocks], dtype=np.float64).reshape(-1, 3).T
        return cls(total=total, even=even, hidden=hidden)

    def errors(self, records: float, louder: float, hidden: float) -> FloatArray:
        """L1 errors over n, forecast at so many times the noise and of what is hidden, shape (blocks,)."""
        noise = louder * NORMAL * self.total / (records * self.even)
        found: FloatArray = TUNING.left * self.even * noise / (1.0 + noise) ** 0.6 + hidden * self.hidden
        return found


def summed_noise(table: QueryBlock, block: QueryBlock, deviation: float) -> float:
    """Of all answers of a block, as sums over the table's cells, in units of the most that a record changes one."""
    squared = (table.cells / block.cells) * float(squared_norms(block).mean())
    return block.rows * deviation * math.sqrt(squared) / max(block.largest_coefficient, 1)


# Spread: what independent noise on the cells of a marginal, and what a fit misses of them, come to in a block's
# answers.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoiseSpread:
    """Of one block over even records. All figures are sums over its answers, in units of the most that one record
    changes one of them.

    Why not the answers' size times the noise of all cells: the noise of the cells that a prefix adds up is independent,
    so a prefix of k cells holds sqrt(k) times the noise of one.

    >>> from dpqr.workload.block import Factor
    >>> from dpqr.workload.matrix import Prefix
    >>> prefixes = QueryBlock(name="up to", factors=(Factor(axes=(0,), sizes=(4,), matrix=Prefix(4)),))
    >>> round(NoiseSpread(block=prefixes).even, 2), round(NoiseSpread(block=prefixes).noise((0,)), 2)
    (2.5, 6.15)
    """

    block: QueryBlock
    _shares: tuple[FloatArray, ...] = field(init=False, repr=False)
    _squares: tuple[FloatArray, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """_shares, _squares: of every factor's rows, their sums over the cells as a part of them, and their squared
        norms; a marginal needs none."""
        matrices = [] if self.block.is_marginal else [factor.matrix for factor in self.block.factors]
        shares = (one.apply(np.full((one.cells, 1), 1.0 / one.cells))[:, 0] for one in matrices)
        squares = (Tree(one.cells, (1,), (1,)).variances(one) for one in matrices)
        object.__setattr__(self, "_shares", tuple(shares))
        object.__setattr__(self, "_squares", tuple(squares))

    @property
    def even(self) -> float:
        """Part of the records that the answers hold."""
        if self.block.is_marginal:
            return 1.0
        return max(self._summed([np.abs(share) for share in self._shares]), 1.0 / self.block.cells)

    def noise(self, axes: Collection[int]) -> float:
        """Of all answers together, where every cell of the marginal of these columns has noise of deviation 1."""
        if self.block.is_marginal:
            sizes = [pair for factor in self.block.factors for pair in zip(factor.axes, factor.sizes, strict=True)]
            return float(math.prod(size for axis, size in sizes if axis in axes))
        parts = []
        for factor, share, square in zip(self.block.factors, self._shares, self._squares, strict=True):
            shown = [size for axis, size in zip(factor.axes, factor.sizes, strict=True) if axis in axes]
            alike = np.abs(share) * math.sqrt(math.prod(shown))
            parts.append(np.sqrt(square) if len(shown) == len(factor.axes) else alike)
        return self._summed(parts)

    def missed(self, ways: int) -> float:
        """L1 error of all answers over that of the cells, where a fit misses what so many columns together show.

        Deviations of cells are taken for independent but for their sums over each column, which are 0: the part of a
        query that is alike in all cells of a column misses nothing. Mean over all sets of so many factors.
        """
        if self.block.is_marginal:
            return 1.0
        alike, apart = [np.abs(share) for share in self._shares], []
        for factor, share, square in zip(self.block.factors, self._shares, self._squares, strict=True):
            cells = factor.matrix.cells
            deviation = np.sqrt(np.maximum(square - cells * share**2, 0.0))
            apart.append(deviation / math.sqrt(cells * max(cells - 1, 1)))
        places = range(len(alike))
        found = [
            self._summed([apart[place] if place in chosen else alike[place] for place in places])
            for chosen in combinations(places, min(ways, len(places)))
        ]
        return float(np.mean(found))

    def _summed(self, parts: list[FloatArray]) -> float:
        """Over the answers; parts: of every factor, one figure a row."""
        alone = math.prod(float(part.sum()) for part in parts)
        rowwise = self.block.rowwise and len(parts) > 1
        found = float(reduce(np.multiply, parts).sum()) if rowwise else alone
        return found / max(self.block.largest_coefficient, 1)
