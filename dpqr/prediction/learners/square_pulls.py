"""Square pulls: how differently two records of squared loss can pull at one function."""

from __future__ import annotations

import math
from fractions import Fraction

ROUNDED_UP = 1 + Fraction(1, 2**40)
"""Covers the rounding of the figure in double precision."""


def opposed_pulls(norm: Fraction) -> Fraction:
    """The largest ||(f(x) - y) x - (f(x') - y') x'|| for ||f|| <= R, ||x||, ||x'|| <= 1 and |y|, |y'| <= M = 1.

    It is D(R) = max over s of 2 sin s (1 + R cos s), below R + 2 and 2 (R + 1). Proof: the norm is convex in y and y',
    so they are -1 or 1; (x, y) and (-x, -y) pull alike, so both are -1; and a short x is the projection of a unit
    vector with one more coordinate, in which f has none. Let x and x' have angles a and b to f, on opposite sides (or
    on one side: b < 0), r = 1 + R cos a, r' = 1 + R cos b, s = (a + b) / 2 and d = (a - b) / 2. Then
    ||r x - r' x'||^2 = (r - r')^2 cos^2 s + (r + r')^2 sin^2 s = 4 sin^2 s (1 + R^2 cos^2 s + 2 R cos s cos d), which
    is largest at d = 0, or pi. Any other pair of vectors at these angles has a product between those of the two sides.
    D grows with R, so a shorter f is no better. The best cos s is 2 R / (1 + sqrt(1 + 8 R^2)).

    >>> round(float(opposed_pulls(Fraction(1))), 3), round(float(opposed_pulls(Fraction(0))), 3)
    (2.598, 2.0)
    """
    reach = float(norm)
    cosine = 2 * reach / (1 + math.sqrt(1 + 8 * reach**2))
    return Fraction(2 * math.sqrt(1 - cosine**2) * (1 + reach * cosine)) * ROUNDED_UP
