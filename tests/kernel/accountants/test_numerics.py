import math
from decimal import Decimal, getcontext
from fractions import Fraction

import mpmath
import pytest
from support.cases import in_one_test

from dpqr.kernel.accountants.numerics import (
    EPSILON_PRECISION,
    EXACT_FACTORIALS,
    GRID,
    HALF_LOG_TWO_PI,
    PRECISION,
    ROOM,
    crossing,
    decimal,
    golden_section,
    largest,
    log_factorial,
    lowest,
    sixty_digits,
    upward,
)


@in_one_test("text", ["0", "1", "-3.5", "0.000000000000000000000001", "123.4567890123456789012345678"])
def test_upward_is_above_by_one_to_two_steps_of_the_grid(text):
    value = Decimal(text)
    found = upward(value)
    assert Fraction(1, GRID) <= found - Fraction(value) < Fraction(2, GRID)
    assert (found * GRID).denominator == 1


@in_one_test("n", [0, 1, 2, 170, EXACT_FACTORIALS - 1, EXACT_FACTORIALS, 257, 10**4, 10**7, 10**12])
def test_log_factorials_are_good_to_twenty_digits(n):
    with mpmath.workdps(60), sixty_digits():
        assert abs(mpmath.mpf(str(log_factorial(n))) - mpmath.loggamma(n + 1)) < mpmath.mpf("1e-20")
    with mpmath.workdps(70):
        assert abs(mpmath.mpf(str(HALF_LOG_TWO_PI)) - mpmath.log(2 * mpmath.pi) / 2) < mpmath.mpf("1e-62")


def test_sixty_digits_inside_and_the_callers_own_outside():
    before = getcontext().prec
    with sixty_digits():
        third = decimal(Fraction(1, 3))
        assert abs(Fraction(third) - Fraction(1, 3)) < Fraction(1, 10**60)
        assert Decimal(-(10**9)).exp() > 0
    assert getcontext().prec == before


@in_one_test("bound", [Fraction(1, 10**12), Fraction(1, 3), Fraction(1), Fraction(10**9)])
@pytest.mark.parametrize("start", [Fraction(1), Fraction(1, 1000), Fraction(10**6)])
def test_it_stops_just_below_the_bound_from_any_start(bound, start):
    found = largest(lambda x: x <= bound, start)
    assert bound * (1 - PRECISION) <= found <= bound


def test_what_it_returns_was_tried_even_if_the_predicate_is_ragged():
    tried = {}

    def ragged(x):
        tried[x] = x < 1 and (x * 1000).__floor__() % 7 != 3
        return tried[x]

    assert tried.get(largest(ragged, Fraction(1, 2))) is True


@in_one_test("bound", [Fraction(1, 10**12), Fraction(1, 3), Fraction(9)])
def test_the_lowest_lies_just_above_the_bound(bound):
    found = lowest(lambda x: x >= bound, Fraction(10))
    assert bound <= found <= bound * (1 + 2 * EPSILON_PRECISION)


@in_one_test("budget", [Fraction(1, 10**9), Fraction(1, 3), Fraction(1000)])
def test_a_cut_that_aims_below_the_budget_is_found_within_it(budget):
    assert lowest(lambda x: x >= budget * ROOM, 3 * budget) <= budget


def test_what_holds_at_zero_is_zero_and_what_was_proved_is_not_tried():
    assert lowest(lambda x: True, Fraction(10)) == 0
    assert lowest(lambda x: False, Fraction(10)) == 10


@in_one_test("bound", [Fraction(1, 10**12), Fraction(1, 3), Fraction(10**9)])
@pytest.mark.parametrize("room", [1, 3, 10**6])
def test_a_crossing_is_found_from_below_with_few_looks(bound, room):
    looks = []

    def level(x):
        looks.append(x)
        return math.log(x / bound)

    found = crossing(level, bound / room)
    assert bound * (1 - PRECISION) <= found <= bound
    assert found in looks
    assert len(looks) < 20 + 2 * math.log2(room)


def test_a_crossing_of_a_ragged_level_was_tried_all_the_same():
    """It jumps above zero in places below its crossing, so the place that Brent's method finds may not fit."""

    def level(x):
        return 1.0 if (x * 2**40).__floor__() % 3 == 1 else float(x - 1)

    assert level(crossing(level, Fraction(1, 8))) <= 0
    assert crossing(lambda x: 1.0, Fraction(1, 3)) == Fraction(1, 3), "a start that the level does not admit is kept"


@in_one_test("place", [-3.5, 0.0, 2.25])
def test_a_trough_is_found(place):
    assert golden_section(lambda x: abs(x - place) ** 1.5, -4.0, 3.0, 60) == pytest.approx(place, abs=1e-6)
