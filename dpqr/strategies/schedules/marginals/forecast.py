"""Forecasts: what a share of the budget buys in noise, the error that noise leaves in a block after the fit, and the
error that a plan is expected to leave, by which candidate plans of all schedules are compared; all constants.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import combinations

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.budget import Price
from dpqr.kernel.unit import PrivacyUnit
from dpqr.strategies.plan import TINY, Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import NORMAL
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity
from dpqr.workload.sensitivity import Norm, sensitivity
from dpqr.workload.strategy_matrices import squared_norms
from dpqr.workload.trees import Tree

SHARE_GRID = 2**40
"""Shares are rounded down to this part of the whole."""

REFERENCE = 2.0**-20
"""A share at which discrete noise has the deviation of continuous noise, so that others follow by scaling."""

ROUNDING = 1.0 - 1e-9
"""Shares of a split stay by this much below the whole, so that no rounding takes their sum beyond it."""


class BudgetAllocation(Struct, frozen=True, kw_only=True):
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
        return relative_noise(block, other, unit, pure=self.pure)

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


def relative_noise(block: QueryBlock, other: QueryBlock, unit: PrivacyUnit, *, pure: bool) -> float:
    """Deviation of a block's noise over that of another one's at the same price, in epsilon or in rho and mu^2."""
    norm = Norm.L1 if pure else Norm.L2_SQUARED
    moved, reference = (float(sensitivity((one,), norm, unit)) for one in (block, other))
    return moved / reference if pure else (moved / reference) ** 0.5


# One table of all columns, the count of the records, and what is left after it.

RECORDS = QueryBlock(name="number of records")


def full_table(problem: Problem) -> QueryBlock:
    """All queried columns together; the workload's own block where it is one."""
    axes = problem.workload.axes
    wide = (block for block in problem.workload.blocks if len(block.axes) == len(axes))
    full = (block for block in wide if block.is_marginal and set(block.axes) == set(axes))
    own = next(full, None)
    factors = tuple(Factor.identity(axis, problem.domain.attributes[axis].size) for axis in axes)
    return own or QueryBlock(name="table of all columns", factors=factors)


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


# ExpectedError: the error that noise of a given size leaves in a marginal after the fit, from one-way marginals.

GRID = np.geomspace(1e-3, 1e7, 21)
"""Deviations, in records, at which errors are worked out; in between they are interpolated in logarithms."""

NEGLIGIBLE = 1e-12
"""Stands for the error of a block without records, whose logarithm is needed."""

