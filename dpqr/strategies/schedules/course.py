"""Course: the measurements of an ordered workload, one after the other, each decided by what the ones before told."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dpqr.privacy.price import Price
from dpqr.strategies.designs.partition import Partition
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules.scouting import Scouting
from dpqr.strategies.schedules.strategy import Strategy
from dpqr.strategies.step import Step
from dpqr.strategies.transcript import Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.groups import axis_groups
from dpqr.workload.measurement import Measurement

RECORDS = QueryBlock(name="number of records")

CROWDED = {1: 5, 2: 1}
"""Records a cell, over the noise of one count (n eps / cells), from which a first look decides whether cells are
merged; by the number of columns, 2 standing for more. (DPBench, one column: below, buckets make 0.3 to 1.0 of the
strategy's error; above, 0.3 to 6.)"""

WORTH = 1.0
"""Of the strategy's error: what buckets must be expected to leave at most, for a second look to be bought. (DPBench
above CROWDED: where the first look expects 0.6 to 0.9 they leave 0.3 to 0.8; where it expects 1.4, 0.9 to 1.2.)"""

CLEARER = 4
"""Times as many records lie in each box of the first look as in those of the second."""

Told = Iterator[Measurement | None]
"""What the rounds released, in order; None for a draw that was lost in a crash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """One step, and why it is taken: sentences from public and released figures."""

    step: Step
    why: tuple[str, ...] = ()


def course(plan: Plan, transcript: Transcript) -> Iterator[Leg]:
    """All legs so far and the next one.

    Each is decided by the rounds before it, which are read only after these were handed out; so a longer transcript
    never changes an earlier leg. A draw that was lost in a crash is not made again: the strategy is measured with what
    is left.
    """
    told = (finished.measurement for finished in transcript.rounds)
    glance, look, last = plan.stages
    if plan.opening_price is not None:
        yield _passing(RECORDS, plan.opening_price)
        counted = next(told)
        records = None if counted is None else float(counted.values[0][0])
    else:
        assert plan.problem.n is not None, "n is public, or counted"
        records = float(plan.problem.n)
    if records is None:
        yield _direct(plan, glance.plus(look).plus(last), "the count of records was lost")
        return
    limit = limit_of(plan)
    shown = f"{records:,.0f} records ({'a noisy count' if plan.opening else 'declared'})"
    if records < limit:
        yield from _merging(plan, told, records, last.plus(glance), f"{shown} are below {limit:,.0f}")
    else:
        yield from _glancing(plan, told, records, f"{shown} are not below {limit:,.0f}")


def _glancing(plan: Plan, told: Told, records: float, why: str) -> Iterator[Leg]:
    """A first look, at a small price, tells whether buckets are worth a second one."""
    scouting, (glance, look, last) = scouting_of(plan), plan.stages
    yield _passing(scouting.scout(records / CLEARER, glance), glance)
    seen = next(told)
    if seen is None:
        yield _direct(plan, look.plus(last), "the first counts of boxes were lost")
        return
    whole = scouting.cells_error(look.plus(last))
    ratio = math.sqrt(scouting.partition(seen, last).error / whole)
    expected = f"a first look at boxes expects {ratio:.2f} of the strategy's error from buckets"
    if ratio > WORTH:
        yield _direct(plan, look.plus(last), f"{why}, and {expected}")
    else:
        yield from _merging(plan, told, records, last, f"{why}, but {expected}")


def _merging(plan: Plan, told: Told, records: float, last: Price, why: str) -> Iterator[Leg]:
    """Counts of boxes, and then a strategy for the buckets that they suggest."""
    scouting, look = scouting_of(plan), plan.stages[1]
    yield _passing(scouting.scout(records, look), look)
    seen = next(told)
    if seen is None:
        yield _direct(plan, last, "the counts of boxes were lost")
        return
    partition = scouting.partition(seen, last)
    if partition.error >= scouting.cells_error(last):
        yield _direct(plan, last, f"{why}, yet counts of boxes tell most cells apart")
        return
    step = Step(candidates=(scouting.strategy(partition),), select=None, measure=last)
    yield Leg(step=step, why=_merged(plan, partition, why))


def _passing(block: QueryBlock, price: Price) -> Leg:
    """Measured for the next step's sake: nobody reads an estimate before that."""
    return Leg(step=Step(candidates=(block,), select=None, measure=price, mend=False))


def _direct(plan: Plan, price: Price, why: str) -> Leg:
    """The strategy over single cells."""
    strategy = Strategy().plan(plan.problem, plan.budget, plan.roles).opening[0]
    sentence = f"{why}: the strategy was measured, and its answers are unbiased"
    return Leg(step=Step(candidates=strategy, select=None, measure=price), why=(sentence,))


def _merged(plan: Plan, partition: Partition, why: str) -> tuple[str, ...]:
    expected = (partition.error / plan.problem.workload.rows) ** 0.5
    return (
        f"{why}: cells were merged into {len(partition.boxes):,} buckets by noisy counts of boxes; expected error "
        f"{expected:.4g} a query, noise and unevenness together (the strategy's noise: {plan.noise:.4g})",
        "answers from buckets are biased by what an even spread hides",
    )


def limit_of(plan: Plan) -> float:
    """Records from which a first look decides."""
    whole = plan.stages[0]
    for price in (*plan.stages[1:], *([plan.opening_price] if plan.opening_price else [])):
        whole = whole.plus(price)
    scouting = scouting_of(plan)
    return CROWDED[min(len(scouting.shape), 2)] * math.prod(scouting.shape) / scouting.sureness(1.0, whole)


def scouting_of(plan: Plan) -> Scouting:
    """The cells that the workload asks about, all in one group."""
    (axes,) = axis_groups(plan.problem.workload.blocks)
    return Scouting(problem=plan.problem, roles=plan.roles, axes=axes)
