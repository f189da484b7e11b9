"""Price: what one draw may cost, in the currency of the accountant that cut the budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

ROOT_BITS = 96


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Either pure epsilon, or zero-concentrated rho. Exactly one of the two is set; both are exact.

    A draw asks for the figure that its own law needs and gets one that costs at most this price:
    `pure`: epsilon of a mechanism of which only eps-DP is known (rho = eps^2 / 2);
    `bounded_range`: epsilon of the exponential mechanism (rho = eps^2 / 8, Cesar and Rogers 2021).
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None

    @property
    def pure(self) -> Fraction:
        return self.epsilon if self.epsilon is not None else root_below(2 * self._concentrated)

    @property
    def bounded_range(self) -> Fraction:
        return self.epsilon if self.epsilon is not None else root_below(8 * self._concentrated)

    @property
    def concentrated(self) -> Fraction:
        """rho for a Gaussian; a pure price has none (InternalError would be a planning fault)."""
        return self._concentrated

    @property
    def _concentrated(self) -> Fraction:
        if self.rho is None:
            raise ValueError("a pure price buys no Gaussian noise")
        return self.rho


def root_below(value: Fraction) -> Fraction:
    """A rational at most sqrt(value), short of it by a relative 2^-48 or less."""
    if value == 0:
        return Fraction(0)
    shift = ROOT_BITS + max(0, value.denominator.bit_length() - value.numerator.bit_length())
    shift += shift % 2
    scaled = (value.numerator << shift) // value.denominator
    return Fraction(isqrt(scaled), 1 << (shift // 2))
