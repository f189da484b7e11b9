"""Analytic composition: the exact privacy curve of Gaussian noise, with pure draws added by basic composition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import ClassVar

from dpqr.privacy.accountant import Portion, PrivacyFilter
from dpqr.privacy.accountants.basic import total
from dpqr.privacy.accountants.filters import guard_plan, needs_delta, weigh
from dpqr.privacy.accountants.losses import log_above
from dpqr.privacy.accountants.numerics import ROOM, decimal, largest, lowest, sixty_digits, upper_tail
from dpqr.privacy.accountants.zcdp import converted, largest_rho, total_rho
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import Composition, GaussianObjectiveEvent, RoundedGaussianEvent
from dpqr.privacy.parallel import larger, pure_losses

MARGIN = Decimal("1e-35")
LEAST = Decimal("1e-300")
"""Smaller deltas are rounded up to it: their exact fractions would be endless."""
FARTHEST = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Analytic:
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
    homogeneous: ClassVar[bool] = False
    concentrated: ClassVar[bool] = False

    def refusal(self, budget: PrivacyBudget) -> str | None:
        return needs_delta(self.name, budget)

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Rhos for portions that say that they draw rounded Gaussian noise, epsilons for all others."""
        unit = budget.epsilon / weigh(self, budget, portions)
        gaussian = [_gaussian(portion) for portion in portions]
        shares = (portion.share * portion.count for portion, found in zip(portions, gaussian, strict=True) if found)
        together = sum(shares, Fraction(0))
        rho = most_rho(together * unit, budget.delta) / together if together else Fraction(0)
        return tuple(
            Price(rho=rho * portion.share) if found else Price(epsilon=unit * portion.share)
            for portion, found in zip(portions, gaussian, strict=True)
        )

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        return larger(events, lambda draws: _together(draws, delta))

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        """The planned events only: the theorem is for a schedule that is fixed in advance."""
        return guard_plan(self, budget, planned)


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

    >>> tapered_price(Fraction(1), Fraction(1)), tapered_price(Fraction(2), Fraction(1))
    (Fraction(0, 1), Fraction(1, 2))
    """
    return curvature * (1 - free / curvature) ** 2 if curvature > free else Fraction(0)


def _gaussian(portion: Portion) -> bool:
    return portion.event is not None and isinstance(portion.event(Price(rho=Fraction(1))), RoundedGaussianEvent)


@lru_cache(maxsize=64)
def most_rho(epsilon: Fraction, delta: Fraction, changes: int = 1, opposite: Fraction = Fraction(0)) -> Fraction:
    """Return the largest mu^2 / 2, but for a relative 2^-26, whose curve is at most `delta` just below `epsilon`.

    changes, opposite: see `united`.
    """
    start = largest_rho(PrivacyBudget(epsilon, delta))
    return largest(lambda rho: united(rho, epsilon * ROOM, changes, opposite) <= delta, start)


@lru_cache(maxsize=256)
def smallest(rho: Fraction, delta: Fraction, changes: int = 1, opposite: Fraction = Fraction(0)) -> Fraction:
    """Return an epsilon with united(epsilon) <= delta, above the smallest one by a relative 2^-36 or less.

    Beyond FARTHEST it is the epsilon that rho-zCDP proves for the largest of all sets.
    """
    proved = converted(changes**2 * rho, delta / (2**changes - (0 if opposite else 1)))
    return lowest(lambda epsilon: united(rho, epsilon, changes, opposite) <= delta, proved)


def united(rho: Fraction, epsilon: Fraction, changes: int, opposite: Fraction = Fraction(0)) -> Fraction:
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
