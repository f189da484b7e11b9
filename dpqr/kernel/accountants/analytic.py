"""Analytic composition: the exact privacy curve of Gaussian noise, with pure draws added by basic composition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import ClassVar

from dpqr.kernel.accountants.accountant import FixedSchedule, Portion, larger, pure_losses, selects_labels, weigh
from dpqr.kernel.accountants.losses import ONLY_PAIRS, log_above, squared_mu
from dpqr.kernel.accountants.numerics import ROOM, decimal, largest, lowest, sixty_digits, upper_tail
from dpqr.kernel.accountants.sums import SumAccountant, largest_rho, total, total_rho, zcdp_to_epsilon
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import Composition, GaussianObjectiveEvent, PrivacyEvent, RoundedGaussianEvent

MARGIN = Decimal("1e-35")
LEAST = Decimal("1e-300")
"""Smaller deltas are rounded up to it: their exact fractions would be endless."""
FARTHEST = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Analytic(FixedSchedule):
    """The analytic Gaussian mechanism (Balle and Wang 2018, Theorem 8) for draws of rounded Gaussian noise: with
    mu^2 = sum of squared sensitivity / variance they are, together, (epsilon, delta)-DP exactly from

        delta(epsilon) = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)

    on, before they are rounded, which only takes away. Many draws, adaptive ones too, are one of that mu (Dong, Roth
    and Su 2019, Corollary 3.3). Pure draws beside them (a count, a choice) add their epsilons and no delta (Dwork and
    Roth 2014, Theorem 3.16). Discrete Gaussian noise is another law, whose curve this is not: it has no price here.

    One perturbed objective with a normal pull has a curve of its own (`GaussianPerturbedWeights`), beside pure draws
    only.

    Shares of a cut are shares of epsilon. Gaussian portions together buy one mu and divide mu^2 by their shares (as
    rho = mu^2 / 2, the currency of Gaussian noise). No claim is made for adaptive prices.

    >>> draws = ((RoundedGaussianEvent(squared_sensitivity=1, variance=Fraction(50)), 10),)
    >>> round(float(Analytic().epsilon(draws, Fraction(1, 10**9))), 3)
    2.583
    """

    name: ClassVar[str] = "analytic"
    concentrated: ClassVar[bool] = False

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Rhos for portions that say that they draw rounded Gaussian noise, epsilons for all others."""
        unit = budget.epsilon / weigh(self, budget, portions)
        events = [portion.event and portion.event(Price(rho=Fraction(1))) for portion in portions]
        gaussian = [isinstance(event, RoundedGaussianEvent) for event in events]
        shares = (portion.share * portion.count for portion, found in zip(portions, gaussian, strict=True) if found)
        together = sum(shares, Fraction(0))
        rho = most_rho(together * unit, budget.delta) / together if together else Fraction(0)
        return tuple(
            Price(rho=rho * portion.share) if found else Price(epsilon=unit * portion.share)
            for portion, found in zip(portions, gaussian, strict=True)
        )

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        return larger(events, lambda draws: _together(draws, delta))


def _together(events: Composition, delta: Fraction) -> Fraction | None:
    normal = tuple(each for each in events if isinstance(each[0], RoundedGaussianEvent | GaussianObjectiveEvent))
    losses = pure_losses(tuple(each for each in events if each not in normal))
    if losses is None:
        return None
    objectives = [(event, count) for event, count in normal if isinstance(event, GaussianObjectiveEvent) and count]
    if objectives:
        alone = len(normal) == 1 and objectives[0][1] == 1 and delta
        return total(losses) + _of_objective(objectives[0][0], delta) if alone else None
    rho = total_rho(normal)
    if not rho:
        return total(losses)
    return total(losses) + smallest(rho, delta) if delta else None


def _of_objective(event: GaussianObjectiveEvent, delta: Fraction) -> Fraction:
    """What the normal pull proves, the determinant's share and the closing noise."""
    rho = Fraction(event.squared_sensitivity) / (2 * event.variance)
    pull = smallest(rho, delta, event.changes, event.opposite) if rho else Fraction(0)
    paid = event.changes * log_above(event.curvature)
    if event.tapered and event.changes == 1:
        paid = min(paid, tapered_price(event.curvature, free_curvature(pull, rho, event.opposite)))
    return pull + paid + event.closing


def free_curvature(epsilon: Fraction, rho: Fraction, opposite: Fraction) -> Fraction:
    """Return the largest curvature of a tapered loss that adds nothing to one record's `epsilon`, or 0.

    Args:
        epsilon: of the pull alone.
        rho: mu^2 / 2 of the pull.

    References:
        The proof is in `GaussianPerturbedWeights`.
    """
    return max(Fraction(0), (1 + opposite) * (epsilon - opposite * rho) / 4)


def tapered_price(curvature: Fraction, free: Fraction) -> Fraction:
    """Return what a tapered loss adds to the epsilon of one record's pull.

    Statement P7 of the guide's topic proofs.

    >>> tapered_price(Fraction(1), Fraction(1)), tapered_price(Fraction(2), Fraction(1))
    (Fraction(0, 1), Fraction(1, 2))
    """
    return curvature * (1 - free / curvature) ** 2 if curvature > free else Fraction(0)


