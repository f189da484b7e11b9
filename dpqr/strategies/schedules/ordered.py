"""Ordered: the strategy where records are many, buckets of neighbouring cells where they are few."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import islice
from typing import ClassVar

import numpy as np
from msgspec import Struct

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.arrays import Axes, FloatArray, IntArray
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.noise.law import NoiseLaw
from dpqr.kernel.noise.public import public_normals, public_uniforms
from dpqr.kernel.values import replace
from dpqr.models.fit.buckets import BoxCounts, BucketCounts, draws_of, likely_records, uneven_cells
from dpqr.strategies.designs.buckets import (
    EqualBuckets,
    Partition,
    choose_partition,
    equal_buckets,
    level_queries,
    level_tree,
    merged_block,
    partition_design,
)
from dpqr.strategies.designs.gram import importance
from dpqr.strategies.designs.kronecker import Design, designs
from dpqr.strategies.plan import BlockForecast, Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import (
    Released,
    least_squares_forecast,
    proved_epsilon,
    search_phases,
    strategy_name,
)
from dpqr.strategies.schedules.strategy import Strategy
from dpqr.strategies.transcript import Round, Step, Transcript
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, IntMatrix
from dpqr.workload.partition import Bisection, BucketMatrix
from dpqr.workload.ranges import everything
from dpqr.workload.sensitivity import Norm
from dpqr.workload.trees import Tree
from dpqr.workload.workload import Measurement, Workload, by_home


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """A count of the records, and further ones while it is not sure; a look at boxes of cells where they are few, a
    cheap first one that decides on a second where they are many; then a strategy, over buckets of neighbouring cells or
    over all cells, whichever should leave less error.

    Groups of attributes that no query joins have the budget cut among them, and each decides for itself; groups of too
    few or too many cells are measured as by `Strategy`. Queries ask by single columns. Where n is public no count is
    bought. The steps themselves: `measurement_sequence`.

    Privacy:
        Neighbours: those of the problem's unit. One to three counts and up to three draws a group, each a noisy answer
        to integer blocks (LaplaceAnswers, GaussianAnswers): the number of records; a first look, a small tree of counts
        of boxes; such a tree again; a strategy over the buckets or over all cells. What is drawn, how deep, at which
        share of the group's budget, and whether the price of a draw that is left out goes to the last one, is a
        function of public facts and of what the draws before released; so is the choice of buckets, which is
        post-processing and free (Dwork and Roth 2014, Proposition 2.1): every box that is counted gets noise, the
        smallest ones too. What a further look may show is drawn with public randomness, from released counts. The last
        draw's sensitivity is that of the integer matrix over the buckets: a record lies in one bucket, so the columns
        over cells are those over buckets, repeated (Merged). A further count takes its share from every price of the
        groups that wait for it, so given any outcome of the counts all prices together are within the budget: adaptive
        composition (Dwork, Rothblum and Vadhan 2010), for prices that depend on releases that of a filter (Rogers,
        Roth, Ullman and Vadhan 2016). So the plan states the sum that a filter allows, and no price of single draws.

    >>> Ordered().adaptive
    True
    """

    name: ClassVar[str] = "ordered"
    distinguisher: ClassVar[str | None] = None
    adaptive: ClassVar[bool] = True

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """Counts of the records where n is private, then up to three draws a group.

        Raises:
            InfeasiblePlan: `Strategy` has no plan either.
        """
        direct = Strategy().plan(problem, budget, roles)
        counted = problem.n is None
        # The count's share, and of every group that of its first look, of its boxes and of its last measurement.
        count = [TUNING.count] if counted else []
        rest = 1 - sum(count) - TUNING.first_look
        each = (TUNING.first_look, rest * TUNING.boxes, rest * (1 - TUNING.boxes))
        shares = (*count, *(one * own for own in _shares(problem, roles) for one in each))
        prices = roles.cut(budget, [Portion(share=share, count=1) for share in shares])
        first = Phase(noun="opening", count=1, price=prices[0], blocks=((RECORDS,),))
        stages = (Phase(noun="stage", count=1, price=price) for price in (prices[1:] if counted else prices))
        phases = search_phases((first, *stages) if counted else stages, reduce(Price.plus, prices))
        staged = replace(direct, schedule=self, phases=phases, epsilon=proved_epsilon(roles.accountant, phases, budget))
        refusals = {part.unsuited for part in groups(staged)}
        if None not in refusals:
            return replace(direct, notes=(*direct.notes, f"no buckets: {'; '.join(sorted(map(str, refusals)))}"))
        return replace(staged, forecast=_forecast(staged), notes=(*direct.notes, _announced(staged)))

    def column_sets(self, plan: Plan) -> tuple[Axes, ...]:
        return plan.asked_columns

    def start(self, plan: Plan) -> Released:
        return Released()

    def next(self, plan: Plan, state: Released) -> Step | None:
        """The counts; then looks at boxes, and the buckets or cells that these suggest."""
        one = next(islice(measurement_sequence(plan, state.rounds), len(state.rounds), None), None)
        return None if one is None else one.step

    def after(self, state: Released, finished: Round) -> Released:
        return state.after(finished)

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """What was chosen, and why: from public and released figures; of a step that decides, and was lost, what that
        leaves."""
        if not plan.named("stage"):
            return ()
        sentences: list[str] = []
        released = [finished.measurement for finished in transcript.rounds]
        for measured, one in zip(released, measurement_sequence(plan, released), strict=False):
            if measured is not None or not one.why:
                sentences += one.why
            else:
                lost = "drawn, and lost in a crash; answers rest on earlier counts, if there are any"
                sentences.append(f"{one.step.only[0].name}: {lost}")
        return tuple(sentences)


def _shares(problem: Problem, roles: Roles) -> list[Fraction]:
    """Of the budget, by groups of attributes: what would leave the least error if strategies were measured for all.

    Noise of a group goes with 1 / eps_g^2 (Laplace) or 1 / rho_g (Gaussian), so errors e_g at unit noise are least
    together at shares in proportion to e_g^(1/3) or e_g^(1/2) (Hoelder).
    """
    norm = Norm.L1 if roles.check.pure else Norm.L2_SQUARED
    groups = by_home(problem.workload.blocks).items()
    partitions = [TwoStagePartition(problem=problem, roles=roles, axes=axes, blocks=blocks) for axes, blocks in groups]
    power = 1 / 3 if norm is Norm.L1 else 1 / 2
    weights = [min(unit_error(one, norm) for one in each.offered) ** power for each in partitions]
    grains = [max(1, round(TUNING.grain * weight / sum(weights))) for weight in weights]
    return [Fraction(grain, sum(grains)) for grain in grains]


def _forecast(plan: Plan) -> tuple[BlockForecast, ...]:
    """Of every block's answers if the strategy is measured, in the workload's order; errors where it surely is."""
    found = {}
    for part in groups(plan):
        own_problem = replace(plan.problem, workload=Workload(part.two_stage.blocks))
        price = part.whole if part.unsuited else part.look.plus(part.last)
        for known in least_squares_forecast(own_problem, plan.roles, price, (part.two_stage.direct(price).strategy,)):
            found[known.name] = known if part.unsuited else replace(known, error=None)
    return tuple(found[block.name] for block in plan.problem.workload.blocks)


def _announced(plan: Plan) -> str:
    """What the plan knows of the choice."""
    limits = ", ".join(f"{part.limit:,.0f} ({part.columns})" for part in groups(plan) if not part.unsuited)
    count = (
        f"a noisy count of all records, for {float(TUNING.count):.1%} of the budget, and more while it is not sure; "
    )
    return (
        f"{count if plan.opening else ''}noisy counts of boxes of cells, for {float(TUNING.boxes):.0%} of what is left "
        f"where records rise above their noise; from {limits} records on a first look at boxes, for at most "
        f"{float(TUNING.first_look):.0%} of the budget, decides on these; neighbours that they do not tell apart are "
        "merged if that is expected to leave less error than all cells do, and the rest measures a strategy; forecast "
        "is that of all cells"
    )


# Tuning of the schedule for ordered columns.
#
# Set by `python tests/benchmarks/dense.py`, on the histograms of DPBench; figures: tests/benchmarks/RESULTS.md,
# "Schedules".


class OrderedTuning(Struct, frozen=True, kw_only=True):
    """One constant a line, with what it sets."""

    count: Fraction = Fraction(1, 1000)  # share of the budget of the noisy number of records
    recounts: tuple[Fraction, ...] = (Fraction(1, 100), Fraction(1, 10))  # of what is left, while counts are not sure
    sure: int = 3  # times its noise that a count must be, and records that of a count at the price of a look
    first_look: Fraction = Fraction(1, 25)  # share of the first counts of boxes, at most
    crowded: int = 5  # n eps / cells from which a first look decides on a second, at a price that falls as this grows
    boxes: Fraction = Fraction(1, 4)  # part of the rest for a look at boxes where records are few, or for a second one
    grain: int = 1000  # parts of the budget that groups of attributes share
    fewest_cells: int = 8  # of fewer cells none are merged
    most_cells: int = 2**18  # of more cells no boxes are counted
    tables: int = 4  # that are drawn from a look's counts, to expect what buckets leave
    reach: int = 8  # boxes that are counted for every record that the noise of a single count leaves sure
    shallowest: int = 2  # levels of boxes that are counted, at least
    deepest: int = 10  # levels of boxes that are counted, at most
    finest: int = 10  # level below which a box's effect on the workload is extrapolated: half of its parent's
    work: int = 2**33  # multiplications for what the workload asks of all boxes of one level, at most


TUNING = OrderedTuning()


# TwoStagePartition: counts of boxes, and the buckets that they suggest, for the queries on one group of attributes.

GRID = 2**20
"""Parts of a record."""


class RecordEstimate(Struct, frozen=True, kw_only=True):
    """An estimate of the number of records, and the deviation of its noise. Public.

    >>> RecordEstimate(count=10.0, noise=4.0).combined(RecordEstimate(count=20.0, noise=4.0)).count
    15.0
    """

    count: float
    noise: float

    @classmethod
    def of(cls, counted: Measurement) -> RecordEstimate:
        return cls(count=float(counted.values[0][0]), noise=counted.law.deviation)

    @property
    def likely(self) -> float:
        """Root mean square of the numbers that the count leaves likely (`likely_records`)."""
        sizes, weights = likely_records(self.count, self.noise)
        return math.sqrt(float(weights @ sizes**2))

    @property
    def sure(self) -> bool:
        return self.count >= TUNING.sure * self.noise

    def combined(self, other: RecordEstimate) -> RecordEstimate:
        """Both, weighted by their precision; the one without noise, if there is one."""
        if self.noise > other.noise:
            return other.combined(self)
        if not self.noise:
            return self
        odds = (self.noise / other.noise) ** 2  # at most 1: a tiny noise overflows nothing
        count = (self.count + odds * other.count) / (1 + odds)
        return RecordEstimate(count=count, noise=self.noise * (1 + odds) ** -0.5)


class TwoStagePartition(Struct, frozen=True, kw_only=True, eq=False):
    """A group of attributes that some blocks ask about together, and noise as the roles have it. Public."""

    problem: Problem
    roles: Roles
    axes: Axes
    blocks: tuple[QueryBlock, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.problem.domain.shape[axis] for axis in self.axes)

    @property
    def bisection(self) -> Bisection:
        return Bisection(self.shape)

    @property
    def norm(self) -> Norm:
        return Norm.L1 if self.roles.check.pure else Norm.L2_SQUARED

    @property
    def rows(self) -> int:
        return sum(block.rows for block in self.blocks)

    @property
    def offered(self) -> tuple[Design, ...]:
        """Strategies for all cells."""
        name = strategy_name(self.problem, self.axes)
        return tuple(designs(name, self.axes, self.shape, self.blocks, self.norm))

    def direct(self, price: Price) -> Design:
        """The strategy for all cells of least expected error: a large budget's integer noise favours small integers."""
        return min(self.offered, key=lambda design: self._error(design, price))

    def sureness(self, records: float, price: Price) -> float:
        """Records over the noise of one count at `price`; eps n for Laplace noise, one row a unit."""
        return max(records, 0.0) * math.sqrt(2 / self._variance(price))

    def box_tree(self, records: float, price: Price, what: str = "scouting") -> QueryBlock:
        """A weighted tree of counts of ever smaller boxes, as deep as so many records bear at `price`."""
        level = self._level(records, price)
        tree = level_tree(self.blocks, self.axes, self.shape, level, self.norm)
        return self._block(what, tree, self.bisection.places(level))

    def partition(self, counted: Measurement | None, records: RecordEstimate, price: Price) -> Partition:
        """The buckets that least squares on a look's counts suggests, if they are measured at `price`.

        Args:
            counted: counts of boxes; None: there are none, and only the number of records is known.
        """
        return _fit_partition(self._fit(price), counted, records)

    def total(self, counted: Measurement | None, records: RecordEstimate) -> RecordEstimate:
        """The number of records from all that was released."""
        known = known_boxes(counted, records, self.shape)
        return RecordEstimate(count=known.total, noise=known.deviation)

    def further_error(
        self, counted: Measurement, records: RecordEstimate, look: Price, prices: tuple[Price, Price]
    ) -> float:
        """Expected error of buckets after a second look at price `look`: of that without one, the part that is left on
        tables drawn from the first look's counts (preposterior analysis: Raiffa and Schlaifer 1961).

        Args:
            prices: of the buckets' measurement, without a second look and after one.
        """
        total = self.total(counted, records)
        law = self.roles.check.law((self.box_tree(total.likely, look),), self.problem.unit, look)
        now, later = (self._fit(price) for price in prices)
        second = SecondLook(now=now, later=later, level=self._level(total.likely, look), law=law)
        return _further_part(second, counted, records) * self.partition(counted, records, prices[0]).error

    def _level(self, records: float, price: Price) -> int:
        """How deep boxes are counted."""
        depth = math.log2(max(TUNING.reach * self.sureness(records, price), 1.0))
        return min(max(round(depth), TUNING.shallowest), TUNING.deepest, self.bisection.depth)

    def _fit(self, price: Price) -> PartitionFit:
        whole = min(unit_error(design, self.norm) for design in self.offered)
        equal = equal_buckets(self.blocks, self.axes, self.shape, self.norm, whole)
        return PartitionFit(
            blocks=self.blocks,
            axes=self.axes,
            shape=self.shape,
            norm=self.norm,
            equal=equal,
            variance=self._variance(price),
        )

    def cells_error(self, price: Price) -> float:
        """Expected weighted sum of squared errors if every cell is measured by itself at `price`."""
        return self._error(self.direct(price), price)

    def strategy(self, partition: Partition) -> QueryBlock:
        """The best strategy for the workload on the buckets."""
        boxes = partition.boxes
        ends = tuple(map(tuple, np.concatenate([boxes.starts, boxes.stops], axis=1).tolist()))
        design = partition_design(self.blocks, self.axes, ends, self.norm)
        return self._block("buckets", design, partition.buckets)

    def _block(self, what: str, matrix: IntMatrix, buckets: IntArray) -> QueryBlock:
        return merged_block(strategy_name(self.problem, self.axes, what), self.axes, self.shape, matrix, buckets)

    def _error(self, design: Design, price: Price) -> float:
        return design.error * self.roles.check.law((design.strategy,), self.problem.unit, price).deviation ** 2

    def _variance(self, price: Price) -> float:
        """Of the noise on answers of sensitivity 1, which a matrix with columns of norm 1 has: on so fine a grid that
        a large budget's noise is not rounded away."""
        sizes = self.shape[:1] or (1,)
        fine = QueryBlock(
            name="cells",
            factors=(Factor(axes=self.axes[:1] or (0,), sizes=sizes, matrix=Tree(sizes[0], (1,), (GRID,))),),
        )
        return (self.roles.check.law((fine,), self.problem.unit, price).deviation / GRID) ** 2


