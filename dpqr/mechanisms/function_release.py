"""Function release: the weights of a learned function plus noise, once, for any number of predictions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import final

from dpqr.data.arrays import IntArray
from dpqr.data.counts import Counts
from dpqr.mechanisms.fitted import FINENESS, Fitted, rounded, squared_sensitivity, step
from dpqr.mechanisms.limits import refuse_noise
from dpqr.noise.discrete_laplace import LARGEST_SCALE, DiscreteLaplace
from dpqr.noise.rounded_gaussian import LARGEST_VARIANCE, SMALLEST_VARIANCE, RoundedGaussian
from dpqr.noise.source import NoiseSource
from dpqr.privacy.events import DiscreteLaplaceEvent, RoundedGaussianEvent


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GaussianWeights:
    """A learner's `width` weights on its grid, each plus normal noise that is rounded to the grid.

    variance: in squared grid steps. Errors: InfeasiblePlan for a variance out of the sampler's range.

    **Privacy** Neighbours: those that the learner's bound is proved for. The weights, as real numbers, move by at
    most `bound` in L2; on a grid of bound / 2^20 by at most 2^20 steps, and rounding moves each coordinate by half a
    step on either side, sqrt(width) in L2 together. s^2 = `squared_sensitivity`. Integers
    plus rounded noise are the rounded sum (`RoundedGaussian`), so the draw is a function of one of the Gaussian
    mechanism: (epsilon, delta)-DP by its exact curve at mu^2 = s^2 / variance (Balle and Wang 2018, Theorem 8), and
    s^2 / (2 variance)-zCDP (Bun and Steinke 2016, Proposition 1.6). The function is then f + <noise, phi>, a path of a
    Gaussian process with the kernel <phi, phi> but for the grid (Hall, Rinaldo and Wasserman 2013): the noise is
    scaled to the norm of the weights, not to the change at one point, so it covers the whole function. One scalar
    added to all values, as the sources print, would hide one value only.
    """

    learner: Fitted
    width: int
    variance: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.variance, LARGEST_VARIANCE, "a variance of", SMALLEST_VARIANCE)

    @property
    def event(self) -> RoundedGaussianEvent:
        return RoundedGaussianEvent(squared_sensitivity=squared_sensitivity(self.width), variance=self.variance)

    @property
    def law(self) -> RoundedGaussian:
        return RoundedGaussian(self.variance)

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        weights = rounded(self.learner.fit(value), step(self.learner.bound))
        return weights + self.law.sample(self.width, noise)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LaplaceWeights:
    """The same with discrete Laplace noise, for pure privacy.

    **Privacy** In L1 the weights move by at most sqrt(width) times as much as in L2 (Cauchy and Schwarz), and rounding
    by one step a coordinate: `weights_sensitivity`. (s / scale)-DP: Dwork and Roth 2014, Theorem 3.6.
    """

    learner: Fitted
    width: int
    scale: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.scale, LARGEST_SCALE, "a scale of")

    @property
    def event(self) -> DiscreteLaplaceEvent:
        coordinates = 1 if self.width == 1 else None
        return DiscreteLaplaceEvent(
            sensitivity=weights_sensitivity(self.width), scale=self.scale, coordinates=coordinates
        )

    @property
    def law(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale)

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        weights = rounded(self.learner.fit(value), step(self.learner.bound))
        return weights + self.law.sample(self.width, noise)


def weights_sensitivity(width: int) -> int:
    """Largest L1 distance of `width` weights on the grid."""
    return isqrt(width * FINENESS**2) + 1 + width + 1
