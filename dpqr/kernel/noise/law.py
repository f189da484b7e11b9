"""NoiseLaw: a distribution on the integers with its public figures, and Chernoff's bound for sums of its draws."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log
from typing import Protocol

from dpqr.kernel.arrays import IntArray
from dpqr.kernel.noise.source import NoiseSource


class NoiseLaw(Protocol):
    """Independent integer noise of one public law, in units of a block's grid."""

    @property
    def deviation(self) -> float:
        """Standard deviation of one draw."""
        ...

    @property
    def mean_size(self) -> float:
        """Expected absolute value of one draw."""
        ...

    def tail(self, beta: float) -> int:
        """Smallest integer k known to satisfy Pr[|draw| > k] <= beta."""
        ...

    def sum_tail(self, draws: int, beta: float) -> float:
        """A bound b with Pr[sum of |draw| over independent draws > b] <= beta."""
        ...

    def weighted_tail(self, beta: float) -> float:
        """A bound b with Pr[|sum of c_i draw_i| > b |c|_2] <= beta, for independent draws and any real weights c."""
        ...

    def sample(self, count: int, noise: NoiseSource) -> IntArray:
        """`count` exact independent draws, int64, shape (count,)."""
        ...


_GOLDEN = (5**0.5 - 1) / 2
_STEPS = 64
_MARGIN = 1 + 2.0**-20
_SMALLEST_SHARE = 1e-12


def chernoff(log_moment: Callable[[float], float], limit: float, draws: int, beta: float) -> float:
    """Return b with Pr[X_1 + ... + X_draws >= b] <= beta, for independent X_i with E exp(t X_i) <= exp(log_moment(t)).

    Proof. By Markov's inequality Pr[S >= b] <= E exp(t S) exp(-t b) <= beta at
    b = (draws log_moment(t) + log(1 / beta)) / t, for any t: so the search for the best t needs no exactness. The
    factor 1 + 2^-20 covers the floating-point evaluation.

    Args:
        log_moment: logarithm of the moment generating function, finite on (0, limit).
        limit: end of that interval.
        draws: at least 1.
        beta: in (0, 1].

    References:
        Chernoff 1952.
    """
    price = -log(beta)

    def bound(position: float) -> float:
        point = exp(position)
        return (draws * log_moment(point) + price) / point

    left, right = log(limit * _SMALLEST_SHARE), log(limit)
    for _ in range(_STEPS):
        span = _GOLDEN * (right - left)
        if bound(right - span) < bound(left + span):
            right = left + span
        else:
            left = right - span
    return bound((left + right) / 2) * _MARGIN
