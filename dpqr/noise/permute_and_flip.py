"""The draw of permute-and-flip, exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.noise.bernoulli import FlagArray, bernoulli_exp
from dpqr.noise.bits import CHUNK
from dpqr.noise.distance_grid import distance_grid, distances_below
from dpqr.noise.exp_table import CELL_BITS
from dpqr.noise.exponential_draw import best_score
from dpqr.noise.source import NoiseSource
from dpqr.noise.uniform import uniform_below


def draw_permute_and_flip(scores: IntArray, rate: Fraction, noise: NoiseSource) -> int:
    """An index by permute-and-flip (McKenna and Sheldon 2020), exactly.

    scores: int64, shape (candidates,), at least one, any values. rate: at least 0.

    The algorithm visits the candidates in random order, tosses for each a coin of probability
    exp(rate (score_i - best)), and returns the first that shows heads; the best one always does. The coins do not
    depend on the order. So all may be tossed first, and given the set of heads, the first of them in a random order is
    uniform in the set: that is what is drawn here, in passes over chunks of the list, with no permutation.

    **Privacy** If a neighbour moves every score by at most D, the draw is eps-DP for eps = 2 D rate (McKenna and
    Sheldon 2020, section 3; Ding and others 2021, arXiv 2105.07260, show it to be report-noisy-max with exponential
    noise). It is not eps-bounded range: under concentrated accounting it costs eps^2 / 2.
    """
    best = best_score(scores, rate)
    heads = [_toss(scores[start : start + CHUNK], best, rate, noise) for start in range(0, len(scores), CHUNK)]
    reached = np.cumsum([np.count_nonzero(part) for part in heads])
    rank = uniform_below(int(reached[-1]), noise)
    chunk = int(np.searchsorted(reached, rank, side="right"))
    rank -= int(reached[chunk - 1]) if chunk else 0
    return chunk * CHUNK + int(np.flatnonzero(heads[chunk])[rank])


def _toss(scores: IntArray, best: int, rate: Fraction, noise: NoiseSource) -> FlagArray:
    cells = distance_grid(rate, CELL_BITS).cells(distances_below(best, scores))
    return bernoulli_exp(cells, lambda i: rate * (best - int(scores[i])), noise)
