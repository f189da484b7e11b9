"""Basic composition: epsilons add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpqr.privacy.accountant import Portion, PrivacyFilter
from dpqr.privacy.accountants.filters import SumFilter, require_affordable, require_pure, weigh
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import Composition
from dpqr.privacy.parallel import Losses, larger_pure


@dataclass(frozen=True, slots=True, kw_only=True)
class Basic:
    """Draws that are eps_i-DP each are (sum of eps_i)-DP together (Dwork and Roth 2014, Theorem 3.16).

    Holds at every delta, adaptively, and as a filter. All figures are exact rationals.

    >>> from dpqr.privacy.events import ExponentialEvent
    >>> Basic().epsilon(((ExponentialEvent(epsilon=Fraction(1, 10)), 20),), Fraction(0))
    Fraction(2, 1)
    """

    name: ClassVar[str] = "basic"
    homogeneous: ClassVar[bool] = False
    concentrated: ClassVar[bool] = False

    def refusal(self, budget: PrivacyBudget) -> str | None:
        return None

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Divide epsilon by the shares; the prices add up to the budget's epsilon exactly."""
        whole = weigh(self, budget, portions)
        return tuple(Price(epsilon=budget.epsilon * portion.share / whole) for portion in portions)

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        return larger_pure(events, total)

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        """Whatever adds up to the budget's epsilon: the planned events, or others that cost no more."""
        require_affordable(self, budget, planned)
        return self.filter(budget)

    def filter(self, budget: PrivacyBudget) -> PrivacyFilter:
        """Whatever adds up to the budget's epsilon."""
        return SumFilter(limit=budget.epsilon, cost=require_pure, unit="epsilon")


def total(losses: Losses) -> Fraction:
    """Return the sum of all epsilons, exact."""
    return sum((epsilon * count for epsilon, count in losses), Fraction(0))