def unit_error(design: Design, norm: Norm) -> float:
    """Weighted sum of squared errors at noise of variance 1 on columns of norm 1."""
    column = float(math.prod(factor.matrix.column_norm(norm.value) for factor in design.strategy.factors))
    return design.error * (column**2 if norm is Norm.L1 else column)


class PartitionFit(Struct, frozen=True, kw_only=True):
    """What a choice of buckets rests on besides counts. Public; a key of caches by the identities of blocks and errors.

    equal: errors by the number of buckets. variance: of the noise that they are measured with.
    """

    blocks: tuple[QueryBlock, ...]
    axes: Axes
    shape: tuple[int, ...]
    norm: Norm
    equal: EqualBuckets
    variance: float

    def error(self, partition: Partition, cells: FloatArray) -> float:
        """Weighted sum of squared errors of buckets if these were the cells: noise, and what an even spread misses."""
        sizes = np.bincount(partition.buckets)
        spread = np.bincount(partition.buckets, weights=cells.reshape(-1)) / sizes
        gaps = spread[partition.buckets].reshape(self.shape) - cells
        bias = 0.0
        for block in self.blocks:
            apart = tuple(place for place, axis in enumerate(self.axes) if axis not in block.axes)
            bias += importance(block) * float((block.apply(gaps.sum(axis=apart)) ** 2).sum())
        return bias + self.equal.error(len(sizes)) * self.variance

    def partition(self, measured: Measurement | None, records: RecordEstimate) -> Partition:
        """The buckets that least squares on a look's counts suggests."""
        known = known_boxes(measured, records, self.shape)
        rows = sum(block.rows for block in self.blocks)
        finest = min(known.bisection.depth, TUNING.finest, int(math.log2(max(TUNING.work / max(rows, 1), 4.0)) / 2))
        queries = level_queries(self.blocks, self.axes, self.shape, finest)
        return choose_partition(known, queries, lambda buckets: self.equal.error(buckets) * self.variance)


