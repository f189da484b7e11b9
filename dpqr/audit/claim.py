"""Claim: what a mechanism says that it costs, and how much of that one event proves to be lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.errors import BudgetRefused
from dpqr.privacy.accountant import Accountant
from dpqr.privacy.accountants.basic import Basic
from dpqr.privacy.accountants.zcdp import converted, total_rho
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.events import Composition

ORDERS = 1 + np.geomspace(1e-3, 63, 36)
"""Renyi orders at which a rho is tested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """(epsilon, delta)-DP; with rho also rho-zCDP, from which epsilon at delta follows. Exact figures.

    events: what the sum of epsilons, or of rhos, was taken of; empty: it is no such sum.

    >>> from dpqr.privacy.events import ExponentialEvent
    >>> Claim.pure(((ExponentialEvent(epsilon=Fraction(1, 4)), 2),)).epsilon
    Fraction(1, 2)
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    events: Composition = field(default=(), compare=False)

    @classmethod
    def pure(cls, events: Composition) -> Claim:
        """What the events' pure epsilons add up to. BudgetRefused where one has none."""
        epsilon = Basic().epsilon(events, Fraction(0))
        if epsilon is None:
            raise BudgetRefused("a draw of Gaussian noise has no pure epsilon; audit it in rho")
        return cls(epsilon=epsilon, events=events)

    @classmethod
    def concentrated(cls, events: Composition, delta: Fraction) -> Claim:
        """What the events' rhos add up to, and its conversion at `delta`."""
        rho = total_rho(events)
        return cls(epsilon=converted(rho, delta), delta=delta, rho=rho, events=events)

    @classmethod
    def planned(cls, budget: PrivacyBudget, events: Composition) -> Claim:
        """A plan's: its budget where that is pure; else what its events add up to in rho, or its filter allows."""
        return cls(epsilon=budget.epsilon, events=events) if budget.pure else cls.concentrated(events, budget.delta)

    @classmethod
    def proved(cls, accountant: Accountant, events: Composition, delta: Fraction) -> Claim:
        """What the accountant's theorem says of the events at `delta`. BudgetRefused where it does not cover them."""
        epsilon = accountant.epsilon(events, delta)
        if epsilon is None:
            raise BudgetRefused(f"{accountant.name} does not cover these draws; audit them by another theorem")
        return cls(epsilon=epsilon, delta=delta)

    def shares(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """What events prove to be lost, as shares of the claim: above 1 is a breach. Shape (events,).

        low: lower bounds of their probabilities on one database; high: upper bounds on its neighbour.
        """
        shares = epsilon_bounds(low, high, float(self.delta)) / float(self.epsilon)
        if self.rho is None:
            return shares
        return np.maximum(shares, rho_bounds(low, high) / float(self.rho))


def epsilon_bounds(low: FloatArray, high: FloatArray, delta: float) -> FloatArray:
    """Lower bounds on epsilon at `delta`: P(S) <= e^eps Q(S) + delta gives eps >= log((P(S) - delta) / Q(S)).

    Args:
        low: lower limits of P(S) for each event S, shape (events,).
        high: upper limits of Q(S), shape (events,).

    Returns:
        Shape (events,), at least 0.
    """
    gained = low > delta
    ratio = np.where(gained, low - delta, high) / high
    return np.maximum(np.log(ratio), 0.0)


def rho_bounds(low: FloatArray, high: FloatArray) -> FloatArray:
    """Lower bounds on rho: an event is post-processing, so D_a(Bernoulli(P(S)) || Bernoulli(Q(S))) <= a rho, all a > 1.

    Bun and Steinke 2016, Definition 1.1 and Lemma 1.8. The divergence grows with P(S) and falls with Q(S) where
    P(S) >= Q(S), so limits of the two give a bound.
    """
    high = np.minimum(high, 1 - 1e-12)
    p, q = np.maximum(low, high)[:, None], high[:, None]
    with np.errstate(divide="ignore"):
        inside = ORDERS * np.log(p) + (1 - ORDERS) * np.log(q)
        outside = ORDERS * np.log1p(-p) + (1 - ORDERS) * np.log1p(-q)
    divergences = np.logaddexp(inside, outside) / (ORDERS - 1)
    best: FloatArray = (divergences / ORDERS).max(axis=1)
    return np.where(low > high, np.maximum(best, 0.0), 0.0)
