"""Descent: limited-memory BFGS for a smooth, strictly convex function."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import FloatArray

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
Inverse = Callable[[FloatArray], FloatArray]
Past = deque[tuple[FloatArray, FloatArray, float]]

MEMORY = 10
SUFFICIENT = 1e-4
SHORTEST = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """Steps until no entry of the gradient is larger than `tolerance`, and at most `steps` of them.

    tolerance: one number, or one an entry.
    memory: how many past steps shape the next one.
    Method: Nocedal, "Updating quasi-Newton matrices with limited storage" (1980), with step halving; for a strictly
    convex function every step has positive curvature, so none needs to be skipped but at the limit of precision.
    """

    tolerance: float | FloatArray
    steps: int
    memory: int = MEMORY

    def run(self, objective: Objective, start: FloatArray, inverse: Inverse | None = None) -> FloatArray:
        """The last point reached; never worse than `start`.

        inverse: the inverse Hessian as far as it is known beforehand, up to a factor, times a vector: linear,
        symmetric, positive; the identity where it is not stated. What past steps tell is built on it.
        """
        point = start
        value, gradient = objective(point)
        past: Past = deque(maxlen=self.memory)
        for _ in range(self.steps):
            if (np.abs(gradient) <= self.tolerance).all():
                break
            direction = _direction(gradient, past, inverse or _same)
            moved = _line_search(objective, point, value, gradient, direction)
            if moved is None:
                break
            following, value, slope = moved
            move, bend = following - point, slope - gradient
            curvature = inner(move, bend)
            if curvature > 0.0:
                past.append((move, bend, curvature))
            point, gradient = following, slope
        return point


def _same(vector: FloatArray) -> FloatArray:
    return vector


def _direction(gradient: FloatArray, past: Past, inverse: Inverse) -> FloatArray:
    """Minus the inverse Hessian estimate times the gradient (the two-loop recursion)."""
    direction = -gradient
    if not past:
        scaled: FloatArray = inverse(direction) / max(math.sqrt(inner(gradient, gradient)), 1.0)
        return scaled
    weights = []
    for move, bend, curvature in reversed(past):
        weight = inner(move, direction) / curvature
        direction -= weight * bend
        weights.append(weight)
    _, bend, curvature = past[-1]
    direction = inverse(direction) * (curvature / inner(bend, inverse(bend)))
    for (move, bend, curvature), weight in zip(past, reversed(weights), strict=True):
        direction += (weight - inner(bend, direction) / curvature) * move
    return direction


def _line_search(
    objective: Objective, point: FloatArray, value: float, gradient: FloatArray, direction: FloatArray
) -> tuple[FloatArray, float, FloatArray] | None:
    """The first halved step with sufficient decrease; None where rounding leaves none."""
    slope = inner(gradient, direction)
    length = 1.0
    while length >= SHORTEST and slope < 0.0:
        following = point + length * direction
        reached, gradient_there = objective(following)
        if reached <= value + SUFFICIENT * length * slope:
            return following, reached, gradient_there
        length /= 2
    return None


def inner(left: FloatArray, right: FloatArray) -> float:
    """The inner product, in one thread.

    Why not `@`: a linear algebra library spreads even these short sums over all cores and keeps them spinning in
    between; on a busy machine a fit took six times the processor time.
    """
    return float(np.einsum("i,i->", left, right))
