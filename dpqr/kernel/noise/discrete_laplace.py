"""DiscreteLaplace: integers with Pr[k] proportional to exp(-|k| / scale), drawn exactly from geometric numbers.

A geometric number has Pr[G >= g] = exp(-g / scale). Write G = 2^j V + R, with 2^j chosen so that scale / 2^j <= 32.
Since Pr[G = 2^j v + r] is proportional to exp(-2^j v / scale) exp(-r / scale), the two parts are independent: V is
geometric of scale / 2^j and is read off a table of thresholds; R < 2^j is nearly uniform and is drawn by rejection (at
least 15 of 16 are accepted).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, exp, expm1, log, log1p, sqrt
from typing import final

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import IntArray
from dpqr.kernel.noise.bits import (
    CELL_BITS,
    CHUNK,
    SHORT_BITS,
    DistanceGrid,
    FlagArray,
    HalfArray,
    LazyUniform,
    bernoulli_exp,
    bernoulli_fixed,
    distance_grid,
    exp_bracket,
    leading_bits,
    random_bits,
    random_halves,
    random_shorts,
)
from dpqr.kernel.noise.law import chernoff
from dpqr.kernel.noise.source import NoiseSource

LARGEST_TABLE_SCALE = 32
EDGE_BITS = 32
_WORK_BITS = 128


class GeometricParts(Struct, frozen=True, kw_only=True):
    """The tables that all draws of one public scale share.

    width: j, the number of bits of R. quotient: scale / 2^j, the scale of V. edges: see `geometric_edges`.
    grid: maps r to the cell of r / scale.
    """

    scale: Fraction
    width: int
    quotient: Fraction
    edges: HalfArray
    grid: DistanceGrid

    def sample(self, count: int, noise: NoiseSource) -> IntArray:
        """`count` independent draws, int64, shape (count,)."""
        draws = _quotients(self.quotient, self.edges, count, noise)
        if self.width:
            draws <<= self.width
            draws += _remainders(self, count, noise)
        return draws


@lru_cache(maxsize=64)
def geometric_parts(scale: Fraction) -> GeometricParts:
    """Return the tables for a scale in (0, 2^52]: large enough for every noise, and a draw cannot leave int64."""
    width = (-(-scale // LARGEST_TABLE_SCALE) - 1).bit_length()
    quotient = scale / (1 << width)
    return GeometricParts(
        scale=scale,
        width=width,
        quotient=quotient,
        edges=geometric_edges(quotient),
        grid=distance_grid(1 / scale, CELL_BITS),
    )


def _quotients(scale: Fraction, edges: HalfArray, count: int, noise: NoiseSource) -> IntArray:
    """V = number of j >= 1 with U < exp(-j / scale): then V >= j exactly if U < exp(-j / scale).

    The first 32 bits v of U lie above or below the edges e_j = floor(2^32 exp(-j / scale)), which decides, or on one,
    which does not; then U is compared with further thresholds exactly. The lowest edge is 0, so a v beyond the end of
    the table is undecided too.
    """
    words = random_halves(count, noise)
    reached = edges.searchsorted(words, side="right")
    draws: IntArray = len(edges) - reached
    for i in (edges[reached - 1] == words).nonzero()[0].tolist():
        above, uniform = int(draws[i]), LazyUniform(noise, int(words[i]), EDGE_BITS)
        while uniform.below(partial(exp_bracket, (above + 1) / scale)):
            above += 1
        draws[i] = above
    return draws


def geometric_edges(scale: Fraction) -> HalfArray:
    """Return floor(2^32 exp(-j / scale)) for j = T, ..., 1, ascending, T the first j that gives 0.

    Brackets of exp(-j / scale) grow by multiplication, rounded outwards. Where their floors differ (their width is
    below 2^-110), the edge is computed on its own; exp of a non-zero rational is irrational, so that ends.
    """
    rate = 1 / scale
    ratio_low, ratio_high = exp_bracket(rate, _WORK_BITS)
    low = high = 1 << _WORK_BITS
    edges = [1]
    surplus = _WORK_BITS - EDGE_BITS
    while edges[-1] > 0:
        low = low * ratio_low >> _WORK_BITS
        high = -(-high * ratio_high >> _WORK_BITS)
        edge = low >> surplus
        if edge != high >> surplus:
            edge = leading_bits(partial(exp_bracket, len(edges) * rate), EDGE_BITS)
        edges.append(edge)
    table = np.array(edges[:0:-1], dtype=np.uint32)
    table.flags.writeable = False
    return table


def _remainders(parts: GeometricParts, count: int, noise: NoiseSource) -> IntArray:
    """R in [0, 2^width) with Pr[r] proportional to exp(-r / scale): uniform draws, kept with that probability."""
    draws = _uniform_bits(parts.width, count, noise)
    pending = (~_keep(parts, draws, noise)).nonzero()[0]
    while len(pending):
        proposed = _uniform_bits(parts.width, len(pending), noise)
        draws[pending] = proposed
        pending = pending[~_keep(parts, proposed, noise)]
    return draws


def _keep(parts: GeometricParts, proposed: IntArray, noise: NoiseSource) -> FlagArray:
    cells = parts.grid.cells(proposed.astype(np.uint64))
    return bernoulli_exp(cells, lambda i: int(proposed[i]) / parts.scale, noise)


def _uniform_bits(width: int, count: int, noise: NoiseSource) -> IntArray:
    if width > 16:
        return random_bits(width, count, noise)
    return (random_shorts(count, noise) >> np.uint16(16 - width)).astype(np.int64)


LARGEST_SCALE = 1 << 52
_TAIL_BITS = 128
_MARGIN = 1 + 2.0**-20
_FLAT_RATE = 1000
"""Rates above this act like it in the public figures: exp(-1000) is 0 there anyway."""


@final
class DiscreteLaplace(Struct, frozen=True):
    """The two-sided geometric law; q = exp(-1 / scale), Pr[k] = (1 - q) / (1 + q) q^|k|.

    scale: in grid units, any positive rational up to 2^52 (Pr[|k| >= 2^62] is then below exp(-1000)).

    Privacy:
        Added to integers of L1 sensitivity D it is (D / scale)-DP: the ratio of the probabilities of any output under
        neighbours is at most exp(D / scale) (Ghosh, Roughgarden and Sundararajan 2012, for D = 1; the integer form of
        Dwork and Roth 2014, Theorem 3.6). The law is exact: no floating-point rounding reaches a draw.
        Statement P21 of the guide's topic proofs.

    >>> law = DiscreteLaplace(Fraction(2))
    >>> round(law.deviation, 3), law.tail(0.05)
    (2.799, 6)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.scale <= LARGEST_SCALE:
            raise ValueError("the scale of discrete Laplace noise must be positive and at most 2^52")

    @property
    def deviation(self) -> float:
        """sqrt(2 q) / (1 - q)."""
        rate = self._rate
        return sqrt(2) * exp(-rate / 2) / -expm1(-rate)

    @property
    def mean_size(self) -> float:
        """2 q / (1 - q^2)."""
        return 2 * exp(-self._rate) / -expm1(-2 * self._rate)

    def tail(self, beta: float) -> int:
        """Smallest k >= 0 with Pr[|draw| > k] = 2 q^(k+1) / (1 + q) <= beta, for beta > 0.

        The inequality is decided by integer brackets of q and q^(k+1), so the answer is never too small (and too
        large only if beta meets the tail within a relative 2^-126). Floats only say where the search begins.
        """
        _check_beta(beta)
        k = max(0, ceil(float(self.scale) * log(2 / (beta * (1 + exp(-self._rate))))) - 1)
        while not self._within(k, beta):
            k += 1
        while k > 0 and self._within(k - 1, beta):
            k -= 1
        return k

    def sum_tail(self, draws: int, beta: float) -> float:
        """Chernoff's bound (`chernoff`) for a sum of |draw|, or draws * tail(beta / draws) where that is smaller.

        E exp(t |k|) = (1 - q) / (1 + q) (1 + 2 sum_{k>=1} (q e^t)^k) = (1 - q) (1 + q e^t) / ((1 + q) (1 - q e^t))
        for t < 1 / scale. The alternative is the union bound: all draws are within tail(beta / draws) at once.
        """
        return _laplace_sum_tail(self, draws, beta)

    def weighted_tail(self, beta: float) -> float:
        """The better of the Markov bounds on the second and on the fourth moment of S = sum c_i k_i.

        With cumulants k2 = 2 q / (1 - q)^2 and k4 = 2 q (1 + 4 q + q^2) / (1 - q)^4 of one draw, E S^2 = k2 |c|_2^2 and
        E S^4 = k4 sum c_i^4 + 3 k2^2 |c|_2^4 <= (k4 + 3 k2^2) |c|_2^4, for cumulants of independent draws add up.
        At beta 0.05 and a large scale that is 3.31 deviations. The factor 1 + 2^-20 pays for the arithmetic.
        """
        _check_beta(beta)
        ratio, gap = exp(-self._rate), -expm1(-self._rate)
        second = 2 * ratio / gap**2
        fourth = 2 * ratio * (1 + 4 * ratio + ratio**2) / gap**4 + 3 * second**2
        return min(sqrt(second / beta), sqrt(sqrt(fourth / beta))) * _MARGIN

    def sample(self, count: int, noise: NoiseSource) -> IntArray:
        """`count` exact independent draws, int64, shape (count,).

        With G geometric, Pr[G >= g] = q^g, and a coin B of probability q / (1 + q), the draw is G, or -1 - G if B:
        Pr[k] = (1 / (1 + q)) (1 - q) q^k for k >= 0 and Pr[-k] = (q / (1 + q)) (1 - q) q^(k-1) for k >= 1, which is
        the law. Nothing is rejected for the sign. (-1 - G has the bits of G inverted, hence the exclusive or.)
        """
        sizes = geometric_parts(self.scale)
        leading, sign = _sign_bits(self.scale), partial(_sign_bracket, self.scale)
        draws = np.empty(count, dtype=np.int64)
        for start in range(0, count, CHUNK):
            part = draws[start : start + CHUNK]
            part[:] = sizes.sample(len(part), noise)
            part ^= -bernoulli_fixed(leading, sign, len(part), noise).astype(np.int64)
        return draws

    @property
    def _rate(self) -> float:
        return float(min(1 / self.scale, Fraction(_FLAT_RATE)))

    def _within(self, k: int, beta: float) -> bool:
        limit = Fraction(beta)
        bits = _TAIL_BITS + limit.denominator.bit_length()
        power = exp_bracket((k + 1) / self.scale, bits)[1]
        ratio = exp_bracket(1 / self.scale, bits)[0]
        return 2 * power * limit.denominator <= limit.numerator * ((1 << bits) + ratio)

    def _log_moment(self, point: float) -> float:
        rate = self._rate
        ratio = exp(-rate)
        grown = exp(point - rate)
        return log(-expm1(-rate)) + log1p(grown) - log1p(ratio) - log(-expm1(point - rate))


