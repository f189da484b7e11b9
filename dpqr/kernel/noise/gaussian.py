"""DiscreteGaussian: integers with Pr[k] proportional to exp(-k^2 / (2 variance)), drawn exactly."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, erfc, exp, expm1, isqrt, log, pi, sqrt
from typing import final

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray, IntArray, WordArray
from dpqr.kernel.noise.bits import (
    Bracket,
    LazyUniform,
    bernoulli_below,
    bernoulli_exp,
    cells_below,
    draw_by_rejection,
    exp_of_uniform,
    random_bits,
)
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.law import chernoff
from dpqr.kernel.noise.source import NoiseSource

LARGEST_VARIANCE = 1 << 100
SUMMED_VARIANCE = 1 << 16
"""Up to this variance the public figures are summed term by term; beyond, bounds that are sharp there serve."""

_LEAST_BETA = 1e-290
TAIL_DEVIATIONS = 40
MARGIN = 1 + 2.0**-20


@final
class DiscreteGaussian(Struct, frozen=True):
    """The discrete Gaussian law of Canonne, Kamath and Steinke (2020).

    variance: its parameter, in squared grid units, any positive rational up to 2^100 (the law's own variance is at
    most that, and equal to it within 10^-6 from 1 on).

    Privacy:
        Added to integers of L2 sensitivity D it is D^2 / (2 variance)-zCDP: Canonne, Kamath and Steinke 2020, Theorem
        4, for each coordinate; independent coordinates add up to the squared L2 distance. The law is exact: no
        floating-point rounding reaches a draw.
        Statement P23 of the guide's topic proofs.

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
            reach = ceil(TAIL_DEVIATIONS * sqrt(self.variance))
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
        return _sum_tail(self, 1.0, draws, beta)

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
        return draw_by_rejection(count, lambda proposals: self._propose(proposals, noise))

    def _propose(self, count: int, noise: NoiseSource) -> IntArray:
        envelope = _envelope(self.variance)
        proposals = envelope.law.sample(count, noise)
        sizes = np.abs(proposals)
        kept = bernoulli_exp(envelope.cells(sizes), lambda i: envelope.exponent(int(sizes[i])), noise)
        return proposals[kept]

    def _weights(self) -> FloatArray:
        """exp(-k^2 / (2 v)) for k = 1 .. reach; what is left out is below 1e-300 of the whole."""
        sizes = np.arange(1, ceil(TAIL_DEVIATIONS * sqrt(self.variance)) + 2, dtype=np.float64)
        return np.exp(sizes**2 / (-2 * float(self.variance)))

    def _tail_bound(self, k: int) -> float:
        deviation = sqrt(self.variance)
        start = k + 0.5 if k + 0.5 >= deviation else float(k)
        return erfc(start / (sqrt(2) * deviation)) * MARGIN

    def _log_moment(self, point: float) -> float:
        variance = float(self.variance)
        sizes = np.arange(1, ceil(point * variance + TAIL_DEVIATIONS * sqrt(variance)) + 2, dtype=np.float64)
        exponents = point * sizes - sizes**2 / (2 * variance)
        peak = max(0.0, float(exponents.max()))
        grown = exp(-peak) + 2 * float(np.exp(exponents - peak).sum())
        return peak + log(grown) - log(1 + 2 * float(self._weights().sum()))


class LaplaceEnvelope(Struct, frozen=True, kw_only=True):
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
def _envelope(variance: Fraction) -> LaplaceEnvelope:
    scale = isqrt(int(variance)) + 1
    return LaplaceEnvelope(
        variance=variance,
        law=DiscreteLaplace(Fraction(scale)),
        centre=float(variance / scale),
        unit=1 / sqrt(2 * variance),
    )


def normal_log_moment(variance: Fraction, point: float) -> float:
    """Return ln E exp(point |N|) for a normal N of mean 0."""
    step = point * sqrt(variance)
    return step * step / 2 + log(erfc(-step / sqrt(2)))


@lru_cache(maxsize=2**10)
def _sum_tail(law: DiscreteGaussian | RoundedGaussian, excess: float, draws: int, beta: float) -> float:
    """Kept, for thousands of blocks ask for the same few.

    excess: beyond SUMMED_VARIANCE |draw| is at most |N| + excess in distribution, N normal of the same variance.
    """
    check_beta(beta)
    if draws == 0 or beta >= 1:
        return 0.0
    together = float(draws * law.tail(beta / draws))
    limit = 2 * TAIL_DEVIATIONS / sqrt(law.variance) + 2 / float(law.variance)
    if law.variance > SUMMED_VARIANCE:
        normal = partial(normal_log_moment, law.variance)
        return min(together, draws * excess + chernoff(normal, limit, draws, beta))
    return min(together, chernoff(law._log_moment, limit, draws, beta))


def check_beta(beta: float) -> None:
    """Raise ValueError for a probability that no tail is computed for."""
    if not beta >= _LEAST_BETA:
        raise ValueError("a tail of Gaussian noise needs a probability beta of at least 1e-290")


