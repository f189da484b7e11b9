"""PermuteAndFlip: never worse than the exponential mechanism at the same pure epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpqr.data.unit import PrivacyUnit
from dpqr.mechanisms.scores import Scores
from dpqr.mechanisms.selection import PermuteAndFlipChoice
from dpqr.privacy.budget import Price
from dpqr.privacy.events import PermuteAndFlipEvent
from dpqr.strategies.distinguishers.exponential import selection_shortfall


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlip:
    """Draws a candidate by permute-and-flip. A price in rho buys epsilon = sqrt(2 rho) only: no bounded range."""

    @property
    def name(self) -> str:
        return "permute-and-flip"

    def mechanism(self, scores: Scores, unit: PrivacyUnit, price: Price) -> PermuteAndFlipChoice:
        return PermuteAndFlipChoice(scores=scores, unit=unit, epsilon=price.pure)

    def event(self, price: Price) -> PermuteAndFlipEvent:
        return PermuteAndFlipEvent(epsilon=price.pure)

    def shortfall(self, candidates: int, sensitivity: int, price: Price, gamma: Fraction) -> float:
        """The exponential mechanism's bound: no shortfall is more probable here than there (McKenna and Sheldon 2020,
        Theorem 2). Rounded up."""
        return selection_shortfall(candidates, sensitivity, price.pure, gamma)
