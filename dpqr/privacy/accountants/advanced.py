"""Advanced composition: epsilons of a fixed schedule add up like random steps, at the price of a delta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from dpqr.privacy.accountant import Portion, PrivacyFilter
from dpqr.privacy.accountants.basic import total
from dpqr.privacy.accountants.filters import guard_plan, needs_delta, weigh
from dpqr.privacy.accountants.numerics import decimal, largest, sixty_digits, upward
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import Composition
from dpqr.privacy.parallel import Losses, larger_pure


@dataclass(frozen=True, slots=True, kw_only=True)
class Advanced:
    """The better of basic composition and

        sum of eps_i (e^eps_i - 1) / (e^eps_i + 1)  +  sqrt(2 log(1 / delta) sum of eps_i^2)

    (Kairouz, Oh and Viswanath 2015, Theorem 3.5, and 3.4 for equal draws: the first and the third of the bounds there;
    with cruder constants Dwork, Rothblum and Vadhan 2010).

    Proof: the privacy loss of an eps-DP draw lies in [-eps, eps] and has mean at most eps (e^eps - 1) / (e^eps + 1),
    that of randomised response; so by Azuma's inequality the sum exceeds its mean by t with probability at most
    exp(-t^2 / (2 sum of eps_i^2)), which is delta at the t above. Only the two sums enter, so the order of the planned
    draws may be adaptive.

    >>> from dpqr.privacy.events import ExponentialEvent
    >>> draws = ((ExponentialEvent(epsilon=Fraction(1, 100)), 1000),)
    >>> round(float(Advanced().epsilon(draws, Fraction(1, 10**9))), 3)
    2.086
    """

    name: ClassVar[str] = "advanced"
    homogeneous: ClassVar[bool] = False
    concentrated: ClassVar[bool] = False

    def refusal(self, budget: PrivacyBudget) -> str | None:
        return needs_delta(self.name, budget)

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

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        """The planned events only: the theorem is for a schedule that is fixed in advance."""
        return guard_plan(self, budget, planned)


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
