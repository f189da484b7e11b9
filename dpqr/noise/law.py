"""NoiseLaw: a distribution on the integers, with what everybody may know of it (deviation, tails)."""

from __future__ import annotations

from typing import Protocol

from dpqr.data.arrays import IntArray
from dpqr.noise.source import NoiseSource


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
