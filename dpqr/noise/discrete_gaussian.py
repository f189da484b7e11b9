"""DiscreteGaussian: integers with Pr[k] proportional to exp(-k^2 / (2 variance)), drawn exactly."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, erfc, exp, isqrt, log, pi, sqrt
from typing import final

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.noise.bits import bernoulli_exp, cells_below, kept_draws
from dpqr.noise.discrete_laplace import DiscreteLaplace
from dpqr.noise.law import chernoff
from dpqr.noise.source import NoiseSource

LARGEST_VARIANCE = 1 << 100
SUMMED_VARIANCE = 1 << 16
"""Up to this variance the public figures are summed term by term; beyond, bounds that are sharp there serve."""

_LEAST_BETA = 1e-290
REACH = 40
MARGIN = 1 + 2.0**-20


@final
@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """The discrete Gaussian law of Canonne, Kamath and Steinke (2020).

    variance: its parameter, in squared grid units, any positive rational up to 2^100 (the law's own variance is at
    most that, and equal to it within 10^-6 from 1 on).

    Privacy:
        Added to integers of L2 sensitivity D it is D^2 / (2 variance)-zCDP: Canonne, Kamath and Steinke 2020, Theorem
        4, for each coordinate; independent coordinates add up to the squared L2 distance. The law is exact: no
        floating-point rounding reaches a draw.

    >>> law = DiscreteGaussian(Fraction(4))
    >>> round(law.deviation, 3), law.tail(0.05)
    (2.0, 4)
    """

    variance: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.variance <= LARGEST_VARIANCE:
            raise ValueError("the variance of discrete Gaussian noise must be positive and at most 2^100")

    @property
    def deviation(self) -> float:
        """sqrt(sum of k^2 Pr[k]); beyond SUMMED_VARIANCE it is sqrt(variance) to all digits (Poisson summation)."""
        if self.variance > SUMMED_VARIANCE:
            return sqrt(self.variance)
        weights = self._weights()
        sizes = np.arange(1, len(weights) + 1)
        return sqrt(2 * float(weights @ sizes**2) / (1 + 2 * float(weights.sum())))

    @property
    def mean_size(self) -> float:
        """Sum of |k| Pr[k]; beyond SUMMED_VARIANCE by Euler and Maclaurin: 2 (v - 1/12) / sqrt(2 pi v)."""
        if self.variance > SUMMED_VARIANCE:
            variance = float(self.variance)
            return 2 * (variance - 1 / 12) / sqrt(2 * pi * variance)
        weights = self._weights()
        sizes = np.arange(1, len(weights) + 1)
        return 2 * float(weights @ sizes) / (1 + 2 * float(weights.sum()))

    def tail(self, beta: float) -> int:
        """Return the smallest k >= 0 with Pr[|draw| > k] <= beta (1e-290 <= beta) that floats and a bound prove.

        Up to SUMMED_VARIANCE the tail is summed. Beyond: the normaliser is at least sqrt(2 pi v) (Poisson summation),
        and f(x) = exp(-x^2 / (2 v)) is convex from sqrt(v) on, where f(j) is at most its integral over j +- 1/2, so
        Pr[|draw| > k] <= erfc((k + 1/2) / sqrt(2 v)) if k + 1/2 >= sqrt(v); below, f falls and k serves for k + 1/2.
        Both are raised by 2^-20 for the arithmetic, to the safe side.
        """
        check_beta(beta)
        if self.variance > SUMMED_VARIANCE:
            reach = ceil(REACH * sqrt(self.variance))
            return bisect_left(range(reach), True, key=lambda k: self._tail_bound(k) <= beta)
        weights = self._weights()
        beyond = np.cumsum(weights[::-1])[::-1] * 2 / (1 + 2 * weights.sum()) * MARGIN
        return int(np.count_nonzero(beyond > beta))

    def sum_tail(self, draws: int, beta: float) -> float:
        """Chernoff's bound (`chernoff`) for a sum of |draw|, or draws * tail(beta / draws) where that is smaller.

        Up to SUMMED_VARIANCE, E exp(t |draw|) is summed. Beyond, |draw| is at most |N| + 1 in distribution for a
        normal N of the same variance: sum_{j>k} f(j) is at most the integral of f from k on and the normaliser at
        least sqrt(2 pi v), so Pr[|draw| >= k + 1] <= Pr[|N| >= k]; and E exp(t |N|) =
        exp(t^2 v / 2) erfc(-t sqrt(v / 2)). The alternative is the union bound over the draws.
        """
        check_beta(beta)
        if draws == 0 or beta >= 1:
            return 0.0
        together = float(draws * self.tail(beta / draws))
        limit = 2 * REACH / sqrt(self.variance) + 2 / float(self.variance)
        if self.variance > SUMMED_VARIANCE:
            return min(together, draws + chernoff(partial(normal_log_moment, self.variance), limit, draws, beta))
        return min(together, chernoff(self._log_moment, limit, draws, beta))

    def weighted_tail(self, beta: float) -> float:
        """sqrt(2 v log(2 / beta)), the bound of normal noise of variance v: 2.72 deviations at beta 0.05.

        E exp(t k) = exp(t^2 v / 2) sum_k exp(-(k - t v)^2 / (2 v)) / sum_k exp(-k^2 / (2 v)), and of all shifts the
        centred sum is the largest (its Fourier coefficients are positive), so E exp(t k) <= exp(t^2 v / 2); products
        over independent draws and Chernoff's bound on both sides give the figure.
        """
        check_beta(beta)
        return sqrt(2 * float(self.variance) * log(2 / min(beta, 1.0))) * MARGIN

    def sample(self, count: int, noise: NoiseSource) -> IntArray:
        """`count` exact independent draws, int64, shape (count,).

        Rejection from the discrete Laplace law of scale t = floor(sqrt(v)) + 1 (Canonne, Kamath and Steinke 2020,
        Algorithm 3): y is kept with probability exp(-(|y| - v / t)^2 / (2 v)), whose product with exp(-|y| / t) is
        exp(-y^2 / (2 v)) times a constant. Between 0.4 and 0.8 of the proposals are kept.
        """
        return kept_draws(count, lambda proposals: self._propose(proposals, noise))

    def _propose(self, count: int, noise: NoiseSource) -> IntArray:
        envelope = _envelope(self.variance)
        proposals = envelope.law.sample(count, noise)
        sizes = np.abs(proposals)
        kept = bernoulli_exp(envelope.cells(sizes), lambda i: envelope.exponent(int(sizes[i])), noise)
        return proposals[kept]

    def _weights(self) -> FloatArray:
        """exp(-k^2 / (2 v)) for k = 1 .. reach; what is left out is below 1e-300 of the whole."""
        sizes = np.arange(1, ceil(REACH * sqrt(self.variance)) + 2, dtype=np.float64)
        return np.exp(sizes**2 / (-2 * float(self.variance)))

    def _tail_bound(self, k: int) -> float:
        deviation = sqrt(self.variance)
        start = k + 0.5 if k + 0.5 >= deviation else float(k)
        return erfc(start / (sqrt(2) * deviation)) * MARGIN

    def _log_moment(self, point: float) -> float:
        variance = float(self.variance)
        sizes = np.arange(1, ceil(point * variance + REACH * sqrt(variance)) + 2, dtype=np.float64)
        exponents = point * sizes - sizes**2 / (2 * variance)
        peak = max(0.0, float(exponents.max()))
        grown = exp(-peak) + 2 * float(np.exp(exponents - peak).sum())
        return peak + log(grown) - log(1 + 2 * float(self._weights().sum()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """The proposals of one public variance v: discrete Laplace of scale t, kept with probability exp(-x).

    x = (size - v / t)^2 / (2 v); centre: v / t and unit: 1 / sqrt(2 v), as floats.
    """

    variance: Fraction
    law: DiscreteLaplace
    centre: float
    unit: float

    def exponent(self, size: int) -> Fraction:
        return (size - self.variance / self.law.scale) ** 2 / (2 * self.variance)

    def cells(self, sizes: IntArray) -> IntArray:
        """Return the cells of x for `bernoulli_exp`.

        The float z = (size - centre) unit has an error below 2^-48 (1 + |z|), so for x < 46 that of 2^14 x is below
        2^-26, far below the half cell that is subtracted: the cell is at most 2^14 x, and within 2 of it. A larger x
        stays above 45 and goes to the last cell.
        """
        shifted: FloatArray = np.subtract(sizes, self.centre, dtype=np.float64)
        shifted *= self.unit
        shifted *= shifted
        return cells_below(shifted)


@lru_cache(maxsize=64)
def _envelope(variance: Fraction) -> Envelope:
    scale = isqrt(int(variance)) + 1
    return Envelope(
        variance=variance,
        law=DiscreteLaplace(Fraction(scale)),
        centre=float(variance / scale),
        unit=1 / sqrt(2 * variance),
    )


def normal_log_moment(variance: Fraction, point: float) -> float:
    """Return ln E exp(point |N|) for a normal N of mean 0."""
    step = point * sqrt(variance)
    return step * step / 2 + log(erfc(-step / sqrt(2)))


def check_beta(beta: float) -> None:
    """Raise ValueError for a probability that no tail is computed for."""
    if not beta >= _LEAST_BETA:
        raise ValueError("a tail of Gaussian noise needs a probability beta of at least 1e-290")
