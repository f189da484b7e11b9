"""Currency: what a budget for a dataset's whole life is counted in, and what events cost in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpqr.errors import UsageFault
from dpqr.privacy.accountants.filters import SumFilter, require_pure
from dpqr.privacy.accountants.losses import concentrated_rho
from dpqr.privacy.accountants.zcdp import converted, largest_rho
from dpqr.privacy.budget import SMALLEST_EPSILON, PrivacyBudget
from dpqr.privacy.events import Composition, PrivacyEvent
from dpqr.privacy.figures import downward_text, upward_text

DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """The exact costs that one accountant adds up.

    name: "epsilon" or "rho". cost: of one event, BudgetRefused where it has none.

    **Privacy** Only sums that are filters are here: whatever is asked for later, and however that depends on what was
    released before, the whole history is covered by the limit (Rogers, Roth, Ullman and Vadhan 2016 for epsilon;
    Feldman and Zrnic 2021, Whitehouse, Ramdas, Rogers and Wu 2023 for rho). Advanced, optimal and PLD composition
    price a schedule that is fixed in advance, which the life of a dataset is not.
    """

    accountant: str
    name: str
    cost: Callable[[PrivacyEvent], Fraction]

    def price(self, events: Composition) -> Fraction:
        """Exact cost of all the events together."""
        return sum((self.cost(event) * count for event, count in events), Fraction(0))

    def limit(self, budget: PrivacyBudget) -> Fraction:
        """What may be spent within the budget. UsageFault: rho needs a delta, and epsilon spends none."""
        if self.name == "epsilon":
            if not budget.pure:
                raise UsageFault(
                    "the basic accountant spends no delta; leave --delta out, or charge with --accountant zcdp"
                )
            return budget.epsilon
        if budget.pure:
            raise UsageFault(
                "the zcdp accountant needs a delta above 0 for the whole life; add --delta, for example 1e-9"
            )
        return largest_rho(budget)

    def largest_epsilon(self, left: Fraction, delta: Fraction) -> Fraction | None:
        """The largest --eps, of six digits, of a run planned by this accountant that costs at most `left`; or None."""
        found = Fraction(upward_text(left if self.name == "epsilon" else _converted(left, delta), DIGITS))
        while found >= SMALLEST_EPSILON:
            if self._whole(found, delta) <= left:
                return found
            found = Fraction(downward_text(found * (1 - Fraction(1, 10**DIGITS)), DIGITS))
        return None

    def guard(self, limit: Fraction) -> SumFilter:
        """A filter for one run that admits what costs at most `limit` together."""
        return SumFilter(limit=limit, cost=self.cost, unit=self.name)

    def _whole(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        """What a run of that epsilon may cost."""
        return epsilon if self.name == "epsilon" else largest_rho(PrivacyBudget(epsilon, delta))


CURRENCIES = {
    "basic": Currency(accountant="basic", name="epsilon", cost=require_pure),
    "zcdp": Currency(accountant="zcdp", name="rho", cost=concentrated_rho),
}


def currency(accountant: str) -> Currency:
    """The currency of the accountant called so. UsageFault: it is no filter, or nobody knows it."""
    found = CURRENCIES.get(accountant)
    if found is None:
        raise UsageFault(
            f"--accountant {accountant}: a budget for life is charged by basic (epsilon) or zcdp (rho, with --delta); "
            "the other theorems cover only a schedule that is fixed in advance"
        )
    return found


def _converted(rho: Fraction, delta: Fraction) -> Fraction:
    return converted(rho, delta) if rho else Fraction(0)
