"""From random bits to uniform integers, uniform reals, exact Bernoulli draws and rejection sampling.

Why lazy uniforms: Pr[U < t] is exactly t for a real uniform U. A few bits of U nearly always decide the comparison. If
they do not, more bits are drawn and t is computed more closely; nothing is ever rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache, partial
from math import ldexp
from typing import final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dpqr.kernel.arrays import FloatArray, IntArray, WordArray
from dpqr.kernel.noise.source import NoiseSource

ShortArray = NDArray[np.uint16]
HalfArray = NDArray[np.uint32]

CHUNK = 1 << 16
"""Entries per batch; the arrays of a batch fit into the processor's cache."""


def random_integer(bits: int, noise: NoiseSource) -> int:
    """Draw a uniform integer in [0, 2^bits), of any size; the first word drawn is the leading one."""
    count = -(-bits // 64)
    if count == 0:
        return 0
    value = int.from_bytes(noise.words(count).astype(">u8").tobytes(), "big")
    return value >> (64 * count - bits)


def random_shorts(count: int, noise: NoiseSource) -> ShortArray:
    """`count` uniform 16-bit words, shape (count,)."""
    return noise.words(-(-count // 4)).view(np.uint16)[:count]


def random_halves(count: int, noise: NoiseSource) -> HalfArray:
    """`count` uniform 32-bit words, shape (count,)."""
    return noise.words(-(-count // 2)).view(np.uint32)[:count]


def uniform_below(bound: int, noise: NoiseSource) -> int:
    """Draw a uniform integer in [0, bound), bound >= 1 of any size, by rejection from random bits."""
    if bound < 1:
        raise ValueError("a uniform integer needs a bound of at least 1")
    bits = (bound - 1).bit_length()
    while True:
        value = random_integer(bits, noise)
        if value < bound:
            return value


def uniforms_below(bound: int, count: int, noise: NoiseSource) -> IntArray:
    """Draw `count` independent uniform integers in [0, bound), 1 <= bound <= 2^63, int64, shape (count,).

    Only entries that are rejected are drawn again, as in `uniform_below`.
    """
    if not 1 <= bound <= 1 << 63:
        raise ValueError("uniform integers of 64 bits need a bound in 1..2^63")
    bits = (bound - 1).bit_length()
    if bits == 0:
        return np.zeros(count, dtype=np.int64)
    values = random_bits(bits, count, noise)
    pending = np.flatnonzero(values >= bound)
    while len(pending):
        values[pending] = random_bits(bits, len(pending), noise)
        pending = pending[values[pending] >= bound]
    return values


def random_bits(bits: int, count: int, noise: NoiseSource) -> IntArray:
    """`count` uniform integers in [0, 2^bits), 1 <= bits <= 63, int64, shape (count,)."""
    return (noise.words(count) >> np.uint64(64 - bits)).astype(np.int64)


Bracket = Callable[[int], tuple[int, int]]
"""A real t in [0, 1], as a function of a precision P: integers (low, high) with low <= 2^P t <= high, close by."""

LEAST_PRECISION = 64


@final
class LazyUniform:
    """A uniform real in [0, 1) whose bits are drawn as comparisons need them; the first ones may be given."""

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
        """Decide U < t: true with probability exactly t.

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
    """Compute floor(2^bits t) of an irrational t; for a dyadic rational t the search might not end."""
    extra = 64
    while True:
        low, high = threshold(bits + extra)
        if low >> extra == high >> extra:
            return low >> extra
        extra *= 2


FlagArray = NDArray[np.bool_]

SHORT_BITS = 16
SHORT = 2.0**-SHORT_BITS

_LEAST_SHARE = 1 - 2.0**-13


def bernoulli_exp(cells: IntArray, exact: Callable[[int], Fraction], noise: NoiseSource) -> FlagArray:
    """Draw independent Bernoulli variables, number i true with probability exactly exp(-x_i).

    Args:
        cells: where the exponents lie, as in `bernoulli_below`.
        exact: x_i as a function of i; called for the few draws that the cells cannot decide.

    Returns:
        Flags, shape of `cells`.
    """
    return bernoulli_below(cells, lambda i: partial(exp_bracket, exact(i)), noise)


def bernoulli_below(cells: IntArray, threshold: Callable[[int], Bracket], noise: NoiseSource) -> FlagArray:
    """Draw as `bernoulli_exp`, with exp(-x_i) given by its brackets; x_i may itself be a lazy uniform.

    Proof. Each draw compares a real uniform U with exp(-x_i). 16 bits of U place it in [f, f + 2^-16). Let p be
    `exp_above` of the cell: p >= exp(-x_i), so f >= p proves U >= exp(-x_i). Below the last cell,
    exp(-x_i) > exp(-c / 2^14) exp(-2^-13) >= p (1 - 2^-13), for exp(-z) > 1 - z + 2 z^2 / 5 at z = 2^-13 leaves a
    relative 2^-28 for the 2^-46 of the table and the 2^-53 of each rounding; so f + 2^-16 <= p (1 - 2^-13) proves
    U < exp(-x_i). In the last cell p < 2^-16, and that test cannot succeed. What neither proves, `LazyUniform`
    decides with the same 16 bits and further ones.

    Args:
        cells: cells[i] <= 2^14 x_i < cells[i] + 2, or cells[i] = LAST_CELL and x_i >= 45.
        threshold: brackets of exp(-x_i) as a function of i; called for about one draw in 10,000.

    Returns:
        Flags, shape of `cells`.
    """
    shorts = random_shorts(len(cells), noise)
    uniform = shorts * SHORT
    above = exp_above(cells)
    possible = uniform < above
    above *= _LEAST_SHARE
    uniform += SHORT
    heads: FlagArray = uniform <= above
    for i in (possible ^ heads).nonzero()[0].tolist():
        heads[i] = LazyUniform(noise, int(shorts[i]), SHORT_BITS).below(threshold(i))
    return heads


def bernoulli_fixed(leading: int, threshold: Bracket, count: int, noise: NoiseSource) -> FlagArray:
    """Draw `count` independent flags, each true with probability exactly t; shape (count,).

    Args:
        leading: floor(2^16 t), see `leading_bits`; 16 bits of U that differ from these decide U < t at once.
        threshold: brackets of the irrational t.
    """
    shorts = random_shorts(count, noise)
    heads: FlagArray = shorts < leading
    for i in (shorts == leading).nonzero()[0].tolist():
        heads[i] = LazyUniform(noise, leading, SHORT_BITS).below(threshold)
    return heads


def draw_by_rejection(count: int, propose: Callable[[int], IntArray]) -> IntArray:
    """Draw by rejection until `count` proposals are accepted; int64, shape (count,).

    Each proposal is accepted or not by itself, so the accepted ones are independent. Surplus ones are dropped because
    of their number alone, which changes no law.

    Args:
        propose: the accepted ones of so many independent proposals.
    """
    parts = [np.empty(0, dtype=np.int64)]
    missing = count
    while missing > 0:
        kept = propose(min(CHUNK, missing + missing // 2 + 8))[:missing]
        parts.append(kept)
        missing -= len(kept)
    return np.concatenate(parts)


def cells_below(exponents: FloatArray) -> IntArray:
    """Return cells for `bernoulli_below`, half a cell on the safe side of each exponent; overwrites `exponents`.

    If the float 2^14 x has an error below half a cell, the cell is at most 2^14 x, and within 2 of it.
    """
    exponents *= 1 << CELL_BITS
    exponents -= 0.5
    np.clip(exponents, 0, LAST_CELL, out=exponents)
    return exponents.astype(np.int64)


# Proved bounds of exp(-x): integer brackets of one x, and floats above it for whole arrays of x on a grid.
#
# This is the only place where the samplers meet a transcendental number; no mathematical library is trusted. A
# *cell* is an integer c that stands for x = c / 2^14. Its bound is a product of two table entries, exp(-(c >> 10) /
# 16) and exp(-(c & 1023) / 2^14), each computed from an integer bracket; of the floating-point unit only the
# rounding of one multiplication (IEEE 754) is used. `DistanceGrid` maps rate * distance to cells in integers only.

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


_UNIFORM_GUARD_BITS = 8


def exp_of_uniform(exponent: Callable[[Fraction], Fraction], uniform: LazyUniform, bits: int) -> tuple[int, int]:
    """Bracket of 2^bits exp(-exponent(u)) at a u of which more and more bits are drawn; the exponent rises in u."""
    drawn = bits + _UNIFORM_GUARD_BITS
    start = uniform.prefix(drawn)
    near, far = (exponent(Fraction(place, 1 << drawn)) for place in (start, start + 1))
    return exp_bracket(far, bits)[0], exp_bracket(near, bits)[1]


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


class DistanceGrid(Struct, frozen=True, kw_only=True):
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
