"""The losses of the built-in learners by name, and the error of a prediction under a loss."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.prediction.learners.losses import Cornered, ExactHinge, ExactPinball, Hinge, Logistic, Loss, Pinball, Sided


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
