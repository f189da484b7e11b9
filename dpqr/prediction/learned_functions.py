"""Private release of a learned function: its noisy weights once, or noisy predictions with a charge for each point.

>>> class Fixed:
...     bound = Fraction(1, 10)
...     def fit(self, counts):
...         return np.zeros(3)
>>> GaussianWeights(learner=Fixed(), width=3, variance=Fraction(2**46)).event.squared_sensitivity
1099517919241
>>> SphericalWeights(learner=Fixed(), width=3, scale=Fraction(2**22)).event.sensitivity
1048579
>>> at_points = LearnerAtPoints(learner=Fixed(), points=np.eye(3), limit=1)
>>> LaplacePredictions(at_points=at_points, scale=Fraction(2**22)).events
((DiscreteLaplaceEvent(sensitivity=1048578, scale=Fraction(4194304, 1), coordinates=1), 3),)
>>> GaussianPredictions(at_points=at_points, variance=Fraction(2**46)).events[0][1]
3
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Protocol, final

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts
from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.events import Composition, DiscreteLaplaceEvent, RoundedGaussianEvent, SphericalLaplaceEvent
from dpqr.kernel.noise.discrete_laplace import LARGEST_SCALE, DiscreteLaplace
from dpqr.kernel.noise.gaussian import LARGEST_ROUNDED_VARIANCE, SMALLEST_VARIANCE, RoundedGaussian
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.noise.spherical_laplace import LARGEST_SCALE as LARGEST_RADIAL_SCALE
from dpqr.kernel.noise.spherical_laplace import SphericalLaplace
from dpqr.mechanisms.noisy_answers import refuse_noise

FINENESS = 2**20
"""Grid steps in a learner's bound: rounding to the grid adds a millionth of it to the sensitivity."""


class LinearLearner(Protocol):
    """A learner of weights that are linear in public features, with a proved sensitivity."""

    @property
    def bound(self) -> Fraction:
        """Largest change of the weights in the Euclidean norm between neighbours, and of a value at any public point of
        norm 1 as it is computed in double precision, divided by the grid's step. Public; proved by the learner."""
        ...

    def fit(self, counts: Counts) -> FloatArray: ...


def step(bound: Fraction) -> float:
    """Return the step of the grid for values that move by at most `bound`."""
    return float(bound) / FINENESS


def weights_sensitivity(width: int) -> int:
    """Return the L2 sensitivity of `width` weights in grid steps.

    It is FINENESS steps, half a step per coordinate at either end for the rounding, and one more for the grid's step,
    which is a double itself. The error of the division is in the learner's bound.
    """
    return FINENESS + isqrt(width) + 2


def round_to_grid(values: FloatArray, grid: float) -> IntArray:
    """Return the nearest multiples of the grid's step, as integers."""
    return np.rint(values / grid).astype(np.int64)


@final
class GaussianWeights(Struct, frozen=True, kw_only=True, eq=False):
    """A learner's `width` weights on its grid, each plus normal noise that is rounded to the grid.

    Attributes:
        variance: in squared grid steps.

    Raises:
        InfeasiblePlan: the variance is out of the sampler's range.

    Privacy:
        Neighbours: those that the learner's bound is proved for. The weights, as real numbers, move by at most `bound`
        in L2; on a grid of bound / 2^20 by at most 2^20 steps, and rounding moves each coordinate by half a step on
        either side, sqrt(width) in L2 together: s = `weights_sensitivity`. Integers plus rounded noise are the
        rounded sum (`RoundedGaussian`), so the draw is a function of one of the Gaussian mechanism:
        (epsilon, delta)-DP by its exact curve at mu^2 = s^2 / variance (Balle and Wang 2018, Theorem 8), and
        s^2 / (2 variance)-zCDP (Bun and Steinke 2016, Proposition 1.6). The function is then f + <noise, phi>, a path
        of a Gaussian process with the kernel <phi, phi> but for the grid (Hall, Rinaldo and Wasserman 2013): the noise
        is scaled to the norm of the weights, not to the change at one point, so it covers the whole function. One
        scalar added to all values, as the sources print, would protect one value only.
        Statement P40 of the guide's topic proofs.
    """

    learner: LinearLearner
    width: int
    variance: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.variance, LARGEST_ROUNDED_VARIANCE, "a variance of", SMALLEST_VARIANCE)

    @property
    def event(self) -> RoundedGaussianEvent:
        sensitivity = weights_sensitivity(self.width)
        return RoundedGaussianEvent(squared_sensitivity=sensitivity**2, variance=self.variance)

    @property
    def law(self) -> RoundedGaussian:
        return RoundedGaussian(self.variance)

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        weights = round_to_grid(self.learner.fit(value), step(self.learner.bound))
        return weights + self.law.sample(self.width, noise)


