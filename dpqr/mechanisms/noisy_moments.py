"""Least squares from noisy moments: the sums of products of features and target get the noise, once.

>>> from dpqr.noise.source import SeededNoise
>>> class Fixed:
...     width, squared_sensitivity = 1, 2 * STEPS**4
...     def sums(self, counts):
...         return np.array([10**6 * STEPS**2, 5 * 10**5 * STEPS**2])
>>> weights = NoisyMoments(learner=Fixed(), variance=Fraction(2**50))
>>> round(float(weights.sample(None, SeededNoise(1))[0] * WEIGHT_STEP), 2)
0.5
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Protocol, final

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.data.histogram import Counts
from dpqr.mechanisms.noisy_answers import refuse_noise
from dpqr.noise.rounded_gaussian import LARGEST_VARIANCE, SMALLEST_VARIANCE, RoundedGaussian
from dpqr.noise.source import NoiseSource
from dpqr.privacy.events import RoundedGaussianEvent

STEPS = 2**12
"""Grid steps of a feature and a target in 1."""
WEIGHT_STEP = 2.0**-30
LARGEST_NORM = 2.0**4
"""Of the released function."""


class Moments(Protocol):
    """Integer sums over rows: x_i x_j for i <= j, row by row of the upper triangle, then x_i y."""

    @property
    def width(self) -> int:
        """Number of features."""
        ...

    @property
    def squared_sensitivity(self) -> int:
        """Of all sums together, in squared L2, in steps of 1 / STEPS^2."""
        ...

    def sums(self, counts: Counts) -> IntArray: ...


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyMoments:
    """Integer moments plus rounded Gaussian noise, and the ridge function that they give.

    variance: of each sum's noise, in squared steps of 1 / STEPS^2.

    Privacy:
        The sums are exact integers, so this is the Gaussian mechanism on them, rounded (`RoundedGaussian`), at the
        learner's squared sensitivity. The function is post-processing.

    References:
        Wang 2018, "Revisiting differentially private linear regression" (AdaSSP), whose regularisation follows from
        the noise; here it is the norm that a symmetric matrix of such noise has in the mean, 2 sigma sqrt(width).
    """

    learner: Moments
    variance: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.variance, LARGEST_VARIANCE, "a variance of", SMALLEST_VARIANCE)

    @property
    def event(self) -> RoundedGaussianEvent:
        return RoundedGaussianEvent(squared_sensitivity=self.learner.squared_sensitivity, variance=self.variance)

    @property
    def grid(self) -> float:
        """The step of the released weights."""
        return WEIGHT_STEP

    @property
    def penalty(self) -> Fraction:
        """Of the sum of squares."""
        return Fraction(ridge(float(self.variance), self.learner.width))

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        return self.function(self.noisy(value, noise))

    def noisy(self, value: Counts, noise: NoiseSource) -> IntArray:
        """The noisy sums."""
        sums = self.learner.sums(value)
        return sums + RoundedGaussian(self.variance).sample(len(sums), noise)

    def function(self, noisy: IntArray) -> IntArray:
        """The weights on their grid, from noisy sums. Post-processing."""
        width, values = self.learner.width, noisy / STEPS**2
        matrix = np.zeros((width, width))
        matrix[np.triu_indices(width)] = values[:-width]
        spectrum, axes = np.linalg.eigh(matrix + np.triu(matrix, 1).T)
        kept = np.maximum(spectrum, 0.0) + float(self.penalty)
        weights = axes @ ((axes.T @ values[-width:]) / kept)
        weights *= min(1.0, LARGEST_NORM / max(float(np.linalg.norm(weights)), 1e-300))
        return np.rint(np.asarray(weights, dtype=np.float64) / WEIGHT_STEP).astype(np.int64)


def ridge(variance: float, width: int) -> float:
    """The regularisation of the sum of squares for noise of this variance, in squared steps."""
    return 2 * sqrt(variance * width) / STEPS**2


def integers(values: FloatArray) -> FloatArray:
    """Whole steps towards 0, so that no norm grows; float64 that holds integers."""
    return np.trunc(values * STEPS)
