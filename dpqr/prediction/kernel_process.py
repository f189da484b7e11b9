"""A function of a kernel's space at points of public choice, in coordinates in which Gaussian noise is a path of the
kernel's Gaussian process."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.data.histogram import Counts
from dpqr.mechanisms.learned_functions import FINENESS, weights_sensitivity
from dpqr.prediction.forms import Noise, noise_deviation
from dpqr.prediction.learners.exact_kernel import AtPoints
from dpqr.prediction.learners.solver import ULP
from dpqr.prediction.learners.stable import ARITHMETIC
from dpqr.privacy.budget import Price, root_below
from dpqr.privacy.events import RoundedGaussianEvent

NUGGET = Fraction(1, 2**10)
"""Least variance that is added to each point's, so that close points leave the coordinates well conditioned."""
MOST_POINTS = 2**11
"""The coordinates take time and memory of their cube and square."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelProcess:
    """c = (K + nugget)^(-1/2) (f(x_1), ..., f(x_p)) for points x_j; f(x) = (K + nugget)^(1/2) c.

    Attributes:
        values: f at the points.

    Privacy:
        Of all functions with values d at the points the shortest has squared norm d^T K^(-1) d (d in the range of K),
        so neighbours' f, D apart in the kernel's norm, have d^T (K + nugget)^(-1) d <= D^2: c moves by at most D in the
        Euclidean norm, however many points there are. Normal noise of deviation s in each coordinate of c is noise of
        covariance s^2 (K + nugget) at the points, the path of a Gaussian process (Hall, Rinaldo and Wasserman 2013)
        and a nugget: one draw for all points, by the curve of `GaussianWeights`. The points and the kernel are public,
        and what is published are the noisy c, times a public matrix. All this is exact but for the computed root, off
        by p ulp relatively, as the nugget is twice what rounding can take off the eigenvalues of the computed K, an
        entry's error p times, and 8 p^2 ulp for the eigenvalue problem. Values are wrong by at most e each as they are
        computed, which c stretches by at most 1 / sqrt(nugget) <= 32, to 32 sqrt(p) e together; the product itself by
        32 p^2 ulp of the largest value.

    >>> NUGGET, MOST_POINTS
    (Fraction(1, 1024), 2048)
    """

    values: AtPoints
    bound: Fraction = field(init=False)
    _whitening: FloatArray = field(init=False, repr=False)
    _root: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        points, learner = self.values.points, self.values.learner
        count = len(points)
        nugget = max(NUGGET, 2 * (count * learner.entry + 8 * count**2 * ULP))
        spectrum, axes = np.linalg.eigh(learner.kernel.matrix(points, points))
        roots = np.sqrt(np.maximum(spectrum, 0.0) + float(nugget))
        object.__setattr__(self, "_whitening", (axes / roots) @ axes.T)
        object.__setattr__(self, "_root", (axes * roots) @ axes.T)
        largest = 2 / root_below(learner.penalty / learner.loss.start)
        wrong = 32 * ((isqrt(count) + 1) * learner.wrong + count**2 * ULP * largest)
        object.__setattr__(self, "bound", (learner.distance + 2 * (learner.solver.tolerance + wrong)) * ARITHMETIC)

    def fit(self, counts: Counts) -> FloatArray:
        """c, shape (points,). Private."""
        found: FloatArray = self._whitening @ self.values.fit(counts)
        return found

    def predictions(self, noisy: IntArray) -> IntArray:
        """Values at the points of noisy c, both in steps of the grid. Post-processing."""
        return np.rint(self._root @ noisy).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessForm:
    """A function of a kernel's space at all points at once, by one path of its Gaussian process (`KernelProcess`).

    Attributes:
        points: number of them.

    >>> ProcessForm(points=20).count
    1
    """

    points: int

    @property
    def count(self) -> int:
        return 1

    @property
    def noises(self) -> tuple[Noise, ...]:
        return ("gaussian",)

    def event(self, price: Price, noise: Noise) -> RoundedGaussianEvent:
        squared = weights_sensitivity(self.points) ** 2
        return RoundedGaussianEvent(squared_sensitivity=squared, variance=squared / (2 * price.concentrated))

    def spread(self, price: Price, noise: Noise) -> float:
        return noise_deviation(self.event(price, noise)) / FINENESS
