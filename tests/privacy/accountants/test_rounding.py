import math
from decimal import Decimal, getcontext
from fractions import Fraction

import mpmath
import pytest

from dpqr.privacy.accountants.rounding import (
    EXACT_FACTORIALS,
    GRID,
    HALF_LOG_TWO_PI,
    decimal,
    log_factorial,
    sixty_digits,
    upward,
)


@pytest.mark.parametrize("text", ["0", "1", "-3.5", "0.000000000000000000000001", "123.4567890123456789012345678"])
def test_upward_is_above_by_one_to_two_steps_of_the_grid(text):
    value = Decimal(text)
    found = upward(value)
    assert Fraction(1, GRID) <= found - Fraction(value) < Fraction(2, GRID)
    assert (found * GRID).denominator == 1


@pytest.mark.parametrize("n", [0, 1, 2, 170, EXACT_FACTORIALS - 1, EXACT_FACTORIALS, 257, 10**4, 10**7, 10**12])
def test_log_factorials_are_good_to_twenty_digits(n):
    with mpmath.workdps(60), sixty_digits():
        assert abs(mpmath.mpf(str(log_factorial(n))) - mpmath.loggamma(n + 1)) < mpmath.mpf("1e-20")


def test_stirling_and_the_factorial_meet():
    with sixty_digits():
        exact = Decimal(math.factorial(EXACT_FACTORIALS)).ln()
        assert 0 < abs(log_factorial(EXACT_FACTORIALS) - exact) < Decimal("1e-20")


def test_the_constant():
    with mpmath.workdps(70):
        assert abs(mpmath.mpf(str(HALF_LOG_TWO_PI)) - mpmath.log(2 * mpmath.pi) / 2) < mpmath.mpf("1e-62")


def test_sixty_digits_inside_and_the_callers_own_outside():
    before = getcontext().prec
    with sixty_digits():
        third = decimal(Fraction(1, 3))
        assert abs(Fraction(third) - Fraction(1, 3)) < Fraction(1, 10**60)
        assert Decimal(-(10**9)).exp() > 0
    assert getcontext().prec == before
