"""RoundedGaussian: a normal variable of mean 0, rounded to the nearest integer, drawn exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt, pi, sqrt
from typing import final

import numpy as np

from dpqr.data.arrays import IntArray, WordArray
from dpqr.noise.bits import Bracket, LazyUniform, bernoulli_below, cells_below, kept_draws
from dpqr.noise.discrete_laplace import DiscreteLaplace
from dpqr.noise.exp_bounds import exp_bracket
from dpqr.noise.source import NoiseSource

SMALLEST_VARIANCE = Fraction(1, 64)
LARGEST_VARIANCE = 1 << 100
WORD_BITS = 64
_FLOAT_BITS = 53
_GUARD_BITS = 8
_VANISHING = 745.0
"""exp(-745) is the smallest positive float."""


@final
@dataclass(frozen=True, slots=True)
class RoundedGaussian:
    """Pr[k] = Phi((k + 1/2) / s) - Phi((k - 1/2) / s) with s^2 = variance.

    variance: of the normal variable before it is rounded, in squared grid units, any rational from 1/64 to 2^100.

    Privacy:
        For an integer x and a normal N, x + round(N) = round(x + N) (but for ties, which have probability 0). So
        integers plus this noise are a function of the same integers plus normal noise, and whatever is proved for the
        Gaussian mechanism holds: the exact curve of Balle and Wang 2018, Theorem 8, and D^2 / (2 variance)-zCDP (Bun
        and Steinke 2016, Proposition 1.6) at L2 sensitivity D. The law is exact: no floating-point rounding reaches a
        draw.

    >>> round(RoundedGaussian(Fraction(4)).deviation, 3)
    2.021
    """

    variance: Fraction

    def __post_init__(self) -> None:
        if not SMALLEST_VARIANCE <= self.variance <= LARGEST_VARIANCE:
            raise ValueError("the variance of rounded Gaussian noise must lie between 1/64 and 2^100")

    @property
    def deviation(self) -> float:
        """Standard deviation of a draw, to 10 digits: nearly sqrt(variance + 1/12).

        By Poisson summation the second moment is v + 1/12 + sum over m >= 1 of
        4 (-1)^m (v + 1 / (4 pi^2 m^2)) exp(-2 pi^2 m^2 v).
        """
        variance = float(self.variance)
        orders = np.arange(1, int(sqrt(_VANISHING / (2 * pi**2 * variance))) + 1, dtype=np.float64)
        waves = (variance + 1 / (2 * pi * orders) ** 2) * np.exp(-2 * (pi * orders) ** 2 * variance)
        signs = 1 - 2 * (orders % 2)
        return sqrt(variance + 1 / 12 + 4 * float((signs * waves).sum()))

    def sample(self, count: int, noise: NoiseSource) -> IntArray:
        """`count` exact independent draws, int64, shape (count,).

        Rejection: an integer k of the discrete Laplace law of scale t = floor(s) + 1 is proposed, and with it a
        uniform real place in its cell [k - 1/2, k + 1/2), of distance y from 0 (`Cells`). Both are kept with
        probability exp(-x), where exp(-|k| / t) exp(-x) is exp(-y^2 / (2 v)) times a constant; so a place that is
        kept is normal, and k is that place rounded. About three in four are kept where s is large.
        """
        return kept_draws(count, lambda proposals: self._propose(proposals, noise))

    def _propose(self, count: int, noise: NoiseSource) -> IntArray:
        cells = _cells(self.variance)
        proposals = cells.law.sample(count, noise)
        sizes, words = np.abs(proposals), noise.words(count)

        def threshold(i: int) -> Bracket:
            return cells.share_kept(int(sizes[i]), LazyUniform(noise, int(words[i]), WORD_BITS))

        return proposals[bernoulli_below(cells.of(sizes, words), threshold, noise)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Places in the cells of integers, for one public variance v, kept with probability exp(-x).

    A place is given by its integer's size k >= 0 and a uniform u in [0, 1): with r = u, for k = 0 by symmetry
    r = (1 + u) / 2, its distance from 0 is y = k - 1/2 + r >= 0. Then

        x = (y - v / t)^2 / (2 v) + r / t = y^2 / (2 v) - k / t + v / (2 t^2) + 1 / (2 t),

    never negative by the first form, and with the slope y / v in y, so rising in u.
    law: discrete Laplace of scale t. centre: v / t, unit: 1 / sqrt(2 v), rate: 1 / t, as floats.
    """

    variance: Fraction
    law: DiscreteLaplace
    centre: float
    unit: float
    rate: float

    def exponent(self, size: int, uniform: Fraction) -> Fraction:
        """x at one u, exact."""
        rest = uniform if size else (1 + uniform) / 2
        scale = self.law.scale
        return (size - Fraction(1, 2) + rest - self.variance / scale) ** 2 / (2 * self.variance) + rest / scale

    def share_kept(self, size: int, uniform: LazyUniform) -> Bracket:
        """Bracket of exp(-x) at a u of which more and more bits are drawn: x rises in u."""

        def bracket(precision: int) -> tuple[int, int]:
            bits = precision + _GUARD_BITS
            start = uniform.prefix(bits)
            near, far = (self.exponent(size, Fraction(place, 1 << bits)) for place in (start, start + 1))
            return exp_bracket(far, precision)[0], exp_bracket(near, precision)[1]

        return bracket

    def of(self, sizes: IntArray, words: WordArray) -> IntArray:
        """Return the cells of x for `bernoulli_below`. words: the first 64 bits of each u.

        The float u has an error below 2^-52 and z = (y - centre) unit one below 2^-46 (1 + |z|), v being at least 1/64;
        so for x < 46 the error of 2^14 x is below 2^-24, far below the half cell that is subtracted: the cell is at
        most 2^14 x, and within 2 of it. A larger x stays above 45 and goes to the last cell.
        """
        rest = (words >> np.uint64(WORD_BITS - _FLOAT_BITS)).astype(np.float64)
        rest *= 2.0**-_FLOAT_BITS
        rest[sizes == 0] = (1 + rest[sizes == 0]) / 2
        shifted = (sizes - 0.5 + rest - self.centre) * self.unit
        shifted *= shifted
        shifted += rest * self.rate
        return cells_below(shifted)


@lru_cache(maxsize=64)
def _cells(variance: Fraction) -> Cells:
    scale = isqrt(int(variance)) + 1
    return Cells(
        variance=variance,
        law=DiscreteLaplace(Fraction(scale)),
        centre=float(variance / scale),
        unit=1 / sqrt(2 * variance),
        rate=1 / scale,
    )
