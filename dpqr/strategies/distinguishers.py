"""Distinguishers: private selection of the worst-answered candidate (Dwork and Roth 2014, Definition 5.5)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, final

from msgspec import Struct

from dpqr.domain.histogram import Counts
from dpqr.kernel.budget import Price
from dpqr.kernel.events import ExponentialEvent, PermuteAndFlipEvent, PrivacyEvent
from dpqr.kernel.gate import Mechanism
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.selection import ExponentialChoice, PermuteAndFlipChoice, Scores


class Distinguisher(Protocol):
    """Makes the mechanism of one private selection: the book's (F(epsilon), gamma)-private distinguisher.

    The mechanism reads private data behind the gate, so a third party's distinguisher needs `--trust`.
    """

    @property
    def name(self) -> str: ...

    def mechanism(self, scores: Scores, unit: PrivacyUnit, price: Price) -> Mechanism[Counts, int]:
        """A draw of a candidate's index that costs at most `price`."""
        ...

    def event(self, price: Price) -> PrivacyEvent:
        """The privacy event of a draw at `price`."""
        ...

    def shortfall(self, candidates: int, sensitivity: int, price: Price, gamma: Fraction) -> float:
        """F: with probability 1 - gamma the drawn score is within F of the largest.

        Args:
            candidates: number of candidates.
            sensitivity: of the scores.

        Returns:
            In units of the scores, rounded up.
        """
        ...


_ROUNDED_UP = 1 + 2.0**-40


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential:
    """The exponential mechanism: probability proportional to exp(epsilon score / (2 sensitivity)).

    A price in rho buys epsilon = sqrt(8 rho), for its draws are bounded in range.

    >>> Exponential().event(Price(epsilon=Fraction(1, 2)))
    ExponentialEvent(epsilon=Fraction(1, 2))

    References:
        McSherry and Talwar 2007; Cesar and Rogers 2021 (bounded range).
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
    """(2 s / epsilon) log(candidates / gamma), in units of the scores, rounded up.

    Proof: a candidate F below the best has weight exp(-epsilon F / (2 s)) against the best one's, so all of them
    together have probability at most candidates * exp(-epsilon F / (2 s)) = gamma. A sensitivity of 0 counts as 1, as
    in the draw.

    References:
        Dwork and Roth 2014, Corollary 3.12.
    """
    spread = math.log(candidates * gamma.denominator) - math.log(gamma.numerator)
    return float(2 * max(1, sensitivity) / epsilon) * (spread * _ROUNDED_UP + 2.0**-40)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlip:
    """Permute-and-flip: never worse than the exponential mechanism at the same pure epsilon.

    A price in rho buys epsilon = sqrt(2 rho): its draws are not bounded in range.

    >>> PermuteAndFlip().event(Price(epsilon=Fraction(1, 2)))
    PermuteAndFlipEvent(epsilon=Fraction(1, 2))

    References:
        McKenna and Sheldon 2020.
    """

    @property
    def name(self) -> str:
        return "permute-and-flip"

    def mechanism(self, scores: Scores, unit: PrivacyUnit, price: Price) -> PermuteAndFlipChoice:
        return PermuteAndFlipChoice(scores=scores, unit=unit, epsilon=price.pure)

    def event(self, price: Price) -> PermuteAndFlipEvent:
        return PermuteAndFlipEvent(epsilon=price.pure)

    def shortfall(self, candidates: int, sensitivity: int, price: Price, gamma: Fraction) -> float:
        """The exponential mechanism's bound: no shortfall is more probable here than there.

        References:
            McKenna and Sheldon 2020, Theorem 2.
        """
        return selection_shortfall(candidates, sensitivity, price.pure, gamma)


@final
class DistinguisherByCurrency(Struct, frozen=True, kw_only=True):
    """The selection that costs least in the price's currency: permute-and-flip at epsilon, the exponential mechanism,
    whose draws are bounded in range, at rho and at mu^2.

    >>> DistinguisherByCurrency().event(Price(epsilon=Fraction(1, 2)))
    PermuteAndFlipEvent(epsilon=Fraction(1, 2))
    """

    @property
    def name(self) -> str:
        return "permute-and-flip or exponential"

    def mechanism(self, scores: Scores, unit: PrivacyUnit, price: Price) -> Mechanism[Counts, int]:
        return _DISTINGUISHERS[price.currency].mechanism(scores, unit, price)

    def event(self, price: Price) -> PrivacyEvent:
        return _DISTINGUISHERS[price.currency].event(price)

    def shortfall(self, candidates: int, sensitivity: int, price: Price, gamma: Fraction) -> float:
        return _DISTINGUISHERS[price.currency].shortfall(candidates, sensitivity, price, gamma)


_DISTINGUISHERS: Mapping[str, Distinguisher] = {
    "epsilon": PermuteAndFlip(),
    "rho": Exponential(),
    "squared_mu": Exponential(),
}