@lru_cache(maxsize=64)
def _fit_partition(fit: PartitionFit, measured: Measurement | None, records: RecordEstimate) -> Partition:
    """Kept by the identities of blocks, errors and measurement, for every later step asks again."""
    return fit.partition(measured, records)


class SecondLook(Struct, frozen=True, kw_only=True):
    """A look that may follow. Public; a key of caches.

    now, later: the choice of buckets without it, and after it. level: of its boxes. law: of its noise.
    """

    now: PartitionFit
    later: PartitionFit
    level: int
    law: NoiseLaw


@lru_cache(maxsize=64)
def _further_part(second: SecondLook, counted: Measurement, records: RecordEstimate) -> float:
    """What a second look leaves of the error of buckets: over tables as uneven as the first one's counts leave
    possible, each with noise of the second. Kept by the identities of blocks, errors and measurement.

    Privacy:
        Post-processing of released counts, with public randomness.
    """
    now, later, law = second.now, second.later, second.law
    shape, known = now.shape, known_boxes(counted, records, now.shape)
    total = RecordEstimate(count=known.total, noise=known.deviation)
    whole = BucketCounts(
        places=np.zeros(math.prod(shape), dtype=np.int64),
        counts=np.array([total.count]),
        covariance=np.array([[total.noise**2]]),
    )
    tree = level_tree(now.blocks, now.axes, shape, second.level, now.norm)
    block = merged_block("scouting", now.axes, shape, tree, known.bisection.places(second.level))
    buckets, draws = _fit_partition(now, counted, records), draws_of(shape)
    errors = np.zeros(2)
    for seed in range(0, 3 * TUNING.tables, 3):
        cells = uneven_cells(shape, whole, known, public_uniforms(seed, draws), public_normals(seed + 1, draws))
        noise = public_normals(seed + 2, block.rows) * law.deviation
        measurement = Measurement(
            blocks=(block,), values=(np.rint(block.apply(cells) + noise).astype(np.int64),), law=law
        )
        errors += now.error(buckets, cells), later.error(later.partition(measurement, total), cells)
    return float(errors[1] / max(errors[0], TINY))


