"""Composition by sums: epsilons or rhos add up."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from dpqr.kernel.accountants.accountant import (
    Losses,
    PairFilter,
    Portion,
    PrivacyFilter,
    SumFilter,
    in_parallel,
    larger_pure,
    needs_delta,
    require_affordable,
    require_pure,
    selects_labels,
    summed_cost,
    weigh,
)
from dpqr.kernel.accountants.losses import concentrated_rho
from dpqr.kernel.accountants.numerics import decimal, golden_section, largest, sixty_digits, upward
from dpqr.kernel.budget import Cost, Price, PrivacyBudget
from dpqr.kernel.events import Composition, PrivacyEvent


class SumAccountant(ABC):
    """Composition by a sum: the losses of draws add up exactly, and one conversion at the end gives epsilon at delta.

    Holds adaptively, and as a filter (`SumFilter`). Shares of a cut are shares of the largest sum that the budget
    covers.

    Attributes:
        unit: of the sum, in words.
        figure: the price of a draw that states its loss, a field of `Price`.
    """

    name: ClassVar[str]
    unit: ClassVar[str]
    figure: ClassVar[str]
    homogeneous: ClassVar[bool] = False
    concentrated: ClassVar[bool]

    @abstractmethod
    def loss(self, event: PrivacyEvent) -> Fraction:
        """Return the loss of one draw, exact or rounded up; BudgetRefused if it has none."""

    @abstractmethod
    def total(self, events: Composition) -> Fraction | None:
        """Return the sum of the losses of one run; None: a draw has none.

        The larger of two sums if draws read left-out records (`in_parallel`).
        """

    @abstractmethod
    def largest(self, budget: PrivacyBudget) -> Fraction:
        """Return the largest sum whose conversion stays within the budget."""

    @abstractmethod
    def convert(self, amount: Fraction, delta: Fraction) -> Fraction:
        """Return an epsilon at which draws of this sum are (epsilon, delta)-DP, rounded up."""

    def refusal(self, budget: PrivacyBudget) -> str | None:
        return needs_delta(self.name, budget) if self.concentrated else None

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Divide the largest sum by the shares; the prices add up to it exactly."""
        whole = weigh(self, budget, portions)
        unit = self.largest(budget) / whole
        return tuple(Price(**{self.figure: unit * portion.share}) for portion in portions)

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        amount = self.total(events)
        if not amount:
            return amount
        return self.convert(amount, delta) if delta or not self.concentrated else None

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        """Whatever adds up to the largest sum of the budget: the planned events, or others that cost no more."""
        require_affordable(self, budget, planned)
        # A cut is rounded within the budget, and what is planned is proved to fit it: either sum is covered.
        limit = max(self.largest(budget), self.total(planned) or Fraction(0))
        return SumFilter(limit=limit, cost=self.loss, unit=self.unit)

    def filter(self, budget: PrivacyBudget) -> PrivacyFilter:
        """Whatever adds up to the largest sum of the budget."""
        require_affordable(self, budget, ())
        return SumFilter(limit=self.largest(budget), cost=self.loss, unit=self.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Basic(SumAccountant):
    """Draws that are eps_i-DP each are (sum of eps_i)-DP together (Dwork and Roth 2014, Theorem 3.16).

    Holds at every delta, adaptively, and as a filter. All figures are exact rationals. Draws that are
    (eps_i, delta_i)-DP, selections of labels, are so at the sum of eps_i and the sum of delta_i, by the same theorem:
    `epsilon` is then proved at a delta of at least that sum, and `guard` adds up both figures.

    Statement P31 of the guide's topic proofs.

    >>> from dpqr.kernel.events import ExponentialEvent
    >>> Basic().epsilon(((ExponentialEvent(epsilon=Fraction(1, 10)), 20),), Fraction(0))
    Fraction(2, 1)
    """

    name: ClassVar[str] = "basic"
    unit: ClassVar[str] = "epsilon"
    figure: ClassVar[str] = "epsilon"
    concentrated: ClassVar[bool] = False

    def loss(self, event: PrivacyEvent) -> Fraction:
        return require_pure(event)

    def total(self, events: Composition) -> Fraction | None:
        return larger_pure(events, total)

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        cost = summed_cost(events)
        return cost.amount if cost is not None and cost.delta <= delta else None

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        """Whatever adds up to the budget, in epsilon, and where the planned events have deltas, in both figures."""
        cost = summed_cost(planned)
        if cost is None or not cost.delta:
            return SumAccountant.guard(self, budget, planned)
        require_affordable(self, budget, planned)
        return PairFilter(limit=Cost(budget.epsilon, budget.delta))

    def largest(self, budget: PrivacyBudget) -> Fraction:
        return budget.epsilon

    def convert(self, amount: Fraction, delta: Fraction) -> Fraction:
        return amount


def total(losses: Losses) -> Fraction:
    """Return the sum of all epsilons, exact."""
    return sum((epsilon * count for epsilon, count in losses), Fraction(0))


# Zero-concentrated composition: rhos add up, and one conversion at the end gives epsilon at delta.

SEARCH_STEPS = 90
LOG_ORDERS = (-45.0, 75.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroConcentrated(SumAccountant):
    """Draws that are rho_i-zCDP each are (sum of rho_i)-zCDP together (Bun and Steinke 2016, Lemma 1.7); also as a
    filter.

    Shares of a cut are shares of rho, and one rho buys different epsilons: an exponential mechanism of eps costs
    eps^2 / 8, any other pure draw eps^2 / 2. A schedule with the same eps for both states shares of 1 to 4.

    Statement P34 of the guide's topic proofs.

    >>> from dpqr.kernel.events import DiscreteGaussianEvent
    >>> draws = ((DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(50)), 10),)
    >>> round(float(ZeroConcentrated().epsilon(draws, Fraction(1, 10**9))), 3)
    2.715
    """

    name: ClassVar[str] = "zcdp"
    unit: ClassVar[str] = "rho"
    figure: ClassVar[str] = "rho"
    concentrated: ClassVar[bool] = True

    def loss(self, event: PrivacyEvent) -> Fraction:
        return concentrated_rho(event)

    def total(self, events: Composition) -> Fraction | None:
        return None if selects_labels(events) else total_rho(events)

    def largest(self, budget: PrivacyBudget) -> Fraction:
        return largest_rho(budget)

    def convert(self, amount: Fraction, delta: Fraction) -> Fraction:
        return zcdp_to_epsilon(amount, delta)


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
