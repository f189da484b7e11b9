"""The tail of the normal law in sixty decimal digits, with an error that is proved."""

from __future__ import annotations

from decimal import Decimal

from dpqr.privacy.accountants.rounding import HALF_LOG_TWO_PI

SPLIT = 6
LEVELS = 120
NEGLIGIBLE = Decimal("1e-62")


def upper_tail(x: Decimal) -> Decimal:
    """Q(x) = 1 - Phi(x), within a relative 10^-40 for |x| <= 10^9; in a context of sixty digits.

    Up to 6: 1/2 - phi(x) times the series of x^(2n+1) / (1 3 ... (2n+1)) (Abramowitz and Stegun 26.2.11), whose
    terms have one sign: some 200 of them, each off by a relative 10^-57, in a product of at most 1/2; what is left out
    is below 10^-60 of the sum. So Q is off by less than 10^-54, and it is above 10^-10.
    From 6 on: phi(x) / (x + 1 / (x + 2 / (x + 3 / ...))) (26.2.14). All numbers are positive, so convergents lie on
    either side of the limit in turn; at x = 6 the 119th and the 120th differ by a relative 10^-48, and by less for
    larger x. phi(x) is off by x^2 10^-59, at most 10^-41.
    """
    if x < 0:
        return 1 - upper_tail(-x)
    density = (-x * x / 2 - HALF_LOG_TWO_PI).exp()
    return density * _mills(x, LEVELS) if x > SPLIT else Decimal("0.5") - density * _series(x)


def _series(x: Decimal) -> Decimal:
    term, whole, odd, square = x, x, 1, x * x
    while term > NEGLIGIBLE * whole:
        odd += 2
        term *= square / odd
        whole += term
    return whole


def _mills(x: Decimal, levels: int) -> Decimal:
    below = x
    for level in range(levels, 0, -1):
        below = x + level / below
    return 1 / below
