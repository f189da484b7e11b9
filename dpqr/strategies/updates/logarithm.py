"""Exact floors of logarithms: mistake bounds are integers, and one too many would be a false promise."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction


def floor_of_log(size: int, factor: Fraction) -> int:
    """floor(factor * log(size)) for an integer size of at least 1 and a positive factor.

    log of an integer above 1 is irrational, so the product is never an integer and enough digits always decide;
    Decimal.ln is correctly rounded, so one unit in the last digit on either side brackets it.
    """
    if size == 1:
        return 0
    digits = 40
    while True:
        with localcontext() as context:
            context.prec = digits
            logarithm = Fraction(Decimal(size).ln())
        error = logarithm / 10 ** (digits - 2)
        low, high = factor * (logarithm - error), factor * (logarithm + error)
        if low // 1 == high // 1:
            return int(low // 1)
        digits *= 2
