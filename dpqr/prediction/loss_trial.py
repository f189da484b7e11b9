"""Trial of a loss: its convexity and its constants on a public grid. A trial can refute them, not prove them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray

NEAR = np.linspace(-4, 4, 1601)
FAR = np.geomspace(4.5, 1e6, 60)
PREDICTIONS: FloatArray = np.concatenate([-FAR[::-1], NEAR, FAR])
SLACK = 1e-9
"""Relative; covers rounding in double precision."""


def loss_faults(loss: Any) -> Iterator[str]:
    """What a loss promises and does not keep, each as "states ..." with the place that shows it.

    Args:
        loss: with the members of `Loss`, and `classifies`: whether its targets are -1 and 1, or all of [-1, 1].
    """
    for name in ("lipschitz", "smoothness", "start"):
        figure = getattr(loss, name)
        if not isinstance(figure, Fraction) or figure <= 0:
            yield f"states a {name} that is no Fraction above 0"
            return
    for target in (-1.0, 1.0) if loss.classifies else np.linspace(-1, 1, 9).tolist():
        found = list(_at(loss, float(target)))
        yield from found[:1]
        if found:
            return


def _at(loss: Any, target: float) -> Iterator[str]:
    """The faults at one target."""
    arrays: list[FloatArray] = []
    for name in ("value", "slope", "curvature"):
        found = _called(getattr(loss, name), target)
        if found is None:
            yield f"has a {name} that is no function of finite floats to as many at target {target:g}"
            return
        arrays.append(found)
    for words, wrong in _checks(loss, *arrays):
        if wrong.any():
            yield f"{words}, and breaks it at prediction {PREDICTIONS[int(np.argmax(wrong))]:.4g}, target {target:g}"


def _checks(
    loss: Any, values: FloatArray, slopes: FloatArray, curvatures: FloatArray
) -> Iterator[tuple[str, AnyArray]]:
    """What is stated, and at which predictions it is wrong."""
    steps, rises, gains = np.diff(PREDICTIONS), np.diff(slopes), np.diff(values)
    steepest, sharpest = float(loss.lipschitz), float(loss.smoothness)
    slack = SLACK * (1 + np.abs(values).max())
    yield "states losses, which are never below 0", values < 0
    yield f"states a start of {loss.start}, an upper bound at 0", np.where(PREDICTIONS == 0, values, 0) > loss.start
    yield f"states a Lipschitz constant of {loss.lipschitz}", np.abs(slopes) > steepest * (1 + SLACK)
    yield "states a convex loss", rises < -SLACK * steepest
    yield f"states a smoothness of {loss.smoothness}", rises > (sharpest * steps + steepest * SLACK) * (1 + SLACK)
    below, above = slopes[:-1] * steps - slack, slopes[1:] * steps + slack
    yield "states slopes of its values", (gains < below) | (gains > above)
    yield "states second derivatives, which are never below 0", curvatures < 0


def _called(function: Any, target: float) -> FloatArray | None:
    """Its values at PREDICTIONS; None: it fails, changes its arguments, or is no function of them."""
    predicted, targets = PREDICTIONS.copy(), np.full(len(PREDICTIONS), target)
    try:
        with np.errstate(all="ignore"):
            found = [np.asarray(function(predicted, targets), dtype=np.float64) for _ in range(2)]
    except Exception:
        return None
    kept = np.array_equal(predicted, PREDICTIONS) and (targets == target).all()
    sound = found[0].shape == PREDICTIONS.shape and np.isfinite(found[0]).all() and np.array_equal(found[0], found[1])
    return found[0] if kept and sound else None
