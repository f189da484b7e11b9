"""Exact geometric numbers, Pr[G >= g] = exp(-g / scale), for whole arrays: the stuff of the discrete Laplace law.

G = 2^j V + R, with 2^j chosen so that scale / 2^j <= 32. Since Pr[G = 2^j v + r] is proportional to
exp(-2^j v / scale) exp(-r / scale), the two parts are independent: V is geometric of scale / 2^j and is read off a
table of thresholds; R < 2^j is nearly uniform and is drawn by rejection (at least 15 of 16 are kept).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.noise.bernoulli import FlagArray, bernoulli_exp
from dpqr.noise.bits import HalfArray, random_halves, random_shorts
from dpqr.noise.distance_grid import DistanceGrid, distance_grid
from dpqr.noise.exp_bounds import exp_bracket
from dpqr.noise.exp_table import CELL_BITS
from dpqr.noise.lazy_uniform import LazyUniform, leading_bits
from dpqr.noise.source import NoiseSource
from dpqr.noise.uniform import random_bits

LARGEST_TABLE_SCALE = 32
EDGE_BITS = 32
_WORK_BITS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class GeometricParts:
    """What the draws of one public scale share.

    width: j, the number of bits of R. quotient: scale / 2^j, the scale of V. edges: see `geometric_edges`.
    grid: where the exponents r / scale lie.
    """

    scale: Fraction
    width: int
    quotient: Fraction
    edges: HalfArray
    grid: DistanceGrid

    def sample(self, count: int, noise: NoiseSource) -> IntArray:
        """`count` independent draws, int64, shape (count,)."""
        draws = _quotients(self.quotient, self.edges, count, noise)
        if self.width:
            draws <<= self.width
            draws += _remainders(self, count, noise)
        return draws


@lru_cache(maxsize=64)
def geometric_parts(scale: Fraction) -> GeometricParts:
    """The parts for a scale in (0, 2^52]: large enough for every noise, and a draw cannot leave int64."""
    width = (-(-scale // LARGEST_TABLE_SCALE) - 1).bit_length()
    quotient = scale / (1 << width)
    return GeometricParts(
        scale=scale,
        width=width,
        quotient=quotient,
        edges=geometric_edges(quotient),
        grid=distance_grid(1 / scale, CELL_BITS),
    )


def _quotients(scale: Fraction, edges: HalfArray, count: int, noise: NoiseSource) -> IntArray:
    """V = number of j >= 1 with U < exp(-j / scale): then V >= j exactly if U < exp(-j / scale).

    The first 32 bits v of U lie above or below the edges e_j = floor(2^32 exp(-j / scale)), which decides, or on one,
    which does not; then U is compared with further thresholds exactly. The lowest edge is 0, so a v beyond the end of
    the table is undecided too.
    """
    words = random_halves(count, noise)
    reached = edges.searchsorted(words, side="right")
    draws: IntArray = len(edges) - reached
    for i in (edges[reached - 1] == words).nonzero()[0].tolist():
        draws[i] = _climb(scale, int(draws[i]), LazyUniform(noise, int(words[i]), EDGE_BITS))
    return draws


def _climb(scale: Fraction, known: int, uniform: LazyUniform) -> int:
    """The number of thresholds above U, of which `known` are known to be."""
    while uniform.below(partial(exp_bracket, (known + 1) / scale)):
        known += 1
    return known


def geometric_edges(scale: Fraction) -> HalfArray:
    """floor(2^32 exp(-j / scale)) for j = T, ..., 1, ascending, T the first j that gives 0.

    Brackets of exp(-j / scale) grow by multiplication, rounded outwards; where their floors differ (their width is
    below 2^-110), the edge is computed by itself (exp of a non-zero rational is irrational, so that ends).
    """
    rate = 1 / scale
    ratio_low, ratio_high = exp_bracket(rate, _WORK_BITS)
    low = high = 1 << _WORK_BITS
    edges = [1]
    surplus = _WORK_BITS - EDGE_BITS
    while edges[-1] > 0:
        low = low * ratio_low >> _WORK_BITS
        high = -(-high * ratio_high >> _WORK_BITS)
        edge = low >> surplus
        if edge != high >> surplus:
            edge = leading_bits(partial(exp_bracket, len(edges) * rate), EDGE_BITS)
        edges.append(edge)
    table = np.array(edges[:0:-1], dtype=np.uint32)
    table.flags.writeable = False
    return table


def _remainders(parts: GeometricParts, count: int, noise: NoiseSource) -> IntArray:
    """R in [0, 2^width) with Pr[r] proportional to exp(-r / scale): uniform draws, kept with that probability."""
    draws = _uniform_bits(parts.width, count, noise)
    pending = (~_keep(parts, draws, noise)).nonzero()[0]
    while len(pending):
        proposed = _uniform_bits(parts.width, len(pending), noise)
        draws[pending] = proposed
        pending = pending[~_keep(parts, proposed, noise)]
    return draws


def _keep(parts: GeometricParts, proposed: IntArray, noise: NoiseSource) -> FlagArray:
    cells = parts.grid.cells(proposed.astype(np.uint64))
    return bernoulli_exp(cells, lambda i: int(proposed[i]) / parts.scale, noise)


def _uniform_bits(width: int, count: int, noise: NoiseSource) -> IntArray:
    if width > 16:
        return random_bits(width, count, noise)
    return (random_shorts(count, noise) >> np.uint16(16 - width)).astype(np.int64)
