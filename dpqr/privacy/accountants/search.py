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


def crossing(level: Callable[[Fraction], float], start: Fraction) -> Fraction:
    """`largest` where level(x) <= 0 says whether x fits, level rises smoothly, and one look at it is dear.

    start: an x that fits by another proof. Brent's method finds the place; what is returned was tried, or is `start`.
    """
    from scipy.optimize import brentq

    low, high = start, 2 * start
    if level(low) > 0:
        return start
    while level(high) <= 0:
        low, high = high, 2 * high
    near = brentq(lambda x: level(Fraction(x)), float(low), float(high), xtol=float(low * PRECISION / 8))
    found = Fraction(near) * (1 - PRECISION / 4)
    if found <= low:
        return low
    return found if level(found) <= 0 else largest(lambda x: level(x) <= 0, low)
