"""Exact uniform integers, one or many."""

from __future__ import annotations

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.noise.bits import random_integer
from dpqr.noise.source import NoiseSource


def uniform_below(bound: int, noise: NoiseSource) -> int:
    """A uniform integer in [0, bound), bound >= 1 of any size: random bits, drawn again until they are below it."""
    if bound < 1:
        raise ValueError("a uniform integer needs a bound of at least 1")
    bits = (bound - 1).bit_length()
    while True:
        value = random_integer(bits, noise)
        if value < bound:
            return value


def uniforms_below(bound: int, count: int, noise: NoiseSource) -> IntArray:
    """`count` independent uniform integers in [0, bound), 1 <= bound <= 2^63, shape (count,).

    Only the entries that fail are drawn again, so each is what `uniform_below` would make of its own bits.
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
