"""Price: what one draw may cost, in the currency of the accountant that cut the budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from dpqr.errors import InfeasiblePlan
from dpqr.privacy.events import PrivacyEvent, PureSumEvent, RhoSumEvent

ROOT_BITS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Either pure epsilon, or zero-concentrated rho. Exactly one of the two is set; both are exact and positive.

    A draw asks for the figure that its own law needs and gets one that costs at most this price.
    Errors: InfeasiblePlan for a price that is neither or both, and for rho asked of a pure price.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        stated = [figure for figure in (self.epsilon, self.rho) if figure is not None]
        if len(stated) != 1 or not isinstance(stated[0], Fraction) or stated[0] <= 0:
            raise InfeasiblePlan("a price is one exact positive fraction, of epsilon or of rho")

    def plus(self, other: Price) -> Price:
        """Both together. InfeasiblePlan for prices in two currencies."""
        if self.epsilon is not None and other.epsilon is not None:
            return Price(epsilon=self.epsilon + other.epsilon)
        if self.rho is not None and other.rho is not None:
            return Price(rho=self.rho + other.rho)
        raise InfeasiblePlan("prices in epsilon and in rho do not add up")

    @property
    def event(self) -> PrivacyEvent:
        """Any number of draws that a filter keeps within this price together."""
        return PureSumEvent(epsilon=self.epsilon) if self.epsilon is not None else RhoSumEvent(rho=self.concentrated)

    @property
    def pure(self) -> Fraction:
        """Epsilon of a mechanism of which only eps-DP is known (rho = eps^2 / 2)."""
        return self.epsilon if self.epsilon is not None else root_below(2 * self.concentrated)

    @property
    def bounded_range(self) -> Fraction:
        """Epsilon of the exponential mechanism (rho = eps^2 / 8, Cesar and Rogers 2021)."""
        return self.epsilon if self.epsilon is not None else root_below(8 * self.concentrated)

    @property
    def concentrated(self) -> Fraction:
        """rho of Gaussian noise; a price in pure epsilon buys none."""
        if self.rho is None:
            raise InfeasiblePlan(
                "a price in pure epsilon buys no Gaussian noise; use the zcdp accountant, or the laplace check"
            )
        return self.rho


def root_below(value: Fraction) -> Fraction:
    """A rational at most sqrt(value), short of it by a relative 2^-48 or less; value >= 0.

    value 2^shift is above 2^(ROOT_BITS - 1), so dropping its fraction costs a relative 2^-99, and the integer root,
    at least 2^49, falls short by less than 1.
    """
    if value == 0:
        return Fraction(0)
    shift = ROOT_BITS + max(0, value.denominator.bit_length() - value.numerator.bit_length())
    shift += shift % 2
    scaled = (value.numerator << shift) // value.denominator
    return Fraction(isqrt(scaled), 1 << (shift // 2))
