"""Forecasts: what a share of the budget buys in noise, the error that noise leaves in a block after the fit, and the
gap that a measurement shows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import combinations

import numpy as np

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.budget import Price
from dpqr.kernel.unit import PrivacyUnit
from dpqr.models.fit.local_fits import local_fit
from dpqr.strategies.plan import Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.transcript import Round
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity
from dpqr.workload.strategy_matrices import squared_norms
from dpqr.workload.trees import Tree

SHARE_GRID = 2**40
"""Shares are rounded down to this part of the whole."""

REFERENCE = 2.0**-20
"""A share at which discrete noise has the deviation of continuous noise, so that others follow by scaling."""

ROUNDING = 1.0 - 1e-9
"""Shares of a split stay by this much below the whole, so that no rounding takes their sum beyond it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAllocation:
    """whole: the budget in the accountant's currency, epsilon, rho or mu^2. deviation: of a marginal measured with all
    of it, if noise were continuous, in records. pure: whether noise is in proportion to L1 sensitivity, not to L2.

    A share x buys a deviation of deviation / sqrt(x) in rho or mu^2 and of deviation / x in epsilon: `power` is 1/2 or
    1.
    """

    whole: Price
    deviation: float
    pure: bool = False

    @classmethod
    def of(cls, roles: Roles, unit: PrivacyUnit, block: QueryBlock, whole: Price) -> BudgetAllocation:
        bare = cls(whole=whole, deviation=1.0)
        law = roles.check.law((block,), unit, bare.price(REFERENCE))
        return cls(whole=whole, deviation=law.deviation * REFERENCE**bare.power, pure=roles.check.pure)

    @property
    def concentrated(self) -> bool:
        return self.whole.epsilon is None

    def relative(self, block: QueryBlock, other: QueryBlock, unit: PrivacyUnit) -> float:
        """Deviation of a block's noise over that of another one's at the same share."""
        norm = Norm.L1 if self.pure else Norm.L2_SQUARED
        moved, reference = (float(sensitivity((one,), norm, unit)) for one in (block, other))
        return moved / reference if self.pure else (moved / reference) ** 0.5

    @property
    def power(self) -> float:
        return 0.5 if self.concentrated else 1.0

    def price(self, share: float) -> Price:
        """At most `share` of the whole."""
        return self.whole.times(Fraction(max(1, int(share * SHARE_GRID)), SHARE_GRID))

    def deviation_at(self, share: float) -> float:
        """Standard deviation of a marginal measured at this share, in records."""
        return float(self.deviation / max(share, 1.0 / SHARE_GRID) ** self.power)

    def combined(self, first: float, second: float) -> float:
        """Standard deviation of the inverse-variance mean of two measurements at these shares."""
        shares = [share for share in (first, second) if share > 0.0]
        return float(sum(self.deviation_at(share) ** -2.0 for share in shares) ** -0.5)

    def share(self, deviation: float) -> float:
        """The share that buys a deviation; it may be more than the whole."""
        return float((self.deviation / deviation) ** (1.0 / self.power))

    def selection(self, temperature: float) -> float:
        """The share of a selection whose odds fall e-fold where scores (of sensitivity 1) differ by `temperature`."""
        return self.whole.part(2.0 / temperature)

    def split(self, share: float, costs: Sequence[float], spent: Sequence[float] = ()) -> list[float]:
        """Shares of `share` that minimise sum cost times deviation: in the ratio cost^(1 / (1 + power)).

        spent: shares that went to the same before. In rho what they bought adds up with the new shares, so it is the
        sums that come as near to that ratio as they can; in epsilon a smaller share adds next to nothing to a larger
        one, and nothing is counted.
        """
        if not costs:
            return []
        parts = np.array(costs) ** (1.0 / (1.0 + self.power))
        before = np.array(spent) if len(spent) and self.concentrated else np.zeros(parts.size)
        chosen = np.ones(parts.size, dtype=bool)
        while True:
            level = (share + before[chosen].sum()) / parts[chosen].sum()
            shares = np.where(chosen, level * parts - before, 0.0)
            if (shares >= 0.0).all():
                return [float(each) for each in ROUNDING * shares]
            chosen &= shares > 0.0


