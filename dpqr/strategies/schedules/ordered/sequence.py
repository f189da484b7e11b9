"""Measurement sequence of an ordered workload: each step is decided by what the steps before released."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dpqr.privacy.budget import Price
from dpqr.strategies.designs.partition import Partition
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules.ordered.tuning import TUNING
from dpqr.strategies.schedules.ordered.two_stage import TwoStagePartition
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
    """All steps so far and the next one: a count of the records, then one group of attributes after the other.

    Args:
        plan: with a price for the count, where one is bought, and three for each group.
        released: what the rounds so far released, in order; None for a draw that was lost in a crash.

    Each step is decided by the rounds before it, which are read only after these steps were handed out; so a longer
    list never changes an earlier step. A lost draw is not made again: the strategy is measured with what is left. Boxes
    are as small as the records bear, or as the noise of their count would.
    """
    measured = iter(released)
    records, noise = None if plan.problem.n is None else float(plan.problem.n), 0.0
    price = plan.price("opening")
    if price is not None:
        yield _passing(RECORDS, price)
        counted = next(measured)
        if counted is not None:
            records, noise = float(counted.values[0][0]), counted.law.deviation
    shown = f"{records or 0:,.0f} records ({'a noisy count' if plan.opening else 'declared'})"
    for part in groups(plan):
        if part.unsuited:
            yield _direct(part, part.whole, part.unsuited)
        elif records is None:
            yield _direct(part, part.whole, "the count of records was lost")
        elif records < part.limit:
            why = f"{shown} are below {part.limit:,.0f}"
            yield from _by_boxes(part, measured, max(records, noise), part.last.plus(part.first_look), why)
        else:
            yield from _first_look(part, measured, max(records, noise), f"{shown} are not below {part.limit:,.0f}")
        next(measured, None)  # a group's last draw decides nothing


def _first_look(part: Group, measured: Measurements, records: float, why: str) -> Iterator[MeasurementStep]:
    """A first look, at a small price, decides whether buckets are worth a second one."""
    rest = part.look.plus(part.last)
    yield _passing(
        part.two_stage.box_tree(records / TUNING.first_boxes, part.first_look, "first look"), part.first_look
    )
    seen = next(measured)
    if seen is None:
        yield _direct(part, rest, "the first counts of boxes were lost")
        return
    ratio = math.sqrt(part.two_stage.partition(seen, part.last).error / max(part.two_stage.cells_error(rest), TINY))
    times = f"{ratio:.2f} of" if ratio < MANY else f"over {MANY} times"
    expected = f"a first look at boxes expects {times} the strategy's error from buckets"
    if ratio > TUNING.worth:
        yield _direct(part, rest, f"{why}, and {expected}")
    else:
        yield from _by_boxes(part, measured, records, part.last, f"{why}, but {expected}")


def _by_boxes(part: Group, measured: Measurements, records: float, last: Price, why: str) -> Iterator[MeasurementStep]:
    """Counts of boxes, and then a strategy for the buckets that they suggest."""
    two_stage = part.two_stage
    yield _passing(two_stage.box_tree(records, part.look), part.look)
    seen = next(measured)
    if seen is None:
        yield _direct(part, last, "the counts of boxes were lost")
        return
    partition = two_stage.partition(seen, last)
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
