"""Kernel machines: predictions by a kernel itself, without features, for tables of few rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts
from dpqr.kernel.arrays import AnyArray, FloatArray
from dpqr.kernel.budget import root_below
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.prediction.learners.examples import Examples, LossScale
from dpqr.prediction.learners.features import FeatureMap, Kernel
from dpqr.prediction.learners.losses import Loss, Square
from dpqr.prediction.learners.solver import ULP, Solver
from dpqr.prediction.learners.stable import ARITHMETIC, CLOSENESS, opposed_pulls


class KernelObjective(Struct, frozen=True, kw_only=True, eq=False):
    """F(f) = sum_i weight_i L(f(x_i), y_i) + lambda ||f||_K^2 for f = sum_j alpha_j K(x_j, .). Private.

    Points are alphas: the gradient at f is sum_i c_i K(x_i, .) with c = weight L' + 2 lambda alpha, and its norm is at
    most sum |c_i|, as kappa = 1.

    Attributes:
        gram: K(x_i, x_j).
        targets, weights: one per row.
        loss: L.
        penalty: lambda.
    """

    gram: FloatArray
    targets: FloatArray
    weights: FloatArray
    loss: Loss
    penalty: float

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.gram), len(self.gram)

    def value(self, point: FloatArray) -> float:
        values = self.gram @ point
        return float(self.weights @ self.loss.value(values, self.targets) + self.penalty * (point @ values))

    def gradient(self, point: FloatArray) -> FloatArray:
        return self.weights * self.loss.slope(self.gram @ point, self.targets) + 2 * self.penalty * point

    def newton_step(self, point: FloatArray, gradient: FloatArray) -> FloatArray:
        curved = (self.weights * self.loss.curvature(self.gram @ point, self.targets))[:, None] * self.gram
        curved[np.diag_indices_from(curved)] += 2 * self.penalty
        return np.asarray(np.linalg.solve(curved, gradient), dtype=np.float64)

    def size(self, gradient: FloatArray) -> float:
        return float(np.abs(gradient).sum())

    def inner(self, one: FloatArray, two: FloatArray) -> float:
        return float(one @ self.gram @ two)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExactKernel:
    """The regularised minimiser in the kernel's own space; `at` gives it its points.

    Attributes:
        examples: their features are the rows that the kernel compares.
        kernel: K.
        loss: of the sources; `Square` for least squares, over the whole space.
        penalty: lambda.
        scale: m, which is public.

    Privacy:
        Replace of rows; m is public, so it may decide that this learner is used. As `LipschitzLearner`:
        kappa C_L / (lambda m); least squares D(r) / (lambda m), r = M / (2 sqrt(lambda)) (`opposed_pulls`), as no
        minimiser is longer than r (max over s of s / (s + lambda m)^2 is 1 / (4 lambda m)); in the kernel's norm, so
        for every point at once as kappa = 1. Rounding: no minimiser has sum |alpha_i| above
        A = C_L / (2 lambda); up to 2 A, values at points are wrong by 2 A (m ulp + e), where e bounds an entry of the
        kernel's matrix, and gradients by `smoothness` times that and some ulp. (m ulp is above gamma_(m + 1) of
        `evaluation_error`, the quotient by the grid's step included.)
    """

    examples: Examples
    kernel: Kernel
    loss: Loss
    penalty: Fraction
    scale: LossScale
    solver: Solver = field(init=False, repr=False)
    bound: Fraction = field(init=False)

    def __post_init__(self) -> None:
        modulus, wrong = 2 * self.penalty, self.wrong
        gradient = self.loss.smoothness * wrong + ULP * 80 * self.loss.lipschitz
        solver = Solver(
            modulus=modulus,
            smoothness=self.loss.smoothness + modulus,
            start=self.loss.start,
            tolerance=CLOSENESS * self.distance + 2 * gradient / modulus,
        )
        object.__setattr__(self, "solver", solver)
        object.__setattr__(self, "bound", (self.distance + 2 * solver.tolerance + 2 * wrong) * ARITHMETIC)

    @property
    def features(self) -> FeatureMap:
        return self.examples.features

    @property
    def distance(self) -> Fraction:
        if isinstance(self.loss, Square):
            return opposed_pulls(1 / (2 * root_below(self.penalty))) / (self.penalty * self.scale.records)
        return self.scale.distance(self.loss.lipschitz, 2 * self.penalty)

    @property
    def wrong(self) -> Fraction:
        """Rounding of a value."""
        return (ULP * self.scale.records + self.entry) * self.loss.lipschitz / self.penalty

    @property
    def entry(self) -> Fraction:
        """Rounding of an entry of the kernel's matrix."""
        return ULP * (self.features.width + 8) * (1 + 2 / self.kernel.bandwidth**2) * self.kernel.degree

    def fit(self, counts: Counts) -> FloatArray:
        raise InfeasiblePlan("an exact kernel has no weights to release; state --features")

    def at(self, codes: AnyArray) -> AtPoints:
        """Predictions for points of these codes."""
        return AtPoints(learner=self, points=self.features.of(codes))


class AtPoints(Struct, frozen=True, kw_only=True, eq=False):
    """An exact kernel's values at points.

    Attributes:
        points: rows that the kernel compares, shape (predictions, width).
    """

    learner: ExactKernel
    points: FloatArray

    @property
    def bound(self) -> Fraction:
        return self.learner.bound

    def fit(self, counts: Counts) -> FloatArray:
        """Values, shape (predictions,). Private."""
        learner = self.learner
        rows = learner.examples.read(counts, learner.scale)
        vectors = learner.features.of(rows.codes)
        objective = KernelObjective(
            gram=learner.kernel.matrix(vectors, vectors),
            targets=rows.targets,
            weights=rows.weights,
            loss=learner.loss,
            penalty=float(learner.penalty),
        )
        values: FloatArray = learner.kernel.matrix(self.points, vectors) @ learner.solver.minimise(objective)
        return values
