"""Tuning: a private choice among several lambdas, bought with a share of the budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import ClassVar, final

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts, occupied_cells
from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray
from dpqr.kernel.noise.source import NoiseSource
from dpqr.prediction.learners.stable import BatchLearner

FACTORS = tuple(Fraction(4) ** power for power in (-2, -1, 0, 1, 2))
"""Of the default lambda."""
USUAL = FACTORS.index(Fraction(1))
FEWEST_PARTS, MOST_PARTS = 8, 256
NODES = np.array([NormalDist().inv_cdf((place + 0.5) / 16) for place in range(16)])
"""Quantiles of the normal law: the noise that a candidate is evaluated with."""


class Candidate(Struct, frozen=True, kw_only=True, eq=False):
    """One lambda.

    Attributes:
        learner: makes it for a number of records.
        deviation: of the noise that a prediction would get.
    """

    learner: Callable[[int], BatchLearner]
    deviation: float


@final
class TuningVotes(Struct, frozen=True, kw_only=True, eq=False):
    """An ensemble that votes for the best candidate.

    Each part of the table (the last axis of the counts) trains every candidate on the first of each two of its rows,
    and votes for the one whose function, with the noise that it would be released with, has the least error on the
    others. Never an error: a part of fewer than two rows votes for the default lambda.

    Attributes:
        candidates: in the order of FACTORS.
        parts: number of parts.
        wrong: error of predictions against targets, one figure each.
    """

    candidates: tuple[Candidate, ...]
    parts: int
    wrong: Callable[[FloatArray, FloatArray], FloatArray]
    touched: ClassVar[int] = 1
    """One: a unit's records all lie in the part that it drew."""
    predictions: ClassVar[int] = 1

    def votes(self, counts: Counts, noise: NoiseSource) -> IntArray:
        codes, records = occupied_cells(counts)
        votes = np.zeros((1, len(self.candidates)), dtype=np.int64)
        for part in range(self.parts):
            mine = codes[:, -1] == part
            best = USUAL
            if mine.sum() >= 2:
                errors = [self._error(candidate, codes[mine], records[mine]) for candidate in self.candidates]
                best = int(np.argmin(errors))
            votes[0, best] += 1
        return votes

    def sums(self, counts: Counts, noise: NoiseSource) -> IntArray:
        raise NotImplementedError("candidates have no average")

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
    """Enough parts for the majority to win over the noise of the choice; few, so that each has rows to learn from.

    >>> tuning_parts(Fraction(1))
    13
    """
    wanted = math.ceil(8 * math.log(len(FACTORS)) / float(epsilon))
    return min(max(wanted, FEWEST_PARTS), MOST_PARTS)
