"""Proved bounds of exp(-x): integer brackets of one x, and floats above it for whole arrays of x on a grid.

This is the only place where the samplers meet a transcendental number; no mathematical library is trusted. A *cell* is
an integer c that stands for x = c / 2^14. Its bound is a product of two table entries, exp(-(c >> 10) / 16) and
exp(-(c & 1023) / 2^14), each computed from an integer bracket; of the floating-point unit only the rounding of one
multiplication (IEEE 754) is used. `DistanceGrid` maps rate * distance to cells in integers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import ldexp

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray, WordArray

GUARD_BITS = 12
"""Working bits beyond the asked ones; the docstring of `exp_bracket` says why 12 suffice."""


def exp_bracket(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Return integers (low, high) with low <= 2^bits exp(-exponent) <= high and high - low <= 2.

    Proof. Let r = x / 2^h < 2^-8, and W = bits + h + 12 the working precision.
    1. r is enclosed by two integers over 2^W. exp(r) = sum r^i / i! has positive terms only, so terms rounded down add
       up to a lower bound; terms rounded up, plus 1 for all that follow the first term of at most one unit (they are
       below 2^-7 of it), to an upper one. Reciprocals, rounded outwards, enclose exp(-r).
    2. Squaring h times, rounded outwards, encloses exp(-x).
    3. Width: step 1 leaves fewer than 4 units a term, each squaring at most doubles the width (values are <= 1) and
       adds 2 units: below 2^h (4 terms + 4) units of 2^-W, less than one unit of 2^-bits for up to 1,000 terms, which
       no precision below 10,000 bits needs. Rounding outwards to `bits` makes that at most 2.
    exp(0) = 1 is exact. If x >= bits, then 2^bits exp(-x) <= (2/e)^bits < 1: the bracket (0, 1), at no cost however
    large x is.

    Args:
        exponent: any rational of at least 0.
        bits: precision, at least 1.

    Raises:
        ValueError: the exponent is negative.
    """
    numerator, denominator = exponent.numerator, exponent.denominator
    if numerator < 0:
        raise ValueError("exp_bracket takes exponents of at least 0")
    if numerator == 0:
        return 1 << bits, 1 << bits
    if numerator >= bits * denominator:
        return 0, 1
    halvings = (numerator // denominator).bit_length() + 8
    work = bits + halvings + GUARD_BITS
    scaled = numerator << (work - halvings)
    low, high = _inverse_growth(scaled // denominator, -(-scaled // denominator), work)
    for _ in range(halvings):
        low = low * low >> work
        high = -(-high * high >> work)
    surplus = work - bits
    return low >> surplus, -(-high >> surplus)


def _inverse_growth(below: int, above: int, work: int) -> tuple[int, int]:
    """Bracket of 2^work exp(-r) for every r in [below, above] / 2^work, r <= 2^-8."""
    low = high = down = up = 1 << work
    step = 0
    while up > 1:
        step += 1
        down = down * below // (step << work)
        up = -(-up * above // (step << work))
        low += down
        high += up
    square = 1 << (2 * work)
    return square // (high + 1), -(-square // low)


CELL_BITS = 14
LARGEST_EXPONENT = 45
LAST_CELL = LARGEST_EXPONENT << CELL_BITS
"""Stands for every x >= 45; exp(-45) < 2^-64."""

_FINE_BITS = 10
_ENTRY_BITS = 144
_ENTRY_MARGIN = 1 + 2.0**-48


def exp_above(cells: IntArray) -> FloatArray:
    """For each cell c in 0..LAST_CELL a float in [exp(-c / 2^14), (1 + 2^-46) exp(-c / 2^14)].

    Why: an entry comes from an integer `high` with 2^-144 high in [v, v + 2^-143], v = exp(-x) >= 2^-65, so it is
    above v by less than 2^-77 v; rounding it to a float moves it by 2^-53 at most, the factor 1 + 2^-48 by a rounding
    more. So entries lie in [(1 + 2^-49) v, (1 + 2^-47.5) v], and a rounded product of two in [1, 1 + 2^-46] times the
    value.
    """
    coarse, fine = _tables()
    bounds: FloatArray = coarse.take(cells >> _FINE_BITS)
    bounds *= fine.take(cells & ((1 << _FINE_BITS) - 1))
    return bounds


@cache
def _tables() -> tuple[FloatArray, FloatArray]:
    coarse = [_entry(Fraction(i << _FINE_BITS, 1 << CELL_BITS)) for i in range((LAST_CELL >> _FINE_BITS) + 1)]
    fine = [_entry(Fraction(i, 1 << CELL_BITS)) for i in range(1 << _FINE_BITS)]
    return np.array(coarse), np.array(fine)


def _entry(exponent: Fraction) -> float:
    return ldexp(exp_bracket(exponent, _ENTRY_BITS)[1], -_ENTRY_BITS) * _ENTRY_MARGIN


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
    """Return the grid of a public rate >= 0 with 2^bits cells per unit of the exponent, bits at most 14."""
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
    """Return best - scores, exact for all of int64: it is below 2^64, and unsigned subtraction is modulo 2^64."""
    return np.subtract(np.uint64(best % (1 << 64)), scores.view(np.uint64))
