"""Minimisers within a public distance, certified with floating-point rounding included."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.budget import root_below
from dpqr.prediction.learners.examples import BLOCK, TrainingRows, pairwise_sum
from dpqr.prediction.learners.losses import Curved, Loss

UNIT = Fraction(1, 2**53)
"""u, the unit roundoff of double precision."""
ULP = 2 * UNIT
FEATURE_NORM = 1 + Fraction(1, 2**40)
"""Largest norm of a row of features as it is computed. Its square is a sum of `width` squares, so the norm that
`clipped` divides by is short by a factor of (1 - gamma_width)^(1/2) (1 - u) at most, and the quotients by (1 + u):
width 2^-54 and a few u together, 2^-41 for 2^12 features. Cosines and sines have norm 1 but for some u."""


def gamma(operations: int) -> Fraction:
    """gamma_k = k u / (1 - k u): a product of k factors (1 + d)^(+-1), |d| <= u, is 1 + t with |t| <= gamma_k.

    Higham 2002, Accuracy and Stability of Numerical Algorithms, Lemma 3.1.
    """
    return operations * UNIT / (1 - operations * UNIT)


def evaluation_error(width: int, norm: Fraction) -> Fraction:
    """How far a computed value of f(x) = <w, phi(x)> can be from the exact one, ||w|| <= `norm`.

    |fl(<w, phi>) - <w, phi>| <= gamma_width |w| . |phi| in any order of summation, fused or not (Higham 2002, (3.5)),
    and |w| . |phi| <= ||w|| ||phi|| (Cauchy and Schwarz). One rounding more for the quotient by the grid's step, and
    one for underflow: gamma_(width + 2). Both tables of a pair see the same computed features, so only their norm
    matters (`FEATURE_NORM`). A value that moves by D in exact arithmetic thus moves by D + 2 e as it is computed.
    """
    return gamma(width + 2) * norm * FEATURE_NORM


NEWTON_STEPS = 60
NEWTON_WORK = 2**37
HALVINGS = 40
SEARCHES = 100
MOST_GRADIENTS = 2**16
"""Gradient steps of a method whose point extended precision could find sooner."""


class Refinable(Protocol):
    """A strongly convex function of a vector that stands for a point of a Hilbert space, by its gradients."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and coordinates of a point."""
        ...

    def gradient(self, point: FloatArray) -> FloatArray: ...

    def newton_step(self, point: FloatArray, gradient: FloatArray) -> FloatArray: ...

    def size(self, gradient: FloatArray) -> float:
        """At least its norm in the space."""
        ...

    def inner(self, one: FloatArray, two: FloatArray) -> float:
        """Inner product in the space."""
        ...


class Minimised(Refinable, Protocol):
    """The same, with its values."""

    def value(self, point: FloatArray) -> float: ...


