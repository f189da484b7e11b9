"""Measurement sequence of an ordered workload: each step is decided by what the steps before released."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

from dpqr.privacy.budget import Price
from dpqr.strategies.designs.partition import Partition
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules.ordered.tuning import TUNING
from dpqr.strategies.schedules.ordered.two_stage import Records, TwoStagePartition
from dpqr.strategies.transcript import Step
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement, by_home

RECORDS = QueryBlock(name="number of records")

TINY, MANY = 1e-300, 100
"""Stands for the error of a strategy without noise; from so many times on a ratio is not stated."""

Measurements = Iterator[Measurement | None]
"""What the rounds released, in order; None for a draw that was lost in a crash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementStep:
    """A step, and why it is taken: sentences from public and released figures."""

    step: Step
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One group of attributes, and the prices of its steps: first look, counts of boxes, last measurement."""

    two_stage: TwoStagePartition
    first_look: Price
    look: Price
    last: Price

    @property
    def whole(self) -> Price:
        return self.first_look.plus(self.look).plus(self.last)

    def less(self, share: Fraction) -> Group:
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
        """Records from which a first look decides."""
        shape = self.two_stage.shape
        crowded = TUNING.crowded if len(shape) == 1 else TUNING.crowded_pair
        return crowded * math.prod(shape) / self.two_stage.sureness(1.0, self.whole)


def groups(plan: Plan) -> tuple[Group, ...]:
    """Groups in order of first mention, each with three of the plan's prices."""
    problem, prices = plan.problem, (phase.price for phase in plan.named("stage"))
    return tuple(
        Group(
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
    if plan.problem.n is None:
        records, parts = yield from _counted(plan, parts, measured)
    else:
        records = Records(count=float(plan.problem.n), noise=0.0)
    for part in parts:
        if part.unsuited:
            yield _direct(part, part.whole, part.unsuited)
        elif records is None:
            yield _direct(part, part.whole, "the count of records was lost")
        else:
            shown = f"{records.count:,.0f} records ({'a noisy count' if plan.opening else 'declared'})"
            yield from _suited(part, measured, records, shown)
        next(measured, None)  # a group's last draw decides nothing


Counted = Generator[MeasurementStep, None, tuple[Records | None, tuple[Group, ...]]]
"""Steps that count the records; returns the estimate, and the groups with what is left to them."""


def _counted(plan: Plan, parts: tuple[Group, ...], measured: Measurements) -> Counted:
    """A noisy count; while that is not sure, further ones at shares of what the suited groups have."""
    price = plan.price("opening")
    assert price is not None, "where records are private, their count is bought"
    suited = [part for part in parts if not part.unsuited]
    records, spent, shares = None, Fraction(0), iter(TUNING.recounts)
    while True:
        yield _passing(RECORDS, price)
        counted = next(measured)
        if counted is not None:
            found = Records(count=float(counted.values[0][0]), noise=counted.law.deviation)
            records = found if records is None else records.combined(found)
        share = next(shares, None)
        if records is None or counted is None or share is None or records.count >= TUNING.sure * records.noise:
            return records, tuple(part if part.unsuited else part.less(spent) for part in parts)
        spent += share
        price = reduce(Price.plus, (part.whole for part in suited)).times(share)


def _suited(part: Group, measured: Measurements, records: Records, shown: str) -> Iterator[MeasurementStep]:
    """Few records: counts of boxes and then buckets. Many: a first look decides."""
    if records.count < part.limit:
        why = f"{shown} are below {part.limit:,.0f}"
        yield from _by_boxes(part, measured, records, part.last.plus(part.first_look), why)
    else:
        yield from _first_look(part, measured, records, f"{shown} are not below {part.limit:,.0f}")


def _first_look(part: Group, measured: Measurements, records: Records, why: str) -> Iterator[MeasurementStep]:
    """A first look, at a small price, decides whether buckets are worth a second one."""
    rest, price = part.look.plus(part.last), part.first_look
    yield _passing(part.two_stage.box_tree(records.likely / TUNING.first_boxes, price, "first look"), price)
    seen = next(measured)
    if seen is None:
        yield _direct(part, rest, "the first counts of boxes were lost")
        return
    merged = part.two_stage.partition(seen, records, part.last).error
    ratio = math.sqrt(merged / max(part.two_stage.cells_error(rest), TINY))
    times = f"{ratio:.2f} of" if ratio < MANY else f"over {MANY} times"
    expected = f"a first look at boxes expects {times} the strategy's error from buckets"
    if ratio > TUNING.worth:
        yield _direct(part, rest, f"{why}, and {expected}")
    else:
        yield from _by_boxes(part, measured, records, part.last, f"{why}, but {expected}")


def _by_boxes(
    part: Group, measured: Measurements, records: Records, last: Price, why: str
) -> Iterator[MeasurementStep]:
    """Counts of boxes, and then a strategy for the buckets that they suggest."""
    two_stage = part.two_stage
    yield _passing(two_stage.box_tree(records.likely, part.look), part.look)
    seen = next(measured)
    if seen is None:
        yield _direct(part, last, "the counts of boxes were lost")
        return
    partition = two_stage.partition(seen, records, last)
    if len(partition.boxes) == math.prod(two_stage.shape) or partition.error >= two_stage.cells_error(last):
        yield _direct(part, last, f"{why}, yet counts of boxes tell most cells apart")
        return
    step = Step(candidates=(two_stage.strategy(partition),), select=None, measure=last)
    yield MeasurementStep(step=step, why=_merged(part, partition, why))


def _passing(block: QueryBlock, price: Price) -> MeasurementStep:
    """Measured for the next step's sake: nobody reads an estimate before that."""
    return MeasurementStep(step=Step(candidates=(block,), select=None, measure=price, refit=False))


def _direct(part: Group, price: Price, why: str) -> MeasurementStep:
    """The strategy over single cells."""
    sentence = f"{part.columns}: {why}: the strategy was measured, and its answers are unbiased"
    return MeasurementStep(
        step=Step(candidates=(part.two_stage.direct(price).strategy,), select=None, measure=price), why=(sentence,)
    )


def _merged(part: Group, partition: Partition, why: str) -> tuple[str, ...]:
    rows = part.two_stage.rows
    expected, whole = (math.sqrt(error / rows) for error in (partition.error, part.two_stage.cells_error(part.whole)))
    return (
        f"{part.columns}: {why}: cells were merged into {len(partition.boxes):,} buckets by noisy counts of boxes; "
        f"expected error {expected:.4g} a query, noise and unevenness together (of the strategy: {whole:.4g}); answers "
        "are biased by what an even spread hides",
    )
