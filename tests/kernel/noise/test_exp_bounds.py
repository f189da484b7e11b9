from fractions import Fraction

import mpmath
import numpy as np
import pytest
from support.cases import in_one_test, thinned

from dpqr.kernel.noise import bits as exp_bounds
from dpqr.kernel.noise.bits import LAST_CELL, _inverse_growth, distance_grid, distances_below, exp_above, exp_bracket

EXPONENTS = [
    *(Fraction(0), Fraction(1, 3**120), Fraction(1, 10**9), Fraction(255, 256), Fraction(1), Fraction(22, 7)),
    *(Fraction(3**126 + 1, 2**199 + 9), Fraction(63), Fraction(88_722_839_111_673, 2**41), Fraction(127_999, 1000)),
    *(Fraction(10**12, 7), Fraction(7**200)),
]


@in_one_test("bits", [1, 16, 64, 128, 333, 512])
def test_encloses_the_true_value_closely(bits, exp_minus):
    for exponent in EXPONENTS:
        low, high = exp_bracket(exponent, bits)
        truth = mpmath.ldexp(exp_minus(exponent), bits)
        assert low <= truth <= high, exponent
        assert high - low <= (2 if exponent else 0), exponent


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


@pytest.mark.parametrize("work", thinned([20, 40, 64], 3))
def test_the_series_rounds_outwards_to_the_last_unit(work, exp_minus):
    """No guard bits here: every unit that a term loses to the wrong side would show."""
    for k in range(3000):
        below = k * (1 << (work - 8)) // 3000
        low, high = _inverse_growth(below, below + 50, work)
        assert low <= mpmath.ldexp(exp_minus(Fraction(below + 50, 1 << work)), work)
        assert mpmath.ldexp(exp_minus(Fraction(below, 1 << work)), work) <= high


def test_refuses_growth():
    with pytest.raises(ValueError, match="at least 0"):
        exp_bracket(Fraction(-1, 2), 64)


@in_one_test("guard", [-8, -4, 0])
def test_a_bracket_holds_however_few_guard_bits_make_it_narrow(guard, exp_minus, monkeypatch):
    """Every step rounds outwards: with no bits to spare, a step that did not would be seen."""
    monkeypatch.setattr(exp_bounds, "GUARD_BITS", guard)
    for k in range(1, 400):
        exponent = Fraction(k, 401)
        low, high = exp_bracket(exponent, 12)
        assert low <= mpmath.ldexp(exp_minus(exponent), 12) <= high


@pytest.mark.parametrize(
    "cells",
    thinned([np.arange(1024), np.arange(0, LAST_CELL + 1, 1024), np.arange(0, LAST_CELL, 997)], 3),
    ids=["fine entries", "coarse entries", "products"],
)
def test_every_entry_and_product_of_two_bounds_from_above(cells, exp_minus):
    for cell, bound in zip(cells.tolist(), exp_above(cells).tolist(), strict=True):
        ratio = mpmath.mpf(bound) / exp_minus(Fraction(cell, 1 << 14))
        assert 1 <= ratio <= 1 + mpmath.ldexp(1, -46)


RATES = [
    *(Fraction(0), Fraction(1, 10**40), Fraction(1, 2**64), Fraction(45, 2**64), Fraction(3**60, 2**130)),
    *(Fraction(1, 10**6), Fraction(12345678901234567890123456789, 2**100), Fraction(1, 3), Fraction(44), Fraction(45)),
    *(Fraction(2**20 + 1, 3), Fraction(2**19 * 2**14), Fraction(10**30)),
]


def distances_for(rate):
    span = min(2**64 - 1, int(46 / rate) + 2) if rate else 2**64 - 1
    near = {min(2**64 - 1, span * k // 97) for k in range(98)}
    cells = (
        {min(2**64 - 1, int(Fraction(c, 2**14) / rate) + d) for c in (1, 2, 45 * 2**14) for d in (0, 1)}
        if rate
        else set()
    )
    return sorted(near | cells | {0, 1, 2, 3, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1})


@in_one_test("bits", [8, 14])
@pytest.mark.parametrize("rate", RATES)
def test_cells_lie_below_and_near(rate, bits):
    distances = distances_for(rate)
    grid = distance_grid(rate, bits)
    cells = grid.cells(np.array(distances, dtype=np.uint64))
    assert cells.dtype == np.int64
    for distance, cell in zip(distances, cells.tolist(), strict=True):
        place = rate * distance * (1 << bits)
        assert 0 <= cell <= place
        assert place < cell + 2 or cell == grid.last == 45 << bits


def test_differences_of_the_whole_of_int64_are_exact():
    scores = np.array([-(2**63), -1, 0, 5, 2**63 - 1])
    for best in (5, 2**63 - 1):
        below = [score for score in scores.tolist() if score <= best]
        drawn = distances_below(best, np.array(below)).tolist()
        assert drawn == [best - score for score in below]
    assert distances_below(-(2**63), scores[:1]).tolist() == [0]
    assert distances_below(19, np.arange(20)[::3]).tolist() == list(range(19, -1, -3))
