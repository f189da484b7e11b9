"""Geometric: whole numbers from 0 on with Pr[k] proportional to exp(-k / scale), drawn exactly; one-sided noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, expm1, log
from typing import final

from dpqr.data.arrays import IntArray
from dpqr.noise.discrete_laplace import LARGEST_SCALE, geometric_parts
from dpqr.noise.source import NoiseSource

_MARGIN = 1 + 2.0**-20
"""Covers the floating-point evaluation of a tail."""


@final
@dataclass(frozen=True, slots=True)
class Geometric:
    """Pr[k] = (1 - q) q^k for k = 0, 1, ..., with q = exp(-1 / scale).

    scale: in grid units, any positive rational up to 2^52.

    Privacy:
        Pr[draw >= t] = q^k, k the smallest whole number of at least t and 0. So for any real t and any whole number
        m >= 0, Pr[draw >= t] <= exp(m / scale) Pr[draw >= t + m], and Pr[draw = k] = exp(m / scale) Pr[draw = k + m].
        The law is exact: no floating-point rounding reaches a draw.

    >>> law = Geometric(Fraction(2))
    >>> round(law.mean, 3), law.tail(0.05)
    (1.541, 5)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.scale <= LARGEST_SCALE:
            raise ValueError("the scale of geometric noise must be positive and at most 2^52")

    @property
    def mean(self) -> float:
        """q / (1 - q)."""
        rate = min(1 / float(self.scale), 700.0)
        return exp(-rate) / -expm1(-rate)

    def tail(self, beta: float) -> int:
        """Return a k >= 0 with Pr[draw > k] = exp(-(k + 1) / scale) <= beta; the smallest but for rounding, beta > 0.

        Raises:
            ValueError: beta is not positive.
        """
        if not beta > 0:
            raise ValueError("a tail needs a probability beta > 0")
        return max(0, ceil(-log(min(beta, 1.0)) * float(self.scale) * _MARGIN) - 1)

    def sample(self, count: int, noise: NoiseSource) -> IntArray:
        """`count` exact independent draws, int64, shape (count,)."""
        return geometric_parts(self.scale).sample(count, noise)
