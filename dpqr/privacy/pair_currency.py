"""PairCurrency: epsilon and delta of whole runs, added up by basic composition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec

from dpqr.errors import BudgetRefused
from dpqr.privacy.accountant import PrivacyFilter
from dpqr.privacy.accountants.by_count import ByCount
from dpqr.privacy.accountants.filters import PlanFilter, SumFilter, require_pure
from dpqr.privacy.accountants.gaussian_dp import UNIT, require_mu, total_squared_mu
from dpqr.privacy.accountants.losses import concentrated_rho
from dpqr.privacy.accountants.zcdp import total_rho
from dpqr.privacy.budget import PURE, SMALLEST_DELTA, SMALLEST_EPSILON, Cost, Pricing, PrivacyBudget, downward_text
from dpqr.privacy.events import Composition

DIGITS = 6
CACHED = 64
ROUNDING = 1 + Fraction(1, 2**30)
"""Largest ratio of epsilons that two machines may find by a search in floating point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCurrency:
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
        run has stopped early. A run that basic composition proves is a sequence of pure draws. Each draw is a mechanism
        (eps_ij, 0) of its own (an interactive one where it is an epoch of comparisons, `AboveThreshold`), whose epsilon
        is fixed before it is made, so the filter's unit may be the draw: draws that were not made were never spent, and
        are refunded. A run without any draw costs nothing under any accountant.

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
        """Return the epsilon that the run's accountant proves for the events at its delta, and that delta (pure: 0).

        Raises:
            BudgetRefused: the accountant proves none, is a third party's, or is not installed.
        """
        pure = pricing.accountant == PURE.accountant
        return _proved(events, PURE if pure else pricing)

    def settled(self, paid: Cost, events: Composition, pricing: Pricing = PURE) -> Cost:
        """Return the cost of the draws of a pure sum; of other runs all that was paid, unless nothing was drawn."""
        if not events:
            return Cost()
        return self.price(events) if pricing.accountant == PURE.accountant else paid

    def guard(self, paid: Cost, events: Composition, pricing: Pricing = PURE) -> PrivacyFilter:
        """Return the filter of the run's own accountant for the events that were paid for."""
        if pricing.accountant == PURE.accountant:
            return SumFilter(limit=paid.amount, cost=require_pure, unit="epsilon")
        if pricing.accountant == "zcdp":
            return SumFilter(limit=total_rho(events), cost=concentrated_rho, unit="rho")
        if pricing.accountant == "gdp":
            return SumFilter(limit=total_squared_mu(events), cost=require_mu, unit=UNIT)
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
        epsilon, share = downward_text(largest.amount, DIGITS), downward_text(largest.delta)
        if Fraction(epsilon) < SMALLEST_EPSILON:
            return None
        return f"--eps {epsilon} --delta {share}" if Fraction(share) >= SMALLEST_DELTA else f"--eps {epsilon}"

    def figures(self, cost: Cost, text: Callable[[Fraction, int], str]) -> str:
        return f"({text(cost.amount, DIGITS)}, {text(cost.delta, DIGITS)})"

    def words(self, cost: Cost, text: Callable[[Fraction, int], str]) -> str:
        return f"(epsilon {text(cost.amount, DIGITS)}, delta {text(cost.delta, DIGITS)})"


PAIR = PairCurrency()


@lru_cache(maxsize=CACHED)
def _proved(events: Composition, pricing: Pricing) -> Cost:
    """See `PairCurrency.price`. Cached: one plan is often run many times, and some accountants take seconds."""
    from dpqr.privacy.accountants.known import (  # imports numpy, which reading a ledger does not need
        PREDICTING,
        RELEASING,
    )

    proving = RELEASING.get(pricing.accountant)
    if proving is None:
        raise BudgetRefused(
            f"--accountant {pricing.accountant}: a budget in epsilon and delta takes dpqr's own accountants only "
            f"({', '.join(PREDICTING)}), for the ledger asks them for the price; choose one of them"
        )
    if not pricing.delta and pricing != PURE:
        raise BudgetRefused(f"the {pricing.accountant} accountant needs a delta above 0; add --delta 1e-9, for example")
    epsilon = proving.epsilon(events, pricing.delta)
    if epsilon is None:
        refusal = proving.refusal(PrivacyBudget(Fraction(1), pricing.delta))
        raise BudgetRefused(refusal or f"the {pricing.accountant} accountant has no price for the planned draws")
    return Cost(epsilon, pricing.delta)


def is_installed(accountant: str) -> bool:
    """Whether the package that this accountant needs, if any, is installed; nothing is imported."""
    return accountant != "pld" or find_spec("dp_accounting") is not None
