"""Losses whose corner is rounded by a logistic curve, so that the second derivative tapers off towards either slope."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.prediction.learners.losses import Cornered, Logistic, expit


@dataclass(frozen=True, slots=True, kw_only=True)
class TaperedCorner:
    """base u + width log(1 + exp(u / width)), u the shortfall: a cornered loss whose corner is rounded.

    With p = 1 / (1 + exp(-u / width)) its slope in u is base + p, its second derivative p (1 - p) / width = 4
    smoothness p (1 - p), as `Tapered` asks. It exceeds the cornered loss by at most width log 2, and on average, where
    u has the density d near 0, by d pi^2 width^2 / 6.

    >>> from dpqr.prediction.learners.losses import ExactHinge
    >>> TaperedCorner(corner=ExactHinge(), width=Fraction(1, 4)).value(np.array([1.0]), np.array([1.0])).round(3)
    array([0.173])
    """

    corner: Cornered
    width: Fraction

    @property
    def lipschitz(self) -> Fraction:
        return self.corner.lipschitz

    @property
    def smoothness(self) -> Fraction:
        return 1 / (4 * self.width)

    @property
    def start(self) -> Fraction:
        return self.corner.start + self.width

    @property
    def opposite(self) -> Fraction:
        return min(-self.corner.base, 1 + self.corner.base)

    def value(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        short, width = self.corner.shortfall(predicted, target), float(self.width)
        rounded = np.maximum(short, 0.0) + width * np.log1p(np.exp(-np.abs(short) / width))
        return float(self.corner.base) * short + rounded

    def slope(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        return (float(self.corner.base) + self._share(predicted, target)) * self.corner.direction(target)

    def curvature(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        share = self._share(predicted, target)
        return share * (1 - share) / float(self.width)

    def _share(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        """p."""
        return expit(self.corner.shortfall(predicted, target) / float(self.width))


Tapered = Logistic | TaperedCorner
"""Losses with L'' <= 4 smoothness p (1 - p), p the slope's place between its ends: 0 at one, 1 at the other."""
