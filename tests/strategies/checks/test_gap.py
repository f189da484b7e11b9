"""The gap behind the stop test, in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from support.fakes import Says, measured

from dpqr.strategies.checks.gap import gap
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

MARGINAL = QueryBlock(name="marginal", factors=(Factor.identity(0, 3),))
QUARTERS = QueryBlock(
    name="quarters",
    factors=(Factor(axes=(0,), sizes=(3,), matrix=Dense(np.array([[0, 3, 1]]))),),
    scale=Fraction(1, 4),
)
TOTAL = QueryBlock(name="total")


def test_the_gap_of_one_query_is_in_records_and_rounded_to_the_grid() -> None:
    assert gap(measured((TOTAL, [70])), Says({"total": 64.4})) == 6
    assert gap(measured((TOTAL, [64])), Says({"total": 70})) == 6
    assert gap(measured((TOTAL, [70])), Says({"total": 64.6})) == 5
    assert gap(measured((TOTAL, [64])), Says({"total": 69.6})) == 6
    assert gap(measured((QUARTERS, [70])), Says({"quarters": 63.4})) == Fraction(7, 4)


def test_the_gap_of_more_is_the_sum_over_all_rows_and_blocks() -> None:
    both = measured((MARGINAL, [5, -2, 9]), (QUARTERS, [8]))
    assert gap(both, Says({"marginal": [4, 2, 9.2], "quarters": 5})) == 1 + 4 + Fraction(3, 4)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_no_hypothesis_can_break_the_gap(value) -> None:
    values = [2**62, -(2**62), 2**62]
    found = gap(measured((MARGINAL, values)), Says({"marginal": value}))
    guess = 0 if np.isnan(value) else 2**61 if value > 0 else -(2**61)
    assert found == sum(abs(v - guess) for v in values)
