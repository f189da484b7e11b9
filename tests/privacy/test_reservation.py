from fractions import Fraction

import pytest
from support.ledger_jobs import draws

from dpqr.errors import BudgetRefused
from dpqr.privacy.budget import Cost
from dpqr.privacy.currency import currency
from dpqr.privacy.reservation import Reservation


@pytest.mark.parametrize(("accountant", "cost"), [("basic", "1/2"), ("zcdp", "1/32")])
def test_a_reservation_guards_in_the_ledgers_currency(accountant, cost):
    paid = Reservation(
        dataset="survey",
        number=2,
        receipt="",
        currency=currency(accountant),
        cost=Cost(Fraction(cost)),
        events=draws("1/2"),
    )
    ((event, _),) = draws("1/2")
    guard = paid.guard()
    assert guard.charge(event) == 0
    with pytest.raises(BudgetRefused):
        guard.charge(event)
