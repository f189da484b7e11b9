"""Law: how a run's numbers are distributed, as the charged events state it, computed apart from what draws them.

An audit knows the made-up databases, so it knows the answers that the noise is added to and the scores that a
selection compares. With the noise that the events state, this gives the law of every number on both neighbours. Two
things follow: the exact loss of that law, to be compared with the claim, and a test of the law itself.

The test bets on each of a few narrower laws. A bet gains, run by run, the ratio of its probability to the stated one.
Under the stated law the mean gain of every bet is 1, so the capital of all bets together passes 1 / alarm with
probability `alarm` at most (Ville 1939; Markov's inequality for a fixed number of runs). It uses no quantile and no
normal approximation. Where an answer is known up to a learner's tolerance, noise around a centre that is slightly off
only lowers gains: they fall with the distance from it, and a symmetric law with one peak is closest to its own centre
(Anderson 1955).
"""

from __future__ import annotations

import math
from typing import ClassVar, Protocol

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray, IntArray

SCALES, DEVIATIONS = 60, 14
"""How far on either side of an answer is summed over; what lies beyond weighs below 1e-25."""


class NumberLaw(Protocol):
    """The law of one number that a run releases, independent of its other numbers."""

    @property
    def support(self) -> tuple[int, int]:
        """The integers that carry all of its probability, but for 1e-25: from the first to the second."""
        ...

    def log_probabilities(self, values: IntArray, width: float = 1.0) -> FloatArray:
        """Of each value, where noise is `width` times as wide as stated; shape of `values`."""
        ...


class Coin(Struct, frozen=True, kw_only=True, eq=False):
    """1 with the mean of (votes + k) / parts, cut to [0, 1], k two-sided geometric of `scale`; else 0."""

    votes: int
    parts: int
    scale: float
    support: ClassVar[tuple[int, int]] = (0, 1)

    def log_probabilities(self, values: IntArray, width: float = 1.0) -> FloatArray:
        noisy = TwoSidedGeometric(answer=self.votes, scale=self.scale)
        every = np.arange(noisy.support[0], noisy.support[1] + 1)
        shares = np.clip(every / self.parts, 0, 1)
        chance = float(np.exp(noisy.log_probabilities(every, width)) @ shares)
        found: FloatArray = np.log(np.array([1 - chance, chance]))[np.asarray(values)]
        return found


class TwoSidedGeometric(Struct, frozen=True, kw_only=True):
    """answer + k with Pr[k] proportional to exp(-|k| / scale)."""

    answer: int
    scale: float

    @property
    def support(self) -> tuple[int, int]:
        reach = int(np.ceil(SCALES * self.scale)) + 1
        return self.answer - reach, self.answer + reach

    def log_probabilities(self, values: IntArray, width: float = 1.0) -> FloatArray:
        rate = 1 / (self.scale * width)
        sizes = np.abs(np.asarray(values, dtype=np.float64) - self.answer)
        found: FloatArray = np.log(np.tanh(rate / 2)) - rate * sizes
        return found


class IntegerGaussian(Struct, frozen=True, kw_only=True):
    """answer + k with Pr[k] proportional to exp(-k^2 / (2 variance)) over the integers.

    Rounded normal noise of a variance of millions has this law as well, but for 1e-12 of it.
    """

    answer: int
    variance: float

    @property
    def support(self) -> tuple[int, int]:
        reach = int(np.ceil(DEVIATIONS * np.sqrt(self.variance))) + 1
        return self.answer - reach, self.answer + reach

    def log_probabilities(self, values: IntArray, width: float = 1.0) -> FloatArray:
        variance = self.variance * width**2
        sizes = np.asarray(values, dtype=np.float64) - self.answer
        found: FloatArray = -(sizes**2) / (2 * variance) - _log_total(variance)
        return found


def _log_total(variance: float) -> float:
    """log of the sum of exp(-k^2 / (2 variance)); from 100 on that is the integral, within 1e-800."""
    if variance > 100:
        return float(np.log(2 * np.pi * variance) / 2)
    every = np.arange(-400, 401, dtype=np.float64)
    return float(np.log(np.exp(-(every**2) / (2 * variance)).sum()))


class Selection(Struct, frozen=True, kw_only=True, eq=False):
    """Pr[i] proportional to exp(rate scores_i): the exponential mechanism's; `width` divides the rate."""

    scores: FloatArray
    rate: float

    @property
    def support(self) -> tuple[int, int]:
        return 0, len(self.scores) - 1

    def log_probabilities(self, values: IntArray, width: float = 1.0) -> FloatArray:
        logits = self.scores * (self.rate / width)
        chances = logits - np.logaddexp.reduce(logits)
        found: FloatArray = chances[np.asarray(values)]
        return found


class Flips(Selection, frozen=True, kw_only=True, eq=False):
    """Permute-and-flip: Pr[i] = p_i times the integral over t in [0, 1] of the product of 1 - p_j t over all others.

    p_i = exp(rate (score_i - largest)); McKenna and Sheldon 2020, Proposition 4. The integral is that of a polynomial.
    """

    def log_probabilities(self, values: IntArray, width: float = 1.0) -> FloatArray:
        kept = np.exp((self.scores - self.scores.max()) * (self.rate / width))
        chances = []
        for place, one in enumerate(kept):
            product = np.polynomial.Polynomial([1.0])
            for other in np.delete(kept, place):
                product *= np.polynomial.Polynomial([1.0, -other])
            whole = product.integ()
            chances.append(one * float(whole(1.0) - whole(0.0)))
        found: FloatArray = np.log(np.array(chances))[np.asarray(values)]
        return found


class FirstPass(Struct, frozen=True, kw_only=True, eq=False):
    """Place of the first of several numbers h_i with h_i + N_i >= Z; as many as there are if none is.

    Z and N_i are one-sided geometric of the two scales. The sum runs over all Z but for 1e-25 of them.
    """

    above: tuple[int, ...]
    threshold_scale: float
    answer_scale: float

    @property
    def support(self) -> tuple[int, int]:
        return 0, len(self.above)

    def log_probabilities(self, values: IntArray, width: float = 1.0) -> FloatArray:
        rates = 1 / (self.threshold_scale * width), 1 / (self.answer_scale * width)
        places = np.arange(int(np.ceil(SCALES * self.threshold_scale)) + 1)
        alive = -np.expm1(-rates[0]) * np.exp(-rates[0] * places)
        chances = []
        for number in self.above:
            passing = np.exp(-rates[1] * np.maximum(places - number, 0))
            chances.append(float(alive @ passing))
            alive = alive * -np.expm1(-rates[1] * np.maximum(places - number, 0))
        found: FloatArray = np.log(np.maximum([*chances, float(alive.sum())], 1e-300))[np.asarray(values)]
        return found


Laws = tuple[NumberLaw, ...]
"""One for each of a run's measured numbers, in their order."""


WIDTHS = (0.2, 1 / 3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
"""Widths of the noise that are bet on, as shares of what is stated."""


def narrower(measured: IntArray, laws: Laws, alarm: float) -> float:
    """The capital's logarithm as a share of log(1 / alarm): from 1 on the stated law is refuted.

    measured: shape (runs, numbers). laws: one a number. A refutation is false with probability `alarm` at most.
    """
    pairs = list(zip(measured.T, laws, strict=True))
    gains = [
        float(sum((law.log_probabilities(got, width) - law.log_probabilities(got)).sum() for got, law in pairs))
        for width in WIDTHS
    ]
    return float(np.logaddexp.reduce(gains) - math.log(len(WIDTHS))) / math.log(1 / alarm)
