"""SphericalLaplace: a vector whose density falls with its Euclidean norm, rounded to integers, drawn exactly.

A vector of density proportional to exp(-||z||_2 / scale) is scale R N / ||N||: N normal in every coordinate, so N /
||N|| is uniform on the sphere, and R a sum of `width` exponential variables of mean 1, independent of N. (The norm's
density is proportional to r^(width - 1) exp(-r / scale), that of scale R.) All of these are real numbers whose bits
are drawn as they are needed: integer bounds of each coordinate are refined until both round to the same integer.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import count
from math import isqrt, sqrt
from typing import final

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import IntArray
from dpqr.kernel.noise.bits import LazyUniform, exp_bracket, exp_of_uniform
from dpqr.kernel.noise.gaussian import WORD_BITS, RealNormal, real_normals
from dpqr.kernel.noise.source import NoiseSource

LARGEST_SCALE = 1 << 46
"""Pr[R > 2^15] is below exp(-10,000) for up to MOST_COORDINATES coordinates, so a draw stays within int64."""
MOST_COORDINATES = 2**12


class RealExponential(Struct, frozen=True, kw_only=True):
    """An exponential variable of mean 1: its whole part, and the rest in [0, 1)."""

    whole: int
    rest: LazyUniform

    def prefix(self, bits: int) -> int:
        """Return floor(2^bits E)."""
        return (self.whole << bits) + self.rest.prefix(bits)


def real_exponential(noise: NoiseSource) -> RealExponential:
    """Draw one, exactly.

    Whole part and rest are independent: Pr[whole >= j] = exp(-j), and the rest has the density exp(-u) on [0, 1),
    normalised. It is a uniform u that is kept with probability exp(-u); the bits of u that this decision did not need
    stay uniform.
    """
    while True:
        rest = LazyUniform(noise)
        if LazyUniform(noise).below(partial(exp_of_uniform, Fraction, rest)):
            break
    whole = 0
    while LazyUniform(noise).below(partial(exp_bracket, Fraction(1))):
        whole += 1
    return RealExponential(whole=whole, rest=rest)


@final
class SphericalLaplace(Struct, frozen=True):
    """Pr[k] = the integral of exp(-||z||_2 / scale) over the unit cube around k, normalised.

    scale: in grid units, any positive rational up to 2^46; width: number of coordinates.

    Privacy:
        For an integer vector x, x + round(Z) = round(x + Z) (but for ties, which have probability 0), a function of the
        K-norm mechanism of the Euclidean ball: the density at any point changes by a factor of at most
        exp(||x - x'||_2 / scale), by the triangle inequality. So it is (D / scale)-DP at L2 sensitivity D (Chaudhuri,
        Monteleoni and Sarwate 2011, Theorem 6; Hardt and Talwar 2010). The law is exact: no floating-point rounding
        reaches a draw.
        Statement P25 of the guide's topic proofs.

    >>> round(SphericalLaplace(Fraction(2), 3).deviation, 3)
    4.01
    """

    scale: Fraction
    width: int

    def __post_init__(self) -> None:
        if not 0 < self.scale <= LARGEST_SCALE:
            raise ValueError("the scale of spherical Laplace noise must be positive and at most 2^46")
        if not 1 <= self.width <= MOST_COORDINATES:
            raise ValueError("spherical Laplace noise has 1 to 2^12 coordinates")

    @property
    def deviation(self) -> float:
        """Of one coordinate: E R^2 = width (width + 1), divided among the coordinates; 1/12 for the rounding."""
        return sqrt(float(self.scale) ** 2 * (self.width + 1) + 1 / 12)

    def sample(self, noise: NoiseSource) -> IntArray:
        """One exact draw, int64, shape (width,)."""
        normals = real_normals(self.width, noise)
        lengths = [real_exponential(noise) for _ in range(self.width)]
        first = WORD_BITS + self.width.bit_length()
        for bits in (first << doubling for doubling in count()):
            found = self._rounded(normals, lengths, bits)
            if found is not None:
                return np.array(found, dtype=np.int64)
        raise AssertionError("unreachable")

    def _rounded(self, normals: list[RealNormal], lengths: list[RealExponential], bits: int) -> list[int] | None:
        """The rounded coordinates by `bits` bits of every number; None: these do not decide all of them.

        With integers a <= 2^bits |N_i| <= a + 1 and r <= 2^bits R <= r + width, the norm of 2^bits N lies between
        floor(sqrt(sum a^2)) and floor(sqrt(sum (a + 1)^2)) + 1.
        """
        sizes = [normal.size(bits) for normal in normals]
        radius = sum(length.prefix(bits) for length in lengths)
        least, most = isqrt(sum(size**2 for size in sizes)), isqrt(sum((size + 1) ** 2 for size in sizes)) + 1
        if least == 0:
            return None
        low = self.scale * radius / (most << bits)
        high = self.scale * (radius + self.width) / (least << bits)
        found = []
        for normal, size in zip(normals, sizes, strict=True):
            near, far = round_half_up(low * size), round_half_up(high * (size + 1))
            if near != far:
                return None
            found.append(-near if normal.negative else near)
        return found


def round_half_up(value: Fraction) -> int:
    """The nearest integer.

    >>> round_half_up(Fraction(5, 2))
    3
    """
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)
