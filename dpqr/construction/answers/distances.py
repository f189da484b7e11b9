"""Distances: what the draws themselves show of an estimate's error.

Refits repeat the noise. They start from rows that the update rule has made, so they do not repeat what the rule cannot
fit. Where the noise is small, that is most of the error, and the distance from the last unbiased draw shows it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpqr.construction.answers.noisy import BETA, Noisy
from dpqr.construction.answers.refits import MeasuredBlocks
from dpqr.data.arrays import FloatArray
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


def is_known(block: QueryBlock, noisy: Noisy, history: Sequence[Measurement], places: MeasuredBlocks) -> bool:
    """Whether each cell behind a block's draws is as it was with probability LEVEL at least.

    Args:
        places: of the measured blocks in the history.
    """
    place = places.place(block)
    return place is not None and history[place[0]].law.tail(BETA) == 0 and not bool(np.isnan(noisy.deviation).any())


def known_error(estimate: FloatArray, noisy: Noisy) -> FloatArray:
    """Errors of the estimates of a block that `is_known`: of distance and noise together, without refits."""
    found: FloatArray = np.hypot(estimate - noisy.values, noisy.deviation)
    return found


def at_least_distance(error: FloatArray, estimate: FloatArray, noisy: Noisy) -> FloatArray:
    """No error below the distance from the draw less its margin: an estimate is off by that at least, at the LEVEL of
    the margin. Where there is no margin, or no error, nothing changes."""
    least = np.abs(estimate - noisy.values) - noisy.margin
    found: FloatArray = np.where(least > error, least, error)
    return found
