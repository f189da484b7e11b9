import math
from fractions import Fraction

import pytest

from dpqr.privacy.figures import downward_text, upward, upward_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1), "1"),
        (Fraction(100), "100"),
        (Fraction("0.1"), "0.1"),
        (Fraction("1e-9"), "1e-9"),
        (Fraction(10) ** 15, "1e+15"),
        (Fraction("0.00001"), "0.00001"),
        (Fraction(1, 3), "0.333333333334"),
        (Fraction(2, 3), "0.666666666667"),
    ],
)
def test_text_is_exact_or_rounded_up(value, text):
    assert upward_text(value) == text
    assert Fraction(text) >= value


def test_fewer_digits_are_rounded_up_too():
    assert upward_text(Fraction("0.12341"), 4) == "0.1235"
    assert upward_text(Fraction("0.99991"), 4) == "1"


def test_what_is_left_is_rounded_down():
    assert downward_text(Fraction(2, 3), 4) == "0.6666"
    assert downward_text(Fraction("0.1")) == "0.1"


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(2, 3), Fraction(1, 10), Fraction(10**40 + 1, 7)])
def test_float_is_the_smallest_that_is_not_below(value):
    shown = upward(value)
    assert Fraction(shown) >= value
    assert Fraction(math.nextafter(shown, -math.inf)) < value
