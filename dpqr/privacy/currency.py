"""Currency: the unit of a budget for a dataset's whole life, and the cost of runs in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dpqr.errors import BudgetRefused, UsageFault
from dpqr.privacy.accountant import PrivacyFilter
from dpqr.privacy.accountants.basic import Basic
from dpqr.privacy.accountants.filters import SumFilter, require_pure
from dpqr.privacy.accountants.gaussian_dp import (
    UNIT,
    converted_mu,
    largest_squared_mu,
    require_mu,
    total_squared_mu,
)
from dpqr.privacy.accountants.losses import concentrated_rho
from dpqr.privacy.accountants.zcdp import converted, largest_rho, total_rho
from dpqr.privacy.budget import PURE, SMALLEST_EPSILON, Cost, Pricing, PrivacyBudget, downward_text, upward_text
from dpqr.privacy.events import Composition, PrivacyEvent
from dpqr.privacy.pair_currency import PAIR

DIGITS = 6


class Currency(Protocol):
    """The exact costs that one ledger adds up.

    Privacy:
        Only sums that are filters are here: however later requests depend on earlier releases, the limit covers the
        whole history (Rogers, Roth, Ullman and Vadhan 2016 for epsilon, and for pairs of epsilon and delta; Feldman and
        Zrnic 2021, Whitehouse, Ramdas, Rogers and Wu 2023 for rho; Smith and Thakurta 2022 for mu^2). Advanced, optimal
        and PLD composition price a schedule that is fixed in advance, which the life of a dataset is not. Runs may
        overlap and interleave: sums count single draws, in whatever order all runs make them (an epoch of comparisons
        is one draw, `AboveThreshold`), and pairs rest on concurrent composition (`PairCurrency`).
    """

    @property
    def accountant(self) -> str: ...

    @property
    def name(self) -> str: ...

    def price(self, events: Composition, pricing: Pricing = PURE) -> Cost:
        """Return the exact cost of one run's events together; BudgetRefused if they have none.

        pricing: proves the run; only a currency without prices of single draws uses it.
        """
        ...

    def settled(self, paid: Cost, events: Composition, pricing: Pricing = PURE) -> Cost:
        """Return the final cost of a run that has paid `paid` and has drawn `events`."""
        ...

    def guard(self, paid: Cost, events: Composition, pricing: Pricing = PURE) -> PrivacyFilter:
        """Return a filter for the draws of one run that has paid `paid` for `events`."""
        ...

    def limit(self, budget: PrivacyBudget) -> Cost:
        """Return the largest total cost within the budget. UsageFault: this currency cannot count it."""
        ...

    def covers(self, budget: PrivacyBudget, limit: Cost) -> bool:
        """Whether spending the whole limit stays within the budget."""
        ...

    def proves(self, cost: Cost, price: Cost) -> bool:
        """Whether a recorded cost is at least the price that is derived now."""
        ...

    def epsilon(self, spent: Cost, delta: Fraction) -> Fraction | None:
        """Return the epsilon at `delta` that the spent cost proves; None: no finite one."""
        ...

    def request(self, largest: Cost, delta: Fraction) -> str | None:
        """Return options of the largest release that costs at most `largest`; None: none does. delta: of the budget."""
        ...

    def figures(self, cost: Cost, text: Callable[[Fraction, int], str]) -> str:
        """Write the figures of a cost without names, each rounded by `text`."""
        ...

    def words(self, cost: Cost, text: Callable[[Fraction, int], str]) -> str:
        """Write the figures of a cost with their names."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SumCurrency:
    """One figure, "epsilon", "rho" or "mu^2", that adds up over all draws of all runs.

    cost: of one draw. total: of the draws of one run. Both exact or rounded up; BudgetRefused where there is none.
    largest: of a budget with a delta. converted: epsilon of an amount at a delta. Neither is asked of epsilon.
    """

    accountant: str
    name: str
    cost: Callable[[PrivacyEvent], Fraction]
    total: Callable[[Composition], Fraction]
    largest: Callable[[PrivacyBudget], Fraction]
    converted: Callable[[Fraction, Fraction], Fraction]

    def price(self, events: Composition, pricing: Pricing = PURE) -> Cost:
        return Cost(self.total(events))

    def settled(self, paid: Cost, events: Composition, pricing: Pricing = PURE) -> Cost:
        """The cost of the draws that were made: the filter's unit is the draw, so the rest was never spent."""
        return self.price(events)

    def guard(self, paid: Cost, events: Composition = (), pricing: Pricing = PURE) -> SumFilter:
        """Admits what costs at most `paid` together."""
        return SumFilter(limit=paid.amount, cost=self.cost, unit=self.name)

    def limit(self, budget: PrivacyBudget) -> Cost:
        if self.name == "epsilon":
            return Cost(budget.epsilon)
        if budget.pure:
            raise UsageFault(
                f"the {self.accountant} accountant needs a delta above 0 for the whole life; add --delta, for example "
                "1e-9"
            )
        return Cost(self.largest(budget))

    def covers(self, budget: PrivacyBudget, limit: Cost) -> bool:
        if limit.delta:
            return False
        if self.name == "epsilon":
            return limit <= budget.epsilon
        return self.converted(limit.amount, budget.delta) <= budget.epsilon

    def proves(self, cost: Cost, price: Cost) -> bool:
        return price <= cost

    def epsilon(self, spent: Cost, delta: Fraction) -> Fraction | None:
        if self.name == "epsilon" or not spent:
            return spent.amount
        return self.converted(spent.amount, delta) if delta else None

    def request(self, largest: Cost, delta: Fraction) -> str | None:
        epsilon = self.largest_epsilon(largest.amount, delta)
        if epsilon is None:
            return None
        options = f"--eps {downward_text(epsilon)}"
        if self.name == "epsilon":
            return options
        return f"{options} --delta {downward_text(delta)} --accountant {self.accountant}"

    def largest_epsilon(self, left: Fraction, delta: Fraction) -> Fraction | None:
        """Return the largest --eps, of six digits, of a run that this accountant plans at cost `left` or less."""
        start = left if self.name == "epsilon" or not left else self.converted(left, delta)
        found = Fraction(upward_text(start, DIGITS))
        while found >= SMALLEST_EPSILON:
            if self._whole(found, delta) <= left:
                return found
            found = Fraction(downward_text(found * (1 - Fraction(1, 10**DIGITS)), DIGITS))
        return None

    def figures(self, cost: Cost, text: Callable[[Fraction, int], str]) -> str:
        return text(cost.amount, DIGITS)

    def words(self, cost: Cost, text: Callable[[Fraction, int], str]) -> str:
        return f"{self.name} {self.figures(cost, text)}"

    def _whole(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        """Return the largest cost of a run of that epsilon."""
        return epsilon if self.name == "epsilon" else self.largest(PrivacyBudget(epsilon, delta))


def _total_epsilon(events: Composition) -> Fraction:
    found = Basic().epsilon(events, Fraction(0))
    if found is None:
        raise BudgetRefused(
            "the run draws Gaussian noise, which has no pure epsilon, and this budget counts nothing else; plan with "
            "the laplace check, or pay from a budget with a delta (zcdp, or basic for pairs)"
        )
    return found


EPSILON = SumCurrency(
    accountant="basic",
    name="epsilon",
    cost=require_pure,
    total=_total_epsilon,
    largest=lambda budget: budget.epsilon,
    converted=lambda epsilon, _: epsilon,
)
RHO = SumCurrency(
    accountant="zcdp",
    name="rho",
    cost=concentrated_rho,
    total=total_rho,
    largest=largest_rho,
    converted=converted,
)
SQUARED_MU = SumCurrency(
    accountant="gdp",
    name=UNIT,
    cost=require_mu,
    total=total_squared_mu,
    largest=largest_squared_mu,
    converted=converted_mu,
)
CURRENCIES = {"basic": EPSILON, "zcdp": RHO, "gdp": SQUARED_MU}


def currency(accountant: str, *, pure: bool = True) -> Currency:
    """Return the currency of a budget.

    Args:
        accountant: name of the accountant that charges the budget.
        pure: whether the budget has no delta; basic composition adds up epsilons alone then, else pairs.

    Raises:
        UsageFault: the accountant is no filter, or unknown.
    """
    if accountant not in CURRENCIES:
        raise UsageFault(
            f"--accounting {accountant}: a budget for life is charged by basic (epsilon, or with --delta epsilon and "
            "delta), zcdp (rho, with --delta) or gdp (mu^2, with --delta); the other theorems cover only a schedule "
            "that is fixed in advance"
        )
    return PAIR if accountant == "basic" and not pure else CURRENCIES[accountant]
