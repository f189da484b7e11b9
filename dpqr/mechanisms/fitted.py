"""Fitted: what a mechanism needs of a learner whose sensitivity is proved, and the public grid of its weights."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Protocol

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.data.counts import Counts

FINENESS = 2**20
"""Grid steps in a learner's bound: rounding to the grid adds a millionth of it to the sensitivity."""


class Fitted(Protocol):
    """Weights of a function that is linear in public features, and how far it moves between neighbours."""

    @property
    def bound(self) -> Fraction:
        """How far the weights move in the Euclidean norm, and a value at any public point of norm 1 as it is computed
        in double precision, divided by the grid's step. Public; the learner's docstring proves it."""
        ...

    def fit(self, counts: Counts) -> FloatArray: ...


def step(bound: Fraction) -> float:
    """Width of the grid for values that move by at most `bound`."""
    return float(bound) / FINENESS


def squared_sensitivity(width: int) -> int:
    """Of `width` weights on the grid: FINENESS steps, and half a step a coordinate at either end for the rounding;
    one more for the grid's step, which is a double itself. What division loses is in the learner's bound."""
    return (FINENESS + isqrt(width) + 2) ** 2


def rounded(values: FloatArray, grid: float) -> IntArray:
    """The nearest multiples, as integers."""
    return np.rint(values / grid).astype(np.int64)
