"""Currency: the unit of a budget for a dataset's whole life, and the cost of runs in it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from typing import Protocol

from msgspec import Struct

from dpqr.kernel.accountants.accountant import (
    PairFilter,
    PlanFilter,
    PrivacyFilter,
    SumFilter,
    selects_labels,
    summed_cost,
)
from dpqr.kernel.accountants.analytic import NO_MU, GaussianDP
from dpqr.kernel.accountants.by_count import ByCount
from dpqr.kernel.accountants.losses import ONLY_PAIRS
from dpqr.kernel.accountants.sums import Basic, SumAccountant, ZeroConcentrated
from dpqr.kernel.budget import (
    PURE,
    SMALLEST_DELTA,
    SMALLEST_EPSILON,
    Cost,
    Pricing,
    PrivacyBudget,
    downward_text,
    upward_text,
)
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.kernel.events import Composition

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


class SumCurrency(Struct, frozen=True, kw_only=True):
    """One figure, "epsilon", "rho" or "mu^2", that adds up over all draws of all runs.

    Attributes:
        sums: the accountant that adds it up.
        unpriced: the refusal of a run that has none.
    """

    sums: SumAccountant
    unpriced: str = ""

    @property
    def accountant(self) -> str:
        return self.sums.name

    @property
    def name(self) -> str:
        return self.sums.unit

    def price(self, events: Composition, pricing: Pricing = PURE) -> Cost:
        amount = self.sums.total(events)
        if amount is None:
            raise BudgetRefused(ONLY_PAIRS if selects_labels(events) else self.unpriced)
        return Cost(amount)

    def settled(self, paid: Cost, events: Composition, pricing: Pricing = PURE) -> Cost:
        """The cost of the draws that were made: the filter's unit is the draw, so the rest was never spent."""
        return self.price(events)

    def guard(self, paid: Cost, events: Composition = (), pricing: Pricing = PURE) -> SumFilter:
        """Admits what costs at most `paid` together."""
        return SumFilter(limit=paid.amount, cost=self.sums.loss, unit=self.name)

    def limit(self, budget: PrivacyBudget) -> Cost:
        if self.sums.concentrated and budget.pure:
            raise UsageFault(
                f"the {self.accountant} accountant needs a delta above 0 for the whole life; add --delta, for example "
                "1e-9"
            )
        return Cost(self.sums.largest(budget))

    def covers(self, budget: PrivacyBudget, limit: Cost) -> bool:
        return not limit.delta and self.sums.convert(limit.amount, budget.delta) <= budget.epsilon

    def proves(self, cost: Cost, price: Cost) -> bool:
        return price <= cost

    def epsilon(self, spent: Cost, delta: Fraction) -> Fraction | None:
        if not spent:
            return spent.amount
        return self.sums.convert(spent.amount, delta) if delta or not self.sums.concentrated else None

    def request(self, largest: Cost, delta: Fraction) -> str | None:
        epsilon = self.largest_epsilon(largest.amount, delta)
        if epsilon is None:
            return None
        options = f"--eps {downward_text(epsilon)}"
        if not self.sums.concentrated:
            return options
        return f"{options} --delta {downward_text(delta)} --accountant {self.accountant}"

    def largest_epsilon(self, left: Fraction, delta: Fraction) -> Fraction | None:
        """Return the largest --eps, of six digits, of a run that this accountant plans at cost `left` or less."""
        start = self.sums.convert(left, delta) if left else left
        found = Fraction(upward_text(start, DIGITS))
        while found >= SMALLEST_EPSILON:
            if self.sums.largest(PrivacyBudget(found, delta)) <= left:
                return found
            found = Fraction(downward_text(found * (1 - Fraction(1, 10**DIGITS)), DIGITS))
        return None

    def figures(self, cost: Cost, text: Callable[[Fraction, int], str]) -> str:
        return text(cost.amount, DIGITS)

    def words(self, cost: Cost, text: Callable[[Fraction, int], str]) -> str:
        return f"{self.name} {self.figures(cost, text)}"


