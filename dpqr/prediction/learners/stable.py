"""Stable learners: regularised minimisers, linear in their features, each with its certified sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts
from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.budget import root_below
from dpqr.prediction.learners.corners import CornerSolver
from dpqr.prediction.learners.examples import BLOCK, Examples, LossScale, TrainingRows, pairwise_sum
from dpqr.prediction.learners.features import FeatureMap
from dpqr.prediction.learners.losses import Cornered, Loss
from dpqr.prediction.learners.perturbed import Near, PerturbedObjective
from dpqr.prediction.learners.solver import ULP, Objective, Solver, evaluation_error, gradient_error
from dpqr.prediction.risk_bounds import BALL

# Square pulls: how differently two records of squared loss can pull at one function.

ROUNDED_UP = 1 + Fraction(1, 2**40)
"""Covers the rounding of the figure in double precision."""


def opposed_pulls(norm: Fraction) -> Fraction:
    """The largest ||(f(x) - y) x - (f(x') - y') x'|| for ||f|| <= R, ||x||, ||x'|| <= 1 and |y|, |y'| <= M = 1.

    It is D(R) = max over s of 2 sin s (1 + R cos s), below R + 2 and 2 (R + 1). Proof: the norm is convex in y and y',
    so they are -1 or 1; (x, y) and (-x, -y) pull alike, so both are -1; and a short x is the projection of a unit
    vector with one more coordinate, in which f has none. Let x and x' have angles a and b to f, on opposite sides (or
    on one side: b < 0), r = 1 + R cos a, r' = 1 + R cos b, s = (a + b) / 2 and d = (a - b) / 2. Then
    ||r x - r' x'||^2 = (r - r')^2 cos^2 s + (r + r')^2 sin^2 s = 4 sin^2 s (1 + R^2 cos^2 s + 2 R cos s cos d), which
    is largest at d = 0, or pi. Any other pair of vectors at these angles has a product between those of the two sides.
    D grows with R, so a shorter f is no better. The best cos s is 2 R / (1 + sqrt(1 + 8 R^2)).

    Statement P9 of the guide's topic proofs.

    >>> round(float(opposed_pulls(Fraction(1))), 3), round(float(opposed_pulls(Fraction(0))), 3)
    (2.598, 2.0)
    """
    reach = float(norm)
    cosine = 2 * reach / (1 + math.sqrt(1 + 8 * reach**2))
    return Fraction(2 * math.sqrt(1 - cosine**2) * (1 + reach * cosine)) * ROUNDED_UP


CLOSENESS = Fraction(1, 1024)
"""The solver's public tolerance, as a share of the distance that neighbours' minimisers can have."""
ARITHMETIC = 1 + Fraction(1, 2**20)
"""Covers relative errors: a row's norm is 1 but for 2^-40, which scales gradients and values alike."""
EIGEN = 2**8
"""Rounding of an eigenvalue problem, in ulp of its norm and width."""


