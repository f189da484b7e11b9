"""Certificate: a bound on the largest error over the workload. It follows from the stop test and costs nothing more.

ErrorBounds: bounds on L1 errors, from additional paid draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.budget import Price
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.law import NoiseLaw
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
from dpqr.models.hypothesis import Hypothesis, prepare
from dpqr.releases.consistent import require_answers
from dpqr.releases.draws import Draws
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.checks import gap
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules import split
from dpqr.strategies.schedules.by_count import actual_plan
from dpqr.strategies.transcript import ErrorSum, Round, Step, Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.related_blocks import all_answers
from dpqr.workload.workload import Measurement


class Certificate(Struct, frozen=True, kw_only=True):
    """With probability `confidence` the error of every answer of the workload is at most `records`.

    It holds for the hypothesis that the last selection was made against. fraction: `records` over the declared n,
    left-out rows included; None: no n is declared.
    """

    records: float
    fraction: float | None
    confidence: float


def certified_bound(plan: Plan, step: Step, tested: Measurement, answers: int, hypothesis: Hypothesis) -> float | None:
    """Bound the largest error of the workload's answers, in records; None: the step certifies nothing.

    The bounds of all stops of a run hold together, with probability 1 - beta.

    Args:
        tested: the measured answer that is furthest from the hypothesis' answer, alone.
        answers: number of answers that were measured together.

    max error <= |v - g| + tail + s / 2 + F + h. Here g is the hypothesis' answer, rounded to the query's grid of step
    s; tail is the noise at gamma over `answers`; F is the distinguisher's shortfall at gamma; h is the step of the grid
    on which scores are compared (each of two scores is rounded by at most h / 2).

    The step's gamma is fixed before its draws. Over all rounds the gammas add up to at most beta / 2: each is
    beta / (2 T0) for T0 planned rounds, or as `Stages` sets it. The noise decides which round is the last, so a union
    bound over all rounds is needed; tails of the last round alone would be wrong.

    The bound needs nothing of D, except that D depends on earlier releases only: any update rule, with or without a
    mistake bound, and any total. T0 may be any number fixed before the run. So the bound is proved even where alpha is
    heuristic.

    Privacy:
        Post-processing of released values.
    """
    problem, select = plan.problem, step.select
    if select is None:
        return None
    gamma = step.gamma or problem.beta / (2 * plan.rounds)
    candidates = QueryCandidates(blocks=problem.workload.blocks)
    shortfall = plan.roles.distinguisher.shortfall(len(candidates), candidates.sensitivity(problem.unit), select, gamma)
    tail = (tested.law.tail(float(gamma / answers)) + 0.5) * float(tested.blocks[0].scale)
    return float(gap(tested, hypothesis)) + tail + (shortfall + 1) * float(candidates.grid)


def certify(plan: Plan, transcript: Transcript) -> Certificate | None:
    """The smallest certified bound, which is that of the released hypothesis; None: no stop test was met. All certified
    bounds hold together."""
    if not transcript.bounds:
        return None
    declared = plan.problem.n or plan.problem.most
    records = min(transcript.bounds)
    return Certificate(
        records=records,
        fraction=records / declared if declared else None,
        confidence=float(1 - Fraction(plan.problem.beta)),
    )


class ErrorBounds(Struct, frozen=True, kw_only=True):
    """With probability `confidence`, over the noise of the run, all of these hold at once.

    mean: the mean over the blocks of the L1 error between released and true answers is at most this, in records. A
    block that one record moves further than another counts for less, in proportion.
    fraction: the same divided by a public number of records; None where that number is private.
    blocks: the L1 error of the block is at most this, in records (or the summed column's unit).
    """

    mean: float
    fraction: float | None
    blocks: Mapping[str, float]
    confidence: float


SLACK = 1 + 1e-9
"""Pays for the floating-point arithmetic of a bound."""


def error_bounds(plan: Plan, errors: BlockErrors | None, estimates: Mapping[str, FloatArray]) -> ErrorBounds | None:
    """The bounds that a plan with a phase "bounds" has bought; None: it has bought none, or a crash has lost them.

    Args:
        estimates: the released answers by block, in units of its grid, shape (rows,).

    For block b with error unit d and grid s the draw was of v = floor(e / d), e the L1 error in parts of F = FINENESS
    from the rounded answers, integers. So e <= d v + d - 1, and the released answers, r apart from the rounded ones in
    L1, are off by at most s ((d v + d - 1) / F + r). Noise is symmetric, so Pr[v > value + t] is half of
    Pr[|noise| > t]. Of beta = 1 - confidence one half goes to the tail of every value at once (a union bound), the
    other one to the tail of their sum. The hypothesis, the groups and r are fixed before this noise is drawn, so the
    bounds hold given everything before it, and so over the whole run.

    Privacy:
        Post-processing of released values.
    """
    problem = plan.problem
    if errors is None or plan.phase("bounds") is None:
        return None
    apart = _distances(errors.sums, estimates) | (
        {} if errors.largest is None else _distances(errors.largest, estimates)
    )
    mean = _mean(errors.sums, apart, float(problem.beta))
    each = _each(errors.largest or errors.sums, apart, float(problem.beta))
    return ErrorBounds(
        mean=mean,
        fraction=mean / problem.n if problem.n and problem.unit.rows_public else None,
        blocks={block.name: each[block.name] for block in problem.workload.blocks},
        confidence=float(1 - problem.beta),
    )


def _distances(drawn: BlockErrorDraw, estimates: Mapping[str, FloatArray]) -> dict[str, float]:
    """By block, the L1 distance r of the released answers from those that the draw compared, in units of the grid."""
    blocks, compared = drawn.errors.blocks, drawn.errors.expected
    assert compared is not None, "the draw was made"
    answers = np.concatenate([estimates[block.name] for block in blocks])
    apart = drawn.errors.by_block(np.abs(answers - compared / FINENESS))
    return {block.name: float(each) for block, each in zip(blocks, apart, strict=True)}


def _each(drawn: BlockErrorDraw, apart: Mapping[str, float], beta: float) -> dict[str, float]:
    """The bound of each block, from the largest error of its group, or from its own."""
    tail, found = drawn.law.tail(beta / len(drawn.values)), {}
    for group, value in zip(drawn.errors.groups, drawn.values, strict=True):
        most = max(0, int(value) + tail)
        for block in group:
            unit = error_unit(block, drawn.errors.unit)
            error = (unit * most + unit - 1) / FINENESS + apart[block.name]
            found[block.name] = float(block.scale) * error * SLACK
    return found


def _mean(drawn: BlockErrorDraw, apart: Mapping[str, float], beta: float) -> float:
    """The bound of the mean, from the sum of all values.

    The sum's noise is within the sum of all tails, and within `weighted_tail` of equal weights.
    """
    count, blocks = len(drawn.values), drawn.errors.blocks
    spread = min(count * drawn.law.tail(beta / count), math.sqrt(count) * drawn.law.weighted_tail(beta))
    units = {block.name: error_unit(block, drawn.errors.unit) for block in blocks}
    rounding = sum((1 - 1 / unit) / FINENESS + apart[name] / unit for name, unit in units.items())
    total = max(0.0, int(drawn.values.sum()) + spread) / FINENESS + rounding
    step = float(min(units[block.name] * block.scale for block in blocks))
    return step * total / len(blocks) * SLACK


# Block errors: after the last refit, the noisy L1 errors of the released answers that a plan has bought.


class BlockErrorTuning(Struct, frozen=True, kw_only=True):
    """Set by `python tests/benchmarks/certify.py`; figures: tests/benchmarks/RESULTS.md."""

    noise: float = 0.02  # deviation of a group's mean error, as a fraction of the records: groups are no smaller
    tail: float = 0.5  # tail of the largest errors of groups, as a fraction of the mean error


TUNING = BlockErrorTuning()


class NoisyError(Struct, frozen=True, kw_only=True):
    """The noisy L1 error of one block, or the mean of its group's, in records (or the summed column's unit).

    deviation: standard deviation of its noise. blocks: how many share this figure.
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


