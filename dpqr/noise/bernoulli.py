"""Exact coins: Bernoulli(exp(-x)) with an x for each, and coins of one fixed probability."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpqr.data.arrays import IntArray
from dpqr.noise.bits import random_shorts
from dpqr.noise.exp_bounds import exp_bracket
from dpqr.noise.exp_table import exp_above
from dpqr.noise.lazy_uniform import Bracket, LazyUniform
from dpqr.noise.source import NoiseSource

FlagArray = NDArray[np.bool_]

SHORT_BITS = 16
SHORT = 2.0**-SHORT_BITS

CELL_SLACK = 2
"""How far, in cells of `exp_table`, an exponent may lie above the cell that stands for it."""

_LEAST_SHARE = 1 - 2.0**-13


def bernoulli_exp(cells: IntArray, exact: Callable[[int], Fraction], noise: NoiseSource) -> FlagArray:
    """Independent coins, number i true with probability exactly exp(-x_i); bool, shape of `cells`.

    cells: as in `bernoulli_below`. exact: i to x_i itself, asked for the few coins that the cells cannot decide.
    """
    return bernoulli_below(cells, lambda i: partial(exp_bracket, exact(i)), noise)


def bernoulli_below(cells: IntArray, threshold: Callable[[int], Bracket], noise: NoiseSource) -> FlagArray:
    """The same where exp(-x_i) is known by its brackets, such as those of an x_i that is itself still being drawn.

    cells: where the exponents lie: cells[i] <= 2^14 x_i < cells[i] + 2, or cells[i] = LAST_CELL and x_i >= 45.
    threshold: i to brackets of exp(-x_i), asked for the few coins (about one in 10,000) that the cells cannot decide.

    Each coin compares a real uniform U with exp(-x_i). 16 bits of U place it in [f, f + 2^-16). Let p be `exp_above`
    of the cell: p >= exp(-x_i), so f >= p proves U >= exp(-x_i). Below the last cell,
    exp(-x_i) > exp(-c / 2^14) exp(-2^-13) >= p (1 - 2^-13), for exp(-z) > 1 - z + 2 z^2 / 5 at z = 2^-13 leaves a
    relative 2^-28 for the 2^-46 of the table and the 2^-53 of each rounding; so f + 2^-16 <= p (1 - 2^-13) proves
    U < exp(-x_i). In the last cell p < 2^-16, and that test cannot succeed. What neither proves, `LazyUniform`
    decides with the same 16 bits and further ones.
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
    """`count` independent coins, true with probability exactly t; shape (count,).

    leading: floor(2^16 t) of the irrational t that `threshold` brackets (see `leading_bits`). 16 bits of U other than
    these decide U < t at once.
    """
    shorts = random_shorts(count, noise)
    heads: FlagArray = shorts < leading
    for i in (shorts == leading).nonzero()[0].tolist():
        heads[i] = LazyUniform(noise, leading, SHORT_BITS).below(threshold)
    return heads
