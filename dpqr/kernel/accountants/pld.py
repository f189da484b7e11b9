"""Privacy loss distributions: the losses of a fixed schedule added up as random variables, nearly without slack."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from typing import ClassVar

from dpqr.kernel.accountants.accountant import FixedSchedule, Portion, larger, needs_delta, pure_losses, weigh
from dpqr.kernel.accountants.analytic import GaussianDP
from dpqr.kernel.accountants.fixed_schedules import Advanced, advanced_epsilon
from dpqr.kernel.accountants.loss_laws import (
    FINENESS,
    AdaptiveChoices,
    GaussianPair,
    LossSum,
    Pair,
    PurePair,
    RangedPair,
    compose_losses,
    dominating_pair,
    grid_step,
)
from dpqr.kernel.accountants.numerics import ROOM, crossing, lowest
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.events import Composition

FEW, FINER = 1000, 4
"""Of so few draws the law is short enough for a grid so many times finer."""
FARTHER = 6.0
"""Deviations of a normal loss that are kept beyond those whose tail is about delta: what is cut is far below delta."""
LOG_SLACK = 2.0**-40
LEVELS = 700.0
"""Where a logarithm counts as infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyLossDistribution(FixedSchedule):
    """The curve delta(epsilon) of the planned draws together, from the law of their summed privacy losses (Meiser and
    Mohammadi 2018; Koskela, Jalko and Honkela 2020), each draw standing for its dominating pair; or advanced
    composition (beside Gaussian noise: Gaussian differential privacy) where that is less.

    Choices of one price beside Gaussian noise, or alone, count by the worst of all adaptive ranges (`AdaptiveChoices`)
    where the recursion is short enough.
    Elsewhere the exponential mechanism counts by its bounded range, Laplace noise on one changed integer by its own
    curve, rounded Gaussian noise by its normal law, every other eps-DP draw as randomised response. A discrete Gaussian
    has no price here; use zcdp. The order of the draws and their queries may be adaptive, their number and prices not.

    concentrated: whether prices are in mu^2, so that they buy Gaussian noise; else they are epsilons.

    Privacy:
        Choices between Gaussian draws: the round's number fixes whether the next draw is a choice or a measurement, and
        its price; all that was released fixes the scores or the query. So for every history the next draw is dominated
        by a pair that is known beforehand, and the product of the pairs dominates the run (Zhu, Dong and Wang 2022,
        Theorem 10); or the curve that `AdaptiveChoices` proves does. A measurement has the pair of its mu whatever is
        measured, for noise is scaled to the sensitivity.
        Statement P36 of the guide's topic proofs.

    >>> PrivacyLossDistribution().refusal(PrivacyBudget.parse("1")) is None
    False
    """

    concentrated: bool = False

    name: ClassVar[str] = "pld"

    def refusal(self, budget: PrivacyBudget) -> str | None:
        if not has_dp_accounting():
            return "the pld accountant needs the package dp-accounting; install it by: pip install 'dpqr[pld]'"
        return needs_delta(self.name, budget)

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Prices in the ratio of the shares: those of a cruder theorem times one multiplier, found by bisection."""
        weigh(self, budget, portions)
        start = (GaussianDP() if self.concentrated else Advanced()).cut(budget, portions)

        def level(multiplier: Fraction) -> float:
            """ln of delta at the budget's epsilon, against the budget's delta."""
            pairs: Counter[Pair] = Counter()
            for portion, price in zip(portions, start, strict=True):
                pairs[_pair(portion, price.times(multiplier))] += portion.count
            curve = _curve(pairs, budget.delta)
            delta = math.inf if curve is None else curve.delta(budget.epsilon * ROOM)
            return min(LEVELS, math.log(delta) - log_delta) if delta else -LEVELS

        log_delta = math.log(float(budget.delta)) - LOG_SLACK
        multiplier = crossing(level, Fraction(1))
        return tuple(price.times(multiplier) for price in start)

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        return larger(events, lambda draws: _smallest(draws, delta))


def has_dp_accounting() -> bool:
    """Whether dp-accounting is there; nothing is imported."""
    return find_spec("dp_accounting") is not None


def _smallest(events: Composition, delta: Fraction) -> Fraction | None:
    """Return the smallest epsilon that the curve, or a cruder theorem, proves for draws from the same records."""
    losses = pure_losses(events)
    fallback = GaussianDP().epsilon(events, delta) if losses is None else advanced_epsilon(losses, delta)
    pairs: Counter[Pair] = Counter()
    for event, count in events:
        pair = dominating_pair(event)
        if pair is None:
            return None
        pairs[pair] += count
    if fallback is None or not has_dp_accounting():
        return None
    return _below(tuple(pairs.items()), delta, fallback)


@lru_cache(maxsize=64)
def _below(pairs: tuple[tuple[Pair, int], ...], delta: Fraction, fallback: Fraction) -> Fraction:
    """The curve's epsilon, `fallback` at most. Kept: a run's draws are priced when it is planned, paid and verified."""
    curve = _curve(Counter(dict(pairs)), delta) if fallback and delta else None
    return fallback if curve is None else lowest(lambda epsilon: curve.delta(epsilon) <= delta, fallback)


def _pair(portion: Portion, price: Price) -> Pair:
    """Return the pair of a portion's event; that of any draw of this price if the portion states none."""
    pair = None if portion.event is None else dominating_pair(portion.event(price))
    if pair is None:
        return PurePair(epsilon=price.pure) if price.squared_mu is None else GaussianPair(squared_mu=price.squared_mu)
    return pair


def _curve(pairs: Counter[Pair], delta: Fraction) -> LossSum | AdaptiveChoices | None:
    """Return the curve of all non-zero losses; None where other theorems are as good, or no grid fits."""
    # One pair for all Gaussian ones: that of the sum of mu^2.
    found = [(pair.squared_mu, count) for pair, count in pairs.items() if isinstance(pair, GaussianPair)]
    whole = sum((squared * count for squared, count in found), Fraction(0))
    normal = GaussianPair(squared_mu=whole, reach=math.sqrt(-2 * math.log(delta)) + FARTHER) if whole else None

    paid = {pair: n for pair, n in pairs.items() if n and pair.epsilon and not isinstance(pair, GaussianPair)}
    if not paid:
        return None
    if len(paid) == 1:
        ((pair, count),) = paid.items()
        if isinstance(pair, RangedPair) and AdaptiveChoices.feasible(pair.epsilon, count):
            return AdaptiveChoices(epsilon=pair.epsilon, count=count, normal=normal)

    # The law of the sum of losses. The grid fits the smallest bounded range, which must end on it.
    scales = [pair.epsilon for pair in paid]
    fits = min([pair.epsilon for pair in paid if isinstance(pair, RangedPair)] or scales)
    if normal is not None:
        paid, scales = {**paid, normal: 1}, [*scales, Fraction(normal.mu)]
    finer = None
    if sum(paid.values()) <= FEW:
        finer = compose_losses(paid, grid_step(scales, fits, FINENESS * FINER), float(delta))
    return finer or compose_losses(paid, grid_step(scales, fits, FINENESS), float(delta))
