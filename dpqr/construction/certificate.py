"""Certificate: a bound on the largest error over the workload. It follows from the stop test and costs nothing more.

ErrorBounds: bounds on L1 errors, from additional paid draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.construction.block_errors import BlockErrors, ErrorDraw
from dpqr.data.arrays import FloatArray
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.mechanisms.block_errors import FINENESS, error_unit
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.checks import gap
from dpqr.strategies.plan import Plan
from dpqr.strategies.transcript import Step, Transcript
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBounds:
    """With probability `confidence`, over the noise of the run, all of these hold at once.

    mean: the mean over the blocks of the L1 error between released and true answers is at most this, in records. A
    block that one record moves further than another counts for less, in proportion.
    fraction: the same divided by a public number of records; None where that number is private.
    blocks: the L1 error of the block is at most this, in records (or the summed column's unit).

    >>> ErrorBounds(mean=80.0, fraction=None, blocks={"sex": 60.0, "age": 120.0}, confidence=0.95).blocks["sex"]
    60.0
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
    apart = _apart(errors.sums, estimates) | ({} if errors.largest is None else _apart(errors.largest, estimates))
    mean = _mean(errors.sums, apart, float(problem.beta))
    each = _each(errors.largest or errors.sums, apart, float(problem.beta))
    return ErrorBounds(
        mean=mean,
        fraction=mean / problem.n if problem.n and problem.unit.rows_public else None,
        blocks={block.name: each[block.name] for block in problem.workload.blocks},
        confidence=float(1 - problem.beta),
    )


def _apart(drawn: ErrorDraw, estimates: Mapping[str, FloatArray]) -> dict[str, float]:
    """By block, the L1 distance r of the released answers from those that the draw compared, in units of the grid."""
    blocks, compared = drawn.errors.blocks, drawn.errors.expected
    assert compared is not None, "the draw was made"
    answers = np.concatenate([estimates[block.name] for block in blocks])
    apart = drawn.errors.by_block(np.abs(answers - compared / FINENESS))
    return {block.name: float(each) for block, each in zip(blocks, apart, strict=True)}


def _each(drawn: ErrorDraw, apart: Mapping[str, float], beta: float) -> dict[str, float]:
    """The bound of each block, from the largest error of its group, or from its own."""
    tail, found = drawn.law.tail(beta / len(drawn.values)), {}
    for group, value in zip(drawn.errors.groups, drawn.values, strict=True):
        most = max(0, int(value) + tail)
        for block in group:
            unit = error_unit(block, drawn.errors.unit)
            error = (unit * most + unit - 1) / FINENESS + apart[block.name]
            found[block.name] = float(block.scale) * error * SLACK
    return found


def _mean(drawn: ErrorDraw, apart: Mapping[str, float], beta: float) -> float:
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
