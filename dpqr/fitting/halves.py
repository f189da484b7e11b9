"""How unlike the halves of boxes are: posterior moments from noisy counts, learned over all boxes of a level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by `python tests/benchmarks/ordered.py --half set`; figures: tests/benchmarks/RESULTS.md, "Fitting"."""

    alike: float = 0.98  # prior probability that a level's imbalances are near those of the level above
    strength: float = 2.0  # boxes that the prior of a level counts as
    rounds: int = 20  # steps of expectation maximisation per level


TUNING = Tuning()

IMBALANCES = np.geomspace(1e-7, 1.0, 15)
"""Variance of the difference of two halves over the squared count of both: values that are alike likely beforehand."""

PRIOR = np.full(len(IMBALANCES), 1 / len(IMBALANCES))
"""How often each occurs, where nothing was observed."""

TINY = 1e-300
"""Stands for 0 where an empty box and noiseless counts would give 0 / 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Halves:
    """Moments of one level's differences of halves, besides what unequal numbers of cells make. Shapes: (boxes,).

    Attributes:
        means: posterior means.
        systematic: posterior variances from shares that differ.
        sampled: posterior variances from the records' own sampling.
        own: variances before the box's own noisy counts, at the imbalances that these make likely.
    """

    means: FloatArray
    systematic: FloatArray
    sampled: FloatArray
    own: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Imbalances:
    """How often each of `IMBALANCES` occurs among the boxes of a level, shape (imbalances,).

    A box of c records has halves that differ by N(0, v c^2 + c): shares that differ, and sampling; v is one of
    `IMBALANCES`.

    >>> even = Imbalances(weights=PRIOR).below().learned(np.zeros(50), np.full(50, 1e6), np.ones(50))
    >>> int(even.weights.argmax())
    0
    """

    weights: FloatArray

    def below(self) -> Imbalances:
        """Before the next level's boxes are seen: mostly near this level's, by up to one step."""
        padded = np.concatenate([self.weights[:1], self.weights, self.weights[-1:]])
        near = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
        return Imbalances(weights=TUNING.alike * near + (1 - TUNING.alike) * PRIOR)

    def learned(self, unlike: FloatArray, counts: FloatArray, variances: FloatArray) -> Imbalances:
        """After a level's boxes: expectation maximisation, with these weights as the prior (empirical Bayes).

        Args:
            unlike: noisy differences of halves, shape (boxes,).
            counts: records of the boxes.
            variances: of the noise on the differences.
        """
        likely, weights = _likelihoods(unlike, counts, variances), self.weights
        for _ in range(TUNING.rounds):
            shares = _normed(weights, likely)
            weights = (TUNING.strength * self.weights + shares.sum(axis=1)) / (TUNING.strength + len(counts))
        return Imbalances(weights=weights)

    def posterior(self, unlike: FloatArray, counts: FloatArray, variances: FloatArray) -> Halves:
        """Of every box, over the imbalances and the noise. A variance may be infinite: nothing was observed."""
        shares = _normed(self.weights, _likelihoods(unlike, counts, variances))
        uneven = np.multiply.outer(IMBALANCES, counts**2)
        trust = (uneven + counts) / np.maximum(uneven + counts + variances, TINY)
        means = (shares * trust).sum(axis=0) * unlike
        between = (shares * trust**2).sum(axis=0) * unlike**2 - means**2
        largest = np.maximum(counts**2 - means**2, 0.0)
        systematic = np.minimum((shares * (1 - trust) * uneven).sum(axis=0) + between, largest)
        sampled = np.minimum((shares * (1 - trust)).sum(axis=0) * counts, largest - systematic)
        own = (shares * uneven).sum(axis=0) + counts
        return Halves(means=means, systematic=systematic, sampled=sampled, own=own)

    def drawn(
        self, unlike: FloatArray, counts: FloatArray, variances: FloatArray, uniforms: FloatArray, normals: FloatArray
    ) -> FloatArray:
        """One draw of every box's difference from the same posterior law, shape (boxes,).

        Args:
            uniforms: choose each box's imbalance, shape (boxes,).
            normals: the difference, given that, shape (boxes,).
        """
        shares = np.cumsum(_normed(self.weights, _likelihoods(unlike, counts, variances)), axis=0)
        chosen = np.minimum((shares <= uniforms * shares[-1]).sum(axis=0), len(IMBALANCES) - 1)
        spread = IMBALANCES[chosen] * counts**2 + counts
        trust = spread / np.maximum(spread + variances, TINY)
        differences: FloatArray = trust * unlike + np.sqrt((1.0 - trust) * spread) * normals
        return differences


def _likelihoods(unlike: FloatArray, counts: FloatArray, variances: FloatArray) -> FloatArray:
    """Of every imbalance and box, up to a factor of the box; shape (imbalances, boxes)."""
    spread = np.maximum(np.multiply.outer(IMBALANCES, counts**2) + counts + variances, TINY)
    logs = np.where(np.isinf(variances), 0.0, -(np.log(spread) + unlike**2 / spread) / 2)
    likely: FloatArray = np.exp(logs - logs.max(axis=0))
    return likely


def _normed(weights: FloatArray, likely: FloatArray) -> FloatArray:
    shares = weights[:, None] * likely
    normed: FloatArray = shares / np.maximum(shares.sum(axis=0), TINY)
    return normed
