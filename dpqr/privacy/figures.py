"""Privacy figures as floats and as text. Costs are rounded up and what is left of a budget is rounded down, so that no
output understates the one or overstates the other.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

PLAIN = range(-5, 13)
"""Decimal exponents that are written without an exponent."""


def upward(value: Fraction) -> float:
    """The smallest float that is at least `value`."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def upward_text(value: Fraction, digits: int = 12) -> str:
    """`value` in decimal, rounded up to `digits` significant digits; exact where it has no more of them."""
    return _text(value, Context(prec=digits, rounding=ROUND_CEILING))


def downward_text(value: Fraction, digits: int = 12) -> str:
    """`value` in decimal, rounded down to `digits` significant digits; exact where it has no more of them."""
    return _text(value, Context(prec=digits, rounding=ROUND_FLOOR))


def _text(value: Fraction, context: Context) -> str:
    shown = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    if not shown or shown.adjusted() in PLAIN:
        return f"{shown:f}"
    return f"{shown:e}"
