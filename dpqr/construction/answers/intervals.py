"""Intervals: one for every answer that has an error, and what it rests on.

| basis      | lower, upper                                                                                    |
|------------|-------------------------------------------------------------------------------------------------|
| measured   | around the last unbiased draw; proved, over the noise (`answers.noisy`), or around              |
|            | the sum of a measured table's cells, where that is no wider (`answers.summed`)                  |
| estimate   | estimate +- 1.96 errors; estimated, from refits with new noise (`answers.refits`)               |
| certified  | estimate +- the certificate's bound, where there is neither; proved, over the noise             |
| compared   | estimate +- what a comparison with a noisy threshold has bounded; proved (a session's answers)  |

Each holds by itself. They do not hold jointly, but for the certified ones, and the compared ones of one epoch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpqr.construction.answers.noisy import Noisy
from dpqr.data.arrays import FloatArray

BasisArray = NDArray[np.int8]
"""Places in BASES, or NO_BASIS."""

BASES = ("measured", "estimate", "certified", "compared")
MEASURED, ESTIMATE, CERTIFIED, COMPARED, NO_BASIS = 0, 1, 2, 3, -1
FACTOR = 1.96
"""Errors in half an estimated interval: 95% of a normal distribution."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intervals:
    """Every array of shape (rows,). lower, upper: in records, NaN where there is none. basis: what they rest on.

    >>> found = Intervals.of(np.array([9.0, 2.0]), np.array([2.0, np.nan]), Noisy.absent(2))
    >>> found.lower.round(2).tolist(), [BASES[place] for place in found.basis if place >= 0]
    ([5.08, nan], ['estimate'])
    """

    lower: FloatArray
    upper: FloatArray
    basis: BasisArray

    @classmethod
    def of(
        cls, estimate: FloatArray, error: FloatArray, noisy: Noisy, bound: float = math.nan, bounded_by: int = CERTIFIED
    ) -> Intervals:
        """The proved interval where there is one, else the estimated one.

        Args:
            estimate: answers of the final hypothesis, in records.
            error: their estimated root mean square errors, in records; NaN where none is known.
            noisy: the last unbiased draws of the same queries.
            bound: what no estimate is off by more than, at LEVEL at least, in records; NaN: none is known.
            bounded_by: what that rests on, CERTIFIED or COMPARED.
        """
        measured, estimated = ~np.isnan(noisy.margin), ~np.isnan(error)
        if measured.all():
            return cls(lower=noisy.lower, upper=noisy.upper, basis=np.full(estimate.shape, MEASURED, dtype=np.int8))
        other = NO_BASIS if math.isnan(bound) else bounded_by
        basis = np.where(measured, MEASURED, np.where(estimated, ESTIMATE, other)).astype(np.int8)
        margin = np.where(estimated, FACTOR * error, bound)
        lower, upper = estimate - margin, estimate + margin
        if measured.any():
            lower, upper = np.where(measured, noisy.lower, lower), np.where(measured, noisy.upper, upper)
        return cls(lower=lower, upper=upper, basis=basis)
