"""From random bits to uniform integers, uniform reals, exact Bernoulli draws and rejection sampling.

Why lazy uniforms: Pr[U < t] is exactly t for a real uniform U. A few bits of U nearly always decide the comparison. If
they do not, more bits are drawn and t is computed more closely; nothing is ever rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.noise.exp_bounds import CELL_BITS, LAST_CELL, exp_above, exp_bracket
from dpqr.noise.source import NoiseSource

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


def kept_draws(count: int, propose: Callable[[int], IntArray]) -> IntArray:
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
