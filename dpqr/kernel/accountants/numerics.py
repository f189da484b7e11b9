"""Numerics of the accountants: sixty decimal digits with proved rounding, and searches that err on the safe side.

Why decimals: their exp, ln and sqrt are correctly rounded by specification, so the error of a formula can be bounded.
No bound is known for the platform's floating-point functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

DIGITS = 60
GRID = 10**24
HALF_LOG_TWO_PI = Decimal("0.918938533204672741780329736405617639861397473637783412817151540")
EXACT_FACTORIALS = 256


def sixty_digits() -> AbstractContextManager[Context]:
    """Return a decimal context of 60 digits, each operation within a relative 10^-59, without over- or underflow."""
    return localcontext(Context(prec=DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX))


def decimal(value: Fraction) -> Decimal:
    """Return `value` to 60 digits."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def upward(value: Decimal) -> Fraction:
    """Return a multiple of 10^-24 above `value`, by one to two steps: room for an error of 10^-24 in `value`."""
    return Fraction(math.ceil(Fraction(value) * GRID) + 1, GRID)


def rounded_up(value: Decimal) -> Fraction:
    """Return a number of 30 digits above a positive `value`, by a relative 10^-29 to 10^-28: room for its error."""
    return Fraction(Context(prec=30, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX).plus(value * (1 + _SHY)))


def rounded_down(value: Decimal) -> Fraction:
    """Return a number of 15 digits below a positive `value`, by a relative 10^-15 at least: so little, it still costs
    less than `value` after `rounded_up`."""
    shy = value * (1 - _LESS)
    return Fraction(Context(prec=15, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX).plus(shy))


_SHY, _LESS = Decimal("1e-29"), Decimal("1e-15")


def log_factorial(n: int) -> Decimal:
    """Return ln n! within 10^-20.

    Stirling's series envelops its limit: the error is smaller than the first omitted term, here 1 / (1680 n^7), and so
    below 10^-20 for n >= 256 (Whittaker and Watson, section 12.33). Smaller factorials are exact.
    """
    if n < EXACT_FACTORIALS:
        return Decimal(math.factorial(n)).ln()
    size = Decimal(n)
    correction = 1 / (12 * size) - 1 / (360 * size**3) + 1 / (1260 * size**5)
    return (size + Decimal("0.5")) * size.ln() - size + HALF_LOG_TWO_PI + correction


SPLIT = 6
LEVELS = 120
NEGLIGIBLE = Decimal("1e-62")


def upper_tail(x: Decimal) -> Decimal:
    """Return Q(x) = 1 - Phi(x) within a relative 10^-40 for |x| <= 10^9; in a context of sixty digits.

    Up to 6: 1/2 - phi(x) times the series of x^(2n+1) / (1 3 ... (2n+1)) (Abramowitz and Stegun 26.2.11), whose
    terms have one sign: some 200 of them, each with a relative error of 10^-57, in a product of at most 1/2; the
    omitted rest is below 10^-60 of the sum. So the error of Q is below 10^-54, and Q is above 10^-10.
    From 6 on: phi(x) / (x + 1 / (x + 2 / (x + 3 / ...))) (26.2.14). All numbers are positive, so convergents lie on
    either side of the limit in turn; at x = 6 the 119th and the 120th differ by a relative 10^-48, and by less for
    larger x. The relative error of phi(x) is x^2 10^-59, at most 10^-41.
    """
    if x < 0:
        return 1 - upper_tail(-x)
    if x > SPLIT:
        return density(x) * _mills(x, LEVELS)
    term, whole, odd, square = x, x, 1, x * x
    while term > NEGLIGIBLE * whole:
        odd += 2
        term *= square / odd
        whole += term
    return Decimal("0.5") - density(x) * whole


def density(x: Decimal) -> Decimal:
    """Return that of a standard normal variable; in a context of sixty digits."""
    return (-x * x / 2 - HALF_LOG_TWO_PI).exp()


def _mills(x: Decimal, levels: int) -> Decimal:
    below = x
    for level in range(levels, 0, -1):
        below = x + level / below
    return 1 / below


PRECISION = Fraction(1, 2**26)
EPSILON_PRECISION = Fraction(1, 2**36)
GOLDEN = (math.sqrt(5) - 1) / 2
ROOM = 1 - Fraction(1, 2**30)
"""A cut aims this far below the budget, so that the 2^-36 of `lowest` cannot raise its price above it."""


def largest(fits: Callable[[Fraction], bool], start: Fraction) -> Fraction:
    """Return a positive x with fits(x), below the largest one by a relative 2^-26 or less.

    Whatever the shape of `fits`, the x that is returned was tried and fits.

    Args:
        fits: true below some positive bound and false above it.
        start: any positive guess.
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
    """Return an x with holds(x), above the smallest one from 0 on by a relative 2^-36 or less.

    Args:
        holds: false below some bound and true above it.
        proved: an x that another proof allows; it is not tried.
    """
    low, high = Fraction(0), proved
    if holds(low):
        return low
    while high - low > high * EPSILON_PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def crossing(level: Callable[[Fraction], float], start: Fraction) -> Fraction:
    """Return what `largest` does for an expensive, smoothly rising level, where x fits if level(x) <= 0.

    Brent's method finds the root; the x that is returned was tried, or is `start`.

    Args:
        start: an x that fits by another proof.
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


def golden_section(value: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Return nearly the minimiser of `value`, which falls and then rises between `low` and `high`.

    Args:
        steps: evaluations after the first two; each leaves 0.62 of the interval.
    """
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
