"""Advanced composition: epsilons of a fixed schedule add up like random steps, at the price of a delta."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from dpqr.kernel.accountants.accountant import FixedSchedule, Losses, Portion, larger_pure, weigh
from dpqr.kernel.accountants.numerics import ROOM, decimal, largest, log_factorial, lowest, sixty_digits, upward
from dpqr.kernel.accountants.sums import total
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.events import Composition


@dataclass(frozen=True, slots=True, kw_only=True)
class Advanced(FixedSchedule):
    """The better of basic composition and

        sum of eps_i (e^eps_i - 1) / (e^eps_i + 1)  +  sqrt(2 log(1 / delta) sum of eps_i^2)

    (Kairouz, Oh and Viswanath 2015, Theorem 3.5, and 3.4 for equal draws: the first and the third of the bounds there;
    with cruder constants Dwork, Rothblum and Vadhan 2010).

    Proof: the privacy loss of an eps-DP draw lies in [-eps, eps] and has mean at most eps (e^eps - 1) / (e^eps + 1),
    that of randomised response; so by Azuma's inequality the sum exceeds its mean by t with probability at most
    exp(-t^2 / (2 sum of eps_i^2)), which is delta at the t above. Only the two sums enter, so the order of the planned
    draws may be adaptive.

    Statement P32 of the guide's topic proofs.

    >>> from dpqr.kernel.events import ExponentialEvent
    >>> draws = ((ExponentialEvent(epsilon=Fraction(1, 100)), 1000),)
    >>> round(float(Advanced().epsilon(draws, Fraction(1, 10**9))), 3)
    2.086
    """

    name: ClassVar[str] = "advanced"
    concentrated: ClassVar[bool] = False

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Return epsilons in the ratio of the shares, with their common multiplier found by bisection."""
        whole = weigh(self, budget, portions)

        def fits(multiplier: Fraction) -> bool:
            losses = tuple((multiplier * portion.share, portion.count) for portion in portions)
            return advanced_epsilon(losses, budget.delta) <= budget.epsilon

        multiplier = largest(fits, budget.epsilon / whole)
        return tuple(Price(epsilon=multiplier * portion.share) for portion in portions)

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        return larger_pure(events, lambda losses: advanced_epsilon(losses, delta))


def advanced_epsilon(losses: Losses, delta: Fraction) -> Fraction:
    """The class's bound, rounded up. At delta 0 only its basic part is finite."""
    straight = total(losses)
    if not straight or not delta:
        return straight
    with sixty_digits():
        steps = [(decimal(epsilon), count) for epsilon, count in losses]
        drift = sum((count * _mean_loss(step) for step, count in steps), Decimal(0))
        squares = sum((count * step**2 for step, count in steps), Decimal(0))
        spread = (-2 * decimal(delta).ln() * squares).sqrt()
        return min(straight, upward(drift + spread))


def _mean_loss(step: Decimal) -> Decimal:
    """eps tanh(eps / 2). The error of the difference below is at most 10^-59, so that of the product eps 10^-59."""
    growth = step.exp()
    return step * (growth - 1) / (growth + 1)


# Optimal composition: the exact privacy curve of equal pure draws.

MOST_DRAWS = 10**7
TRUNCATION = Decimal("1e-18")
RELATIVE_MARGIN = Decimal("1e-15")
ABSOLUTE_MARGIN = Decimal("1e-50")


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimal(FixedSchedule):
    """The smallest epsilon that holds for *every* choice of k adaptive eps0-DP draws (Kairouz, Oh and Viswanath 2015,
    Theorem 3.3).

    Their worst case is k-fold randomised response, so the curve is its hockey-stick divergence,

        delta(eps) = sum over l of C(k, l) max(0, e^((k-l) eps0) - e^(eps + l eps0)) / (1 + e^eps0)^k,

    which at eps = (k - 2i) eps0 is the theorem's delta_i; the formula holds between two of those as well.
    Unequal draws are priced as if each cost the largest of their epsilons (an eps-DP draw is eps'-DP for eps' > eps),
    or by advanced composition if that is less; a cut needs equal shares. Beyond 10^7 draws, more than a run can make,
    the price is that of advanced composition.

    Statement P33 of the guide's topic proofs.

    >>> from dpqr.kernel.events import ExponentialEvent
    >>> draws = ((ExponentialEvent(epsilon=Fraction(1, 100)), 1000),)
    >>> round(float(Optimal().epsilon(draws, Fraction(1, 10**9))), 3)
    1.783
    """

    name: ClassVar[str] = "optimal"
    homogeneous: ClassVar[bool] = True
    concentrated: ClassVar[bool] = False

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Return one epsilon for all draws, found by bisection on the curve's delta at the budget's epsilon."""
        weigh(self, budget, portions)
        draws = sum(portion.count for portion in portions)

        def fits(step: Fraction) -> bool:
            if draws > MOST_DRAWS:
                return advanced_epsilon(((step, draws),), budget.delta) <= budget.epsilon
            return curve(draws, step, budget.epsilon * ROOM) <= budget.delta

        step = largest(fits, budget.epsilon * ROOM / draws)
        return tuple(Price(epsilon=step) for _ in portions)

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        return larger_pure(events, lambda losses: optimal_epsilon(losses, delta))


def optimal_epsilon(losses: Losses, delta: Fraction) -> Fraction:
    """The class's bound, rounded up."""
    fallback = advanced_epsilon(losses, delta)
    draws = sum(count for epsilon, count in losses if epsilon)
    if not fallback or not delta or draws > MOST_DRAWS:
        return fallback
    return min(fallback, smallest(draws, max(epsilon for epsilon, count in losses if count), delta))


@lru_cache(maxsize=64)
def smallest(draws: int, step: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon with curve(epsilon) <= delta, above the smallest one by a relative 2^-36 or less."""
    return lowest(lambda epsilon: curve(draws, step, epsilon) <= delta, draws * step)


def curve(draws: int, step: Fraction, epsilon: Fraction) -> Fraction:
    """delta(epsilon) of the class's docstring, rounded up.

    The terms run down from the last positive one, or from 8 sqrt(k) above their mean, beyond which they add up to less
    than e^-128 < 10^-55 (Hoeffding). Each is its neighbour times a ratio, and the ratios fall; once they are below 1,
    the rest is less than a geometric series, and once that is below 10^-18 of the sum, it is left out.
    Errors: the first weight has a relative error of 10^-19 (three log-factorials); each of the at most 10^6 terms adds
    roundings of 10^-59; 1 - pull has an error of 10^-58 in a sum of weights of at most 1. The two margins cover all.
    """
    last = math.ceil((draws - epsilon / step) / 2) - 1
    if last < 0:
        return Fraction(0)
    with sixty_digits():
        loss = decimal(step)
        growth, decay = loss.exp(), (-2 * loss).exp()
        top = min(last, int(draws / (1 + growth)) + 8 * math.isqrt(draws) + 9)
        # The probability that `top` of the randomised responses lie, each with probability 1 / (1 + e^loss).
        ways = log_factorial(draws) - log_factorial(top) - log_factorial(draws - top)
        weight = (ways + (draws - top) * loss - draws * (1 + growth).ln()).exp()
        pull = decimal(epsilon - (draws - 2 * top) * step).exp()
        delta = Decimal(0)
        for index in range(top, -1, -1):
            delta += weight * (1 - pull)
            ratio = growth * index / (draws - index + 1)
            weight *= ratio
            pull *= decay
            if ratio < 1 and weight <= TRUNCATION * delta * (1 - ratio):
                break
        return Fraction(delta * (1 + RELATIVE_MARGIN) + ABSOLUTE_MARGIN)
