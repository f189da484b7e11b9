"""Random bits in other sizes than 64: whole integers, and short words where 64 bits would be wasted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpqr.noise.source import NoiseSource

ShortArray = NDArray[np.uint16]
HalfArray = NDArray[np.uint32]

CHUNK = 1 << 16
"""Entries that samplers treat at once, so that their scratch arrays stay in the processor's cache."""


def random_integer(bits: int, noise: NoiseSource) -> int:
    """A uniform integer in [0, 2^bits), of any size; the first word drawn is the leading one."""
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
