"""Gap: how far a released answer lies from the hypothesis, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.workload.workload import Measurement, rounded

_LIMIT = 2**61


def gap(measured: Measurement, hypothesis: Hypothesis) -> Fraction:
    """sum |v - f(D)| over all measured queries, in records, f(D) rounded to the block's grid; one row: |v - f(D)|.

    Exact: integers and rationals only. Post-processing of released values.
    """
    total = Fraction(0)
    for block, values in zip(measured.blocks, measured.values, strict=True):
        apart = values.astype(object) - rounded(hypothesis.answer(block), _LIMIT).astype(object)
        total += block.scale * int(np.abs(apart).sum())
    return total
