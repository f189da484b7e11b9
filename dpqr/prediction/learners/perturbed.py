"""Learners of perturbed objectives."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.data.histogram import Counts, occupied
from dpqr.data.unit import PrivacyUnit
from dpqr.prediction.learners.examples import BLOCK, Examples, Rows
from dpqr.prediction.learners.losses import Loss, Sided
from dpqr.prediction.learners.solver import FEATURE_NORM, Objective, Solver

EXACTNESS = Fraction(1, 2**15)
"""The solver's tolerance in gradients of one row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """An objective plus <pull, f>. Private.

    Attributes:
        base: sum_i weight_i L(<f, x_i>, y_i) + penalty ||f||^2.
        loss: L.
        extended: whether gradients are summed in extended precision.
    """

    base: Objective
    loss: Loss
    pull: FloatArray
    extended: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape

    def size(self, gradient: FloatArray) -> float:
        return self.base.size(gradient)

    def inner(self, one: FloatArray, two: FloatArray) -> float:
        return self.base.inner(one, two)

    def value(self, point: FloatArray) -> float:
        return self.base.value(point) + float(self.pull @ point)

    def gradient(self, point: FloatArray) -> FloatArray:
        if not self.extended:
            return self.base.gradient(point) + self.pull
        long: Any = point.astype(np.longdouble)
        total = 2 * self.base.penalty * long + self.pull
        for block in self.base.rows.blocks():
            vectors: Any = block.vectors.astype(np.longdouble)
            total += (block.weights * self.loss.slope(vectors @ long, block.targets)) @ vectors
        return np.asarray(total, dtype=np.float64)

    def newton_step(self, point: FloatArray, gradient: FloatArray) -> FloatArray:
        return self.base.newton_step(point, gradient)

    def rounding(self, point: FloatArray, weight: float) -> float:
        """A bound on the error of a computed gradient, as `gradient_error` has it, at this point and for this table."""
        unit = float(np.finfo(np.longdouble if self.extended else np.float64).eps)
        norm, width = float(np.linalg.norm(point)), self.shape[1]
        summed = float(self.loss.lipschitz) * (BLOCK + 64) * weight + 4 * self.base.penalty * norm
        return unit * (summed + weight * float(self.loss.smoothness) * (width * norm + 8))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PerturbedLearner:
    """argmin sum_i L(f(x_i), y_i) + (strength / 2) ||f||^2 + <pull, f>, for a loss with a bounded second derivative.

    The losses are summed, not averaged, so no number of records is needed.

    Attributes:
        examples: how rows are read.
        loss: L.
        strength: of the regularisation.
        unit: neighbours, and rows per person.

    Privacy:
        See `PerturbedWeights`. `fit` is within `tolerance` of the minimiser: Newton's method or, where it does not
        arrive, a number of gradient steps that is proved to in exact arithmetic. Where a table has so many rows that
        double precision cannot show it, gradients are summed in extended precision. Which it was is never reported.
        Points are doubles, so this holds while records * smoothness * 2^-52 ||w|| is below half of strength *
        tolerance: at planned strengths, by estimate, for 2^32 records. Beyond, the closing noise (a 64th of epsilon)
        covers a share of the distance that falls as records grow: state `--max-records` where a table may be so large.

    >>> from dpqr.data.attribute import Attribute, Codes
    >>> from dpqr.data.domain import Domain
    >>> from dpqr.data.histogram import DenseHistogram
    >>> from dpqr.prediction.learners.features import CellFeatures
    >>> features = CellFeatures(domain=Domain((Attribute(name="a", axis=Codes(2)),)))
    >>> examples = Examples(features=features, axis=1, values=np.array([-1.0, 1.0]))
    >>> from dpqr.prediction.learners.losses import Logistic
    >>> learner = PerturbedLearner(examples=examples, loss=Logistic(), strength=Fraction(2), unit=PrivacyUnit())
    >>> weights = learner.fit(DenseHistogram(np.array([[20, 0], [0, 20]])), np.zeros(3))
    >>> (features.of(np.array([[0], [1]])) @ weights > 0).tolist()
    [False, True]
    """

    examples: Examples
    loss: Sided
    strength: Fraction
    unit: PrivacyUnit

    @property
    def width(self) -> int:
        return self.examples.features.width

    @property
    def units(self) -> int:
        return self.unit.rows

    @property
    def changes(self) -> int:
        return self.unit.changes

    @property
    def gradient(self) -> Fraction:
        return self.loss.lipschitz * self.changes

    @property
    def opposite(self) -> Fraction:
        return self.loss.opposite / self.loss.lipschitz

    @property
    def curvature(self) -> Fraction:
        return self.loss.smoothness * FEATURE_NORM**2 / self.strength

    @property
    def tolerance(self) -> Fraction:
        return EXACTNESS * self.loss.lipschitz / self.strength

    def fit(self, counts: Counts, pull: FloatArray) -> FloatArray:
        codes, records = occupied(counts)
        return self.learn(self.examples.rows(codes, records.astype(np.float64)), pull)

    def learn(self, rows: Rows, pull: FloatArray) -> FloatArray:
        """w from weighted rows. Private."""
        weight = float(rows.weights.sum())
        smoothness = Fraction(weight) * self.loss.smoothness + self.strength
        start = Fraction(weight) * self.loss.start + Fraction(float(pull @ pull)) / self.strength
        solver = Solver(modulus=self.strength, smoothness=smoothness, start=start, tolerance=self.tolerance)
        base = Objective(rows=rows, loss=self.loss, penalty=float(self.strength) / 2)
        objective = Pulled(base=base, loss=self.loss, pull=pull)
        found = solver.minimise(objective)
        if objective.rounding(found, weight) <= solver.needed:
            return found
        return solver.minimise(Pulled(base=base, loss=self.loss, pull=pull, extended=True))
