"""Noisy: what was measured of a block, unbiased, with the spread of its noise and an interval for the true answer."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.hypotheses.hypothesis import Hypothesis, Unbiased
from dpqr.noise.law import NoiseLaw
from dpqr.strategies.plan import Plan
from dpqr.strategies.transcript import Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

LEVEL = Fraction(95, 100)
"""Each single interval covers the true answer with at least this probability over the noise of the run."""
EXACT = 1024
"""Bounds on a grid of 1 / EXACT are printed as they are."""
_BETA = math.nextafter(float(1 - LEVEL), 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Noisy:
    """One block's measured answers, every array of shape (rows,), in records (or the summed column's unit).

    values: unbiased; deviation: standard deviation of their noise; margin: half an interval. NaN where there is none.

    The interval values +- margin misses the true answer with probability at most 1 - LEVEL, for every single query.
    Proof: whether a query is measured a first time depends on what was released before, so noise drawn then keeps its
    law whatever led to it; and an interval is stated only for queries that were measured once, so it misses only if
    that first draw lies in its tail. Of a query that was drawn again there is none: which draw is the last one may
    depend on the noise of those before.
    """

    values: FloatArray
    deviation: FloatArray
    margin: FloatArray

    @classmethod
    def nothing(cls, rows: int) -> Noisy:
        return cls(values=np.full(rows, np.nan), deviation=np.full(rows, np.nan), margin=np.full(rows, np.nan))

    @classmethod
    def absent(cls, rows: int) -> Noisy:
        """Nothing that will stay so: millions of unmeasured queries take no memory for it."""
        none: FloatArray = np.broadcast_to(np.nan, (rows,))
        return cls(values=none, deviation=none, margin=none)

    @cached_property
    def lower(self) -> FloatArray:
        return _outward(self.values - self.margin, -np.inf)

    @cached_property
    def upper(self) -> FloatArray:
        return _outward(self.values + self.margin, np.inf)


def measured_answers(plan: Plan, transcript: Transcript) -> dict[str, Noisy]:
    """Noisy answers by the name of the workload's block; the last draw of a query counts.

    Privacy:
        Post-processing of the transcript.
    """
    blocks = plan.problem.workload.blocks
    ends = list(accumulate(block.rows for block in blocks))
    single = any(phase.single for phase in plan.named("selection"))
    found: dict[str, Noisy] = {}
    for finished in transcript.rounds:
        if finished.measurement is None:
            continue
        if single and finished.choice is not None:
            position = bisect_right(ends, finished.choice)
            block, row = blocks[position], finished.choice - (ends[position] - blocks[position].rows)
            _keep(found.setdefault(block.name, Noisy.nothing(block.rows)), slice(row, row + 1), finished.measurement, 0)
            continue
        for place, block in enumerate(finished.measurement.blocks):
            kept = found.setdefault(block.name, Noisy.nothing(block.rows))
            _keep(kept, slice(0, block.rows), finished.measurement, place)
    return found


def unbiased_answers(
    block: QueryBlock, hypothesis: Hypothesis, estimate: FloatArray, history: Sequence[Measurement]
) -> Noisy | None:
    """Estimates that are right on average, with a known spread, are the measured answers themselves.

    Such an estimate is a sum of c_i times the draws of one measurement and its deviation |c|_2 times theirs, so
    the law's bound on weighted sums gives the margin; the widest one of all laws that were drawn from serves for all.

    Args:
        estimate: the hypothesis' answers, in records, shape (block.rows,).
        history: all measurements.

    Returns:
        None for a hypothesis that is biased, or whose answers have no known spread.
    """
    deviations = hypothesis.deviations(block) if isinstance(hypothesis, Unbiased) else None
    if deviations is None:
        return None
    scaled = deviations * float(block.scale)
    widest = max((_relative(one.law) for one in history), default=np.nan)
    return Noisy(values=estimate, deviation=scaled, margin=scaled * widest)


def _keep(kept: Noisy, rows: slice, measured: Measurement, place: int) -> None:
    """A query that was measured before loses its interval."""
    scale = float(measured.blocks[place].scale)
    again = ~np.isnan(kept.values[rows])
    kept.values[rows] = measured.values[place] * scale
    kept.deviation[rows] = measured.law.deviation * scale
    kept.margin[rows] = np.where(again, np.nan, measured.law.tail(_BETA) * scale)


def _relative(law: NoiseLaw) -> float:
    """How many deviations of a weighted sum its margin takes; 0 where the noise is nothing."""
    return law.weighted_tail(_BETA) / law.deviation if law.deviation > 0 else 0.0


def _outward(bounds: FloatArray, away: float) -> FloatArray:
    """Multiples of a power of two, as all bounds on counts are, came about exactly; others move by one rounding."""
    parts = bounds * EXACT
    return np.where(parts == np.round(parts), bounds, np.nextafter(bounds, away))
