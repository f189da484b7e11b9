"""Rounding: transcendental figures in sixty decimal digits, given away as exact fractions rounded up.

Why decimals: their exp, ln and sqrt are correctly rounded by specification, so the error of a formula can be counted;
nothing is known of the accuracy of the platform's floating-point functions.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction

DIGITS = 60
GRID = 10**24
HALF_LOG_TWO_PI = Decimal("0.918938533204672741780329736405617639861397473637783412817151540")
EXACT_FACTORIALS = 256


def sixty_digits() -> AbstractContextManager[Context]:
    """A decimal context of 60 digits, each operation within a relative 10^-59, without overflow or underflow."""
    return localcontext(Context(prec=DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX))


def decimal(value: Fraction) -> Decimal:
    """`value` to 60 digits."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def upward(value: Decimal) -> Fraction:
    """A multiple of 10^-24 above `value`, by one to two steps: room for an error of 10^-24 in `value`."""
    return Fraction(math.ceil(Fraction(value) * GRID) + 1, GRID)


def log_factorial(n: int) -> Decimal:
    """ln n! within 10^-20.

    Stirling's series envelops its limit: the error is smaller than the first term left out, here 1 / (1680 n^7), and
    so below 10^-20 for n >= 256 (Whittaker and Watson, section 12.33). Smaller factorials are taken exactly.
    """
    if n < EXACT_FACTORIALS:
        return Decimal(math.factorial(n)).ln()
    size = Decimal(n)
    correction = 1 / (12 * size) - 1 / (360 * size**3) + 1 / (1260 * size**5)
    return (size + Decimal("0.5")) * size.ln() - size + HALF_LOG_TWO_PI + correction
