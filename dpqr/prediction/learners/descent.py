"""Gradient descent: empirical risk without a penalty, stable because the descent stops early."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.data.histogram import Counts
from dpqr.prediction.learners.examples import BLOCK, Examples, Rows, Scale
from dpqr.prediction.learners.features import FeatureMap
from dpqr.prediction.learners.losses import Loss, Square
from dpqr.prediction.learners.solver import ULP, Objective, evaluation_error
from dpqr.prediction.learners.square_pulls import opposed_pulls
from dpqr.prediction.learners.stable import ARITHMETIC

MOST_STEPS = 2**12
"""Passes over the table; a descent that would need more of them stops earlier."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GradientDescent:
    """f_{t+1} = the projection of f_t - eta grad F(f_t) onto ||f|| <= R, F(f) = (u / m0) sum L(f(x_i), y_i), f_0 = 0.

    Attributes:
        examples: how rows are read.
        loss: L, convex and smooth.
        radius: R.
        horizon: eta times the number of steps, as wanted; `reached` is what MOST_STEPS allow.
        scale: m0 and u.

    Privacy:
        Let s = `reached` and G >= |L'| on the ball: C_L, or 2 (R + 1) for squares. A step of at most 2 / smoothness of
        F makes no distance larger (F is convex; so is the ball, and a projection is no expansion), for every table, as
        the losses together weigh at most `heaviest`. Between neighbours grad F differs, at any one point, by
        at most what `Scale.distance` has: replace 2 kappa G / m (of squares 2 D(R) / m, `opposed_pulls`), add-remove
        (1 + eta) kappa G / m0 a record. So the functions end at most s times that apart: replace 2 s G / m, which is
        R / sqrt(m) at the printed s = R sqrt(m) / (2 G) (Rana 2019, Corollary 4; Hardt, Recht and Singer 2016, Theorem
        3.8). The number of steps is public and fixed. Rounding of a step is not stretched by later ones; all of it is
        charged at either end, and so is `evaluation_error`.

    >>> from dpqr.data.attribute import Attribute, Codes
    >>> from dpqr.data.domain import Domain
    >>> from dpqr.data.histogram import DenseHistogram
    >>> from dpqr.data.unit import PrivacyUnit
    >>> from dpqr.prediction.learners.features import CellFeatures
    >>> from dpqr.prediction.learners.losses import Logistic
    >>> features = CellFeatures(domain=Domain((Attribute(name="a", axis=Codes(2)),)))
    >>> examples = Examples(features=features, axis=1, values=np.array([-1.0, 1.0]))
    >>> scale = Scale(unit=PrivacyUnit(), records=4)
    >>> given = {"examples": examples, "loss": Logistic(), "scale": scale}
    >>> learner = GradientDescent(radius=Fraction(5), horizon=Fraction(8), **given)
    >>> weights = learner.fit(DenseHistogram(np.array([[2, 0], [0, 2]])))
    >>> learner.steps, (features.of(np.array([[0], [1]])) @ weights > 0).tolist()
    (17, [False, True])
    """

    examples: Examples
    loss: Loss
    radius: Fraction
    horizon: Fraction
    scale: Scale

    @property
    def features(self) -> FeatureMap:
        return self.examples.features

    @property
    def penalty(self) -> Fraction:
        """There is none."""
        return Fraction(0)

    @property
    def slope(self) -> Fraction:
        """G."""
        return 2 * (self.radius + 1) if isinstance(self.loss, Square) else self.loss.lipschitz

    @property
    def steps(self) -> int:
        return min(MOST_STEPS, math.ceil(self.horizon / self._longest))

    @property
    def reached(self) -> Fraction:
        """s: eta times the number of steps."""
        return min(self.horizon, MOST_STEPS * self._longest)

    @property
    def distance(self) -> Fraction:
        if isinstance(self.loss, Square) and self.scale.replaced:
            return 2 * self.reached * opposed_pulls(self.radius) / self.scale.records
        return self.scale.distance(self.slope, 1 / self.reached)

    @property
    def norm(self) -> Fraction:
        return self.radius

    @property
    def tolerance(self) -> Fraction:
        """Rounding of all steps: of a gradient (as `gradient_error`), of the step, and of the projection."""
        heaviest, width = self.scale.heaviest, self.features.width
        gradient = heaviest * (self.slope * (BLOCK + 64) + self.loss.smoothness * (width * self.radius + 8))
        moved = self.steps * self.radius + self.reached * heaviest * self.slope
        return ULP * (self.reached * gradient + (width + 8) * moved)

    @property
    def bound(self) -> Fraction:
        wrong = self.tolerance + evaluation_error(self.features.width, self.norm + self.tolerance)
        return (self.distance + 2 * wrong) * ARITHMETIC

    @property
    def _longest(self) -> Fraction:
        """The longest step: 2 / smoothness keeps distances for every table, 1 / smoothness is what the rate of descent
        needs where the losses together weigh 1."""
        return 1 / (self.loss.smoothness * max(Fraction(1), self.scale.heaviest / 2))

    def fit(self, counts: Counts) -> FloatArray:
        return self.learn(self.examples.read(counts, self.scale))

    def learn(self, rows: Rows) -> FloatArray:
        """w from weighted rows. Private."""
        objective = Objective(rows=rows, loss=self.loss, penalty=0.0)
        weights, length, radius = np.zeros(rows.width), float(self.reached / self.steps), float(self.radius)
        for _ in range(self.steps):
            weights = weights - length * objective.gradient(weights)
            weights *= min(1.0, radius / max(float(np.linalg.norm(weights)), radius))
        return weights