@lru_cache(maxsize=2**10)
def _laplace_sum_tail(law: DiscreteLaplace, draws: int, beta: float) -> float:
    """Kept, for thousands of blocks ask for the same few."""
    _check_beta(beta)
    if draws == 0 or beta >= 1:
        return 0.0
    together = float(draws * law.tail(beta / draws))
    return min(together, chernoff(law._log_moment, law._rate, draws, beta))


def _check_beta(beta: float) -> None:
    if not beta > 0:
        raise ValueError("a tail needs a probability beta > 0")


def _sign_bracket(scale: Fraction, bits: int) -> tuple[int, int]:
    """Bracket of 2^bits q / (1 + q), which grows with q."""
    low, high = exp_bracket(1 / scale, bits)
    one = 1 << bits
    return low * one // (one + low), -(-high * one // (one + high))


@lru_cache(maxsize=256)
def _sign_bits(scale: Fraction) -> int:
    return leading_bits(partial(_sign_bracket, scale), SHORT_BITS)


# Geometric: whole numbers from 0 on with Pr[k] proportional to exp(-k / scale), drawn exactly; one-sided noise.

_GEOMETRIC_MARGIN = 1 + 2.0**-20
"""Covers the floating-point evaluation of a tail."""


@final
class Geometric(Struct, frozen=True):
    """Pr[k] = (1 - q) q^k for k = 0, 1, ..., with q = exp(-1 / scale).

    scale: in grid units, any positive rational up to 2^52.

    Privacy:
        Pr[draw >= t] = q^k, k the smallest whole number of at least t and 0. So for any real t and any whole number
        m >= 0, Pr[draw >= t] <= exp(m / scale) Pr[draw >= t + m], and Pr[draw = k] = exp(m / scale) Pr[draw = k + m].
        The law is exact: no floating-point rounding reaches a draw.
        Statement P22 of the guide's topic proofs.

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
        return max(0, ceil(-log(min(beta, 1.0)) * float(self.scale) * _GEOMETRIC_MARGIN) - 1)

    def sample(self, count: int, noise: NoiseSource) -> IntArray:
        """`count` exact independent draws, int64, shape (count,)."""
        return geometric_parts(self.scale).sample(count, noise)
