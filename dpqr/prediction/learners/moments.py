"""Moments of features and target as exact integers, and what a price buys of them."""

from __future__ import annotations

import math
from fractions import Fraction
from math import sqrt
from typing import final

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts, occupied_cells
from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.events import RoundedGaussianEvent
from dpqr.kernel.noise.gaussian import LARGEST_ROUNDED_VARIANCE, SMALLEST_VARIANCE, RoundedGaussian
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.noisy_answers import refuse_noise
from dpqr.prediction.learners.examples import Examples
from dpqr.prediction.learners.solver import FEATURE_NORM

OUTPUT_COST = 1.5
"""Of output perturbation at its best lambda, in units of lambda reach^2."""
DIGIT = 16
"""Bits of a row's count that are multiplied at once: 2^12 rows of a block times 2^24 times 2^16 is below 2^53."""


class MomentsLearner(Struct, frozen=True, kw_only=True, eq=False):
    """Integer sums of x_i x_j and x_i y, over features and targets rounded towards 0.

    Attributes:
        examples: how rows are read.
        unit: neighbours, and rows per person.

    Privacy:
        A row changes the sums by its own products: sum over i <= j of (x_i x_j)^2 <= ||x||^4 and
        sum of (x_i y)^2 <= ||x||^2 y^2, together at most 2 STEPS^4, as ||x|| <= 1 (`FEATURE_NORM`) and |y| <= 1 before
        rounding towards 0. k rows: k^2 times that; replace: two rows each, 4 times. Products and sums are exact:
        integers below 2^53 in every step (`DIGIT`), then 64 bits, for up to 2^38 rows.
        Statement P41 of the guide's topic proofs.

    >>> from dpqr.domain.attribute import Attribute, Codes
    >>> from dpqr.domain.domain import Domain
    >>> from dpqr.domain.histogram import DenseHistogram
    >>> from dpqr.prediction.learners.features import CellFeatures
    >>> features = CellFeatures(domain=Domain((Attribute(name="a", axis=Codes(2)),)))
    >>> examples = Examples(features=features, axis=1, values=np.array([-1.0, 1.0]))
    >>> learner = MomentsLearner(examples=examples, unit=PrivacyUnit())
    >>> len(learner.sums(DenseHistogram(np.array([[20, 0], [0, 20]]))))
    9
    """

    examples: Examples
    unit: PrivacyUnit

    @property
    def width(self) -> int:
        return self.examples.features.width

    @property
    def squared_sensitivity(self) -> int:
        """Of all sums together, in squared L2, in steps of 1 / STEPS^2."""
        return math.ceil(2 * self.unit.changes**2 * STEPS**4 * FEATURE_NORM**4)

    def sums(self, counts: Counts) -> IntArray:
        """x_i x_j for i <= j, row by row of the upper triangle, then x_i y. Private."""
        codes, records = occupied_cells(counts)
        rows = self.examples.rows(codes, records.astype(np.float64))
        total = np.zeros((self.width + 1, self.width), dtype=np.int64)
        for block in rows.blocks():
            vectors = integers(block.vectors)
            every = np.concatenate([vectors, integers(block.targets)[:, None]], axis=1)
            total += _exact_products(every, vectors, block.weights.astype(np.int64))
        return np.concatenate([total[:-1][np.triu_indices(self.width)], total[-1]])


def _exact_products(left: FloatArray, right: FloatArray, counts: IntArray) -> IntArray:
    """left^T diag(counts) right of integers, exact."""
    total = np.zeros((left.shape[1], right.shape[1]), dtype=np.int64)
    place = 0
    while counts.any():
        digits = (counts & ((1 << DIGIT) - 1)).astype(np.float64)
        total += ((left * digits[:, None]).T @ right).astype(np.int64) << place
        counts, place = counts >> DIGIT, place + DIGIT
    return total


class MomentsFigures(Struct, frozen=True, kw_only=True):
    """What noisy moments need to know of a problem; all of it is public.

    Attributes:
        width: number of features.
        squared_sensitivity: see `MomentsLearner`.
        steps: records that come or go between neighbours.
        records: declared; None: there is no forecast.
        reach: guess at the norm of a good function, as output perturbation has it.
    """

    width: int
    squared_sensitivity: int
    steps: int
    records: int | None
    reach: float

    @classmethod
    def of(cls, learner: MomentsLearner, records: int | None, reach: float) -> MomentsFigures:
        return cls(
            width=learner.width,
            squared_sensitivity=learner.squared_sensitivity,
            steps=learner.unit.changes,
            records=records,
            reach=reach,
        )

    def spread(self, variance: Fraction) -> float:
        """The spread at which output perturbation would cost as much (`StableRecipe.chosen_penalty`).

        Either costs lambda reach^2 by its regularisation, which follows from the noise. Output perturbation costs half
        of that again: its lambda is the minimum of lambda reach^2 + c / lambda^2.
        """
        if self.records is None:
            return math.inf
        penalty = ridge(float(variance), self.width) / self.records / OUTPUT_COST
        return math.sqrt(penalty**3 / 2) * self.reach * self.records / (2 * self.steps)


# Least squares from noisy moments: the sums of products of features and target get the noise, once.

STEPS = 2**12
"""Grid steps of a feature and a target in 1."""
WEIGHT_STEP = 2.0**-30
LARGEST_NORM = 2.0**4
"""Of the released function."""


@final
class NoisyMoments(Struct, frozen=True, kw_only=True, eq=False):
    """Integer moments plus rounded Gaussian noise, and the ridge function that they give.

    Attributes:
        variance: of each sum's noise, in squared steps of 1 / STEPS^2.

    Privacy:
        The sums are exact integers, so this is the Gaussian mechanism on them, rounded (`RoundedGaussian`), at the
        learner's squared sensitivity. The function is post-processing.

    References:
        Wang 2018, "Revisiting differentially private linear regression" (AdaSSP), whose regularisation follows from
        the noise; here it is the norm that a symmetric matrix of such noise has in the mean, 2 sigma sqrt(width).
    """

    learner: MomentsLearner
    variance: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.variance, LARGEST_ROUNDED_VARIANCE, "a variance of", SMALLEST_VARIANCE)

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
