from fractions import Fraction

import mpmath
import pytest

from dpqr.strategies.updates.logarithm import floor_of_log


@pytest.mark.parametrize("size", [2, 3, 8, 64, 13440, 10**30])
@pytest.mark.parametrize("factor", [Fraction(1, 7), Fraction(4), Fraction(4 * 40**2), Fraction(10**25, 3)])
def test_agrees_with_many_digits(size, factor):
    with mpmath.workdps(120):
        assert floor_of_log(size, factor) == int(mpmath.floor(mpmath.log(size) * factor.numerator / factor.denominator))


def test_a_product_within_rounding_of_an_integer_is_decided():
    """factor = 5/log(2) to 45 digits, rounded down and up: a double, and 40 digits, cannot tell them apart."""
    with mpmath.workdps(80):
        whole = int(mpmath.floor(5 / mpmath.log(2) * mpmath.mpf(10) ** 45))
    assert floor_of_log(2, Fraction(whole, 10**45)) == 4
    assert floor_of_log(2, Fraction(whole + 1, 10**45)) == 5


def test_a_universe_of_one_cell_takes_no_mistakes():
    assert floor_of_log(1, Fraction(10**9)) == 0
