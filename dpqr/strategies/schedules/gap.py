"""Gap: how far a measurement shows that what had been expected of a block was off."""

from __future__ import annotations

import numpy as np

from dpqr.strategies.schedules.expected_error import ExpectedError
from dpqr.strategies.transcript import Round
from dpqr.strategies.updates.local_fit import local_fit

NOISE = 0.8
"""sqrt(2 / pi): mean size of noise of deviation 1."""

LEAST_PASSED = 0.2
"""Smallest part of a gap that a fit is taken to show."""


def shown_gap(drawn: Round, errors: ExpectedError, records: float) -> float:
    """L1 error over n: how far the fit to one measurement alone moves from what was expected, beyond what noise would
    do, over the part of a gap that the fit passes on."""
    if drawn.measurement is None or not drawn.expected:
        return 0.0
    block, deviation = drawn.measurement.blocks[0], drawn.measurement.law.deviation
    expected = np.maximum(drawn.expected[0], 0.0)
    values = np.asarray(drawn.measurement.values[0], dtype=np.float64)
    moved = float(np.abs(local_fit(expected, values, max(deviation, 1e-6)) - expected).sum())
    kept_back = errors.at(block, deviation)
    passed = max(LEAST_PASSED, 1.0 - kept_back / records)
    return max(0.0, moved - NOISE * kept_back) / passed / records
