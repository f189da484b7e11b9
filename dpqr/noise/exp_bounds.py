"""Rigorous integer brackets of exp(-x): the only place where the samplers meet a transcendental number."""

from __future__ import annotations

from fractions import Fraction

GUARD_BITS = 12
"""Working bits beyond the asked ones; the docstring of `exp_bracket` says why 12 suffice."""


def exp_bracket(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Integers (low, high) with low <= 2^bits exp(-exponent) <= high and high - low <= 2.

    exponent: any rational >= 0; bits: at least 1.

    Why it holds. Let r = x / 2^h < 2^-8, and W = bits + h + 12 the working precision.
    1. r is enclosed by two integers over 2^W. exp(r) = sum r^i / i! has positive terms only, so terms rounded down add
       up to a lower bound; terms rounded up, plus 1 for all that follow the first term of at most one unit (they are
       below 2^-7 of it), to an upper one. Reciprocals, rounded outwards, enclose exp(-r).
    2. Squaring h times, rounded outwards, encloses exp(-x).
    3. Width: step 1 leaves fewer than 4 units a term, each squaring at most doubles the width (values are <= 1) and
       adds 2 units: below 2^h (4 terms + 4) units of 2^-W, less than one unit of 2^-bits for up to 1,000 terms, which
       no precision below 10,000 bits needs. Rounding outwards to `bits` makes that at most 2.
    exp(0) = 1 is exact. If x >= bits, then 2^bits exp(-x) <= (2/e)^bits < 1: the bracket (0, 1), at no cost however
    large x is.
    """
    numerator, denominator = exponent.numerator, exponent.denominator
    if numerator < 0:
        raise ValueError("exp_bracket takes exponents of at least 0")
    if numerator == 0:
        return 1 << bits, 1 << bits
    if numerator >= bits * denominator:
        return 0, 1
    halvings = (numerator // denominator).bit_length() + 8
    work = bits + halvings + GUARD_BITS
    scaled = numerator << (work - halvings)
    low, high = _inverse_growth(scaled // denominator, -(-scaled // denominator), work)
    for _ in range(halvings):
        low = low * low >> work
        high = -(-high * high >> work)
    surplus = work - bits
    return low >> surplus, -(-high >> surplus)


def _inverse_growth(below: int, above: int, work: int) -> tuple[int, int]:
    """Bracket of 2^work exp(-r) for every r in [below, above] / 2^work, r <= 2^-8."""
    low = high = down = up = 1 << work
    step = 0
    while up > 1:
        step += 1
        down = down * below // (step << work)
        up = -(-up * above // (step << work))
        low += down
        high += up
    square = 1 << (2 * work)
    return square // (high + 1), -(-square // low)
