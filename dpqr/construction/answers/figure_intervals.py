"""Intervals of quotients, variances and quantiles, from values and deviations of linear functions of answers.

Every array: one entry, or row, a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpqr.data.arrays import FloatArray

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Span:
    """lower, upper: ends; NaN where nothing is known. error: of the value by linearisation. small: the denominator may
    be 0, so that the interval is all that a table can give.

    >>> Span.unknown(2).small.tolist()
    [False, False]
    """

    lower: FloatArray
    upper: FloatArray
    error: FloatArray
    small: Flags

    @classmethod
    def unknown(cls, count: int) -> Span:
        nothing = np.full(count, np.nan)
        return cls(lower=nothing, upper=nothing, error=nothing, small=np.zeros(count, dtype=np.bool_))

    def within(self, floor: float, ceiling: float) -> Span:
        """Cut to what a table can give; all of that where the denominator is small."""
        lower = np.where(self.small, floor, np.clip(self.lower, floor, ceiling))
        upper = np.where(self.small, ceiling, np.clip(self.upper, floor, ceiling))
        error = np.where(self.small, np.nan, self.error)
        return Span(lower=lower, upper=upper, error=error, small=self.small)


class Errors(Protocol):
    """What is known of the errors of the answers of every group."""

    def pair(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Covariances of two linear functions of the answers, shape (groups, 2, 2)."""
        ...

    def along(self, slopes: FloatArray) -> FloatArray:
        """Deviations of a linear function a group, slopes of shape (groups, answers); shape (groups,)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Covariances:
    """each: covariances of a group's answers, shape (groups, answers, answers).

    >>> Covariances.of(np.array([[3.0, 4.0, 5.0]]), 2).each.tolist()
    [[[9.0, 0.0], [0.0, 16.0]]]
    """

    each: FloatArray

    @classmethod
    def of(cls, deviations: FloatArray, count: int) -> Covariances:
        """From the deviations of `dpqr.workload.figures.moments` of so many answers, shape (groups, tests).

        Correlations beyond 1, which estimated deviations can give, become 1.
        """
        squares = deviations**2
        found, place = np.zeros((len(squares), count, count)), count
        for first in range(count):
            found[:, first, first] = squares[:, first]
            for second in range(first + 1, count):
                most = deviations[:, first] * deviations[:, second]
                shared = (squares[:, first] + squares[:, second] - squares[:, place]) / 2
                found[:, first, second] = found[:, second, first] = np.clip(shared, -most, most)
                place += 1
        return cls(found)

    def pair(self, first: FloatArray, second: FloatArray) -> FloatArray:
        both = np.stack([first, second])
        pairs: FloatArray = np.einsum("ai,gij,bj->gab", both, self.each, both)
        return pairs

    def along(self, slopes: FloatArray) -> FloatArray:
        squares: FloatArray = np.maximum(np.einsum("gi,gij,gj->g", slopes, self.each, slopes), 0.0)
        return np.sqrt(squares)


@dataclass(frozen=True, slots=True, eq=False)
class AddedUp:
    """Errors whose covariances are not known: they are taken to add up, which no covariance exceeds. A `pair` serves
    quotients of at least 0.

    each: deviations, shape (groups, answers).

    >>> AddedUp(np.array([[3.0, 4.0]])).along(np.array([[1.0, -1.0]])).tolist()
    [7.0]
    """

    each: FloatArray

    def pair(self, first: FloatArray, second: FloatArray) -> FloatArray:
        one, other = (self.each @ np.abs(weights) for weights in (first, second))
        mixed = -one * other
        return np.stack([np.stack([one**2, mixed], axis=-1), np.stack([mixed, other**2], axis=-1)], axis=-2)

    def along(self, slopes: FloatArray) -> FloatArray:
        sums: FloatArray = (np.abs(slopes) * self.each).sum(axis=1)
        return sums


def fieller(top: FloatArray, bottom: FloatArray, errors: FloatArray, factor: float) -> Span:
    """The quotients q for which top - q bottom is within `factor` of its own deviations.

    It covers the true quotient as often as that linear function of the answers lies within so many deviations of its
    true value, 0, however small the denominator is.

    Args:
        top, bottom: numerator and denominator.
        errors: their covariances, shape (groups, 2, 2).
        factor: deviations.

    References:
        Fieller 1954, Some problems in interval estimation.
    """
    square = factor**2
    first, mixed, second = errors[:, 0, 0], errors[:, 0, 1], errors[:, 1, 1]
    a, b, c = bottom**2 - square * second, top * bottom - square * mixed, top**2 - square * first
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
        value = top / bottom
        error = np.sqrt(np.maximum(first - 2 * value * mixed + value**2 * second, 0.0)) / np.abs(bottom)
        lower, upper = (b - root) / a, (b + root) / a
    small: Flags = np.asarray((a <= 0.0) | (bottom <= 0.0)) & ~np.isnan(a)
    return Span(lower=lower, upper=upper, error=error, small=small)


def linearised(values: FloatArray, error: FloatArray, factor: float) -> Span:
    """`factor` deviations to either side of the values."""
    small = np.zeros(len(values), dtype=np.bool_)
    return Span(lower=values - factor * error, upper=values + factor * error, error=error, small=small)


def rising(values: FloatArray, deviations: FloatArray) -> FloatArray:
    """The nearest curve that nowhere falls, row by row, shape (groups, bins): isotonic least squares.

    A true excess nowhere falls. For independent normal errors no value of it is further from the truth than before,
    stochastically; here errors depend on each other, and benchmarks show the same.

    References:
        Kelly 1989, Stochastic reduction of loss in estimating normal means by isotonic regression.

    >>> rising(np.array([[1.0, 3.0, 2.0]]), np.ones((1, 3))).tolist()
    [[1.0, 2.5, 2.5]]
    """
    from scipy.optimize import isotonic_regression

    weights = 1.0 / np.maximum(deviations, np.finfo(np.float32).tiny) ** 2
    rows = [isotonic_regression(row, weights=each).x for row, each in zip(values, weights, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(values.shape)


def inverted(lower: FloatArray, upper: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last bin that may hold a quantile: its curve, less its part of all records, inverted.

    A quantile lies in bin j where the excess of bin j is at least 0, and that of bin j - 1 below 0. So it is missed
    only where one of these two lies beyond one of its bounds.

    Args:
        lower, upper: bounds on the excess, the cumulative counts less the part of all records, of every bin but the
            last, shape (groups, bins - 1).
    """
    ends = np.full((len(lower), 1), np.inf)
    reached = np.concatenate([upper, ends], axis=1) >= 0.0
    before = np.concatenate([-ends, lower], axis=1) < 0.0
    last = before.shape[1] - 1 - before[:, ::-1].argmax(axis=1)
    return reached.argmax(axis=1), np.maximum(last, reached.argmax(axis=1))
