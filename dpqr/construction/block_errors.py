"""Block errors: after the last refit, the noisy L1 errors of the released answers that a plan has bought."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

from dpqr.construction.draws import Draws
from dpqr.construction.soundness import require_answers
from dpqr.data.arrays import FloatArray, IntArray
from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.hypothesis import Hypothesis, prepare
from dpqr.mechanisms.block_errors import (
    FINENESS,
    GaussianErrors,
    GroupErrors,
    Groups,
    LaplaceErrors,
    error_unit,
    fine_answers,
    noisy_errors,
)
from dpqr.noise.law import NoiseLaw
from dpqr.privacy.budget import Price
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules import error_bars
from dpqr.strategies.schedules.by_count import followed
from dpqr.strategies.transcript import ErrorSum, Round, Step, Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.stacking import all_answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by `python tests/benchmarks/certify.py`; figures: tests/benchmarks/RESULTS.md."""

    noise: float = 0.02  # deviation of a group's mean error, as a fraction of the records: groups are no smaller
    tail: float = 0.5  # tail of the largest errors of groups, as a fraction of the mean error


TUNING = Tuning()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyError:
    """The noisy L1 error of one block, or the mean of its group's, in records (or the summed column's unit).

    deviation: standard deviation of its noise. blocks: how many share this figure.

    >>> NoisyError(value=120.0, deviation=15.0, blocks=1).blocks
    1
    """

    value: float
    deviation: float
    blocks: int

    @classmethod
    def of(cls, block: QueryBlock, each: int, value: int, deviation: float, blocks: int) -> NoisyError:
        """Of one block of a group, from the group's released integer and the deviation of its noise.

        each: the block's `error_unit`. Unbiased, but for what the floor in `GroupErrors` takes: its mean is added.
        """
        scale = float(block.scale) / FINENESS
        return cls(
            value=scale * (each * value / blocks + (each - 1) / 2),
            deviation=scale * each * deviation / blocks,
            blocks=blocks,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorDraw:
    """One draw of `errors`, as it was released.

    values: a noisy integer for each group, shape (groups,). law: of its noise. charge: number of the event that paid.
    """

    errors: GroupErrors
    values: IntArray
    law: NoiseLaw
    charge: int


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockErrors:
    """L1 errors between the true answers and those of the final hypothesis, noisy.

    sums: of groups of blocks. largest: of groups; None unless bounds were bought in pure epsilon.

    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dpqr.data.unit import PrivacyUnit
    >>> from dpqr.noise.discrete_laplace import DiscreteLaplace
    >>> everybody = QueryBlock(name="all")
    >>> errors = GroupErrors(groups=((everybody,),), expected=np.array([640]), unit=PrivacyUnit())
    >>> drawn = ErrorDraw(errors=errors, values=np.array([128]), law=DiscreteLaplace(Fraction(64)), charge=7)
    >>> BlockErrors(sums=drawn).by_name["all"].value
    2.0
    """

    sums: ErrorDraw
    largest: ErrorDraw | None = None

    @cached_property
    def by_name(self) -> dict[str, NoisyError]:
        """The noisy error of every block that was looked at; it may be negative."""
        errors, deviation = self.sums.errors, self.sums.law.deviation
        found = {}
        for group, value in zip(errors.groups, self.sums.values, strict=True):
            for block in group:
                each = error_unit(block, errors.unit)
                found[block.name] = NoisyError.of(block, each, int(value), deviation, len(group))
        return found


def measured_errors(draws: Draws, plan: Plan, released: Hypothesis, transcript: Transcript) -> BlockErrors | None:
    """The draws that the plan has bought for after the loop; None: it bought none, or no block is left to look at, or a
    crash has lost them.

    Args:
        released: the hypothesis whose answers are released.

    Privacy:
        Which blocks, in which groups, follows from plan, transcript and hypothesis, which are released. The draws:
        `GroupErrors`. Each is charged before it is made, and journalled, like those of the loop.
    """
    blocks = plan.problem.workload.blocks
    made = followed(plan, transcript)
    phase = made.phase("errors") or made.phase("bounds")
    missed = unmeasured(error_bars.searched(plan), transcript)
    if phase is None or (phase.noun == "errors" and not missed):
        return None
    price, draw = phase.price, partial(_drawn, draws, plan, released, phase.price)
    if phase.noun == "errors":
        return _of_sums(draw(_groups(missed, released.total, price)))
    if price.epsilon is None:
        return _of_sums(draw(tuple((block,) for block in blocks)))
    ranked = _ranked(blocks, missed)
    left = len(blocks) - len(missed)
    sums = draw(tuple(kind for kind in (ranked[:left], ranked[left:]) if kind))
    if sums is None:
        return None
    parts = _parts(ranked, _affordable(sums, price, float(plan.problem.beta)))
    return BlockErrors(sums=sums, largest=draw(parts, largest=True))


def _of_sums(sums: ErrorDraw | None) -> BlockErrors | None:
    return None if sums is None else BlockErrors(sums=sums)


def unmeasured(blocks: Sequence[QueryBlock], transcript: Transcript) -> tuple[QueryBlock, ...]:
    """The blocks that no measurement of the run answers. Public."""
    return error_bars.unmeasured(blocks, [block for one in transcript.measurements for block in one.blocks])


def _groups(blocks: tuple[QueryBlock, ...], records: float, price: Price) -> Groups:
    """As many groups as keep the noise of a group's mean within TUNING.noise of the records; public.

    With G equal groups of m blocks in all, a sum's noise has the deviation sqrt(2) m / epsilon, or m / sqrt(2 rho G);
    that of a mean is sqrt(2) G / epsilon, or sqrt(G / (2 rho)).
    """
    within = TUNING.noise * max(records, 1.0)
    most = float(price.pure) * within / 2**0.5 if price.epsilon else 2 * float(price.concentrated) * within**2
    return _parts(_ranked(blocks), int(min(most, len(blocks))))


def _affordable(sums: ErrorDraw, price: Price, beta: float) -> int:
    """Into how many groups the blocks are cut, each with its largest error: as many as keep the tail of H values at
    once, about H log(H / beta) / epsilon, within TUNING.tail of the mean error that the sums have shown."""
    count, pure = len(sums.errors.blocks), float(price.pure)
    within = TUNING.tail * max(0, int(sums.values.sum())) / FINENESS / count
    affordable = (parts for parts in range(1, count + 1) if parts * math.log(parts / beta) <= within * pure)
    return max(affordable, default=1)


def _ranked(blocks: Sequence[QueryBlock], missed: Sequence[QueryBlock] = ()) -> tuple[QueryBlock, ...]:
    """By their number of rows, those that were missed after the others: errors of neighbours are alike."""
    last = {block.name for block in missed}
    return tuple(sorted(blocks, key=lambda block: (block.name in last, block.rows)))


def _parts(ranked: tuple[QueryBlock, ...], count: int) -> Groups:
    """At most `count` groups of neighbours, at least one, of about as many blocks each."""
    parts = max(1, min(count, len(ranked)))
    ends = [len(ranked) * part // parts for part in range(parts + 1)]
    return tuple(ranked[start:stop] for start, stop in pairwise(ends))


def _drawn(
    draws: Draws, plan: Plan, released: Hypothesis, price: Price, groups: Groups, *, largest: bool = False
) -> ErrorDraw | None:
    """None where a crash has lost the draw, or where the hypothesis' answers are beyond all that integers can hold."""
    try:
        mechanism = _mechanism(plan, released, price, groups, largest=largest)
    except InfeasiblePlan:
        return None
    drawn = draws.errors(mechanism)
    if drawn.value is None:
        return None
    return ErrorDraw(errors=mechanism.errors, values=drawn.value, law=mechanism.law, charge=drawn.charge)


def observed_errors(draws: Draws, plan: Plan, step: Step, hypothesis: Hypothesis) -> Round:
    """The round of a step that asks for errors. Nothing is drawn where no integers can hold the hypothesis' answers.

    Privacy:
        Blocks and hypothesis are functions of what was released; the draw: `GroupErrors`, with one group.
    """
    try:
        mechanism = _mechanism(plan, hypothesis, step.measure, (step.only,))
    except InfeasiblePlan:
        return Round(choice=None, measurement=None, charges=())
    drawn = draws.error_sum(mechanism)
    if drawn.value is None:
        return Round(choice=None, measurement=None, charges=(drawn.charge,))
    each = error_unit(step.only[0], plan.problem.unit)
    found = ErrorSum(value=int(drawn.value[0]), blocks=len(step.only), each=each, law=mechanism.law)
    return Round(choice=None, measurement=None, charges=(drawn.charge,), errors=found)


def _mechanism(
    plan: Plan, released: Hypothesis, price: Price, groups: Groups, *, largest: bool = False
) -> LaplaceErrors | GaussianErrors:
    """The draw of the errors of the hypothesis' answers.

    Raises:
        HypothesisFailed: they are no answers.
        InfeasiblePlan: they are beyond all that integers can hold, or the price buys no noise that can be drawn.
    """

    def answers(block: QueryBlock) -> FloatArray:
        found = released.answer(block)
        require_answers(released, found, plan.roles.update.name, block)
        return found

    blocks = tuple(block for group in groups for block in group)
    prepare(released, blocks)
    expected = fine_answers(all_answers(blocks, answers))
    return noisy_errors(GroupErrors(groups=groups, expected=expected, unit=plan.problem.unit, largest=largest), price)