TOGETHER = 2**17
"""Cells of marginals whose errors are worked out together."""


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
        total, shares = estimated_records(singles), {}
        for axis, values in singles.items():
            # Non-negative parts of 1; uniform where all are lost in noise.
            positive = np.maximum(values, 0.0)
            records = positive.sum()
            shares[axis] = positive / records if records > 0.0 else np.full(values.size, 1.0 / values.size)
        curves = np.empty((len(blocks), GRID.size))
        # Marginals of columns of the same sizes are worked out together.
        alike: dict[tuple[int, ...], list[int]] = {}
        for row, block in enumerate(blocks):
            if block.is_marginal:
                alike.setdefault(tuple(shares[axis].size for axis in block.axes), []).append(row)
                continue
            answers = np.asarray(total)
            for factor in block.factors:
                own = np.ones(1)
                for axis in factor.axes:
                    own = np.multiply.outer(own, shares[axis]).reshape(-1)
                shown = factor.matrix.apply(own[:, None])[:, 0]
                answers = answers * shown if block.rowwise else np.multiply.outer(answers, shown)
            curves[row] = _errors_on_grid(np.maximum(answers, 0.0).reshape(1, -1))
        for sizes, rows in alike.items():
            step = max(1, TOGETHER // math.prod(sizes))
            for some in (rows[start : start + step] for start in range(0, len(rows), step)):
                products = np.full((len(some), 1), total)
                for place in range(len(sizes)):
                    each = np.stack([shares[blocks[row].axes[place]] for row in some])
                    products = (products[:, :, None] * each[:, None, :]).reshape(len(some), -1)
                curves[some] = _errors_on_grid(products)
        return cls(curves=curves, places={block.name: row for row, block in enumerate(blocks)})

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


def _errors_on_grid(cells: FloatArray) -> FloatArray:
    """Expected errors at every deviation of `GRID`, shape (blocks, deviations). cells: records, (blocks, cells)."""
    errors = [(cells / (1.0 + cells / deviation)).sum(axis=1) for deviation in GRID]
    found: FloatArray = np.maximum(np.stack(errors, axis=1), NEGLIGIBLE)
    return found


def estimated_records(singles: Mapping[int, FloatArray]) -> float:
    """n, at least 1, estimated from noisy one-way marginals of one deviation: the mean of their sums, weighted by the
    inverse of their numbers of cells, which are in proportion to the sums' variances. 1 where there are none."""
    if not singles:
        return 1.0
    sums, sizes = zip(*((values.sum(), values.size) for values in singles.values()), strict=True)
    return max(1.0, float(np.average(sums, weights=1.0 / np.array(sizes))))


def _interpolated(curve: FloatArray, deviation: float) -> FloatArray:
    logs: FloatArray = np.exp(np.interp(np.log(max(deviation, GRID[0])), np.log(GRID), np.log(curve)))
    return logs


NOISE = 0.8
"""sqrt(2 / pi): mean size of noise of deviation 1."""


# The forecast error of a plan, by which candidate plans are compared: mean over the blocks of the L1 error over n.
# Where nobody knows n, it is the geometric mean of the errors at POSSIBLE_RECORDS.

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


class Noise(Struct, frozen=True, kw_only=True, eq=False):
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
        found: FloatArray = noise_left(louder * NORMAL * self.total / records, self.even) + hidden * self.hidden
        return found


def noise_left(noise: FloatArray, seen: FloatArray) -> FloatArray:
    """Noise that a fit leaves in all answers of blocks, L1 over n, shape (blocks,).

    About 5/8 of a small one. Noise beyond what there is to be seen is cut, for it lies on cells that are mostly empty:
    the error grows with its power of 0.4 from there on.

    Args:
        noise: of the answers by what was measured, L1 over n.
        seen: part of the records that the answers hold together, or their dependence.
    """
    found: FloatArray = TUNING.left * noise / (1.0 + noise / seen) ** 0.6
    return found


def summed_noise(table: QueryBlock, block: QueryBlock, deviation: float) -> float:
    """Of all answers of a block, as sums over the table's cells, in units of the most that a record changes one."""
    return SummedNoise.of(block).over(table, deviation)


class SummedNoise(Struct, frozen=True, kw_only=True):
    """The same for any table that holds the block. squares: the mean of its queries' squared norms over its own cells.
    largest: its largest coefficient, at least 1."""

    rows: int
    cells: int
    squares: float
    largest: int

    @classmethod
    def of(cls, block: QueryBlock) -> SummedNoise:
        squares, largest = float(squared_norms(block).mean()), max(block.largest_coefficient, 1)
        return cls(rows=block.rows, cells=block.cells, squares=squares, largest=largest)

    def over(self, table: QueryBlock, deviation: float) -> float:
        """Where every cell of the table has noise of this deviation."""
        return self.rows * deviation * math.sqrt((table.cells / self.cells) * self.squares) / self.largest


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

    def noise(self, axes: Collection[int | str]) -> float:
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
        cells = [factor.matrix.cells for factor in self.block.factors]
        spreads = [one / math.sqrt(max(many - 1, 1)) for one, many in zip(self._spreads(), cells, strict=True)]
        return float(np.mean(self._together(ways, spreads)))

    @property
    def largest_gap(self) -> float:
        """The largest L1 error over n of all answers where two even columns are taken for independent; of more columns,
        of the two that matter most.

        Of 0/1 queries on two columns it is an upper bound: a covariance is at most the root of the product of both
        variances; and where the second part is one cell of all, these sum up to twice the variance of the first at
        most, below its root.
        """
        spreads = [
            share if isinstance(factor.matrix, Identity) and not self.block.rowwise else spread
            for factor, share, spread in zip(self.block.factors, self._shares, self._spreads(), strict=True)
        ]
        return max(*self._together(2, spreads), 1.0 / self.block.cells)

    def _spreads(self) -> list[FloatArray]:
        """Standard deviations of every factor's rows over its cells."""
        return [
            np.sqrt(np.maximum(square / factor.matrix.cells - share**2, 0.0))
            for factor, share, square in zip(self.block.factors, self._shares, self._squares, strict=True)
        ]

    def _together(self, ways: int, spreads: Sequence[FloatArray]) -> list[float]:
        """For every so many factors, the sum over the answers of their spreads and of the others' shares."""
        places = range(len(spreads))
        return [
            self._summed([spreads[place] if place in chosen else np.abs(self._shares[place]) for place in places])
            for chosen in combinations(places, min(ways, len(places)))
        ]

    def _summed(self, parts: list[FloatArray]) -> float:
        """Over the answers; parts: of every factor, one figure a row."""
        alone = math.prod(float(part.sum()) for part in parts)
        rowwise = self.block.rowwise and len(parts) > 1
        found = float(reduce(np.multiply, parts).sum()) if rowwise else alone
        return found / max(self.block.largest_coefficient, 1)


# Tuning of the schedule for marginals.
#
# Errors are L1 errors over n, shares are of the budget. Set by `python tests/benchmarks/marginals` and
# `python tests/benchmarks/marginals/shapes.py`; figures: tests/benchmarks/RESULTS.md, "Schedules".


class MarginalsTuning(Struct, frozen=True, kw_only=True):
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
    largest_dependence: float = 0.05  # part of what is left that this costs, at most
    dependence: float = 0.06  # deviation above which it is not measured
    least_dependence: float = 0.005  # of columns that noise shows as independent
    kept: float = 0.8  # part of its expected error that the noise of a measurement leaves after the fit
    hidden_below: float = 0.4  # part of what one-way marginals hide in a pair that pairs hide in each further column
    beside: float = 0.15  # share of one-way marginals beside the blocks that a search explores
    concentration: float = 2.0  # of dependence on few pairs
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
