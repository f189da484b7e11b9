"""Losses: convex and Lipschitz in the prediction; most have a Lipschitz derivative, `Cornered` ones a corner.

Predictions and targets lie on the scale of `Target`: signs, or numbers in [-1, 1].
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray

HINGE_WIDTH = Fraction(1, 8)
"""Of the rounded corner of the hinge."""
PINBALL_WIDTH = Fraction(1, 32)
"""Of the rounded corner of the quantile loss."""


class Curved(Protocol):
    """L(f, y) for arrays of one shape, f the prediction."""

    def value(self, predicted: FloatArray, target: FloatArray) -> FloatArray: ...

    def slope(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        """L' in the prediction."""
        ...

    def curvature(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        """L'' where it exists; a hint for the solver, no proof relies on it."""
        ...


class Loss(Curved, Protocol):
    """A loss with a Lipschitz derivative."""

    @property
    def lipschitz(self) -> Fraction:
        """C_L: an upper bound on |L'(f, y)|."""
        ...

    @property
    def smoothness(self) -> Fraction:
        """Lipschitz constant of the derivative in f."""
        ...

    @property
    def start(self) -> Fraction:
        """An upper bound on L(0, y)."""
        ...


class Sided(Loss, Protocol):
    """A loss whose slopes of either sign are known apart, as objective perturbation asks."""

    @property
    def opposite(self) -> Fraction:
        """Largest slope of the sign that has the smaller one, for one target; 0: it slopes one way only."""
        ...


class Logistic(Struct, frozen=True):
    """log(1 + exp(-y f)), y = +-1: C_L = 1, smoothness 1/4, log 2 at 0.

    >>> Logistic().value(np.array([0.0]), np.array([1.0])).round(3)
    array([0.693])
    """

    lipschitz: ClassVar[Fraction] = Fraction(1)
    smoothness: ClassVar[Fraction] = Fraction(1, 4)
    start: ClassVar[Fraction] = Fraction(7, 10)
    opposite: ClassVar[Fraction] = Fraction(0)

    def value(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        return np.logaddexp(0.0, -target * predicted)

    def slope(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        return -target * expit(-target * predicted)

    def curvature(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        share = expit(predicted)
        return share * (1 - share)


class Hinge(Struct, frozen=True, kw_only=True):
    """max(0, 1 - y f) with its corner rounded over |1 - y f| <= width: (1 + width - y f)^2 / (4 width) there.

    The rounded loss is a loss of its own: convex, C_L = 1, smoothness 1 / (2 width). The learner's sensitivity holds
    for it as it stands, with no gap term for the rounding; it exceeds the hinge by at most width / 4.

    >>> Hinge().value(np.array([0.0, 2.0]), np.array([1.0, 1.0]))
    array([1., 0.])
    """

    width: Fraction = HINGE_WIDTH
    lipschitz: ClassVar[Fraction] = Fraction(1)
    opposite: ClassVar[Fraction] = Fraction(0)

    @property
    def smoothness(self) -> Fraction:
        return 1 / (2 * self.width)

    @property
    def start(self) -> Fraction:
        return Fraction(1) + self.width

    def value(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        short, width = 1 - target * predicted, float(self.width)
        inside = np.square(np.clip(short, -width, width) + width) / (4 * width)
        return inside + np.maximum(short - width, 0.0)

    def slope(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        short, width = 1 - target * predicted, float(self.width)
        return -target * np.clip((short + width) / (2 * width), 0.0, 1.0)

    def curvature(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        width = float(self.width)
        return (np.abs(1 - target * predicted) <= width) / (2 * width)


class Pinball(Struct, frozen=True, kw_only=True):
    """The quantile loss max(tau u, (tau - 1) u), u = y - f, with its corner rounded over |u| <= width.

    It is (tau - 1/2) u + u^2 / (4 width) + width / 4 there. C_L = max(tau, 1 - tau), smoothness 1 / (2 width); like the
    hinge a loss of its own, above the printed one by at most width / 4.

    >>> Pinball().value(np.array([0.0]), np.array([1.0]))
    array([0.5])
    """

    tau: Fraction = Fraction(1, 2)
    width: Fraction = PINBALL_WIDTH

    @property
    def lipschitz(self) -> Fraction:
        return max(self.tau, 1 - self.tau)

    @property
    def smoothness(self) -> Fraction:
        return 1 / (2 * self.width)

    @property
    def start(self) -> Fraction:
        return self.lipschitz + self.width

    @property
    def opposite(self) -> Fraction:
        return min(self.tau, 1 - self.tau)

    def value(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        apart, tau, width = target - predicted, float(self.tau), float(self.width)
        rounded = (tau - 0.5) * apart + np.square(apart) / (4 * width) + width / 4
        return np.where(np.abs(apart) <= width, rounded, np.maximum(tau * apart, (tau - 1) * apart))

    def slope(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        apart, tau, width = target - predicted, float(self.tau), float(self.width)
        return -np.clip(tau - 0.5 + apart / (2 * width), tau - 1, tau)

    def curvature(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        width = float(self.width)
        return (np.abs(target - predicted) <= width) / (2 * width)


class Square(Struct, frozen=True):
    """(f - y)^2, |y| <= 1.

    C_L = 4 is its slope where |f| <= 1, which is all that rounding needs; no sensitivity relies on it.

    >>> Square().value(np.array([0.5]), np.array([1.0]))
    array([0.25])
    """

    lipschitz: ClassVar[Fraction] = Fraction(4)
    smoothness: ClassVar[Fraction] = Fraction(2)
    start: ClassVar[Fraction] = Fraction(1)

    def value(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        return np.square(predicted - target)

    def slope(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        return 2 * (predicted - target)

    def curvature(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        return np.full(predicted.shape, 2.0)


class ExactHinge(Struct, frozen=True):
    """max(0, 1 - y f), y = +-1: C_L = 1.

    >>> ExactHinge().value(np.array([0.5, 2.0]), np.array([1.0, 1.0]))
    array([0.5, 0. ])
    """

    base: ClassVar[Fraction] = Fraction(0)
    """Slope where u is below 0."""
    lipschitz: ClassVar[Fraction] = Fraction(1)
    start: ClassVar[Fraction] = Fraction(1)

    def shortfall(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        """u = 1 - y f."""
        return 1 - target * predicted

    def direction(self, target: FloatArray) -> FloatArray:
        """Slope of u in the prediction."""
        return -target

    def value(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        return np.maximum(self.shortfall(predicted, target), 0.0)


class ExactPinball(Struct, frozen=True, kw_only=True):
    """max(tau u, (tau - 1) u), u = y - f: C_L = max(tau, 1 - tau).

    >>> ExactPinball(tau=Fraction(3, 4)).value(np.array([0.0, 0.0]), np.array([1.0, -1.0]))
    array([0.75, 0.25])
    """

    tau: Fraction = Fraction(1, 2)

    @property
    def base(self) -> Fraction:
        return self.tau - 1

    @property
    def lipschitz(self) -> Fraction:
        return max(self.tau, 1 - self.tau)

    @property
    def start(self) -> Fraction:
        return self.lipschitz

    def shortfall(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        return target - predicted

    def direction(self, target: FloatArray) -> FloatArray:
        return np.full(target.shape, -1.0)

    def value(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        apart = self.shortfall(predicted, target)
        return float(self.base) * apart + np.maximum(apart, 0.0)


Cornered = ExactHinge | ExactPinball
"""Losses base u + max(0, u), u the shortfall of a prediction, linear in it with a slope of +-1."""


def expit(values: FloatArray) -> FloatArray:
    """1 / (1 + exp(-values))."""
    small: FloatArray = np.exp(-np.abs(values))
    return np.where(values >= 0, 1.0, small) / (1 + small)


# Losses whose corner is rounded by a logistic curve, so that the second derivative tapers off towards either slope.


class TaperedCorner(Struct, frozen=True, kw_only=True):
    """base u + width log(1 + exp(u / width)), u the shortfall: a cornered loss whose corner is rounded.

    With p = 1 / (1 + exp(-u / width)) its slope in u is base + p, its second derivative p (1 - p) / width = 4
    smoothness p (1 - p), as `Tapered` asks. It exceeds the cornered loss by at most width log 2, and on average, where
    u has the density d near 0, by d pi^2 width^2 / 6.

    >>> from dpqr.prediction.learners.losses import ExactHinge
    >>> TaperedCorner(corner=ExactHinge(), width=Fraction(1, 4)).value(np.array([1.0]), np.array([1.0])).round(3)
    array([0.173])
    """

    corner: Cornered
    width: Fraction

    @property
    def lipschitz(self) -> Fraction:
        return self.corner.lipschitz

    @property
    def smoothness(self) -> Fraction:
        return 1 / (4 * self.width)

    @property
    def start(self) -> Fraction:
        return self.corner.start + self.width

    @property
    def opposite(self) -> Fraction:
        return min(-self.corner.base, 1 + self.corner.base)

    def value(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        short, width = self.corner.shortfall(predicted, target), float(self.width)
        rounded = np.maximum(short, 0.0) + width * np.log1p(np.exp(-np.abs(short) / width))
        return float(self.corner.base) * short + rounded

    def slope(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        return (float(self.corner.base) + self._share(predicted, target)) * self.corner.direction(target)

    def curvature(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        share = self._share(predicted, target)
        return share * (1 - share) / float(self.width)

    def _share(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        """p."""
        return expit(self.corner.shortfall(predicted, target) / float(self.width))


Tapered = Logistic | TaperedCorner
"""Losses with L'' <= 4 smoothness p (1 - p), p the slope's place between its ends: 0 at one, 1 at the other."""


# The losses of the built-in learners by name, and the error of a prediction under a loss.


def smooth_loss(name: str, tau: Fraction) -> Sided | None:
    """Of a built-in learner, its corner rounded; None: it has none but the square.

    >>> smooth_loss("svm", Fraction(1, 2)), smooth_loss("least-squares", Fraction(1, 2))
    (Hinge(width=Fraction(1, 8)), None)
    """
    losses: dict[str, Sided] = {"logistic": Logistic(), "svm": Hinge(), "quantile": Pinball(tau=tau)}
    return losses.get(name)


def cornered_loss(tau: Fraction, *, classifies: bool) -> Cornered:
    """The hinge, or the quantile loss, as it is."""
    return ExactHinge() if classifies else ExactPinball(tau=tau)


def errors(loss: Loss | Cornered | None, predicted: FloatArray, targets: FloatArray, *, classifies: bool) -> FloatArray:
    """Error of each prediction: 0 or 1 for classes, the loss of clipped predictions for numbers (None: the square)."""
    if classifies:
        return np.asarray(predicted * targets <= 0, dtype=np.float64)
    clipped = np.clip(predicted, -1.0, 1.0)
    return np.square(clipped - targets) if loss is None else loss.value(clipped, targets)