# One table of all columns, the count of the records, and what is left after it.

RECORDS = QueryBlock(name="number of records")


def full_table(problem: Problem) -> QueryBlock:
    """All asked columns together; the workload's own block where it is one."""
    axes = problem.workload.axes
    full = (block for block in problem.workload.blocks if block.is_marginal and set(block.axes) == set(axes))
    own = next(full, None)
    factors = tuple(Factor.identity(axis, problem.domain.attributes[axis].size) for axis in axes)
    return own or QueryBlock(name="table of all columns", factors=factors)


def public_records(problem: Problem) -> float | None:
    """n, where it is declared or a public fact; or as it was counted with noise."""
    known = problem.n if problem.n is not None else problem.domain.facts.records
    return problem.counted if known is None else known


def counts_records(plan: Plan) -> bool:
    """Whether a count of the records decides what is measured (`Forecasts`)."""
    return bool(plan.named("stage"))


def first_marginals(plan: Plan) -> Phase:
    """The phase of the first one-way marginals."""
    phase = plan.phase("stage") or plan.phase("opening")
    assert phase is not None, "a search opens with one-way marginals"
    return phase


def search_budget(plan: Plan) -> Price:
    """The budget of a search, less the price of the count of the records: exact."""
    whole = plan.price("search")
    assert whole is not None, "a plan with rounds states what its search may cost"
    return whole.times(1 - TUNING.count) if counts_records(plan) else whole


def remaining(plan: Plan) -> BudgetAllocation:
    """What is left after the count of the records, to be shared out."""
    single = first_marginals(plan).blocks[0][0]
    return BudgetAllocation.of(plan.roles, plan.problem.unit, single, search_budget(plan))


def summed_noise(table: QueryBlock, block: QueryBlock, deviation: float) -> float:
    """Of all answers of a block, as sums over the table's cells, in units of the most that a record changes one."""
    squared = (table.cells / block.cells) * float(squared_norms(block).mean())
    return block.rows * deviation * math.sqrt(squared) / max(block.largest_coefficient, 1)


# ExpectedError: the error that noise of a given size leaves in a marginal after the fit, from one-way marginals.

GRID = np.geomspace(1e-3, 1e7, 21)
"""Deviations, in records, at which errors are worked out; in between they are interpolated in logarithms."""

NEGLIGIBLE = 1e-12
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
    return np.array([max(float((cells / (1.0 + cells / deviation)).sum()), NEGLIGIBLE) for deviation in GRID])


def _interpolated(curve: FloatArray, deviation: float) -> FloatArray:
    logs: FloatArray = np.exp(np.interp(np.log(max(deviation, GRID[0])), np.log(GRID), np.log(curve)))
    return logs


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
        factors = range(len(self.block.factors))
        found = [self._missed(chosen) for chosen in combinations(factors, min(ways, len(factors)))]
        return float(np.mean(found))

    def _missed(self, chosen: Collection[int]) -> float:
        parts = []
        for place, factor in enumerate(self.block.factors):
            cells, share = factor.matrix.cells, self._shares[place]
            apart = np.sqrt(np.maximum(self._squares[place] - cells * share**2, 0.0))
            parts.append(apart / math.sqrt(cells * max(cells - 1, 1)) if place in chosen else np.abs(share))
        return self._summed(parts)

    def _summed(self, parts: list[FloatArray]) -> float:
        """Over the answers; parts: of every factor, one figure a row."""
        alone = math.prod(float(part.sum()) for part in parts)
        rowwise = self.block.rowwise and len(parts) > 1
        found = float(reduce(np.multiply, parts).sum()) if rowwise else alone
        return found / max(self.block.largest_coefficient, 1)