@final
class SphericalWeights(Struct, frozen=True, kw_only=True, eq=False):
    """A learner's `width` weights on its grid, plus a vector of spherical Laplace noise, for pure privacy.

    Privacy:
        Neighbours: those that the learner's bound is proved for. In L2 the weights move by at most
        s = `weights_sensitivity` grid steps, as for `GaussianWeights`: (s / scale)-DP (`SphericalLaplace`). Laplace
        noise in every coordinate would need sqrt(width) s, the L1 norm's bound, and so sqrt(2 width / (width + 1))
        times the standard deviation.
    """

    learner: LinearLearner
    width: int
    scale: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.scale, LARGEST_RADIAL_SCALE, "a scale of")

    @property
    def event(self) -> SphericalLaplaceEvent:
        sensitivity = weights_sensitivity(self.width)
        return SphericalLaplaceEvent(sensitivity=sensitivity, scale=self.scale, coordinates=self.width)

    @property
    def law(self) -> SphericalLaplace:
        return SphericalLaplace(self.scale, self.width)

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        weights = round_to_grid(self.learner.fit(value), step(self.learner.bound))
        return weights + self.law.sample(noise)


PREDICTION = FINENESS + 2
"""Sensitivity of one prediction in grid steps. A computed value moves by the learner's bound at most, which includes
twice the error of the dot product and of the quotient (`LinearLearner.bound`); rounding either end to the grid adds
half a step each; one more covers the step, which is a double itself."""


class LearnerAtPoints(Struct, frozen=True, kw_only=True, eq=False):
    """A learner and the points of its predictions.

    Attributes:
        points: their features, shape (predictions, width), norms at most 1; None: the learner has `own` points, and
            fits its values there.
        limit: predictions are clipped to [-limit, limit]; None: they are not.
    """

    learner: LinearLearner
    points: FloatArray | None
    limit: int | None
    own: int = 0

    @property
    def count(self) -> int:
        """Number of predictions."""
        return self.own if self.points is None else len(self.points)

    @property
    def bound(self) -> Fraction:
        """Largest change of one computed prediction: `LinearLearner.bound`, and at most twice the limit, as clipping
        moves no two values apart."""
        bound = self.learner.bound
        return bound if self.limit is None else min(bound, Fraction(2 * self.limit))

    @property
    def step(self) -> float:
        return step(self.bound)

    def predictions(self, counts: Counts) -> IntArray:
        """Return the predictions on the grid, shape (predictions,). Private."""
        fitted = self.learner.fit(counts)
        values = fitted if self.points is None else self.points @ fitted
        if self.limit is not None:
            values = np.clip(values, -self.limit, self.limit)
        return round_to_grid(values, self.step)


@final
class LaplacePredictions(Struct, frozen=True, kw_only=True, eq=False):
    """Every prediction plus discrete Laplace noise of its own; one event per point.

    Privacy:
        Neighbours: those of the learner's bound. One prediction moves by at most `PREDICTION` grid steps:
        (PREDICTION / scale)-DP each (Dwork and Roth 2014, Theorem 3.6); Rana 2019 after Dwork and Feldman 2018,
        stability plus noise. All of them are charged: noise on one value does not cover a second one.
    """

    at_points: LearnerAtPoints
    scale: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.scale, LARGEST_SCALE, "a scale of")

    @property
    def events(self) -> Composition:
        event = DiscreteLaplaceEvent(sensitivity=PREDICTION, scale=self.scale, coordinates=1)
        return ((event, self.at_points.count),)

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        return self.at_points.predictions(value) + DiscreteLaplace(self.scale).sample(self.at_points.count, noise)


@final
class GaussianPredictions(Struct, frozen=True, kw_only=True, eq=False):
    """Every prediction plus normal noise of its own, rounded to the grid; one event per point.

    Privacy:
        Neighbours: those of the learner's bound. One prediction moves by at most `PREDICTION` grid steps, and integers
        plus rounded noise are the rounded sum (`RoundedGaussian`): by the Gaussian mechanism's curve at
        mu = PREDICTION / sqrt(variance) each (Balle and Wang 2018, Theorem 8), PREDICTION^2 / (2 variance)-zCDP (Bun
        and Steinke 2016, Proposition 1.6). mu^2 and rho add up.
    """

    at_points: LearnerAtPoints
    variance: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.variance, LARGEST_ROUNDED_VARIANCE, "a variance of", SMALLEST_VARIANCE)

    @property
    def events(self) -> Composition:
        event = RoundedGaussianEvent(squared_sensitivity=PREDICTION**2, variance=self.variance)
        return ((event, self.at_points.count),)

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        return self.at_points.predictions(value) + RoundedGaussian(self.variance).sample(self.at_points.count, noise)
