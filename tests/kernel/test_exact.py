from fractions import Fraction

import pytest

from dpqr.kernel.accountants.accountant import SumFilter, require_pure
from dpqr.kernel.accountants.known import available
from dpqr.kernel.accountants.losses import concentrated_rho
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import PermuteAndFlipEvent
from dpqr.kernel.exact import ExactEvent, PublicFilter

EXACT = ExactEvent().as_event


def test_public_data_is_seen_as_often_as_one_likes():
    public = PublicFilter()
    assert [public.charge(EXACT) for _ in range(3)] == [0, 1, 2]


def test_a_draw_that_has_a_price_is_not_charged_there():
    with pytest.raises(BudgetRefused, match="no noisy draws"):
        PublicFilter().charge(PermuteAndFlipEvent(epsilon=Fraction(1)))


@pytest.mark.parametrize("name", list(available()))
def test_every_accountant_refuses_it(name):
    with pytest.raises(BudgetRefused):
        available()[name].epsilon(((EXACT, 1),), PrivacyBudget.parse("1", "1e-9").delta)


@pytest.mark.parametrize("cost", [require_pure, concentrated_rho])
def test_no_budget_is_large_enough(cost):
    with pytest.raises(BudgetRefused):
        SumFilter(limit=10**30, cost=cost, unit="epsilon").charge(EXACT)
