"""Privacy loss distributions: the losses of a fixed schedule added up as random variables, nearly without slack."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec

from dpqr.privacy.accountant import Portion, PrivacyFilter
from dpqr.privacy.accountants import advanced
from dpqr.privacy.accountants.filters import PlanFilter
from dpqr.privacy.accountants.loss_sum import LossSum, grid_step, summed
from dpqr.privacy.accountants.losses import larger, pure_losses
from dpqr.privacy.accountants.pairs import Pair, PurePair, RangedPair, dominating_pair
from dpqr.privacy.accountants.portions import needs_delta, require_affordable, weigh
from dpqr.privacy.accountants.search import ROOM, crossing, lowest
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.events import Composition
from dpqr.privacy.price import Price

LOG_SLACK = 2.0**-40
LEVELS = 700.0
"""Where a logarithm counts as infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyLossDistribution:
    """The curve delta(epsilon) of the planned draws together, from the law of their summed privacy losses (Meiser and
    Mohammadi 2018; Koskela, Jalko and Honkela 2020), each draw standing for its dominating pair; or advanced
    composition where that is less.

    The exponential mechanism counts by its bounded range, Laplace noise on one integer that moves by its own curve,
    every other eps-DP draw as randomised response. A discrete Gaussian is left to zcdp. The order of the draws and
    what they ask may be chosen on the way, their number and prices may not.
    """

    @property
    def name(self) -> str:
        return "pld"

    @property
    def homogeneous(self) -> bool:
        return False

    @property
    def concentrated(self) -> bool:
        return False

    def refusal(self, budget: PrivacyBudget) -> str | None:
        if not installed():
            return "the pld accountant needs the package dp-accounting; install it by: pip install 'dpqr[pld]'"
        return needs_delta(self.name, budget)

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Epsilons in the ratio of the shares, their common multiplier found by bisection."""
        weigh(self, budget, portions)
        start = advanced.Advanced().cut(budget, portions)[0].pure / portions[0].share

        def level(multiplier: Fraction) -> float:
            """ln of delta at the budget's epsilon, against the budget's delta."""
            pairs: Counter[Pair] = Counter()
            for portion in portions:
                pairs[_pair(portion, multiplier * portion.share)] += portion.count
            curve = _curve(pairs, budget.delta)
            delta = math.inf if curve is None else curve.delta(budget.epsilon * ROOM)
            return min(LEVELS, math.log(delta) - log_delta)

        log_delta = math.log(float(budget.delta)) - LOG_SLACK
        multiplier = crossing(level, start)
        return tuple(Price(epsilon=multiplier * portion.share) for portion in portions)

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        return larger(events, lambda draws: _smallest(draws, delta))

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        """The planned events only: the theorem is for a schedule that is fixed in advance."""
        require_affordable(self, budget, planned)
        return PlanFilter(planned=planned)


def installed() -> bool:
    """Whether dp-accounting is there; nothing is imported."""
    return find_spec("dp_accounting") is not None


def _smallest(events: Composition, delta: Fraction) -> Fraction | None:
    """The smallest epsilon that the curve proves for draws from the same records, or advanced composition if less."""
    losses = pure_losses(events)
    if losses is None or not installed():
        return None
    fallback = advanced.composed(losses, delta)
    pairs: Counter[Pair] = Counter()
    for event, count in events:
        pair = dominating_pair(event)
        if pair is not None:
            pairs[pair] += count
    curve = _curve(pairs, delta) if fallback and delta else None
    return fallback if curve is None else lowest(lambda epsilon: curve.delta(epsilon) <= delta, fallback)


def _pair(portion: Portion, epsilon: Fraction) -> Pair:
    """Of what a portion's draw will be recorded as; of any eps-DP draw where the portion does not say."""
    pair = None if portion.event is None else dominating_pair(portion.event(Price(epsilon=epsilon)))
    return PurePair(epsilon=epsilon) if pair is None else pair


def _curve(pairs: Counter[Pair], delta: Fraction) -> LossSum | None:
    """The law of all losses that are not nothing. The grid suits the smallest bounded range, which must end on it."""
    paid = {pair: count for pair, count in pairs.items() if count and pair.epsilon}
    if not paid:
        return None
    epsilons = [pair.epsilon for pair in paid]
    ranged = [pair.epsilon for pair in paid if isinstance(pair, RangedPair)]
    return summed(paid, grid_step(epsilons, min(ranged or epsilons)), float(delta))