def known_boxes(measured: Measurement | None, records: RecordEstimate, shape: tuple[int, ...]) -> BoxCounts:
    """Counts of boxes by least squares, and the number of records from these and all counts before.

    Args:
        measured: a tree over the boxes of one level; None: no boxes were counted.
    """
    if measured is None:
        return BoxCounts(
            bisection=Bisection(shape),
            counts=np.array([records.count]),
            variances=np.zeros(0),
            total=records.count,
            deviation=records.noise,
        )
    known = box_counts(measured, shape)
    total = records.combined(RecordEstimate(count=known.total, noise=known.deviation))
    return replace(known, total=total.count, deviation=total.noise)


def box_counts(measured: Measurement, shape: tuple[int, ...]) -> BoxCounts:
    """Counts of boxes by least squares, from a first look or from the first stage.

    Args:
        measured: a tree over the boxes of one level.
        shape: cells of each axis.
    """
    matrix, noise = measured.blocks[0].factors[0].matrix, measured.law.deviation
    assert isinstance(matrix, BucketMatrix), "the first stage measures boxes"
    tree = matrix.inner
    assert isinstance(tree, Tree), "in a tree"
    counts = tree.recover(measured.values[0].astype(np.float64)[:, None])[:, 0]
    # Variance that unit noise leaves in the difference of a box's halves, one a level: all boxes are alike.
    size = tree.size
    rows = np.zeros((size.bit_length() - 1, size), dtype=np.int64)
    for level, row in enumerate(rows):
        half = size >> (level + 1)
        row[:half], row[half : 2 * half] = 1, -1
    return BoxCounts(
        bisection=Bisection(shape),
        counts=counts,
        variances=(tree.variances(Dense(rows)) if len(rows) else np.zeros(0)) * noise**2,
        total=float(counts.sum()),
        deviation=float(tree.variances(everything(tree.size))[0]) ** 0.5 * noise,
    )


