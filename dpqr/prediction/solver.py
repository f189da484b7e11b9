"""Solver: minimisers within a public distance, certified on every dataset."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.prediction.losses import Loss
from dpqr.prediction.rounding import ULP
from dpqr.prediction.rows import BLOCK, Rows, summed
from dpqr.privacy.budget import root_below

NEWTON_STEPS = 60
NEWTON_WORK = 2**37
HALVINGS = 40


class Minimised(Protocol):
    """A strongly convex function of a vector that stands for a point of a Hilbert space."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and coordinates of a point."""
        ...

    def value(self, point: FloatArray) -> float: ...

    def gradient(self, point: FloatArray) -> FloatArray: ...

    def newton_step(self, point: FloatArray, gradient: FloatArray) -> FloatArray: ...

    def size(self, gradient: FloatArray) -> float:
        """At least its norm in the space."""
        ...

    def inner(self, one: FloatArray, two: FloatArray) -> float:
        """Inner product in the space."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Objective:
    """F(f) = sum_i weight_i L(<f, x_i>, y_i) + lambda ||f||^2. Private."""

    rows: Rows
    loss: Loss
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
        return summed(slopes) + 2 * self.penalty * point

    def newton_step(self, point: FloatArray, gradient: FloatArray) -> FloatArray:
        hessian = np.zeros((self.rows.width, self.rows.width))
        for block in self.rows.blocks():
            curved = block.weights * self.loss.curvature(block.vectors @ point, block.targets)
            hessian += (block.vectors.T * curved) @ block.vectors
        hessian[np.diag_indices_from(hessian)] += 2 * self.penalty
        return np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solver:
    """Finds f within `tolerance` of the minimiser in norm.

    modulus: mu, of strong convexity (2 lambda). smoothness: L, of the whole objective, for every table. start: F(0)
    is at most this. All public, and so is `steps`.

    **Guarantee.** F is mu-strongly convex, hence ||f - f*|| <= ||grad F(f)|| / mu: a point is returned as soon as
    that shows half the tolerance (the other half covers what double precision loses, `gradient_error`). Newton's
    steps get there on nearly every table. Where they do not, Nesterov's method with constant momentum is run from 0
    for `steps` steps: F(f_k) - F* <= (1 - sqrt(mu / L))^k (F(0) - F* + mu ||f*||^2 / 2)
    <= 2 (1 - sqrt(mu / L))^k F(0) (Nesterov 2018, Theorem 2.2.3; F >= 0 and strong convexity at f* bound the
    bracket), and ||f_k - f*||^2 <= 2 (F(f_k) - F*) / mu.
    So the tolerance holds for every table, whichever way was taken; which it was, and how far it came, is told nobody.
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
        rows, width = objective.shape
        start = np.zeros(width)
        affordable = rows * width * width * NEWTON_STEPS <= NEWTON_WORK or width <= self.steps
        found = self._newton(objective, start) if affordable else None
        return self._accelerated(objective, start) if found is None else found

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

    def _accelerated(self, objective: Minimised, point: FloatArray) -> FloatArray:
        root = math.sqrt(self.modulus / self.smoothness)
        momentum, length = (1 - root) / (1 + root), 1 / float(self.smoothness)
        ahead = point
        for _ in range(self.steps):
            gradient = objective.gradient(ahead)
            if self.certified(objective.size(gradient)):
                return ahead
            moved = ahead - length * gradient
            ahead, point = moved + momentum * (moved - point), moved
        return point


def gradient_error(*, heaviest: Fraction, loss: Loss, penalty: Fraction, width: int) -> Fraction:
    """A public bound on the rounding in a gradient, near a minimiser.

    The minimiser has norm at most N = sqrt(F(0) / lambda), as F(f) >= lambda ||f||^2, and no point of norm above 2 N
    passes for it, for the gradient there is at least 2 lambda N, far above any rounding. Up to 2 N a prediction is
    wrong by at most 2 width N ulp and its slope by `smoothness` times that and a few ulp; sums of a block add BLOCK
    ulp, relatively, and those of 2^16 blocks or fewer, in pairs, and the penalty a few ulp more.
    """
    norm = 2 / root_below(penalty / (heaviest * loss.start))
    summed = loss.lipschitz * (BLOCK + 64) * heaviest + 4 * penalty * norm
    return ULP * (summed + heaviest * loss.smoothness * (width * norm + 8))
