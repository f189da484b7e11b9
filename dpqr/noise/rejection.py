"""Rejection: proposals are drawn until enough of them were kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.noise.bits import CHUNK
from dpqr.noise.exp_table import CELL_BITS, LAST_CELL


def kept_draws(count: int, propose: Callable[[int], IntArray]) -> IntArray:
    """`count` draws, int64, shape (count,). propose: those that are kept of so many independent proposals.

    Every proposal is kept or not by itself, so the kept ones are independent, and leaving out the last ones for their
    number alone changes nothing.
    """
    parts = [np.empty(0, dtype=np.int64)]
    missing = count
    while missing > 0:
        kept = propose(min(CHUNK, missing + missing // 2 + 8))[:missing]
        parts.append(kept)
        missing -= len(kept)
    return np.concatenate(parts)


def cells_below(exponents: FloatArray) -> IntArray:
    """Cells for `bernoulli_below`, half a cell on the safe side of each exponent; overwrites `exponents`.

    Where 2^14 x is off by less than half a cell, the cell is at most 2^14 x, and within 2 of it.
    """
    exponents *= 1 << CELL_BITS
    exponents -= 0.5
    np.clip(exponents, 0, LAST_CELL, out=exponents)
    return exponents.astype(np.int64)