# Measurement sequence of an ordered workload: each step is decided by what the steps before released.

RECORDS = QueryBlock(name="number of records")

TINY, MANY = 1e-300, 100
"""Stands for the error of a strategy without noise; from so many times on a ratio is not stated."""

Measurements = Iterator[Measurement | None]
"""What the rounds released, in order; None for a draw that was lost in a crash."""


class MeasurementStep(Struct, frozen=True, kw_only=True):
    """A step, and why it is taken: sentences from public and released figures."""

    step: Step
    why: tuple[str, ...] = ()


class AttributeGroup(Struct, frozen=True, kw_only=True):
    """One group of attributes, and the prices of its steps: first look, counts of boxes, last measurement."""

    two_stage: TwoStagePartition
    first_look: Price
    look: Price
    last: Price

    @property
    def whole(self) -> Price:
        return self.first_look.plus(self.look).plus(self.last)

    def less(self, share: Fraction) -> AttributeGroup:
        """The group with that share of every price taken away."""
        if not share:
            return self
        prices = (price.times(1 - share) for price in (self.first_look, self.look, self.last))
        first_look, look, last = prices
        return replace(self, first_look=first_look, look=look, last=last)

    @property
    def columns(self) -> str:
        attributes = self.two_stage.problem.domain.attributes
        return ", ".join(attributes[axis].name for axis in self.two_stage.axes) or "the total"

    @property
    def unsuited(self) -> str | None:
        """Why its cells are not merged; None where they can be."""
        cells = math.prod(self.two_stage.shape)
        if cells < TUNING.fewest_cells:
            return "there are too few cells to merge any"
        return f"{cells:,} cells are more than {TUNING.most_cells:,}" if cells > TUNING.most_cells else None

    @property
    def limit(self) -> float:
        """Records from which on a first look decides on a second."""
        return TUNING.crowded * math.prod(self.two_stage.shape) / self.two_stage.sureness(1.0, self.whole)

    def looking(self, records: RecordEstimate) -> AttributeGroup:
        """The group with the first look's price halved for every doubling of the records beyond the limit: boxes are
        measured as exactly as at the limit, relative to their counts. The last measurement gets the rest."""
        halvings = math.floor(math.log2(max((records.count - records.noise) / self.limit, 1.0)))
        if halvings < 1:
            return self
        part = Fraction(1, 2**halvings)
        kept = self.first_look.times(1 - part)
        return replace(self, first_look=self.first_look.times(part), last=self.last.plus(kept))


