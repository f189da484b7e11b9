from fractions import Fraction

import pytest

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.accountants.sums import Basic, total
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import DiscreteLaplaceEvent, ExponentialEvent

TENTH = DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(10))


def test_three_tenths_are_exactly_three_tenths():
    assert Basic().epsilon(((TENTH, 3),), Fraction(0)) == Fraction(3, 10)
    assert total(((Fraction(1, 10), 3), (Fraction(1, 3), 2))) == Fraction(29, 30)


@pytest.mark.parametrize("draws", [1, 3, 7, 1390, 2999])
def test_equal_parts_add_up_to_the_whole(draws):
    """With floats about half of these sums miss the whole."""
    budget = PrivacyBudget.parse("0.1")
    price = Basic().cut(budget, [Portion(share=Fraction(1), count=2 * draws)])[0]
    event = ExponentialEvent(epsilon=price.pure)
    assert Basic().epsilon(((event, 2 * draws),), Fraction(0)) == budget.epsilon


def test_a_pure_budget_is_guarded_to_the_last_digit():
    budget = PrivacyBudget.parse("0.3")
    guard = Basic().guard(budget, ((TENTH, 3),))
    for _ in range(3):
        guard.charge(TENTH)
    with pytest.raises(BudgetRefused, match=r"asks epsilon 1e-9, but 0\.3 of 0\.3 is spent and 0 left"):
        guard.charge(ExponentialEvent(epsilon=Fraction(1, 10**9)))


def test_as_a_filter_it_admits_other_costs_within_the_same_sum():
    guard = Basic().guard(PrivacyBudget.parse("1"), ((TENTH, 10),))
    guard.charge(ExponentialEvent(epsilon=Fraction(7, 10)))
    guard.charge(DiscreteLaplaceEvent(sensitivity=3, scale=Fraction(10)))
    with pytest.raises(BudgetRefused):
        guard.charge(ExponentialEvent(epsilon=Fraction(1, 10**30)))
