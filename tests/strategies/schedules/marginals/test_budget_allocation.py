"""The split of what is left among the marginals that a search has found."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.kernel.budget import Price
from dpqr.strategies.schedules.marginals.forecast import BudgetAllocation, ExpectedError
from dpqr.strategies.schedules.marginals.last_measurements import LastMeasurements
from dpqr.workload.block import Factor, QueryBlock

RHO = BudgetAllocation(whole=Price(rho=Fraction(1)), deviation=1.0)
PURE = BudgetAllocation(whole=Price(epsilon=Fraction(1)), deviation=1.0)


@in_one_test("budget", [RHO, PURE])
def test_a_split_has_the_least_cost_and_stays_within_its_share(budget):
    costs = [1.0, 5.0, 30.0]
    shares = budget.split(0.5, costs)
    assert 0.4999 < sum(shares) <= 0.5

    def cost(shares):
        return sum(cost * budget.deviation_at(share) for cost, share in zip(costs, shares, strict=True))

    for one, other in pairwise(range(3)):
        moved = list(shares)
        moved[one], moved[other] = moved[one] * 0.99, moved[other] + moved[one] * 0.01
        assert cost(moved) > cost(shares)


def test_what_was_spent_before_counts_in_rho():
    assert RHO.split(1.0, [1.0, 1.0], [0.5, 0.0]) == pytest.approx([0.25, 0.75])
    assert RHO.split(1.0, [1.0, 1.0, 8.0], [2.0, 0.0, 0.0]) == pytest.approx([0.0, 0.2, 0.8])
    assert PURE.split(1.0, [1.0, 1.0], [0.5, 0.0]) == pytest.approx([0.5, 0.5])
    assert RHO.split(1.0, []) == []


def test_two_measurements_together():
    assert RHO.combined(0.1, 0.3) == pytest.approx(RHO.deviation_at(0.4))
    assert PURE.combined(0.2, 0.0) == pytest.approx(PURE.deviation_at(0.2))
    assert PURE.combined(0.3, 0.4) == pytest.approx(PURE.deviation_at(0.5))


def test_prices_of_a_split_never_exceed_the_whole():
    shares = RHO.split(1.0, [0.1 * place + 0.01 for place in range(97)])
    assert sum(RHO.price(share).rho for share in shares) <= 1


SIZES = (4, 4, 4, 40)


def marginal(*axes: int) -> QueryBlock:
    return QueryBlock(name=str(axes), factors=tuple(Factor.identity(axis, SIZES[axis]) for axis in axes))


SINGLES = tuple(marginal(axis) for axis in range(4))
PAIRS = tuple(marginal(*axes) for axes in combinations(range(4), 2))
COUNTS = {axis: np.full(size, 1000.0 / size) for axis, size in enumerate(SIZES)}


def last(spent: tuple[float, ...] = (0.0,) * 4, asked: tuple[QueryBlock, ...] = PAIRS) -> LastMeasurements:
    errors = ExpectedError.of((*SINGLES, *PAIRS), COUNTS)
    budget = BudgetAllocation(whole=Price(rho=Fraction(1, 2)), deviation=1.0)
    return LastMeasurements(singles=SINGLES, spent=spent, queried=asked, errors=errors, budget=budget)


def test_it_spends_what_is_left_on_found_blocks_and_on_columns_that_stand_in_for_others() -> None:
    shares = {block.axes: share for block, share in last().split((PAIRS[0],), 0.8)}
    assert set(shares) == {(0, 1), (0,), (1,), (2,), (3,)}
    assert sum(shares.values()) == pytest.approx(0.8)
    assert shares[3,] > shares[2,] > shares[0,] == pytest.approx(shares[1,])


def test_columns_whose_blocks_were_all_found_get_nothing() -> None:
    found = tuple(block for block in PAIRS if 0 in block.axes)
    assert {block.axes for block, _ in last().split(found, 0.8)} == {(0, 1), (0, 2), (0, 3), (1,), (2,), (3,)}
    assert {block.axes for block, _ in last().split(PAIRS, 0.8)} == {block.axes for block in PAIRS}


def test_what_went_to_a_column_before_counts() -> None:
    fresh, second = (dict(split.split((), 0.5)) for split in (last(), last(spent=(0.02, 0.0, 0.0, 0.0))))
    assert second[SINGLES[0]] < fresh[SINGLES[0]]
    assert second[SINGLES[0]] + 0.02 == pytest.approx(second[SINGLES[1]])


def test_more_blocks_leave_more_error_in_each_and_more_budget_less() -> None:
    one, all_of_them = last().expected(PAIRS[:1], PAIRS[:1], 0.5), last().expected(PAIRS[:1], PAIRS, 0.5)
    assert 0.0 < last().expected(PAIRS[:1], PAIRS[:1], 0.9) < one < all_of_them < 1000.0
