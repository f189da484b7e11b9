from fractions import Fraction

import mpmath
import pytest

from dpqr.noise import exp_bounds
from dpqr.noise.exp_bounds import _inverse_growth, exp_bracket

EXPONENTS = [
    Fraction(0),
    Fraction(1, 3**120),
    Fraction(1, 10**9),
    Fraction(255, 256),
    Fraction(1),
    Fraction(22, 7),
    Fraction(3**126 + 1, 2**199 + 9),
    Fraction(63),
    Fraction(88_722_839_111_673, 2**41),
    Fraction(127_999, 1000),
    Fraction(10**12, 7),
    Fraction(7**200),
]


@pytest.mark.parametrize("bits", [1, 16, 64, 128, 333, 512])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_encloses_the_true_value_closely(exponent, bits, exp_minus):
    low, high = exp_bracket(exponent, bits)
    truth = mpmath.ldexp(exp_minus(exponent), bits)
    assert low <= truth <= high
    assert high - low <= 2


def test_encloses_many_rationals(exp_minus):
    for k in range(1, 600):
        exponent = Fraction(k**5 + 1, 10**9 + k**3)
        low, high = exp_bracket(exponent, 64 + k % 190)
        assert low <= mpmath.ldexp(exp_minus(exponent), 64 + k % 190) <= high <= low + 2


def test_a_bracket_that_is_off_by_its_width_would_be_seen(exp_minus):
    truth = mpmath.ldexp(exp_minus(Fraction(22, 7)), 128)
    low, high = exp_bracket(Fraction(22, 7), 128)
    assert not low + 2 <= truth
    assert not truth <= high - 2


@pytest.mark.parametrize("work", [20, 40, 64])
def test_the_series_rounds_outwards_to_the_last_unit(work, exp_minus):
    """No guard bits here: every unit that a term loses to the wrong side would show."""
    for k in range(3000):
        below = k * (1 << (work - 8)) // 3000
        low, high = _inverse_growth(below, below + 50, work)
        assert low <= mpmath.ldexp(exp_minus(Fraction(below + 50, 1 << work)), work)
        assert mpmath.ldexp(exp_minus(Fraction(below, 1 << work)), work) <= high


def test_one_is_exact():
    assert exp_bracket(Fraction(0), 80) == (1 << 80, 1 << 80)


def test_refuses_growth():
    with pytest.raises(ValueError, match="at least 0"):
        exp_bracket(Fraction(-1, 2), 64)


@pytest.mark.parametrize("guard", [-8, -4, 0])
def test_a_bracket_holds_however_few_guard_bits_make_it_narrow(guard, exp_minus, monkeypatch):
    """Every step rounds outwards: with no bits to spare, a step that did not would be seen."""
    monkeypatch.setattr(exp_bounds, "GUARD_BITS", guard)
    for k in range(1, 400):
        exponent = Fraction(k, 401)
        low, high = exp_bracket(exponent, 12)
        assert low <= mpmath.ldexp(exp_minus(exponent), 12) <= high
