"""Grid: the public integers on which true answers, hypotheses and noise meet.

A true answer is an integer times its block's scale. Whatever is compared with it is rounded to that grid first, so
that the difference is an integer too and a record moves it by no more than the block's sensitivity: a float
difference would carry rounding errors that depend on private values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.workload.block import QueryBlock


def common_grid(blocks: Sequence[QueryBlock]) -> Fraction:
    """The coarsest grid that holds every block's answers: each scale is an integer multiple of it."""
    scales = {block.scale for block in blocks}
    denominator = math.lcm(*(scale.denominator for scale in scales))
    return Fraction(math.gcd(*(int(scale * denominator) for scale in scales)), denominator)


def rounded(answers: FloatArray, limit: int | IntArray) -> IntArray:
    """The nearest integers, clipped to -limit .. limit (one, or one an answer; at most 2^61); NaN becomes 0. Total:
    never fails.

    Post-processing of public values; clipping to the range that true answers can take never widens a gap.
    """
    numbers = np.where(np.isnan(answers), 0.0, answers)
    nearest: IntArray = np.rint(np.minimum(np.maximum(numbers, -limit), limit)).astype(np.int64)
    return nearest
