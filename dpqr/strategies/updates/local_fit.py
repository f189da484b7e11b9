"""LocalFit: one noisy table drawn towards a base, cell by cell and in closed form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import wrightomega

from dpqr.data.arrays import Axes, FloatArray

SWEEPS = 3
"""Newton sweeps over the faces. (Adult, 91 pairs: a mean L1 error of 0.0245 at 2, and at 8.)"""

STEPS = 40
CLOSE = 1e-9
LOWEST_LOG = -700.0


def strength(deviation: float) -> float:
    """Residual, in records, that a log-odds of one may leave: s^2 up to one record, s beyond.

    Counts that are Poisson around the base have prior log-density -m log(m / base) + m, and with Gaussian noise of
    deviation s the mode leaves a residual of s^2 log(m / base). That is right for exact answers; beyond one record it
    would trust the base more than bases deserve, and s is what EntropyFit takes as well.
    """
    return deviation * min(1.0, deviation)


def local_fit(base: FloatArray, values: FloatArray, deviation: float, faces: Sequence[FloatArray] = ()) -> FloatArray:
    """The table m >= 0 with given sums that minimises sum (m - y)^2 / (2 r) + m log(m / base) - m.

    base, values: the prior table and the noisy answers y, records, one shape; r is `strength`. faces: for every axis
    the sums that m shall have, records, from what is known better than by summing y; none: m sums to what base does.

    The optimum is m = r W(x), W(x) the Wright omega function (W + log W = x), x = log(base / r) + y / r plus one
    number for each entry of each face; these are found by Newton steps in turn, for d m / d x = m / (1 + W). No
    iteration over cells, so a table of ten thousand takes a millisecond, at any deviation. Where base is 0, so is m.
    """
    ridge = strength(deviation)
    with np.errstate(divide="ignore", under="ignore"):
        place = np.where(base > 0.0, np.log(base) - np.log(ridge) + values / ridge, -np.inf)
    for _ in range(SWEEPS if faces else 0):
        for axis, wanted in enumerate(faces):
            place += shift(place, (axis,), wanted / ridge)
    total = base.sum()
    for _ in range(0 if faces else STEPS):
        place += shift(place, (), np.asarray(total / ridge))
        if abs(ridge * omega(place).sum() - total) <= CLOSE * total:
            break
    found: FloatArray = ridge * omega(place)
    found *= total / found.sum() if found.sum() > 0.0 else 0.0
    return found if found.any() else base


def shift(place: FloatArray, axes: Axes, wanted: FloatArray) -> FloatArray:
    """A Newton step towards the sums `wanted` of W over all other axes, to be added to every cell above each of them.

    W is convex and rises, so steps from above end at the solution; one from below may pass it, but not the place at
    which the largest cell alone would make the sum.
    """
    others = tuple(other for other in range(place.ndim) if other not in axes)
    found, largest = omega(place), place.max(axis=others)
    goal = np.maximum(wanted, np.exp(LOWEST_LOG))
    most = goal + np.log(goal) - largest
    slopes = np.maximum((found / (1.0 + found)).sum(axis=others), np.exp(LOWEST_LOG))
    with np.errstate(over="ignore"):
        step = (goal - found.sum(axis=others)) / slopes
    step = np.where(step > 0.0, np.minimum(step, most), step)
    return np.expand_dims(np.where(np.isfinite(largest), step, 0.0), others)


def omega(place: FloatArray) -> FloatArray:
    """W(x), W + log W = x; 0 at minus infinity."""
    with np.errstate(under="ignore"):
        found: FloatArray = wrightomega(place)
    return found