class StableLearner(Protocol):
    """A function f(x) = <w, phi(x)> of the table, whose w moves by at most `bound` in norm between neighbours."""

    @property
    def features(self) -> FeatureMap: ...

    @property
    def penalty(self) -> Fraction:
        """lambda."""
        ...

    @property
    def bound(self) -> Fraction:
        """Certified: the distance of exact minimisers, the solver's tolerance twice, and `evaluation_error` twice.

        So it bounds how far w moves, and how far a computed value of f moves at any point. Public.
        """
        ...

    def fit(self, counts: Counts) -> FloatArray:
        """w, shape (features.width,). Private; called by a mechanism, behind the gate."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LipschitzLearner:
    """argmin (u / m0) sum L(f(x_i), y_i) + lambda ||f||^2 with a C_L-Lipschitz loss.

    Attributes:
        examples: how rows are read.
        loss: L.
        penalty: lambda.
        scale: m0 and u.
        closeness: the solver's tolerance as a share of the distance.
        solver: certified to a public tolerance.
        bound: see `StableLearner`.

    Privacy:
        One record's loss has gradients of norm at most kappa C_L, kappa = 1, and the objective is 2 lambda-strongly
        convex, so by `LossScale.distance` the minimiser moves by at most
        replace: kappa C_L / (lambda m) (Nie and Wang 2017, J. Inequal. Appl., Proposition 1's sensitivity
        2 kappa C_L / (lambda gamma m) with gamma = 2; the noise scale printed there is half of what it needs);
        add-remove: (1 + eta) kappa C_L / (2 lambda m0), K times that for persons of K rows, 2K times where one person
        replaces another. The solver adds its public tolerance at both ends. Where lambda m0 is below the largest loss
        of a minimiser, start + C_L ||f||, the bound without a Lipschitz constant is smaller and taken
        (`LossScale.bounded_distance`).
        Statement P16 of the guide's topic proofs.

    >>> from dpqr.domain.attribute import Attribute, Codes
    >>> from dpqr.domain.domain import Domain
    >>> from dpqr.domain.histogram import DenseHistogram
    >>> from dpqr.kernel.unit import PrivacyUnit
    >>> from dpqr.prediction.learners.features import CellFeatures
    >>> features = CellFeatures(domain=Domain((Attribute(name="a", axis=Codes(2)),)))
    >>> examples = Examples(features=features, axis=1, values=np.array([-1.0, 1.0]))
    >>> scale = LossScale(unit=PrivacyUnit(), records=4)
    >>> from dpqr.prediction.learners.losses import Logistic
    >>> learner = LipschitzLearner(examples=examples, loss=Logistic(), penalty=Fraction(1, 10), scale=scale)
    >>> weights = learner.fit(DenseHistogram(np.array([[2, 0], [0, 2]])))
    >>> (features.of(np.array([[0], [1]])) @ weights > 0).tolist()
    [False, True]
    """

    examples: Examples
    loss: Loss | Cornered
    penalty: Fraction
    scale: LossScale
    closeness: Fraction = CLOSENESS
    solver: Solver | CornerSolver = field(init=False, repr=False)
    bound: Fraction = field(init=False)

    def __post_init__(self) -> None:
        solver = self._solver()
        object.__setattr__(self, "solver", solver)
        wrong = solver.tolerance + evaluation_error(self.features.width, self.norm + solver.tolerance)
        object.__setattr__(self, "bound", (self.distance + 2 * wrong) * ARITHMETIC)

    @property
    def features(self) -> FeatureMap:
        return self.examples.features

    @property
    def distance(self) -> Fraction:
        largest = self.loss.start + self.loss.lipschitz * self.norm
        lipschitz = self.scale.distance(self.loss.lipschitz, 2 * self.penalty)
        return min(lipschitz, self.scale.bounded_distance(largest, 2 * self.penalty))

    @property
    def norm(self) -> Fraction:
        """Of a minimiser at most: lambda ||w||^2 <= F(0), and 2 lambda w is a sum of slopes times rows of norm 1."""
        heaviest = self.scale.heaviest
        by_value = 1 / root_below(self.penalty / (heaviest * self.loss.start))
        return min(by_value, heaviest * self.loss.lipschitz / (2 * self.penalty))

    def _solver(self) -> Solver | CornerSolver:
        heaviest, modulus, width = self.scale.heaviest, 2 * self.penalty, self.features.width
        closeness = self.closeness * self.distance
        if isinstance(self.loss, Cornered):
            return CornerSolver(
                penalty=self.penalty, heaviest=heaviest, loss=self.loss, features=width, closeness=closeness
            )
        rounding = gradient_error(heaviest=heaviest, loss=self.loss, penalty=self.penalty, width=width)
        return Solver(
            modulus=modulus,
            smoothness=heaviest * self.loss.smoothness + modulus,
            start=heaviest * self.loss.start,
            tolerance=closeness + 2 * rounding / modulus,
        )

    def fit(self, counts: Counts) -> FloatArray:
        return self.learn(self.examples.read(counts, self.scale))

    def learn(self, rows: TrainingRows) -> FloatArray:
        """w from weighted rows. Private."""
        if isinstance(self.solver, CornerSolver):
            return self.solver.minimise(rows)
        assert not isinstance(self.loss, Cornered)
        objective = Objective(rows=rows, loss=self.loss, penalty=float(self.penalty))
        found, sure = self.solver.reached(objective)
        if sure:
            return found
        pulled = PerturbedObjective(base=objective, loss=self.loss, pull=np.zeros(rows.width))
        return found + self.solver.refine(Near(pulled=pulled, point=found))


class RidgeRegression(Struct, frozen=True, kw_only=True, eq=False):
    """argmin (u / m0) sum (f(x_i) - y_i)^2 + lambda ||f||^2, |y| <= M = 1, over a ball ||f|| <= R.

    Every minimiser over the whole space lies in the ball of radius r = M / (2 sqrt(lambda)) where m is public (max over
    s of s / (s + lambda m)^2 is 1 / (4 lambda m)). R is the smaller of r and BALL: a smaller ball means a smaller
    sensitivity.

    Attributes:
        examples: how rows are read.
        penalty: lambda.
        scale: m0 and u.

    Privacy:
        On the ball one record's loss has gradients of norm at most 2 kappa (kappa R + M), and strong convexity bounds
        the distance of minimisers over any convex set (`LossScale.distance`). Add-remove:
        (1 + eta) kappa (kappa R + M) / (lambda m0), times the records that a unit brings; short rows that hold f at
        norm R, and one that comes against it, meet the (kappa R + M) / (lambda m0) of it. Replace: the gradients at one
        function of the record that goes and of the one that comes differ by at most 2 D(R) <= 2 (R + 2)
        (`opposed_pulls`), so D(R) / (lambda m); the same pair of records beside such rows meets it. (Nie and Wang 2017,
        JAMP, Proposition 1: 2 kappa (kappa R + M) with R = M / sqrt(lambda).) Solved by eigenvalues of a matrix of norm
        at most `heaviest`, whose rounding, a few width and BLOCK ulp of that norm, moves the solution by at most that
        over lambda; it is charged for, and so is `evaluation_error`.
        Statement P17 of the guide's topic proofs.
    """

    examples: Examples
    penalty: Fraction
    scale: LossScale
    closeness: Fraction = CLOSENESS

    @property
    def features(self) -> FeatureMap:
        return self.examples.features

    @property
    def norm(self) -> Fraction:
        """Of a minimiser at most."""
        return self.radius

    @property
    def reach(self) -> Fraction:
        """r, rounded up."""
        return 1 / (2 * root_below(self.penalty))

    @property
    def radius(self) -> Fraction:
        """R."""
        return min(BALL, self.reach)

    @property
    def distance(self) -> Fraction:
        return square_distance(self.scale, self.radius, self.penalty)

    @property
    def tolerance(self) -> Fraction:
        rounding = (EIGEN * self.features.width + 2 * BLOCK) * self.scale.heaviest * ULP
        return self.closeness * self.distance + rounding / self.penalty

    @property
    def bound(self) -> Fraction:
        wrong = self.tolerance + evaluation_error(self.features.width, self.norm + self.tolerance)
        return (self.distance + 2 * wrong) * ARITHMETIC

    def fit(self, counts: Counts) -> FloatArray:
        return self.learn(self.examples.read(counts, self.scale))

    def learn(self, rows: TrainingRows) -> FloatArray:
        """w from weighted rows. Private."""
        moments = pairwise_sum(
            np.vstack([block.vectors.T, block.targets]) @ (block.vectors * block.weights[:, None])
            for block in rows.blocks()
        )
        values, axes = np.linalg.eigh(moments[:-1])
        spectrum, pull = np.maximum(values, 0.0), axes.T @ moments[-1]
        shift = _shift(spectrum, pull, float(self.penalty), float(self.radius))
        solved: FloatArray = axes @ (pull / (spectrum + shift))
        return solved


def square_distance(scale: LossScale, radius: Fraction, penalty: Fraction) -> Fraction:
    """The distance of `RidgeRegression` for a ball of this radius."""
    if scale.replaced:
        return opposed_pulls(radius) / (penalty * scale.records)
    return scale.distance(2 * (radius + 1), 2 * penalty)


BatchLearner = LipschitzLearner | RidgeRegression
"""Learners that read all rows at once, in no order."""


def _shift(spectrum: FloatArray, pull: FloatArray, penalty: float, radius: float) -> float:
    """lambda, or the larger number with which the solution has norm `radius`: the ball's multiplier on top of it.

    The norm falls as the shift grows, and is below ||pull|| / shift; bisection to the last digit.
    """
    if np.linalg.norm(pull / (spectrum + penalty)) <= radius:
        return penalty
    low, high = penalty, max(penalty, float(np.linalg.norm(pull)) / radius)
    for _ in range(200):
        middle = (low + high) / 2
        if np.linalg.norm(pull / (spectrum + middle)) > radius:
            low = middle
        else:
            high = middle
    return high