EPSILON = SumCurrency(
    sums=Basic(),
    unpriced="the run draws Gaussian noise, which has no pure epsilon, and this budget counts nothing else; plan with "
    "the laplace check, or pay from a budget with a delta (zcdp, or basic for pairs)",
)
RHO = SumCurrency(sums=ZeroConcentrated())
SQUARED_MU = SumCurrency(sums=GaussianDP(), unpriced=NO_MU)
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


# PairCurrency: epsilon and delta of whole runs, added up by basic composition.

PAIR_DIGITS = 6
CACHED = 64
ROUNDING = 1 + Fraction(1, 2**30)
"""Largest ratio of epsilons that two machines may find by a search in floating point."""


class PairCurrency(Struct, frozen=True, kw_only=True):
    """Costs are pairs (epsilon, delta), each the guarantee of one run, whatever accountant proves it.

    Privacy:
        Run i is (eps_i, delta_i)-DP by its own accountant, for the events that its reservation names, and both figures
        are fixed before its first draw. A run may be a session: an interactive mechanism, which answers one message
        after another (a question, points to predict at, the next period of a counter), and is (eps_i, delta_i)-DP
        against every adversary that talks to it alone, for its accountant is a filter, whose proof lets each message
        follow from all earlier answers. Any other run is the case of one message.

        Runs overlap in time. An adversary opens sessions, interleaves their messages as he likes, lets each follow from
        all that any of them has answered, and opens further runs by it, with figures that he chooses. No order of the
        runs has this joint law, so what covers it is concurrent composition: every filter of (eps, delta)-DP mechanisms
        that are not interactive is one of interactive mechanisms that run concurrently and are opened adaptively
        (Haney and others 2023; for figures that are fixed in advance Lyu 2022 and Vadhan and Zhang 2023, for pure
        mechanisms Vadhan and Wang 2021). Basic composition is such a filter: all runs together are (eps, delta)-DP as
        long as on every path the sums of eps_i and of delta_i stay within eps and delta (Rogers, Roth, Ullman and
        Vadhan 2016). Runs share no noise, which the theorem asks for. A run that was killed, whether it is resumed or
        not, is one that was sent no further message.

        The pairs that the filter adds up must be fixed before the mechanism runs. So a settlement refunds nothing of a
        run that any other theorem than basic composition proves: its pair is a statement of the run as one
        mechanism. It bounds no likelihood ratio path by path, and implies no smaller pair for the paths on which the
        run has stopped early. A run that basic composition proves is a sequence of draws. Each draw is a mechanism
        (eps_ij, delta_ij) of its own (an interactive one where it is an epoch of comparisons, `AboveThreshold`; its
        delta_ij is 0 unless it selects labels), whose figures are fixed before it is made, so the filter's unit may be
        the draw: draws that were not made were never spent, and are refunded. A run without any draw costs nothing
        under any accountant.
        Statement P38 of the guide's topic proofs.

    References:
        Haney, Shoemate, Tian, Vadhan, Vyrros, Xu and Zhang 2023, "Concurrent Composition for Interactive Differential
        Privacy with Adaptive Privacy-Loss Parameters", ACM CCS 2023; Vadhan and Zhang 2023, "Concurrent Composition
        Theorems for Differential Privacy", STOC 2023; Lyu 2022, "Composition Theorems for Interactive Differential
        Privacy", NeurIPS 2022; Vadhan and Wang 2021, "Concurrent Composition of Differential Privacy", TCC 2021;
        Rogers, Roth, Ullman and Vadhan 2016, "Privacy Odometers and Filters: Pay-as-you-Go Composition", NIPS 2016.
    """

    accountant: str = "basic"
    name: str = "epsilon and delta"

    def price(self, events: Composition, pricing: Pricing = PURE) -> Cost:
        """Return the epsilon that the run's accountant proves for the events at its delta, and that delta.

        Under basic composition both are exact sums over the draws; of pure draws the delta is 0.

        Raises:
            BudgetRefused: the accountant proves none, is a third party's, or is not installed.
        """
        pure = pricing.accountant == PURE.accountant
        return _proved(events, PURE if pure else pricing)

    def settled(self, paid: Cost, events: Composition, pricing: Pricing = PURE) -> Cost:
        """Return the cost of the draws that basic composition adds up; of other runs all that was paid, unless nothing
        was drawn."""
        if not events:
            return Cost()
        return self.price(events) if pricing.accountant == PURE.accountant else paid

    def guard(self, paid: Cost, events: Composition, pricing: Pricing = PURE) -> PrivacyFilter:
        """Return the filter of the run's own accountant for the events that were paid for."""
        if pricing.accountant == PURE.accountant:
            return PairFilter(limit=paid) if paid.delta else EPSILON.guard(paid)
        if pricing.accountant in CURRENCIES:
            sums = CURRENCIES[pricing.accountant]
            return sums.guard(sums.price(events))
        if pricing.accountant == ByCount.name:
            return ByCount().filter(PrivacyBudget(paid.amount, paid.delta))
        return PlanFilter(planned=events)

    def limit(self, budget: PrivacyBudget) -> Cost:
        return Cost(budget.epsilon, budget.delta)

    def covers(self, budget: PrivacyBudget, limit: Cost) -> bool:
        return limit <= self.limit(budget)

    def proves(self, cost: Cost, price: Cost) -> bool:
        """Compare within ROUNDING: the searches of some accountants end differently on another machine."""
        return price <= Cost(cost.amount * ROUNDING, cost.delta)

    def epsilon(self, spent: Cost, delta: Fraction) -> Fraction | None:
        return spent.amount if spent.delta <= delta else None

    def request(self, largest: Cost, delta: Fraction) -> str | None:
        """Return options; a plan of any accountant within them costs at most their epsilon, and their delta or none."""
        epsilon, share = downward_text(largest.amount, PAIR_DIGITS), downward_text(largest.delta)
        if Fraction(epsilon) < SMALLEST_EPSILON:
            return None
        return f"--eps {epsilon} --delta {share}" if Fraction(share) >= SMALLEST_DELTA else f"--eps {epsilon}"

    def figures(self, cost: Cost, text: Callable[[Fraction, int], str]) -> str:
        return f"({text(cost.amount, PAIR_DIGITS)}, {text(cost.delta, PAIR_DIGITS)})"

    def words(self, cost: Cost, text: Callable[[Fraction, int], str]) -> str:
        return f"(epsilon {text(cost.amount, PAIR_DIGITS)}, delta {text(cost.delta, PAIR_DIGITS)})"


