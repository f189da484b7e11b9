"""Goal: the smallest epsilon whose forecast error is small enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpqr.construction.forecasts.forecast import BlockError, Expected, Forecast
from dpqr.errors import InfeasiblePlan, UsageFault
from dpqr.privacy.budget import upward_text

Forecaster = Callable[[Fraction], Forecast]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Of the search, in factors of epsilon."""

    start: float = 1.0
    step: float = 4.0  # while one end is open
    close: float = 1.03  # ends that are so near are one
    least: float = 1e-6
    most: float = 1000.0
    digits: int = 3  # of an epsilon that is tried


TUNING = Tuning()


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a release shall keep, with probability `confidence` over its noise (and over made-up tables, if any).

    most: of the mean absolute error of an answer, in records (or the summed column's unit); relative: of the L1 error
    over n instead. names: every one of these blocks shall keep it; none: the mean over all blocks shall.

    >>> print(Goal(most=50.0).words)
    the blocks' mean error is at most 50 records with probability 0.95
    """

    most: float
    relative: bool = False
    confidence: Fraction = Fraction(95, 100)
    names: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        what = f"{self.most:.4g} n in L1" if self.relative else f"{self.most:.6g} records"
        whose = f"the error of {', '.join(map(repr, self.names))}" if self.names else "the blocks' mean error"
        return f"{whose} is at most {what} with probability {float(self.confidence):g}"

    def kept(self, found: Forecast) -> bool:
        return self.reached(found) <= self.most

    def reached(self, found: Forecast) -> float:
        """What stays below the goal's figure with the goal's confidence. UsageFault: no block has such a name."""
        return self._worst(found).at_most(self.confidence)

    def typical(self, found: Forecast) -> float:
        """The mean of the same error."""
        return self._worst(found).mean

    def _worst(self, found: Forecast) -> Expected:
        """Of the errors that shall keep the goal, the one that is furthest from it."""
        errors = [self._of(block, found.records) for block in self._named(found)]
        mean = found.over_n if self.relative else found.error
        return max(errors or [mean], key=lambda error: error.at_most(self.confidence))

    def _named(self, found: Forecast) -> list[BlockError]:
        known = {block.name: block for block in found.blocks}
        for name in self.names:
            if name not in known:
                raise UsageFault(f"--for {name}: no query has this name; known: {', '.join(list(known)[:8])}")
        return [known[name] for name in self.names]

    def _of(self, block: BlockError, records: int) -> Expected:
        scale = block.over_n(records) / block.error.mean if self.relative and block.error.mean else 1.0
        return Expected(mean=block.error.mean * scale, deviation=block.error.deviation * scale)


def smallest_epsilon(forecast: Forecaster, goal: Goal) -> Forecast:
    """The forecast of the smallest epsilon that keeps the goal, to three digits.

    Bracketed by factors, then by bisection on a logarithmic scale towards where the line between both ends meets the
    goal. An error that falls with epsilon is all that it rests on; of one that does not, some crossing is found.

    Raises:
        InfeasiblePlan: none below the largest epsilon that is tried keeps it.
    """
    low, high = _bracket(forecast, goal)
    while low is not None and high.epsilon / low.epsilon > Fraction(TUNING.close):
        tried = _rounded(_between(low, high, goal))
        if not low.epsilon < tried < high.epsilon:
            break
        found = forecast(tried)
        low, high = (low, found) if goal.kept(found) else (found, high)
    return high


def _bracket(forecast: Forecaster, goal: Goal) -> tuple[Forecast | None, Forecast]:
    """An epsilon that misses the goal, and a larger one that keeps it; None: the smallest keeps it."""
    found, missed, kept = forecast(_rounded(TUNING.start)), None, None
    while missed is None or kept is None:
        missed, kept = (missed, found) if goal.kept(found) else (found, kept)
        if missed is None and found.epsilon <= Fraction(TUNING.least):
            return None, found
        if kept is None and found.epsilon >= Fraction(TUNING.most):
            raise InfeasiblePlan(
                f"no epsilon up to {TUNING.most:g} keeps the goal, {goal.words}: at {TUNING.most:g} it would be "
                f"{goal.reached(found):.4g}; state a larger error, or ask less"
            )
        if missed is None or kept is None:
            step = TUNING.step if kept is None else 1 / TUNING.step
            found = forecast(_rounded(min(float(found.epsilon) * step, TUNING.most)))
    return missed, kept


def _between(low: Forecast, high: Forecast, goal: Goal) -> float:
    """Where the line through both ends in logarithms meets the goal, kept off the ends."""
    ends = [math.log(max(goal.reached(found), 1e-300)) for found in (low, high)]
    drop = ends[0] - ends[1]
    part = (ends[0] - math.log(goal.most)) / drop if drop > 0 else 0.5
    span = math.log(high.epsilon / low.epsilon)
    return float(low.epsilon) * math.exp(span * min(max(part, 0.1), 0.9))


def _rounded(epsilon: float) -> Fraction:
    """Up, to few digits, so that what is reported can be typed."""
    return Fraction(upward_text(Fraction(epsilon), TUNING.digits))
