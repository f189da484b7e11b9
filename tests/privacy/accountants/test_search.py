from fractions import Fraction

import pytest

from dpqr.privacy.accountants.search import PRECISION, largest


@pytest.mark.parametrize("bound", [Fraction(1, 10**12), Fraction(1, 3), Fraction(1), Fraction(10**9)])
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
