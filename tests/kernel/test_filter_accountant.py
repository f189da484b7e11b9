"""Which theorems survive prices that are chosen on the way, told by their types."""

from fractions import Fraction

import pytest

from dpqr.kernel.accountants.accountant import FilterAccountant
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.currency import CURRENCIES
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import DiscreteLaplaceEvent

FILTERS = {name: one for name, one in ACCOUNTANTS.items() if isinstance(one, FilterAccountant)}
BUDGET = PrivacyBudget.parse("1", "1e-6")


def laplace(epsilon):
    return DiscreteLaplaceEvent(sensitivity=1, scale=1 / Fraction(epsilon))


def test_sums_are_filters_and_nothing_else_is():
    assert list(FILTERS) == ["basic", "zcdp", "gdp"] == list(CURRENCIES)


@pytest.mark.parametrize("accountant", FILTERS.values(), ids=FILTERS)
def test_a_filter_needs_no_plan_and_stops_where_its_theorem_does(accountant):
    """Prices halve and double on the way; what was admitted is within the budget, and one more like it is not."""
    made = accountant.filter(BUDGET)
    asked = [laplace(Fraction(1, part)) for part in (8, 16, 4, 64, 8)]
    admitted = []
    for event in asked * 40:
        try:
            made.charge(event)
        except BudgetRefused:
            continue
        admitted.append((event, 1))
    assert Fraction(95, 100) < accountant.epsilon(tuple(admitted), BUDGET.delta) <= 1
    with pytest.raises(BudgetRefused):
        made.charge(asked[0])


def test_a_filter_of_rho_needs_a_delta():
    with pytest.raises(BudgetRefused, match="delta"):
        FILTERS["zcdp"].filter(PrivacyBudget.parse("1"))