class BlockErrorDraw(Struct, frozen=True, kw_only=True, eq=False):
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
    """

    sums: BlockErrorDraw
    largest: BlockErrorDraw | None = None

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
    made = actual_plan(plan, transcript)
    phase = made.phase("errors") or made.phase("bounds")
    missed = unmeasured_blocks(split.optional_blocks(plan), transcript)
    if phase is None or (phase.noun == "errors" and not missed):
        return None
    price, draw = phase.price, partial(_drawn, draws, plan, released, phase.price)
    if phase.noun == "errors":
        # As many groups as keep the noise of a group's mean within TUNING.noise of the records; public. With G equal
        # groups of m blocks in all, a sum's noise has the deviation sqrt(2) m / epsilon, or m / sqrt(2 rho G); that of
        # a mean is sqrt(2) G / epsilon, or sqrt(G / (2 rho)).
        within = TUNING.noise * max(released.total, 1.0)
        most = float(price.pure) * within / 2**0.5 if price.epsilon else 2 * float(price.concentrated) * within**2
        return _of_sums(draw(_parts(_ranked(missed), int(min(most, len(missed))))))
    if price.epsilon is None:
        return _of_sums(draw(tuple((block,) for block in blocks)))
    ranked = _ranked(blocks, missed)
    left = len(blocks) - len(missed)
    sums = draw(tuple(kind for kind in (ranked[:left], ranked[left:]) if kind))
    if sums is None:
        return None
    parts = _parts(ranked, _affordable(sums, price, float(plan.problem.beta)))
    return BlockErrors(sums=sums, largest=draw(parts, largest=True))


def _of_sums(sums: BlockErrorDraw | None) -> BlockErrors | None:
    return None if sums is None else BlockErrors(sums=sums)


def unmeasured_blocks(blocks: Sequence[QueryBlock], transcript: Transcript) -> tuple[QueryBlock, ...]:
    """The blocks that no measurement of the run answers. Public."""
    return split.unmeasured(blocks, [block for one in transcript.measurements for block in one.blocks])


def _affordable(sums: BlockErrorDraw, price: Price, beta: float) -> int:
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
) -> BlockErrorDraw | None:
    """None where a crash has lost the draw, or where the hypothesis' answers are beyond all that integers can hold."""
    try:
        mechanism = _mechanism(plan, released, price, groups, largest=largest)
    except InfeasiblePlan:
        return None
    drawn = draws.errors(mechanism)
    if drawn.value is None:
        return None
    return BlockErrorDraw(errors=mechanism.errors, values=drawn.value, law=mechanism.law, charge=drawn.charge)


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