# RoundedGaussian: a normal variable of mean 0, rounded to the nearest integer, drawn exactly.

SMALLEST_VARIANCE = Fraction(1, 64)
LARGEST_ROUNDED_VARIANCE = 1 << 100
WORD_BITS = 64
_FLOAT_BITS = 53
_VANISHING = 745.0
"""exp(-745) is the smallest positive float."""


@final
class RoundedGaussian(Struct, frozen=True):
    """Pr[k] = Phi((k + 1/2) / s) - Phi((k - 1/2) / s) with s^2 = variance.

    variance: of the normal variable before it is rounded, in squared grid units, any rational from 1/64 to 2^100.

    Privacy:
        For an integer x and a normal N, x + round(N) = round(x + N) (but for ties, which have probability 0). So
        integers plus this noise are a function of the same integers plus normal noise, and whatever is proved for the
        Gaussian mechanism holds: the exact curve of Balle and Wang 2018, Theorem 8, and D^2 / (2 variance)-zCDP (Bun
        and Steinke 2016, Proposition 1.6) at L2 sensitivity D. The law is exact: no floating-point rounding reaches a
        draw.
        Statement P24 of the guide's topic proofs.

    >>> round(RoundedGaussian(Fraction(4)).deviation, 3)
    2.021
    """

    variance: Fraction

    def __post_init__(self) -> None:
        if not SMALLEST_VARIANCE <= self.variance <= LARGEST_ROUNDED_VARIANCE:
            raise ValueError("the variance of rounded Gaussian noise must lie between 1/64 and 2^100")

    @property
    def deviation(self) -> float:
        """Standard deviation of a draw, to 10 digits: nearly sqrt(variance + 1/12).

        By Poisson summation the second moment is v + 1/12 + sum over m >= 1 of
        4 (-1)^m (v + 1 / (4 pi^2 m^2)) exp(-2 pi^2 m^2 v). Above v = 4 that sum is below 2^-100.
        """
        if self.variance > 4:
            return sqrt(float(self.variance) + 1 / 12)
        orders, waves = self._waves()
        signs = 1 - 2 * (orders % 2)
        return sqrt(float(self.variance) + 1 / 12 + 4 * float((signs * waves).sum()))

    @property
    def mean_size(self) -> float:
        """Sum of Pr[|draw| > k], k >= 0; beyond SUMMED_VARIANCE Euler and Maclaurin's s sqrt(2 / pi) (1 - 1 / 24 v)."""
        if self.variance > SUMMED_VARIANCE:
            return sqrt(2 * self.variance / pi) * (1 - 1 / (24 * float(self.variance)))
        return float(np.exp(self._log_tails()).sum())

    def tail(self, beta: float) -> int:
        """Return the smallest k >= 0 with Pr[|draw| > k] = erfc((k + 1/2) / (s sqrt 2)) <= beta (1e-290 <= beta), the
        figure being raised by 2^-20 for the arithmetic."""
        check_beta(beta)
        narrow = 1 / sqrt(2 * self.variance)
        sizes = range(ceil(TAIL_DEVIATIONS * sqrt(self.variance)) + 1)
        return bisect_left(sizes, True, key=lambda k: erfc((k + 0.5) * narrow) * MARGIN <= beta)

    def sum_tail(self, draws: int, beta: float) -> float:
        """Chernoff's bound (`chernoff`) for a sum of |draw|, or draws * tail(beta / draws) where that is smaller.

        Up to SUMMED_VARIANCE, E exp(t |draw|) is summed. Beyond, |draw| is at most |N| + 1/2 for the normal N.
        """
        return _sum_tail(self, 0.5, draws, beta)

    def weighted_tail(self, beta: float) -> float:
        """sqrt(2 w log(2 / beta)) with w = v + 1/12 + sum over m >= 1 of 4 (v + 1 / (4 pi^2 m^2)) exp(-2 pi^2 m^2 v).

        *Proof.* The draw's law is the density of N + U, U uniform on [-1/2, 1/2], at the integers. By Poisson summation
        E exp(t k) is the sum over all integers m of F(t + 2 pi i m), F(z) = exp(v z^2 / 2) sinh(z / 2) / (z / 2). At
        m = 0 it is at most exp(t^2 (v + 1/12) / 2). m and -m together are exp(v t^2 / 2) sinh(t / 2) times at most
        exp(-2 pi^2 m^2 v) 2 ((t / 2) |cos x| + pi m |sin x|) / (t^2 / 4 + pi^2 m^2), x = 2 pi m v t, and |sin x| <= x:
        at most (2 / t) t^2 exp(-2 pi^2 m^2 v) (1 / (2 pi^2 m^2) + 2 v). So E exp(t k) <= exp(t^2 (v + 1/12) / 2) (1 +
        t^2 (w - v - 1/12) / 2) <= exp(t^2 w / 2); products over independent draws and Chernoff's bound on both sides.
        """
        check_beta(beta)
        width = float(self.variance) + 1 / 12 + 4 * float(self._waves()[1].sum())
        return sqrt(2 * width * log(2 / min(beta, 1.0))) * MARGIN

    def sample(self, count: int, noise: NoiseSource) -> IntArray:
        """`count` exact independent draws, int64, shape (count,).

        Rejection: an integer k of the discrete Laplace law of scale t = floor(s) + 1 is proposed, and with it a
        uniform real place in its cell [k - 1/2, k + 1/2), of distance y from 0 (`CellEnvelope`). Both are kept with
        probability exp(-x), where exp(-|k| / t) exp(-x) is exp(-y^2 / (2 v)) times a constant; so a place that is
        kept is normal, and k is that place rounded. About three in four are kept where s is large.
        """
        return draw_by_rejection(count, lambda proposals: self._propose(proposals, noise))

    def _waves(self) -> tuple[FloatArray, FloatArray]:
        """m = 1, 2, .. and (v + 1 / (4 pi^2 m^2)) exp(-2 pi^2 m^2 v)."""
        variance = float(self.variance)
        orders = np.arange(1, int(sqrt(_VANISHING / (2 * pi**2 * variance))) + 1, dtype=np.float64)
        return orders, (variance + 1 / (2 * pi * orders) ** 2) * np.exp(-2 * (pi * orders) ** 2 * variance)

    def _log_tails(self, point: float = 0.0) -> FloatArray:
        """ln Pr[|draw| > k] for k = 0 .. reach of exp(point |draw|); what is left out is below 1e-300 of the whole."""
        from scipy.special import log_ndtr

        reach = ceil(point * float(self.variance) + TAIL_DEVIATIONS * sqrt(self.variance)) + 1
        tails: FloatArray = log(2) + log_ndtr(-(np.arange(reach) + 0.5) / sqrt(self.variance))
        return tails

    def _log_moment(self, point: float) -> float:
        """ln E exp(t |draw|) = ln(1 + (e^t - 1) sum over k of e^(t k) Pr[|draw| > k]), by parts."""
        tails = self._log_tails(point)
        exponents = tails + point * np.arange(tails.size)
        peak = float(exponents.max())
        grown = log(expm1(point)) + peak + log(float(np.exp(exponents - peak).sum()))
        return float(np.logaddexp(0.0, grown))

    def _propose(self, count: int, noise: NoiseSource) -> IntArray:
        cells = _cells(self.variance)
        proposals = cells.law.sample(count, noise)
        sizes, words = np.abs(proposals), noise.words(count)

        def threshold(i: int) -> Bracket:
            return cells.share_kept(int(sizes[i]), LazyUniform(noise, int(words[i]), WORD_BITS))

        return proposals[bernoulli_below(cells.of(sizes, words), threshold, noise)]