# Gaps: how far a measurement shows a block to be from its expected answers.

NOISE = 0.8
"""sqrt(2 / pi): mean size of noise of deviation 1."""

SPREAD = 1.51
"""Relative deviation of the square of a sum of sizes of noise over one cell, 2 sqrt(pi / 2 - 1): the sum's own is half
of that, and both fall with the root of the number of cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What one measurement shows of the gap between a block and its expected answers. All figures are L1 errors over n.

    moved: how far a fit to that measurement alone moves from the expected answers. error: what the noise leaves
    in the block, by forecast. passed: the part of a gap that the fit passes on. chance: sampling variation of as many
    records as were expected.
    """

    block: QueryBlock
    moved: float
    error: float
    passed: float
    chance: float

    @property
    def least(self) -> float:
        """Lower estimate of the gap: noise is subtracted in full, as if it never hid a part of the gap."""
        return max(0.0, self.moved - NOISE * self.error) / self.passed

    @property
    def squared(self) -> float:
        """Estimate of the squared gap: noise is independent of a gap of its size, so their squares add up.

        Below 0 where noise happened to move less than it mostly does.
        """
        return (self.moved**2 - (NOISE * self.error) ** 2) / self.passed**2

    @property
    def spread(self) -> float:
        """Standard deviation of `squared` where there is no gap."""
        return SPREAD * (NOISE * self.error / self.passed) ** 2 / float(np.sqrt(self.block.rows))


def largest_gap(block: QueryBlock) -> float:
    """The largest L1 error over n of two columns that were taken for independent: each determines the other."""
    fewest = min(factor.matrix.rows for factor in block.factors)
    return 2.0 * (1.0 - 1.0 / fewest) if fewest > 1 else 2.0


def estimate_gap(drawn: Round, errors: ExpectedError, records: float) -> Gap | None:
    """The gap that a round shows; None: a draw was lost, or nothing was expected.

    Args:
        drawn: the round, with the expected answers to the measured block.
        errors: forecast errors of all blocks.
        records: n, as `errors` was made with.

    The gap is divided by the number of expected records: the hypothesis estimates n from more measurements than the
    first ones, and an error in n would look like a gap.
    """
    if drawn.measurement is None or not drawn.expected:
        return None
    block, deviation = drawn.measurement.blocks[0], drawn.measurement.law.deviation
    expected = np.maximum(drawn.expected[0], 0.0)
    values = np.asarray(drawn.measurement.values[0], dtype=np.float64)
    total = max(1.0, float(expected.sum()))
    moved = float(np.abs(local_fit(expected, values, max(deviation, 1e-6)) - expected).sum())
    error = errors.at(block, deviation) / records
    return Gap(
        block=block,
        moved=moved / total,
        error=error,
        passed=max(TUNING.least_passed, 1.0 - error),
        chance=NOISE * float(np.sqrt(expected).sum()) / total,
    )