def groups(plan: Plan) -> tuple[AttributeGroup, ...]:
    """Groups in order of first mention, each with three of the plan's prices."""
    problem, prices = plan.problem, (phase.price for phase in plan.named("stage"))
    return tuple(
        AttributeGroup(
            two_stage=TwoStagePartition(problem=problem, roles=plan.roles, axes=axes, blocks=blocks),
            first_look=next(prices),
            look=next(prices),
            last=next(prices),
        )
        for axes, blocks in by_home(problem.workload.blocks).items()
    )


def measurement_sequence(plan: Plan, released: Sequence[Measurement | None]) -> Iterator[MeasurementStep]:
    """All steps so far and the next one: counts of the records, then one group of attributes after the other.

    Args:
        plan: with a price for the count, where one is bought, and three for each group.
        released: what the rounds so far released, in order; None for a draw that was lost in a crash.

    Each step is decided by the rounds before it, which are read only after these steps were handed out; so a longer
    list never changes an earlier step. A lost draw is not made again: the strategy is measured with what is left. Boxes
    are as small as the records bear, or as the noise of their count would.
    """
    measured, parts = iter(released), groups(plan)
    records: RecordEstimate | None = RecordEstimate(count=float(plan.problem.n or 0), noise=0.0)
    price = plan.price("opening")
    if price is not None:
        yield _passing(RECORDS, price)
        counted = next(measured)
        records = None if counted is None else RecordEstimate.of(counted)
        shares = iter(TUNING.recounts)
        while records is not None and counted is not None and not records.sure and (share := next(shares, None)):
            suited = [part.whole for part in parts if not part.unsuited]
            yield _passing(RECORDS, reduce(Price.plus, suited).times(share))
            counted = next(measured)
            records = records if counted is None else records.combined(RecordEstimate.of(counted))
            parts = tuple(part if part.unsuited else part.less(share) for part in parts)
    for part in parts:
        if part.unsuited:
            yield _direct(part, part.whole, part.unsuited)
        elif records is None:
            yield _direct(part, part.whole, "the count of records was lost")
        else:
            yield from _looks(part.looking(records), measured, records)
        next(measured, None)  # a group's last draw decides nothing


