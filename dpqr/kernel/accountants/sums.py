"""Basic composition: epsilons add up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from dpqr.kernel.accountants.accountant import (
    Losses,
    Portion,
    PrivacyFilter,
    SumFilter,
    in_parallel,
    larger_pure,
    needs_delta,
    require_affordable,
    require_pure,
    weigh,
)
from dpqr.kernel.accountants.losses import concentrated_rho
from dpqr.kernel.accountants.numerics import decimal, golden_section, largest, sixty_digits, upward
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.events import Composition


@dataclass(frozen=True, slots=True, kw_only=True)
class Basic:
    """Draws that are eps_i-DP each are (sum of eps_i)-DP together (Dwork and Roth 2014, Theorem 3.16).

    Holds at every delta, adaptively, and as a filter. All figures are exact rationals.

    >>> from dpqr.kernel.events import ExponentialEvent
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


# Zero-concentrated composition: rhos add up, and one conversion at the end gives epsilon at delta.

SEARCH_STEPS = 90
LOG_ORDERS = (-45.0, 75.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroConcentrated:
    """Draws that are rho_i-zCDP each are (sum of rho_i)-zCDP together (Bun and Steinke 2016, Lemma 1.7); also as a
    filter.

    Shares of a cut are shares of rho, and one rho buys different epsilons: an exponential mechanism of eps costs
    eps^2 / 8, any other pure draw eps^2 / 2. A schedule with the same eps for both states shares of 1 to 4.

    >>> from dpqr.kernel.events import DiscreteGaussianEvent
    >>> draws = ((DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(50)), 10),)
    >>> round(float(ZeroConcentrated().epsilon(draws, Fraction(1, 10**9))), 3)
    2.715
    """

    name: ClassVar[str] = "zcdp"
    homogeneous: ClassVar[bool] = False
    concentrated: ClassVar[bool] = True

    def refusal(self, budget: PrivacyBudget) -> str | None:
        return needs_delta(self.name, budget)

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Shares of the largest rho that the budget covers."""
        whole = weigh(self, budget, portions)
        rho = largest_rho(budget)
        return tuple(Price(rho=rho * portion.share / whole) for portion in portions)

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        rho = total_rho(events)
        if not rho:
            return rho
        return zcdp_to_epsilon(rho, delta) if delta else None

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        """Whatever adds up to the largest rho of the budget: the planned events, or others that cost no more."""
        require_affordable(self, budget, planned)
        limit = max(largest_rho(budget), total_rho(planned))
        return SumFilter(limit=limit, cost=concentrated_rho, unit="rho")

    def filter(self, budget: PrivacyBudget) -> PrivacyFilter:
        """Whatever adds up to the largest rho of the budget."""
        require_affordable(self, budget, ())
        return SumFilter(limit=largest_rho(budget), cost=concentrated_rho, unit="rho")


def total_rho(events: Composition) -> Fraction:
    """Return the sum of all rhos, exact; the larger of two sums if draws read left-out records (`in_parallel`)."""
    return max(
        sum((concentrated_rho(event) * count for event, count in group), Fraction(0)) for group in in_parallel(events)
    )


@lru_cache(maxsize=64)
def largest_rho(budget: PrivacyBudget) -> Fraction:
    """Return the largest rho, but for a relative 2^-26, whose conversion stays within the budget."""
    return largest(lambda rho: zcdp_to_epsilon(rho, budget.delta) <= budget.epsilon, budget.epsilon)


def zcdp_to_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon at which every rho-zCDP mechanism is (epsilon, delta)-DP, rounded up; rho, delta > 0.

    Canonne, Kamath and Steinke 2020, Proposition 12 and Corollary 13: for every order a > 1,

        delta = exp((a - 1) (a rho - eps)) / (a - 1) * (1 - 1/a)^a,

    because (1 - e^(eps - z))_+ <= e^((a-1) (z - eps)) (1 - 1/a)^(a-1) / a for every loss z (the maximum over z is at
    e^(eps - z) = 1 - 1/a), and the mean of e^((a-1) z) is at most e^((a-1) a rho). Solved for epsilon.
    Any order gives a valid epsilon, so the best one may be looked for with floats; the bound is then evaluated at it
    in sixty digits, with an error far below the 10^-24 of the rounding.
    """
    with sixty_digits():
        surprise = -decimal(delta).ln()
        excess = Decimal(math.exp(_best_order(float(rho), float(surprise))))
        log_order, log_excess = (1 + excess).ln(), excess.ln()
        epsilon = (1 + excess) * decimal(rho) + (surprise - log_order) / excess + log_excess - log_order
        return max(Fraction(0), upward(epsilon))


def _best_order(rho: float, surprise: float) -> float:
    """log(a - 1) of nearly the best order a, by golden sections: epsilon falls and then rises in a.

    (For fixed epsilon, the logarithm of delta has the derivative (2a - 1) rho - eps + log(1 - 1/a), which rises with
    a: so {a : epsilon(a) <= eps} is an interval.)
    """

    def epsilon(log_excess: float) -> float:
        excess = math.exp(log_excess)
        log_order = math.log1p(excess)
        return (1 + excess) * rho + (surprise - log_order) / excess + log_excess - log_order

    return golden_section(epsilon, *LOG_ORDERS, SEARCH_STEPS)
