"""Search: the largest multiplier that fits, always from the safe side."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

PRECISION = Fraction(1, 2**26)


def largest(fits: Callable[[Fraction], bool], start: Fraction) -> Fraction:
    """A positive x with fits(x), short of the largest one by a relative 2^-26 or less.

    fits: true below some positive bound and false above it. start: any positive guess.
    Whatever the shape of `fits`, the x that is returned was tried and fits.
    """
    low = start
    while not fits(low):
        low /= 2
    high = 2 * low
    while fits(high):
        low, high = high, 2 * high
    while high - low > low * PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
