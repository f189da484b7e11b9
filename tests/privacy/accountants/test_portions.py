from fractions import Fraction

import pytest

from dpqr.errors import BudgetRefused
from dpqr.privacy.accountant import Portion
from dpqr.privacy.accountants.basic import Basic
from dpqr.privacy.accountants.portions import needs_delta, require_affordable, weigh
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.events import ExponentialEvent

BUDGET = PrivacyBudget.parse("1")


def test_the_weight_counts_every_draw():
    portions = [Portion(share=Fraction(1, 2), count=3), Portion(share=Fraction(2), count=1)]
    assert weigh(Basic(), BUDGET, portions) == Fraction(7, 2)


def test_a_plan_at_the_budget_is_affordable_and_one_above_is_not():
    require_affordable(Basic(), BUDGET, ((ExponentialEvent(epsilon=Fraction(1, 3)), 3),))
    with pytest.raises(BudgetRefused):
        require_affordable(Basic(), BUDGET, ((ExponentialEvent(epsilon=Fraction(10**30 + 1, 3 * 10**30)), 3),))


def test_the_refusal_names_the_accountant_and_the_way_out():
    assert needs_delta("zcdp", PrivacyBudget.parse("1", "1e-9")) is None
    text = needs_delta("zcdp", BUDGET)
    assert text.startswith("the zcdp accountant needs a delta above 0")
    assert "--accountant basic" in text
