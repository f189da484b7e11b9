"""Gaussian differential privacy: squares of mu add up, and the exact curve of Gaussian noise gives epsilon at delta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpqr.errors import BudgetRefused
from dpqr.privacy.accountant import Portion, PrivacyFilter
from dpqr.privacy.accountants.analytic import most_rho, smallest
from dpqr.privacy.accountants.filters import SumFilter, needs_delta, require_affordable, weigh
from dpqr.privacy.accountants.losses import squared_mu
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import Composition, PrivacyEvent
from dpqr.privacy.parallel import larger, one_after_another

UNIT = "mu^2"


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDP:
    """Draws that are mu_i-GDP each are mu-GDP together, mu^2 the sum of mu_i^2 (Dong, Roth and Su 2019, Corollary 3.3);
    also as a filter (Smith and Thakurta 2022).

    mu-GDP is (epsilon, delta)-DP exactly where the Gaussian mechanism of that mu is (Corollary 2.13 there; Balle and
    Wang 2018, Theorem 8).

    Privacy:
        mu-GDP: whoever tells two neighbours apart by the release errs at least as often, at either error, as whoever
        tells N(mu, 1) from N(0, 1) by one draw. Rounded Gaussian noise is it exactly. Any epsilon-DP draw and any of
        bounded range is it by `squared_mu_of_pure` and `squared_mu_of_ranged`; a small epsilon then costs pi / 2 times
        what it costs in rho. Discrete Gaussian noise has no price: its law is another.

        *The filter.* Every draw's mu_i, and whether there is one, may depend on all that was released before, as long
        as the sum of mu_i^2 is at most mu^2 on every path. *Proof.* Say there are at most T draws. By induction on T:
        from any history on which m of mu^2 is left, the rest of the run is sqrt(m)-GDP. No draw is that. Else the
        history fixes the next draw's mu_i. For each of its outcomes at most m - mu_i^2 is left, and what follows is
        sqrt(m - mu_i^2)-GDP by induction. A mu_i-GDP draw, followed for each of its outcomes by a mechanism of that
        curve, has the composed curve (Theorem 3.2 there), which for two normal ones is the one of sqrt(mu_i^2 + m -
        mu_i^2) = sqrt(m). A run without a bound T is the limit of those that are cut at T.

    Shares of a cut are shares of mu^2.

    >>> from dpqr.privacy.events import RoundedGaussianEvent
    >>> draws = ((RoundedGaussianEvent(squared_sensitivity=1, variance=Fraction(50)), 10),)
    >>> round(float(GaussianDP().epsilon(draws, Fraction(1, 10**9))), 3)
    2.583
    """

    name: ClassVar[str] = "gdp"
    homogeneous: ClassVar[bool] = False
    concentrated: ClassVar[bool] = True

    def refusal(self, budget: PrivacyBudget) -> str | None:
        return needs_delta(self.name, budget)

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Shares of the largest mu^2 that the budget covers."""
        whole = weigh(self, budget, portions)
        unit = largest_squared_mu(budget) / whole
        return tuple(Price(squared_mu=unit * portion.share) for portion in portions)

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        whole = larger(events, _sum)
        if not whole:
            return whole
        return converted_mu(whole, delta) if delta else None

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        """Whatever adds up to the largest mu^2 of the budget: the planned events, or others that cost no more."""
        require_affordable(self, budget, planned)
        return SumFilter(limit=max(largest_squared_mu(budget), total_squared_mu(planned)), cost=require_mu, unit=UNIT)

    def filter(self, budget: PrivacyBudget) -> PrivacyFilter:
        """Whatever adds up to the largest mu^2 of the budget."""
        require_affordable(self, budget, ())
        return SumFilter(limit=largest_squared_mu(budget), cost=require_mu, unit=UNIT)


def require_mu(event: PrivacyEvent) -> Fraction:
    """Return the mu^2 of an event; BudgetRefused if it has none."""
    found = squared_mu(event)
    if found is None:
        raise BudgetRefused(
            "a draw of discrete Gaussian noise has a price in rho and none in mu^2, which this budget counts in; "
            "plan with --accountant gdp"
        )
    return found


def total_squared_mu(events: Composition) -> Fraction:
    """Return the sum of all mu^2, rounded up; the larger of two sums if draws read left-out records (`in_parallel`).

    Raises:
        BudgetRefused: an event has none.
    """
    for event, _ in one_after_another(events):
        require_mu(event)
    return larger(events, _sum) or Fraction(0)


def largest_squared_mu(budget: PrivacyBudget) -> Fraction:
    """Return the largest mu^2, but for a relative 2^-26, whose curve stays within the budget."""
    return 2 * most_rho(budget.epsilon, budget.delta)


def converted_mu(whole: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon at which every draw of that mu^2 is (epsilon, delta)-DP, rounded up; both above 0."""
    return smallest(whole / 2, delta)


def _sum(events: Composition) -> Fraction | None:
    """The sum of mu^2 of draws that read the same records; None if one has no price."""
    costs = [(squared_mu(event), count) for event, count in events]
    if any(cost is None for cost, _ in costs):
        return None
    return sum((cost * count for cost, count in costs if cost is not None), Fraction(0))
