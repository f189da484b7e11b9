"""Tuning: a choice among several lambdas, bought with a share of the budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import final

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.data.histogram import Counts, occupied
from dpqr.noise.source import NoiseSource
from dpqr.prediction.stable import BatchLearner

FACTORS = tuple(Fraction(4) ** power for power in (-2, -1, 0, 1, 2))
"""What the usual lambda is multiplied by."""
USUAL = FACTORS.index(Fraction(1))
FEWEST_PARTS, MOST_PARTS = 8, 256
NODES = np.array([NormalDist().inv_cdf((place + 0.5) / 16) for place in range(16)])
"""Noise that is tried out: quantiles of the normal law."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """One lambda. learner: makes it for a number of records; deviation: of the noise that a prediction would get."""

    learner: Callable[[int], BatchLearner]
    deviation: float


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TuningVotes:
    """An ensemble that predicts nothing but the best candidate: each part of the table (the last axis of the counts)
    learns by every one from the first of each two of its rows, and votes for the one whose function, with the noise
    that it would be released with, is least wrong on the others.

    wrong: of predictions and targets, one figure each. Never an error: a part of fewer than two rows votes for the
    usual lambda.
    """

    candidates: tuple[Candidate, ...]
    parts: int
    wrong: Callable[[FloatArray, FloatArray], FloatArray]

    @property
    def touched(self) -> int:
        """One, as of every ensemble whose parts are drawn."""
        return 1

    @property
    def predictions(self) -> int:
        return 1

    def votes(self, counts: Counts, noise: NoiseSource) -> IntArray:
        codes, records = occupied(counts)
        votes = np.zeros((1, len(self.candidates)), dtype=np.int64)
        for part in range(self.parts):
            mine = codes[:, -1] == part
            votes[0, self._best(codes[mine], records[mine])] += 1
        return votes

    def sums(self, counts: Counts, noise: NoiseSource) -> IntArray:
        raise NotImplementedError("candidates have no average")

    def _best(self, codes: AnyArray, records: IntArray) -> int:
        if len(codes) < 2:
            return USUAL
        found = [self._error(candidate, codes, records) for candidate in self.candidates]
        return int(np.argmin(found))

    def _error(self, candidate: Candidate, codes: AnyArray, records: IntArray) -> float:
        learner = candidate.learner(int(records[::2].sum()))
        weights = learner.learn(learner.examples.rows(codes[::2], learner.scale.weights(records[::2])))
        total = 0.0
        for block in learner.examples.rows(codes[1::2], records[1::2].astype(np.float64)).blocks():
            spread = candidate.deviation * np.linalg.norm(block.vectors, axis=1)
            noisy = (block.vectors @ weights)[:, None] + spread[:, None] * NODES
            total += float(block.weights @ self.wrong(noisy, block.targets[:, None]).mean(axis=1))
        return total


def tuning_parts(epsilon: Fraction) -> int:
    """Enough for the vote of most parts to win over the noise of the choice; few, so that a part can learn."""
    wanted = math.ceil(8 * math.log(len(FACTORS)) / float(epsilon))
    return min(max(wanted, FEWEST_PARTS), MOST_PARTS)