class Objective(Struct, frozen=True, kw_only=True, eq=False):
    """F(f) = sum_i weight_i L(<f, x_i>, y_i) + lambda ||f||^2. Private."""

    rows: TrainingRows
    loss: Curved
    penalty: float

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.rows.width

    def size(self, gradient: FloatArray) -> float:
        return float(np.linalg.norm(gradient))

    def inner(self, one: FloatArray, two: FloatArray) -> float:
        return float(one @ two)

    def value(self, point: FloatArray) -> float:
        losses = (b.weights @ self.loss.value(b.vectors @ point, b.targets) for b in self.rows.blocks())
        return float(sum(losses) + self.penalty * (point @ point))

    def gradient(self, point: FloatArray) -> FloatArray:
        """Summed in blocks, and the blocks in pairs, so that rounding does not grow with the number of rows."""
        slopes = ((b.weights * self.loss.slope(b.vectors @ point, b.targets)) @ b.vectors for b in self.rows.blocks())
        return pairwise_sum(slopes) + 2 * self.penalty * point

    def newton_step(self, point: FloatArray, gradient: FloatArray) -> FloatArray:
        hessian = np.zeros((self.rows.width, self.rows.width))
        for block in self.rows.blocks():
            curved = block.weights * self.loss.curvature(block.vectors @ point, block.targets)
            hessian += (block.vectors.T * curved) @ block.vectors
        hessian[np.diag_indices_from(hessian)] += 2 * self.penalty
        # hessian^(-1) gradient, for a matrix whose eigenvalues are at least `least` but for rounding: never an error.
        try:
            return np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
        except np.linalg.LinAlgError:
            values, axes = np.linalg.eigh(hessian)
            return np.asarray(axes @ ((axes.T @ gradient) / np.maximum(values, (2 * self.penalty))), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solver:
    """Finds f within `tolerance` of the minimiser in norm, for every table.

    F is mu-strongly convex, hence ||f - f*|| <= ||grad F(f)|| / mu: a point is certified as soon as that shows half the
    tolerance (the other half covers rounding, `gradient_error`). Newton's method gets there on nearly every table.
    Where it does not, because values are too coarse to show which point is better, its steps are as long as the slope
    along them falls (`_searched`): slopes are finer than values. Where that does not end either, Nesterov's method with
    constant momentum is run from 0 for `steps` steps: F(f_k) - F* <= (1 - sqrt(mu / L))^k (F(0) - F* + mu ||f*||^2 / 2)
    <= 2 (1 - sqrt(mu / L))^k F(0) (F >= 0 and strong convexity at f* bound the bracket), and ||f_k - f*||^2 <=
    2 (F(f_k) - F*) / mu. That is exact arithmetic's proof, not a certificate: a learner goes on from such a point in
    extended precision (`reached` says so; `Near`), with the same methods.

    Attributes:
        modulus: mu, of strong convexity (2 lambda).
        smoothness: L, of the whole objective, for every table.
        start: an upper bound on F(0).
        tolerance: in norm.

    Privacy:
        All figures are public, and so is `steps`. The tolerance holds, for every table whose gradients can be computed
        to it (`gradient_error`, `Pulled.rounding`), whichever method was used; which it was, and how far it came, is
        never reported. `tests/prediction/test_certified.py` counts by which method adversarial tables end, and
        that all of them are certified.

    References:
        Nesterov 2018, Theorem 2.2.3.

    >>> solver = Solver(modulus=Fraction(1), smoothness=Fraction(2), start=Fraction(1), tolerance=Fraction(1, 1000))
    >>> solver.steps
    14
    """

    modulus: Fraction
    smoothness: Fraction
    start: Fraction
    tolerance: Fraction
    needed: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "needed", float(self.modulus * self.tolerance) / 2)

    @property
    def steps(self) -> int:
        """Steps after which the proof gives half the tolerance, for every table."""
        rate = math.sqrt(self.modulus / self.smoothness)
        gap = float(self.modulus) * float(self.tolerance / 2) ** 2 / 2
        return max(1, math.ceil(math.log(2 * float(self.start) / gap) / -math.log1p(-min(rate, 0.999))))

    def minimise(self, objective: Minimised) -> FloatArray:
        """The minimiser, within the tolerance."""
        found, sure = self.reached(objective)
        return found if sure else self._accelerated(objective, np.zeros(objective.shape[1]))[0]

    def reached(self, objective: Minimised) -> tuple[FloatArray, bool]:
        """A point, and whether its gradient certifies it."""
        rows, width = objective.shape
        start = np.zeros(width)
        if rows * width * width * NEWTON_STEPS <= NEWTON_WORK or width <= self.steps:
            found = self._newton(objective, start)
            if found is not None:
                return found, True
            found, sure = self._searched(objective, start)
            if sure or self.steps > MOST_GRADIENTS:
                return found, sure
        return self._accelerated(objective, start)

    def refine(self, objective: Refinable) -> FloatArray:
        """The minimiser, within the tolerance, where 0 is so near that values no longer show which point is better.

        0 stands for a point that `reached` found.
        """
        start = np.zeros(objective.shape[1])
        point = start
        for _ in range(NEWTON_STEPS):
            gradient = objective.gradient(point)
            if self.certified(objective.size(gradient)):
                return point
            point = point - objective.newton_step(point, gradient)
        found, sure = self._searched(objective, start)
        return found if sure else self._accelerated(objective, start)[0]

    def certified(self, size: float) -> bool:
        return size <= self.needed

    def _newton(self, objective: Minimised, point: FloatArray) -> FloatArray | None:
        """Damped Newton steps; None where they do not arrive."""
        value = objective.value(point)
        for _ in range(NEWTON_STEPS):
            gradient = objective.gradient(point)
            if self.certified(objective.size(gradient)):
                return point
            step = objective.newton_step(point, gradient)
            descent, length = objective.inner(gradient, step), 1.0
            for _ in range(HALVINGS):
                tried = point - length * step
                reached = objective.value(tried)
                if reached <= value - length * descent / 8:
                    break
                length /= 2
            else:
                tried, reached = point - step, objective.value(point - step)
            point, value = tried, reached
        return point if self.certified(objective.size(objective.gradient(point))) else None

    def _searched(self, objective: Refinable, point: FloatArray) -> tuple[FloatArray, bool]:
        """Newton steps, each as long as F falls along it: F is convex, so its slope along a line only rises, and the
        place where it is 0 is found by halving. The point of the smallest gradient, and whether that certifies it."""
        best, least = point, math.inf
        for _ in range(SEARCHES):
            gradient = objective.gradient(point)
            size = objective.size(gradient)
            if size < least:
                best, least = point, size
            if self.certified(size):
                return point, True
            step = objective.newton_step(point, gradient)
            low, high = 0.0, 1.0
            if objective.inner(objective.gradient(point - step), step) < 0:  # beyond the least value along the step
                for _ in range(HALVINGS):
                    middle = (low + high) / 2
                    if objective.inner(objective.gradient(point - middle * step), step) < 0:
                        high = middle
                    else:
                        low = middle
            point = point - high * step
        return best, False

    def _accelerated(self, objective: Refinable, point: FloatArray) -> tuple[FloatArray, bool]:
        root = math.sqrt(self.modulus / self.smoothness)
        momentum, length = (1 - root) / (1 + root), 1 / float(self.smoothness)
        ahead = point
        for _ in range(self.steps):
            gradient = objective.gradient(ahead)
            if self.certified(objective.size(gradient)):
                return ahead, True
            moved = ahead - length * gradient
            ahead, point = moved + momentum * (moved - point), moved
        return point, self.certified(objective.size(objective.gradient(point)))


def gradient_error(*, heaviest: Fraction, loss: Loss, penalty: Fraction, width: int) -> Fraction:
    """A public bound on the rounding in a gradient, near a minimiser.

    The minimiser has norm at most N = sqrt(F(0) / lambda), as F(f) >= lambda ||f||^2, and no point of norm above 2 N
    passes for it, for the gradient there is at least 2 lambda N, far above any rounding. Up to 2 N a prediction is
    wrong by at most 2 width N ulp and its slope by `smoothness` times that and a few ulp. Sums of a block add BLOCK
    ulp, relatively, and those of 2^16 blocks or fewer, in pairs, and the penalty a few ulp more.
    """
    norm = 2 / root_below(penalty / (heaviest * loss.start))
    summed = loss.lipschitz * (BLOCK + 64) * heaviest + 4 * penalty * norm
    return ULP * (summed + heaviest * loss.smoothness * (width * norm + 8))
