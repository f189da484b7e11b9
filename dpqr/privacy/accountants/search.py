"""Search: the largest multiplier that fits, and the smallest epsilon that holds, always from the safe side; and a place
where safety does not depend on finding it."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

PRECISION = Fraction(1, 2**26)
EPSILON_PRECISION = Fraction(1, 2**36)
GOLDEN = (math.sqrt(5) - 1) / 2
ROOM = 1 - Fraction(1, 2**30)
"""A cut aims this far below the budget, so that the 2^-36 of `lowest` cannot lift its price above it."""


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


def lowest(holds: Callable[[Fraction], bool], proved: Fraction) -> Fraction:
    """An x with holds(x), above the smallest one from 0 on by a relative 2^-36 or less.

    holds: false below some bound and true above it. proved: an x that another proof allows; it is not tried.
    """
    low, high = Fraction(0), proved
    if holds(low):
        return low
    while high - low > high * EPSILON_PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


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


def trough(value: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Nearly where `value`, which falls and then rises between `low` and `high`, is least, by golden sections."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(steps):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = value(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = value(right)
    return (low + high) / 2
