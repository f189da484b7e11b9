"""Prices of events in a few lines of the audit's own, to be held against what the accountants claim."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np

from dpqr.evaluation.claim import Claim
from dpqr.privacy.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Draw,
    ExponentialEvent,
    LeftOutEvent,
    PermuteAndFlipEvent,
    PureSumEvent,
    RhoSumEvent,
    RoundedGaussianEvent,
)

ORDERS = 1 + np.geomspace(1e-4, 1e4, 40_000)
SLACK = 1e-6
"""Relative; the least of these orders is above the least of all by less."""


def epsilon_of(event: Draw) -> float:
    """Pure epsilon; infinite for Gaussian noise."""
    match event:
        case DiscreteLaplaceEvent():
            return float(event.sensitivity / event.scale)
        case ExponentialEvent() | PermuteAndFlipEvent() | PureSumEvent():
            return float(event.epsilon)
    return inf


def rho_of(event: Draw) -> float:
    """rho of zero-concentrated differential privacy: Bun and Steinke 2016; Cesar and Rogers 2021 for bounded range."""
    match event:
        case DiscreteGaussianEvent() | RoundedGaussianEvent():
            return float(Fraction(event.squared_sensitivity) / (2 * event.variance))
        case ExponentialEvent():
            return float(event.epsilon**2 / 8)
        case RhoSumEvent():
            return float(event.rho)
    return epsilon_of(event) ** 2 / 2


def epsilon_at(rho: float, delta: float) -> float:
    """Canonne, Kamath and Steinke 2020, Proposition 12: the least over orders a of
    rho a + log(1 / (a delta)) / (a - 1) + log(1 - 1 / a)."""
    found = rho * ORDERS + np.log(1 / (ORDERS * delta)) / (ORDERS - 1) + np.log1p(-1 / ORDERS)
    return float(max(0.0, found.min()))


def own_share(claim: Claim) -> float:
    """The price of the claim's events as a share of the claim; above 1 it is less than any theorem here proves.

    Draws from kept and from left-out records look at disjoint parts of a table: the larger share of the two groups.
    0 for a claim by a curve, or by a theorem for many draws: these only the exact loss can judge.
    """
    left_out = [(event.event, count) for event, count in claim.events if isinstance(event, LeftOutEvent)]
    kept = [(event, count) for event, count in claim.events if not isinstance(event, LeftOutEvent)]
    return max(_share(kept, claim), _share(left_out, claim)) / (1 + SLACK)


def _share(events: list[tuple[Draw, int]], claim: Claim) -> float:
    if not events:
        return 0.0
    if not claim.delta:
        return sum(count * epsilon_of(event) for event, count in events) / float(claim.epsilon)
    rho = sum(count * rho_of(event) for event, count in events)
    return max(rho / float(claim.rho or 0), epsilon_at(rho, float(claim.delta)) / float(claim.epsilon))