PAIR = PairCurrency()


@lru_cache(maxsize=CACHED)
def _proved(events: Composition, pricing: Pricing) -> Cost:
    """See `PairCurrency.price`. Cached: one plan is often run many times, and some accountants take seconds."""
    from dpqr.kernel.accountants.known import (  # imports numpy, which reading a ledger does not need
        PREDICTING,
        RELEASING,
    )

    proving = RELEASING.get(pricing.accountant)
    if proving is None:
        raise BudgetRefused(
            f"--accountant {pricing.accountant}: a budget in epsilon and delta takes dpqr's own accountants only "
            f"({', '.join(PREDICTING)}), for the ledger asks them for the price; choose one of them"
        )
    if pricing == PURE:
        cost = summed_cost(events)
        if cost is None:
            raise BudgetRefused("the basic accountant has no price for the planned draws")
        return cost
    if not pricing.delta:
        raise BudgetRefused(f"the {pricing.accountant} accountant needs a delta above 0; add --delta 1e-9, for example")
    epsilon = proving.epsilon(events, pricing.delta)
    if epsilon is None:
        refusal = proving.refusal(PrivacyBudget(Fraction(1), pricing.delta))
        raise BudgetRefused(refusal or f"the {pricing.accountant} accountant has no price for the planned draws")
    return Cost(epsilon, pricing.delta)


def is_installed(accountant: str) -> bool:
    """Whether the package that this accountant needs, if any, is installed; nothing is imported."""
    return accountant != "pld" or find_spec("dp_accounting") is not None
