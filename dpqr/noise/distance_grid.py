"""DistanceGrid: puts the exponents rate * distance of many integer distances on a grid, in integers only."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpqr.data.arrays import IntArray, WordArray
from dpqr.noise.exp_table import LARGEST_EXPONENT

_HALF = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceGrid:
    """Maps a distance d to a cell c with c <= 2^bits rate d < c + 2, or to the last cell if the exponent is >= 45.

    The arithmetic is h = min(d, cap) >> drop, c = min(h * factor >> shift, last), h and factor below 2^32.

    Lower bound: every step rounds down (factor <= 2^(bits + drop + shift) rate). Nearness, with R = 2^bits rate: the
    cap satisfies R cap >= last + 2 or is the largest distance, so only cells that end as `last` are cut. If R > 2^29,
    every distance from 1 on ends as `last`; let R <= 2^29. The dropped bits are worth R 2^drop < 2^-9, for
    cap >= 2^(31 + drop) where drop > 0, and R (cap - 1) < last + 2 < 2^20. The factor has at least 31 significant
    bits, which costs a relative 2^-30 of at most last + 2 + R, or shift is 63, which costs h / 2^63 < 2^-31. Together
    less than 1 - 2^-9, and the last rounding adds less than 1.
    """

    bits: int
    last: int
    cap: int
    drop: int
    factor: int
    shift: int

    def cells(self, distances: WordArray) -> IntArray:
        """The cells of unsigned distances, int64, same shape. Overwrites `distances` (it saves a pass over memory)."""
        np.minimum(distances, np.uint64(self.cap), out=distances)
        if self.drop:
            np.right_shift(distances, np.uint64(self.drop), out=distances)
        np.multiply(distances, np.uint64(self.factor), out=distances)
        np.right_shift(distances, np.uint64(self.shift), out=distances)
        np.minimum(distances, np.uint64(self.last), out=distances)
        return distances.view(np.int64)


@lru_cache(maxsize=256)
def distance_grid(rate: Fraction, bits: int) -> DistanceGrid:
    """The grid of a public rate >= 0 with 2^bits cells a unit of the exponent, bits at most 14."""
    scaled = rate * (1 << bits)
    last = LARGEST_EXPONENT << bits
    largest = (1 << 64) - 1
    cap = largest if scaled == 0 else min(largest, -(-(last + 2) // scaled))
    drop = max(0, cap.bit_length() - _HALF)
    unit = scaled * (1 << drop)
    magnitude = unit.numerator.bit_length() - unit.denominator.bit_length()
    shift = min(63, max(0, _HALF - 1 - magnitude))
    factor = min(int(unit * (1 << shift)), (1 << _HALF) - 1)
    return DistanceGrid(bits=bits, last=last, cap=cap, drop=drop, factor=factor, shift=shift)


def distances_below(best: int, scores: IntArray) -> WordArray:
    """best - scores, exact for all of int64: the difference is below 2^64, and unsigned subtraction is modulo 2^64."""
    return np.subtract(np.uint64(best % (1 << 64)), scores.view(np.uint64))