class CellEnvelope(Struct, frozen=True, kw_only=True):
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
        """Bracket of exp(-x) at this u."""
        return partial(exp_of_uniform, partial(self.exponent, size), uniform)

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
def _cells(variance: Fraction) -> CellEnvelope:
    scale = isqrt(int(variance)) + 1
    return CellEnvelope(
        variance=variance,
        law=DiscreteLaplace(Fraction(scale)),
        centre=float(variance / scale),
        unit=1 / sqrt(2 * variance),
        rate=1 / scale,
    )


class RealNormal(Struct, frozen=True, kw_only=True):
    """A normal variable of mean 0 and variance 1 whose bits are drawn as they are needed.

    cell: the nearest integer to its absolute value. rest: its place in the cell, from the lower end on; in the cell of
    0, its absolute value times 2.
    """

    negative: bool
    cell: int
    rest: LazyUniform

    def size(self, bits: int) -> int:
        """Return floor(2^bits |N|), bits at least 1."""
        if self.cell == 0:
            return self.rest.prefix(bits - 1)
        return ((2 * self.cell - 1) << (bits - 1)) + self.rest.prefix(bits)


def real_normals(count: int, noise: NoiseSource) -> list[RealNormal]:
    """Draw `count` independent ones, exactly: the places that `RoundedGaussian.sample` keeps.

    Whether a place is kept depends on the bits of its uniform number that were drawn for this, so the others stay
    uniform.
    """
    found = list[RealNormal]()
    while len(found) < count:
        found += _kept_normals(2 * (count - len(found)) + 8, noise)
    return found[:count]


def _kept_normals(count: int, noise: NoiseSource) -> list[RealNormal]:
    """Those of `count` proposals that are kept."""
    cells = _cells(Fraction(1))
    proposals, words = cells.law.sample(count, noise), noise.words(count)
    sizes, signs = np.abs(proposals), random_bits(1, count, noise)
    places = [LazyUniform(noise, int(word), WORD_BITS) for word in words]
    kept = bernoulli_below(cells.of(sizes, words), lambda i: cells.share_kept(int(sizes[i]), places[i]), noise)
    return [RealNormal(negative=bool(signs[i]), cell=int(sizes[i]), rest=places[i]) for i in kept.nonzero()[0].tolist()]
