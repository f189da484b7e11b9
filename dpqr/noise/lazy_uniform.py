"""LazyUniform: a uniform real number of which only as many bits are drawn as a comparison needs.

Why: a comparison of a real uniform U with a real threshold t has exactly the probability t. Bits decide it almost
always at once; the rest is a matter of drawing further bits and computing t more closely, never of rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from dpqr.noise.bits import random_integer
from dpqr.noise.source import NoiseSource

Bracket = Callable[[int], tuple[int, int]]
"""A real t in [0, 1], as a function of a precision P: integers (low, high) with low <= 2^P t <= high, close by."""

LEAST_PRECISION = 64


@final
class LazyUniform:
    """A uniform real in [0, 1). Its first bits may be given (from a whole array drawn at once); others are drawn."""

    __slots__ = ("_bits", "_noise", "_value")

    def __init__(self, noise: NoiseSource, first: int = 0, bits: int = 0) -> None:
        """`first`: the leading `bits` bits of the number, an integer in [0, 2^bits)."""
        self._noise = noise
        self._value = first
        self._bits = bits

    def prefix(self, bits: int) -> int:
        """floor(2^bits U); the same bits whenever it is asked again."""
        missing = bits - self._bits
        if missing > 0:
            self._value = self._value << missing | random_integer(missing, self._noise)
            self._bits = bits
        return self._value >> (self._bits - bits)

    def below(self, threshold: Bracket) -> bool:
        """Whether U < t: true with probability exactly t.

        With v = floor(2^P U), U lies in [v, v + 1) / 2^P: v + 1 <= low proves U < t, v >= high proves U >= t.
        Undecided at precision P happens with probability of a few 2^-P, so the loop ends with probability 1.
        """
        precision = max(LEAST_PRECISION, self._bits)
        while True:
            value = self.prefix(precision)
            low, high = threshold(precision)
            if value < low:
                return True
            if value >= high:
                return False
            precision *= 2


def leading_bits(threshold: Bracket, bits: int) -> int:
    """floor(2^bits t) of an irrational t; for a dyadic rational t the search might not end."""
    extra = 64
    while True:
        low, high = threshold(bits + extra)
        if low >> extra == high >> extra:
            return low >> extra
        extra *= 2
