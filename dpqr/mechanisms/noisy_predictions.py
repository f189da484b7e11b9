"""Noisy predictions: a learned function at public points, noise and charge for each point."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.data.counts import Counts
from dpqr.mechanisms.fitted import FINENESS, Fitted, rounded, step
from dpqr.mechanisms.limits import refuse_noise
from dpqr.noise.discrete_laplace import LARGEST_SCALE, DiscreteLaplace
from dpqr.noise.rounded_gaussian import LARGEST_VARIANCE, SMALLEST_VARIANCE, RoundedGaussian
from dpqr.noise.source import NoiseSource
from dpqr.privacy.events import Composition, DiscreteLaplaceEvent, RoundedGaussianEvent

PREDICTION = FINENESS + 2
"""Sensitivity of one prediction in grid steps. A computed value moves by the learner's bound at most, which includes
twice the error of the dot product and of the quotient (`Fitted.bound`); rounding either end to the grid adds half a
step each; one more covers the step, which is a double itself."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """A learner and the points at which its function is asked for.

    points: their features, shape (predictions, width), norms at most 1; None: the learner has `own` points, and what it
    fits are its values there. limit: predictions are clipped to
    [-limit, limit]; None: they are not.
    """

    learner: Fitted
    points: FloatArray | None
    limit: int | None
    own: int = 0

    @property
    def count(self) -> int:
        """How many predictions."""
        return self.own if self.points is None else len(self.points)

    @property
    def bound(self) -> Fraction:
        """How far one prediction moves, as it is computed: `Fitted.bound`, and at most twice the limit (clipping
        moves no two values apart)."""
        bound = self.learner.bound
        return bound if self.limit is None else min(bound, Fraction(2 * self.limit))

    @property
    def step(self) -> float:
        return step(self.bound)

    def predictions(self, counts: Counts) -> IntArray:
        """On the grid. Private."""
        fitted = self.learner.fit(counts)
        values = fitted if self.points is None else self.points @ fitted
        if self.limit is not None:
            values = np.clip(values, -self.limit, self.limit)
        return rounded(values, self.step)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LaplacePredictions:
    """Every prediction plus discrete Laplace noise of its own; one event a point.

    **Privacy** Neighbours: those of the learner's bound. One prediction moves by at most `PREDICTION` grid steps:
    (PREDICTION / scale)-DP each (Dwork and Roth 2014, Theorem 3.6); Rana 2019 after Dwork and Feldman 2018, stability
    plus noise. All of them are charged: noise on one value does not cover a second one.
    """

    asked: Asked
    scale: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.scale, LARGEST_SCALE, "a scale of")

    @property
    def events(self) -> Composition:
        event = DiscreteLaplaceEvent(sensitivity=PREDICTION, scale=self.scale, coordinates=1)
        return ((event, self.asked.count),)

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        return self.asked.predictions(value) + DiscreteLaplace(self.scale).sample(self.asked.count, noise)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GaussianPredictions:
    """Every prediction plus normal noise of its own, rounded to the grid; one event a point.

    **Privacy** One prediction moves by at most `PREDICTION` grid steps, and integers plus rounded noise are the rounded
    sum (`RoundedGaussian`): by the Gaussian mechanism's curve at mu = PREDICTION / sqrt(variance) each (Balle and Wang
    2018, Theorem 8), PREDICTION^2 / (2 variance)-zCDP (Bun and Steinke 2016, Proposition 1.6). mu^2 and rho add up.
    """

    asked: Asked
    variance: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.variance, LARGEST_VARIANCE, "a variance of", SMALLEST_VARIANCE)

    @property
    def events(self) -> Composition:
        event = RoundedGaussianEvent(squared_sensitivity=PREDICTION**2, variance=self.variance)
        return ((event, self.asked.count),)

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        return self.asked.predictions(value) + RoundedGaussian(self.variance).sample(self.asked.count, noise)