# Tuning of the schedule for marginals.
#
# Errors are L1 errors over n, shares are of the budget. Set by `python tests/benchmarks/marginals` and
# `python tests/benchmarks/marginals/shapes.py`; figures: tests/benchmarks/RESULTS.md, "Schedules".


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalsTuning:
    """One constant a line, with what it sets."""

    table: int = 2**22  # cells of the one table of all columns, at most (32 MiB)
    count: Fraction = Fraction(1, 50)  # share of the count of the records
    hidden_by_columns: float = 0.25  # part of the records that one-way marginals hide, for each further column
    hidden_by_pairs: float = 0.15  # part of them that pairs hide
    left: float = 0.625  # part of the noise of a measurement that a fit leaves in its answers, where that is small
    summed: float = 1.2  # noise of sums of cells of a wider marginal, over that of cells which a fit cuts as it does
    explored: float = 2.0  # blocks a column that a search is forecast to measure
    passed_over: float = 0.25  # part of what is hidden that a search leaves in the blocks that it passes over
    last_pure: float = 0.55  # share of the blocks in the forecast of a search, in epsilon
    last_rho: float = 0.9  # and in rho
    searched_pure: float = 1.3  # error of a search in epsilon over its forecast, where accountants are compared
    fine_dependence: float = 0.01  # deviation of the measured dependence, L1 error over n
    largest_dependence: float = 0.05  # share that this costs, at most
    dependence: float = 0.06  # deviation above which it is not measured
    least_dependence: float = 0.005  # of columns that noise shows as independent
    kept: float = 0.8  # part of its expected error that the noise of a measurement leaves after the fit
    hidden_below: float = 0.4  # part of what one-way marginals hide in a pair that pairs hide in each further column
    beside: float = 0.15  # share of one-way marginals beside the blocks that a search explores
    concentration: tuple[float, float] = (2.0, 3.0)  # of dependence on few pairs: what is usual, and the most
    started: float = 0.8  # forecast error of a search over its own, where tables of an earlier release spread the rest
    explored_pure: float = 0.4  # part of what is left that what a search explores is forecast to get, in epsilon
    explored_rho: float = 0.7  # and in rho
    opening: Fraction = Fraction(1, 10)  # share of the first one-way marginals
    opening_error: float = 0.15  # expected error of a block above which one-way marginals are measured again
    largest_opening: float = 0.5  # share of one-way marginals with their re-measurement, at most
    selection: Fraction = Fraction(1, 10)  # part of a round's price that its selection is forecast to take
    last: float = 0.5  # assumed share of the last measurements when coarser blocks are chosen
    coarse_error: float = 0.15  # expected error above which a coarser block is offered too
    coarse_cell: float = 2.0  # noise deviations that a coarse cell of even counts holds, at least
    first_gap: float = 0.5  # gap that is assumed before the first batch; caps the gap that sets a precision
    precision: float = 1.0  # target precision of a measurement, as a fraction of the largest gap observed so far
    fine_error: float = 0.1  # a measurement is at least this precise where that is cheap
    fine_part: float = 0.25  # cheap: at most this part of an even split of what is left over the candidates
    temperature: float = 0.1  # of a selection, as a fraction of the gap
    batch: int = 6  # one further choice between two fits for so many explored blocks
    batch_share: float = 0.1  # part of what is left that the measurements of one batch cost, at most
    patience: int = 2  # batches without improvement after which a level ends
    noisy_error: float = 0.8  # error of a measurement from which a batch without improvement counts twice
    resolved: float = 2.0  # a batch decides if what noise may hide is at most this many times the final error
    hopeless: float = 0.22  # no search where a batch's measurement expected more than this part of the largest gap
    wide_error: float = 0.12  # blocks wider than pairs are searched where measuring them all would leave less
    all_explored: float = 0.4  # part of the blocks after which it is asked whether all should be measured
    all_gap: float = 1.25  # all are measured where the gap is so many times the error that this would leave
    apart_singles: tuple[float, ...] = (
        0.05,
        0.1,
        0.15,
        0.2,
        0.3,
        0.45,
        0.6,
        0.75,
    )  # of the last measurements, for columns apart
    apart_totals: tuple[float, ...] = (0.01, 0.04)  # of these, for the total
    apart_worth: float = 0.9  # part of the tables' expected error that columns and pairs apart leave, at most
    apart_cells: int = 64  # of a column whose pairs are measured apart, at most
    apart_deviation: float = 0.7  # of tables; below it, noise on whole records is mostly zero, and tables are better
    work: int = 2**19  # scores of blocks that all choices compute together, at most
    weakest: float = 1e-3  # Dobrushin coefficient of a measured pair that showed no dependence
    least_passed: float = 0.2  # smallest part of a gap that a fit is assumed to show


TUNING = MarginalsTuning()
