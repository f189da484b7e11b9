"""Exponential: the source's distinguisher of choice, the exponential mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpqr.data.unit import PrivacyUnit
from dpqr.mechanisms.scores import Scores
from dpqr.mechanisms.selection import ExponentialChoice
from dpqr.privacy.budget import Price
from dpqr.privacy.events import ExponentialEvent

_ROUNDED_UP = 1 + 2.0**-40


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential:
    """Draws a candidate with probability proportional to exp(epsilon score / (2 sensitivity)).

    A price in rho buys epsilon = sqrt(8 rho), for its draws are bounded in range.
    """

    @property
    def name(self) -> str:
        return "exponential"

    def mechanism(self, scores: Scores, unit: PrivacyUnit, price: Price) -> ExponentialChoice:
        return ExponentialChoice(scores=scores, unit=unit, epsilon=price.bounded_range)

    def event(self, price: Price) -> ExponentialEvent:
        return ExponentialEvent(epsilon=price.bounded_range)

    def shortfall(self, candidates: int, sensitivity: int, price: Price, gamma: Fraction) -> float:
        """(2 s / epsilon) log(candidates / gamma): Dwork and Roth 2014, Corollary 3.12. Rounded up."""
        return selection_shortfall(candidates, sensitivity, price.bounded_range, gamma)


def selection_shortfall(candidates: int, sensitivity: int, epsilon: Fraction, gamma: Fraction) -> float:
    """(2 s / epsilon) log(candidates / gamma), rounded up, in units of the scores.

    Proof: a candidate F below the best has weight exp(-epsilon F / (2 s)) against the best one's, so all of them
    together have probability at most candidates * exp(-epsilon F / (2 s)) = gamma. A sensitivity of 0 counts as 1,
    as in the draw itself.
    """
    spread = math.log(candidates * gamma.denominator) - math.log(gamma.numerator)
    return float(2 * max(1, sensitivity) / epsilon) * (spread * _ROUNDED_UP + 2.0**-40)
