"""The audit's own figures: the exact loss of a stated law, and the price of events.

Both are a few lines that share nothing with the accountants whose figures they are compared with.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, log1p

import numpy as np

from dpqr.audit.claim import ORDERS, Claim
from dpqr.audit.law import Law, Laws
from dpqr.data.arrays import FloatArray
from dpqr.privacy.events import (
    AboveThresholdEvent,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Draw,
    ExponentialEvent,
    GaussianObjectiveEvent,
    LeftOutEvent,
    MuSumEvent,
    PermuteAndFlipEvent,
    PerturbedObjectiveEvent,
    PureSumEvent,
    RhoSumEvent,
    RoundedGaussianEvent,
    SphericalLaplaceEvent,
)

SLACK = 1e-9
"""Relative; covers the rounding of sums in double precision."""
ALIKE = 1e-10
"""Losses that differ by less are taken for equal."""
MOST_LOSSES = 2**11
"""Distinct losses that are kept while numbers are added up; more are rounded down to a grid of so many."""
SAMPLED = 2**14
"""Losses that are looked at to see whether they are so many."""
MOST_VALUES = 2**13
"""Of a law over more integers than this only every so-manieth is summed: it is flat in between."""


@dataclass(frozen=True, slots=True, eq=False)
class LossLaw:
    """The privacy loss log(P(o) / Q(o)) where o is drawn from P; losses and their probabilities, shape (losses,)."""

    losses: FloatArray
    chances: FloatArray

    @classmethod
    def of(cls, one: Law, two: Law) -> LossLaw:
        """Of one number."""
        ends = (one.support, two.support)
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        stride = 1 + (high - low) // MOST_VALUES
        values = np.arange(low, high + 1, stride)
        here, there = one.log_probabilities(values), two.log_probabilities(values)
        return cls(here - there, stride * np.exp(here)).merged()

    def plus(self, other: LossLaw) -> LossLaw:
        """Of two independent numbers."""
        losses = np.add.outer(self.losses, other.losses).reshape(-1)
        return LossLaw(losses, np.multiply.outer(self.chances, other.chances).reshape(-1)).merged()

    def merged(self) -> LossLaw:
        """The same with equal losses taken together; where they are very many also those within a fine grid."""
        distinct = np.unique(np.floor(self.losses[:: 1 + len(self.losses) // SAMPLED] / ALIKE))
        if len(distinct) > MOST_LOSSES:
            return self._gridded(float(np.ptp(self.losses)) / MOST_LOSSES)
        losses, places = np.unique(np.floor(self.losses / ALIKE), return_inverse=True)
        return LossLaw(losses * ALIKE, np.bincount(places, weights=self.chances).astype(np.float64))

    def _gridded(self, step: float) -> LossLaw:
        places = np.floor((self.losses - self.losses.min()) / step).astype(np.int64)
        chances = np.bincount(places, weights=self.chances).astype(np.float64)
        return LossLaw(self.losses.min() + step * np.arange(len(chances)), chances)

    @property
    def epsilon(self) -> float:
        """The largest loss."""
        return float(self.losses[self.chances > 0].max())

    @property
    def rho(self) -> float:
        """The largest Renyi divergence over its order, of the orders at which a rho is tested."""
        powers = np.multiply.outer(ORDERS - 1, self.losses)
        divergences = np.logaddexp.reduce(powers + np.log(self.chances + 1e-300), axis=1) / (ORDERS - 1)
        return float((divergences / ORDERS).max())

    def delta(self, epsilon: float) -> float:
        """sum of P(o) - e^epsilon Q(o) over the outcomes where that is positive."""
        return float((self.chances * np.maximum(0.0, -np.expm1(epsilon - self.losses))).sum())


def loss_law(one: Laws, two: Laws) -> LossLaw:
    """Of all numbers of a run together."""
    total = LossLaw(np.zeros(1), np.ones(1))
    for here, there in zip(one, two, strict=True):
        total = total.plus(LossLaw.of(here, there))
    return total


def exact_share(one: Laws, two: Laws, claim: Claim) -> float:
    """The exact loss as a share of the claim, the larger of both directions; above 1 the claim is false.

    A pure claim is held against the largest loss, one in rho against Renyi divergences, and every claim at a delta
    against the delta that its epsilon needs.
    """
    return max(_share(loss_law(one, two), claim), _share(loss_law(two, one), claim))


def _share(law: LossLaw, claim: Claim) -> float:
    shares = [law.rho / float(claim.rho)] if claim.rho is not None else []
    if claim.delta:
        shares.append(law.delta(float(claim.epsilon)) / float(claim.delta))
    else:
        shares.append(law.epsilon / float(claim.epsilon))
    return max(shares) / (1 + SLACK)


PRICE_ORDERS = 1 + np.geomspace(1e-4, 1e4, 40_000)
PRICE_SLACK = 1e-6
"""Relative; the least of these orders is above the least of all by less."""


def epsilon_of(event: Draw) -> float:
    """Pure epsilon; infinite for Gaussian noise."""
    match event:
        case DiscreteLaplaceEvent() | SphericalLaplaceEvent():
            return float(event.sensitivity / event.scale)
        case PerturbedObjectiveEvent():
            pull, factor = float(event.sensitivity / event.scale), float(event.curvature)
            return pull + event.units * log1p(factor) + float(event.closing)
        case ExponentialEvent() | PermuteAndFlipEvent() | PureSumEvent():
            return float(event.epsilon)
        case AboveThresholdEvent():
            one, two = float(event.sensitivity / event.threshold_scale), float(event.sensitivity / event.answer_scale)
            return one + two * event.directions
    return inf


def rho_of(event: Draw) -> float:
    """rho of zero-concentrated differential privacy: Bun and Steinke 2016; Cesar and Rogers 2021 for bounded range."""
    match event:
        case DiscreteGaussianEvent() | RoundedGaussianEvent():
            return float(Fraction(event.squared_sensitivity) / (2 * event.variance))
        case GaussianObjectiveEvent():
            pull = float(Fraction(event.squared_sensitivity) / (2 * event.variance))
            both = pull * (1 + float(event.opposite) ** 2) + float(event.curvature)
            return event.changes**2 * both + float(event.closing) ** 2 / 2
        case ExponentialEvent():
            return float(event.epsilon**2 / 8)
        case AboveThresholdEvent() if event.directions == 1:
            one, two = float(event.sensitivity / event.threshold_scale), float(event.sensitivity / event.answer_scale)
            return (one + 2 * two) ** 2 / 8
        case RhoSumEvent():
            return float(event.rho)
        case MuSumEvent():
            return float(event.squared_mu / 2)
    return epsilon_of(event) ** 2 / 2


def epsilon_at(rho: float, delta: float) -> float:
    """Canonne, Kamath and Steinke 2020, Proposition 12: the least over orders a of
    rho a + log(1 / (a delta)) / (a - 1) + log(1 - 1 / a)."""
    found = rho * PRICE_ORDERS + np.log(1 / (PRICE_ORDERS * delta)) / (PRICE_ORDERS - 1) + np.log1p(-1 / PRICE_ORDERS)
    return float(max(0.0, found.min()))


def own_share(claim: Claim) -> float:
    """The price of the claim's events as a share of the claim; above 1 it is less than any theorem here proves.

    Draws from kept and from left-out records look at disjoint parts of a table: the larger share of the two groups.
    0 for a claim by a curve, or by a theorem for many draws: these only the exact loss can judge.
    """
    left_out = [(event.event, count) for event, count in claim.events if isinstance(event, LeftOutEvent)]
    kept = [(event, count) for event, count in claim.events if not isinstance(event, LeftOutEvent)]
    return max(_price_share(kept, claim), _price_share(left_out, claim)) / (1 + PRICE_SLACK)


def _price_share(events: list[tuple[Draw, int]], claim: Claim) -> float:
    if not events:
        return 0.0
    if not claim.delta:
        return sum(count * epsilon_of(event) for event, count in events) / float(claim.epsilon)
    rho = sum(count * rho_of(event) for event, count in events)
    return max(rho / float(claim.rho or 0), epsilon_at(rho, float(claim.delta)) / float(claim.epsilon))
