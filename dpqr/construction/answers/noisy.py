"""Noisy: what was measured of a block, unbiased, with the spread of its noise and an interval for the true answer."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
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
SHARES = (0.1, 0.6, 0.3)
"""Of 1 - LEVEL, for the first, second and third draw of a block of the opening, if the plan has a search phase."""
BETA = math.nextafter(float(1 - LEVEL), 0)
"""Of an interval: the probability, at most, that it misses."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Noisy:
    """One block's measured answers, every array of shape (rows,), in records (or the summed column's unit).

    values: unbiased; deviation: standard deviation of their noise; margin: half an interval. NaN where there is none.

    Which draw of a query counts is decided before its noise is drawn:

    | the plan             | the draw that counts                                                | shares of 1 - LEVEL |
    |----------------------|---------------------------------------------------------------------|---------------------|
    | has a search phase   | that of the last measurements, made without a selection; a selected | all of it           |
    |                      | draw before it only finds the block, and has no interval of its own |                     |
    | -, an opening block  | the last one of the opening, re-measurement and last measurements   | SHARES, by number   |
    | opens, and no more   | a query that is not drawn itself: its sum over the smallest table   | all of it           |
    |                      | that holds all of its attributes (`answers.summed`)                 |                     |
    | any other            | the first; further draws of a query have the same law               | all of it           |

    Theorem. values +- margin misses the true answer with probability at most 1 - LEVEL, for every single query.
    Proof. Let draw t of the query be made in the event D_t, and s_t be its share; both are functions of what was
    released before draw t, and so is its law. Its noise Z_t is independent of all that, so Z_t misses the margin of
    level s_t (1 - LEVEL) with conditional probability at most that, and an interval is missed with probability at most
    sum over t of E[1(D_t) s_t (1 - LEVEL)] <= 1 - LEVEL, for the shares of a query add up to at most 1 on every path.
    It does not matter which of the draws with a share is shown, so it may be the last one.

    Without shares the last draw's interval would be no theorem: whether a draw is the last one may depend on its own
    noise. Where one draw alone has a share, the shown value is unbiased, given that the query was drawn; of the blocks
    of the opening that is so but for what the choice to draw them again owes to their first noise.

    >>> Noisy(values=np.array([8.0]), deviation=np.array([1.0]), margin=np.array([2.0])).upper.tolist()
    [10.0]
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
    """Noisy answers by the name of the workload's block; see `Noisy` for the draw that counts.

    Privacy:
        Post-processing of the transcript.
    """
    blocks = plan.problem.workload.blocks
    ends = list(accumulate(block.rows for block in blocks))
    single = any(phase.single for phase in plan.named("selection"))
    counting = _Counting.of(plan)
    found: dict[str, Noisy] = {}
    for finished in transcript.rounds:
        if finished.measurement is None:
            continue
        asked = [(block, slice(0, block.rows)) for block in finished.measurement.blocks]
        if single and finished.choice is not None:
            position = bisect_right(ends, finished.choice)
            block, row = blocks[position], finished.choice - (ends[position] - blocks[position].rows)
            whole = finished.measurement.blocks[0].rows == block.rows
            asked = [(block, slice(0, block.rows) if whole else slice(row, row + 1))]
        for place, (block, rows) in enumerate(asked):
            share = counting.share(block.name, rows.start, selected=finished.choice is not None)
            if share is not None:
                kept = found.setdefault(block.name, Noisy.nothing(block.rows))
                _keep(kept, rows, finished.measurement, place, share)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counting:
    """Which draws count, by the table of `Noisy`. drawn: how many draws with a share each query had so far."""

    searching: bool
    opened: frozenset[str]
    drawn: Counter[tuple[str, int]] = field(default_factory=Counter)

    @classmethod
    def of(cls, plan: Plan) -> _Counting:
        opened = frozenset(block.name for blocks in plan.opening for block in blocks)
        return cls(searching=plan.phase("search") is not None, opened=opened)

    def share(self, name: str, row: int, *, selected: bool) -> float | None:
        """The share of the next draw of a query; 0: it has no interval; None: an earlier one counts."""
        before = self.drawn[name, row]
        if self.searching and selected:
            return None if before else 0.0
        shares = SHARES if self.searching and name in self.opened else (1.0,)
        self.drawn[name, row] += 1
        return shares[before] if before < len(shares) else None


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


def _keep(kept: Noisy, rows: slice, measured: Measurement, place: int, share: float) -> None:
    scale = float(measured.blocks[place].scale)
    kept.values[rows] = measured.values[place] * scale
    kept.deviation[rows] = measured.law.deviation * scale
    kept.margin[rows] = measured.law.tail(BETA * share) * scale if share else np.nan


def _relative(law: NoiseLaw) -> float:
    """How many deviations of a weighted sum its margin takes; 0 where the noise is nothing."""
    return law.weighted_tail(BETA) / law.deviation if law.deviation > 0 else 0.0


def _outward(bounds: FloatArray, away: float) -> FloatArray:
    """Multiples of a power of two, as all bounds on counts are, came about exactly; others move by one rounding."""
    parts = bounds * EXACT
    return np.where(parts == np.round(parts), bounds, np.nextafter(bounds, away))
