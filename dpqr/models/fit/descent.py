"""Minimisers of smooth, strictly convex functions: limited-memory BFGS, and Newton's method on a small fit's dual."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
Inverse = Callable[[FloatArray], FloatArray]
Past = deque[tuple[FloatArray, FloatArray, float]]

MEMORY = 10
"""Past steps that shape the next one."""
SUFFICIENT = 1e-4
"""Part of the predicted decrease that a step must reach (Armijo)."""
SHORTEST = 1e-10
"""Shortest step that the line search tries."""
SHORT = 10_000
"""Entries of a sum that OpenBLAS adds up in one thread."""


class Descent(Struct, frozen=True, kw_only=True):
    """Limited-memory BFGS until no entry of the gradient exceeds `tolerance`, with step halving.

    For a strictly convex function every step has positive curvature, so none is skipped but at the limit of precision.
    Of other functions, steps without are not remembered, and a point is found where the gradient is small.

    Attributes:
        tolerance: one number, or one per entry.
        steps: at most.
        memory: past steps that shape the next one.

    References:
        Nocedal 1980, "Updating quasi-Newton matrices with limited storage".

    >>> found = Descent(tolerance=1e-6, steps=50).run(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(1))
    >>> found.round(3)
    array([3.])
    """

    tolerance: float | FloatArray
    steps: int
    memory: int = MEMORY

    def run(self, objective: Objective, start: FloatArray, inverse: Inverse | None = None) -> FloatArray:
        """The last point reached; never worse than `start`.

        Args:
            objective: value and gradient at a point.
            inverse: an estimate of the inverse Hessian, up to a factor, times a vector: linear, symmetric, positive.
                None: the identity.
        """
        point = start
        value, gradient = objective(point)
        past: Past = deque(maxlen=self.memory)
        for _ in range(self.steps):
            if (np.abs(gradient) <= self.tolerance).all():
                break
            direction = _direction(gradient, past, inverse or (lambda vector: vector))
            moved = _line_search(objective, point, value, inner(gradient, direction), direction)
            if moved is None:
                break
            following, value, slope = moved
            move, change = following - point, slope - gradient
            curvature = inner(move, change)
            if curvature > 0.0:
                past.append((move, change, curvature))
            point, gradient = following, slope
        return point


def _direction(gradient: FloatArray, past: Past, inverse: Inverse) -> FloatArray:
    """Minus the inverse Hessian estimate times the gradient (the two-loop recursion)."""
    direction = -gradient
    if not past:
        scaled: FloatArray = inverse(direction) / max(math.sqrt(inner(gradient, gradient)), 1.0)
        return scaled
    weights = []
    for move, change, curvature in reversed(past):
        weight = inner(move, direction) / curvature
        direction -= weight * change
        weights.append(weight)
    _, change, curvature = past[-1]
    direction = inverse(direction) * (curvature / inner(change, inverse(change)))
    for (move, change, curvature), weight in zip(past, reversed(weights), strict=True):
        direction += (weight - inner(change, direction) / curvature) * move
    return direction


def _line_search(
    function: Objective, point: FloatArray, value: float, slope: float, direction: FloatArray
) -> tuple[FloatArray, float, FloatArray] | None:
    """The first halved step with sufficient decrease; None where rounding leaves none.

    Args:
        function: its value at a point, and an array that is returned with the point.
        value: at `point`.
        slope: of the function along `direction`.
    """
    length = 1.0
    while length >= SHORTEST and slope < 0.0:
        following = point + length * direction
        reached, there = function(following)
        if reached <= value + SUFFICIENT * length * slope:
            return following, reached, there
        length /= 2
    return None


def inner(left: FloatArray, right: FloatArray) -> float:
    """The inner product, in one thread.

    A linear algebra library spreads longer sums over all cores, which costs more processor time than it saves.
    """
    return float(left @ right if left.size <= SHORT else np.einsum("i,i->", left, right))


class NewtonFit(Struct, frozen=True, kw_only=True):
    """The maximum-entropy distribution that explains a few noisy answers, by Newton steps on the dual.

    Minimises over the tilts t of p = base exp(t A) / Z the smooth, strictly convex

        log sum base exp(t A) - t y + sum r_j t_j^2 / 2,

    A the queries' coefficients, y their answers and r their noise deviations times the regularisation strength, all as
    fractions of the records: the dual of `MaximumEntropyFit`, at whose optimum every residual is r_j t_j.
    Multiplicative weights converges to this state under unlimited replay of its history, up to the regularisation.

    Newton's method is exact after a few steps for the hundred unknowns of a hundred queries.

    Attributes:
        tolerance: in deviations of the answers.
        steps: at most; what is cut there is still a distribution.

    >>> one = np.ones(1)
    >>> tilts, cells = NewtonFit().run(np.array([[1.0, 0.0]]), np.array([0.5, 0.5]), 0.8 * one, 1e-3 * one, 0 * one)
    >>> cells.round(2)
    array([0.8, 0.2])
    """

    tolerance: float = 0.05
    steps: int = 50

    def run(
        self, design: FloatArray, base: FloatArray, targets: FloatArray, ridge: FloatArray, start: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The fit from tilts `start`.

        Args:
            design: A, shape (queries, pieces).
            base: probabilities, positive, sum 1, shape (pieces,).
            targets, ridge: y and r, shape (queries,), r > 0.

        Returns:
            Tilts, shape (queries,), and probabilities, shape (pieces,).
        """
        logs = np.log(base)

        def dual(tilts: FloatArray) -> tuple[float, FloatArray]:
            """Its value, and the probabilities at these tilts."""
            exponents = logs + tilts @ design
            largest = float(exponents.max())
            cells = np.exp(exponents - largest)
            mass = float(cells.sum())
            cells /= mass
            return largest + float(np.log(mass)) + float(((0.5 * ridge * tilts - targets) * tilts).sum()), cells

        tilts = start
        value, cells = dual(tilts)
        for _ in range(self.steps):
            answers = design @ cells
            slope = answers - targets + ridge * tilts
            if (np.abs(slope) <= self.tolerance * ridge).all():
                break
            hessian = (design * cells) @ design.T - np.multiply.outer(answers, answers)
            hessian[np.diag_indices_from(hessian)] += ridge
            step = np.asarray(np.linalg.solve(hessian, slope), dtype=np.float64)
            moved = _line_search(dual, tilts, value, -float(slope @ step), -step)
            if moved is None:
                break
            tilts, value, cells = moved
        return tilts, cells
