from fractions import Fraction
from itertools import pairwise

import pytest

from dpqr.strategies.schedules.purse import Purse

RHO = Purse(whole=Fraction(1), concentrated=True, deviation=1.0)
PURE = Purse(whole=Fraction(1), concentrated=False, deviation=1.0)


@pytest.mark.parametrize("purse", [RHO, PURE], ids=["rho", "epsilon"])
def test_a_split_has_the_least_cost_and_stays_within_its_share(purse):
    costs = [1.0, 5.0, 30.0]
    shares = purse.split(0.5, costs)
    assert 0.4999 < sum(shares) <= 0.5

    def cost(shares):
        return sum(cost * purse.bought(share) for cost, share in zip(costs, shares, strict=True))

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
    assert RHO.together(0.1, 0.3) == pytest.approx(RHO.bought(0.4))
    assert PURE.together(0.2, 0.0) == pytest.approx(PURE.bought(0.2))
    assert PURE.together(0.3, 0.4) == pytest.approx(PURE.bought(0.5))


def test_prices_of_a_split_never_exceed_the_whole():
    shares = RHO.split(1.0, [0.1 * place + 0.01 for place in range(97)])
    assert sum(RHO.price(share).rho for share in shares) <= 1
