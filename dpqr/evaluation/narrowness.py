"""Law test: whether what was drawn has the stated law, or one that is narrower.

A bet on each of a few narrower laws gains, run by run, the ratio of its probability to the stated one. Under the
stated law the mean gain of every bet is 1, so the capital of all bets together passes 1 / alarm with probability
`alarm` at most (Ville 1939; Markov's inequality for a fixed number of runs). No quantile, no normal approximation.
Where an answer is known but for a learner's tolerance, noise around a centre that is slightly off only lowers gains:
they fall with the distance from it, and a symmetric law with one peak is closest to its own centre (Anderson 1955).
"""

from __future__ import annotations

import math

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.evaluation.law import Laws

WIDTHS = (0.2, 1 / 3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
"""Widths of the noise that are bet on, as shares of what is stated."""


def narrower(measured: IntArray, laws: Laws, alarm: float) -> float:
    """The capital's logarithm as a share of log(1 / alarm): from 1 on the stated law is refuted.

    measured: shape (runs, numbers). laws: one a number. A refutation is false with probability `alarm` at most.
    """
    gains = [_gain(measured, laws, width) for width in WIDTHS]
    return float(np.logaddexp.reduce(gains) - math.log(len(WIDTHS))) / math.log(1 / alarm)


def _gain(measured: IntArray, laws: Laws, width: float) -> float:
    pairs = zip(measured.T, laws, strict=True)
    return float(sum((law.log_probabilities(got, width) - law.log_probabilities(got)).sum() for got, law in pairs))