def _looks(part: AttributeGroup, measured: Measurements, records: RecordEstimate) -> Iterator[MeasurementStep]:
    """Looks at boxes, and then the buckets or the cells.

    Few records: one look, if they rise above the noise of a single count at its price. Surely many: a cheap first look,
    and a second one if that promises less error.
    """
    two_stage, rest, last = part.two_stage, part.whole, part.last.plus(part.first_look)
    seen, looked, surely = None, "without a look at boxes", records.count - records.noise
    if surely >= part.limit:
        yield _passing(two_stage.box_tree(surely, part.first_look, "first look"), part.first_look)
        seen, rest, last, looked = next(measured), part.look.plus(part.last), part.last, "after a first look at boxes"
        if seen is None:
            yield _direct(part, rest, "the first counts of boxes were lost")
            return
    partition, cells = two_stage.partition(seen, records, rest), two_stage.cells_error(rest)
    if seen is None:
        promising = two_stage.sureness(records.likely, part.look) >= TUNING.sure
    else:
        expected = two_stage.further_error(seen, records, part.look, (rest, last))
        promising = expected < min(partition.error, cells)
    if promising:
        looked = "after a look at boxes" if seen is None else "after two looks at boxes"
        records = two_stage.total(seen, records)
        yield _passing(two_stage.box_tree(records.likely, part.look), part.look)
        seen, rest = next(measured), last
        if seen is None:
            yield _direct(part, rest, "the counts of boxes were lost")
            return
        partition, cells = two_stage.partition(seen, records, rest), two_stage.cells_error(rest)
    ratio = math.sqrt(partition.error / max(cells, TINY))
    times = f"{ratio:.2f} of" if ratio < MANY else f"over {MANY} times"
    why = f"{looked}, buckets are expected to leave {times} the strategy's error"
    if ratio >= 1 or len(partition.boxes) == math.prod(two_stage.shape):
        yield _direct(part, rest, why)
        return
    error, of_cells = (math.sqrt(one / two_stage.rows) for one in (partition.error, two_stage.cells_error(part.whole)))
    merged = (
        f"{part.columns}: {why}: cells were merged into {len(partition.boxes):,} buckets; expected error "
        f"{error:.4g} a query, noise and unevenness together (of the strategy: {of_cells:.4g}); answers are biased by "
        "what an even spread hides"
    )
    step = Step(candidates=(two_stage.strategy(partition),), select=None, measure=rest)
    yield MeasurementStep(step=step, why=(merged,))


def _passing(block: QueryBlock, price: Price) -> MeasurementStep:
    """Measured for the next step's sake: nobody reads an estimate before that."""
    return MeasurementStep(step=Step(candidates=(block,), select=None, measure=price, refit=False))


def _direct(part: AttributeGroup, price: Price, why: str) -> MeasurementStep:
    """The strategy over single cells."""
    sentence = f"{part.columns}: {why}: the strategy was measured, and its answers are unbiased"
    return MeasurementStep(
        step=Step(candidates=(part.two_stage.direct(price).strategy,), select=None, measure=price), why=(sentence,)
    )