@lru_cache(maxsize=64)
def most_rho(epsilon: Fraction, delta: Fraction, changes: int = 1, opposite: Fraction = Fraction(0)) -> Fraction:
    """Return the largest mu^2 / 2, but for a relative 2^-26, whose curve is at most `delta` just below `epsilon`.

    changes, opposite: see `sum_curves`.
    """
    start = largest_rho(PrivacyBudget(epsilon, delta))
    return largest(lambda rho: sum_curves(rho, epsilon * ROOM, changes, opposite) <= delta, start)


@lru_cache(maxsize=256)
def smallest(rho: Fraction, delta: Fraction, changes: int = 1, opposite: Fraction = Fraction(0)) -> Fraction:
    """Return an epsilon with united(epsilon) <= delta, above the smallest one by a relative 2^-36 or less.

    Beyond FARTHEST it is the epsilon that rho-zCDP proves for the largest of all sets.
    """
    proved = zcdp_to_epsilon(changes**2 * rho, delta / (2**changes - (0 if opposite else 1)))
    return lowest(lambda epsilon: sum_curves(rho, epsilon, changes, opposite) <= delta, proved)


def sum_curves(rho: Fraction, epsilon: Fraction, changes: int, opposite: Fraction = Fraction(0)) -> Fraction:
    """Return the sum of the curves of all ways in which each of `changes` records has one of two ends, rounded up.

    The mu of one record is sqrt(2 rho) at one end and `opposite` times that at the other, and mus add up. Where that is
    0, the way without any counts nothing.
    """
    ways = ((comb(changes, full), full + (changes - full) * opposite) for full in range(changes + 1))
    return sum((number * curve(size**2 * rho, epsilon) for number, size in ways if size), Fraction(0))


def curve(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return delta(epsilon) of `Analytic` at mu = sqrt(2 rho) > 0, rounded up; 1 if nothing better is known.

    With Q = 1 - Phi, a = epsilon / mu - mu / 2 and b = a + mu it is Q(a) - e^epsilon Q(b), and the second term is at
    most the first. Errors, relative to Q(a): 10^-40 for each Q (`upper_tail`). mu and so a and b have an error of a
    relative 10^-58 of b, which moves a Q by (b + 1) b 10^-58 of itself, and e^epsilon by epsilon 10^-59, where
    epsilon <= b^2 / 2: below 10^-39 for b up to 10^9, beyond which the answer is 1. The margin covers all of it.
    """
    with sixty_digits():
        mu, loss = decimal(2 * rho).sqrt(), decimal(epsilon)
        near, far = loss / mu - mu / 2, loss / mu + mu / 2
        if far > FARTHEST:
            return Fraction(1)
        here = upper_tail(near)
        delta = here - loss.exp() * upper_tail(far) + MARGIN * here
        return Fraction(max(delta, LEAST))


# Gaussian differential privacy: squares of mu add up, and the exact curve of Gaussian noise gives epsilon at delta.


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDP(SumAccountant):
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
        Statement P35 of the guide's topic proofs.

    >>> from dpqr.kernel.events import RoundedGaussianEvent
    >>> draws = ((RoundedGaussianEvent(squared_sensitivity=1, variance=Fraction(50)), 10),)
    >>> round(float(GaussianDP().epsilon(draws, Fraction(1, 10**9))), 3)
    2.583
    """

    name: ClassVar[str] = "gdp"
    unit: ClassVar[str] = "mu^2"
    figure: ClassVar[str] = "squared_mu"
    concentrated: ClassVar[bool] = True

    def loss(self, event: PrivacyEvent) -> Fraction:
        return require_mu(event)

    def total(self, events: Composition) -> Fraction | None:
        def added(draws: Composition) -> Fraction | None:
            costs = [(squared_mu(event), count) for event, count in draws]
            known = [cost * count for cost, count in costs if cost is not None]
            return sum(known, Fraction(0)) if len(known) == len(costs) else None

        return larger(events, added)

    def largest(self, budget: PrivacyBudget) -> Fraction:
        return largest_squared_mu(budget)

    def convert(self, amount: Fraction, delta: Fraction) -> Fraction:
        return squared_mu_to_epsilon(amount, delta)


NO_MU = (
    "a draw of discrete Gaussian noise has a price in rho and none in mu^2, which this budget counts in; "
    "plan with --accountant gdp"
)


def require_mu(event: PrivacyEvent) -> Fraction:
    """Return the mu^2 of an event; BudgetRefused if it has none."""
    found = squared_mu(event)
    if found is None:
        raise BudgetRefused(ONLY_PAIRS if selects_labels(((event, 1),)) else NO_MU)
    return found


def largest_squared_mu(budget: PrivacyBudget) -> Fraction:
    """Return the largest mu^2, but for a relative 2^-26, whose curve stays within the budget."""
    return 2 * most_rho(budget.epsilon, budget.delta)


def squared_mu_to_epsilon(whole: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon at which every draw of that mu^2 is (epsilon, delta)-DP, rounded up; both above 0."""
    return smallest(whole / 2, delta)
