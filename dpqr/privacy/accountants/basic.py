"""Basic composition: epsilons add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpqr.privacy.accountant import Portion, PrivacyFilter
from dpqr.privacy.accountants.filters import SumFilter, require_affordable, require_pure, weigh
from dpqr.privacy.accountants.losses import Losses, larger, pure_losses
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import Composition


@dataclass(frozen=True, slots=True, kw_only=True)
class Basic:
    """Draws that are eps_i-DP each are (sum of eps_i)-DP together (Dwork and Roth 2014, Theorem 3.16).

    Holds at every delta, adaptively, and as a filter. All figures are exact rationals.
    """

    @property
    def name(self) -> str:
        return "basic"

    @property
    def homogeneous(self) -> bool:
        return False

    @property
    def concentrated(self) -> bool:
        return False

    def refusal(self, budget: PrivacyBudget) -> str | None:
        return None

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Shares of epsilon; what they cost together is the budget's epsilon, to the last digit."""
        whole = weigh(self, budget, portions)
        return tuple(Price(epsilon=budget.epsilon * portion.share / whole) for portion in portions)

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        return larger(events, _sum)

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        """Whatever adds up to the budget's epsilon: the planned events, or others that cost no more."""
        require_affordable(self, budget, planned)
        return self.filter(budget)

    def filter(self, budget: PrivacyBudget) -> PrivacyFilter:
        """Whatever adds up to the budget's epsilon."""
        return SumFilter(limit=budget.epsilon, cost=require_pure, unit="epsilon")


def _sum(events: Composition) -> Fraction | None:
    losses = pure_losses(events)
    return None if losses is None else total(losses)


def total(losses: Losses) -> Fraction:
    """The sum of all epsilons, exact."""
    return sum((epsilon * count for epsilon, count in losses), Fraction(0))
