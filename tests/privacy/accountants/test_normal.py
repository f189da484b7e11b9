from decimal import Decimal

import mpmath
import pytest

from dpqr.privacy.accountants.normal import LEVELS, SPLIT, _mills, upper_tail
from dpqr.privacy.accountants.rounding import sixty_digits

PLACES = ("0", "1e-30", "1e-9", "0.3", "1", "2", "4.5", "5.9999", "6", "6.0001", "7.5", "12", "40", "1e3", "1e5")


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("place", PLACES)
def test_the_tail_within_a_relative_ten_to_the_minus_forty(place, sign):
    with sixty_digits(), mpmath.workdps(100):
        x = sign * Decimal(place)
        found, exact = mpmath.mpf(str(upper_tail(x))), mpmath.ncdf(-mpmath.mpf(str(x)))
        assert abs(found / exact - 1) < mpmath.mpf("1e-40")


def test_convergents_on_either_side_are_as_close_as_it_says():
    with sixty_digits():
        for place in (SPLIT, 7, 9, 20, 1000):
            x = Decimal(place)
            one, other = _mills(x, LEVELS - 1), _mills(x, LEVELS)
            assert abs(one / other - 1) < Decimal("1e-47")
