"""The exponential mechanism's draw, exact: Pr[i] proportional to exp(rate score_i)."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.noise.exp_bounds import exp_bracket
from dpqr.noise.lazy_uniform import LazyUniform
from dpqr.noise.proposal import propose
from dpqr.noise.source import NoiseSource
from dpqr.noise.uniform import uniform_below


def draw_exponential(scores: IntArray, rate: Fraction, noise: NoiseSource) -> int:
    """An index i with Pr[i] = exp(rate scores[i]) / sum_j exp(rate scores[j]), exactly.

    scores: int64, shape (candidates,), at least one, any values (differences may exceed int64). rate: at least 0.

    Rejection from integers. With w_i = 2^S exp(-rate (best - score_i)) and integer bounds b_i >= w_i (`Proposal`),
    a candidate is proposed with probability b_i / total, by one uniform integer below total, and kept with
    probability w_i / b_i, by comparing a lazy uniform with integer brackets of that number. So each trial ends in i
    with probability (b_i / total) (w_i / b_i) = w_i / total, and the first candidate kept has the stated law, whatever
    the bounds are. No sum of the w_i is ever formed, so nothing is rounded that could bias the law, and a doubtful
    comparison costs one more bracket of one number, whatever the scores are.

    A trial fails with probability below 2^-6 (up to 4,096 candidates: 2^-11) plus 4 candidates / 2^S: unlike
    rejection from the uniform law, whose number of trials tells whether the scores are skewed, this one nearly always
    ends after one trial. Time is not constant, though, and is out of the guarantee's scope.

    **Privacy** If a neighbour moves every score by at most D, the draw is eps-DP for eps = 2 D rate (McSherry and
    Talwar 2007, Theorem 6; Dwork and Roth 2014, Theorem 3.10) and eps-bounded range, hence eps^2 / 8-zCDP (Cesar and
    Rogers 2021). The law is exact: no floating-point rounding reaches it.
    """
    best = best_score(scores, rate)
    proposal = propose(scores, best, rate)
    while True:
        index, bound = proposal.pick(uniform_below(proposal.total, noise))
        exponent = rate * (best - int(scores[index]))
        if LazyUniform(noise).below(partial(share_kept, exponent, proposal.bits, bound)):
            return index


def share_kept(exponent: Fraction, weight_bits: int, bound: int, bits: int) -> tuple[int, int]:
    """Bracket of 2^bits w / b, for w = 2^weight_bits exp(-exponent) and its integer bound b."""
    low, high = exp_bracket(exponent, bits + weight_bits)
    return low // bound, -(-high // bound)


def best_score(scores: IntArray, rate: Fraction) -> int:
    """The largest score, after the checks that need no private value: shape, type and sign of the rate."""
    if scores.ndim != 1 or len(scores) == 0 or scores.dtype != np.int64:
        raise ValueError("a selection needs a one-dimensional int64 array with at least one score")
    if rate < 0:
        raise ValueError("a selection needs a rate of at least 0")
    return int(scores.max())
