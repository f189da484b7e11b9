from fractions import Fraction

import pytest
from support.ledger_jobs import draws

from dpqr.kernel.budget import Cost, Pricing
from dpqr.kernel.currency import PAIR, currency
from dpqr.kernel.errors import BudgetRefused
from dpqr.ledger.ledger import Reservation


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


@pytest.mark.parametrize(("accountant", "delta", "fits"), [("basic", "0", 2), ("zcdp", "1/1000000", 4)])
def test_a_reservation_in_pairs_guards_by_the_runs_own_accountant(accountant, delta, fits):
    """Of zcdp draws of another size fit as far as rho does: four of half the epsilon, not two; of a pure sum two."""
    pricing, paid = Pricing(accountant=accountant, delta=Fraction(delta)), draws("1/2")
    reserved = Reservation(
        dataset="survey",
        number=2,
        receipt="",
        currency=PAIR,
        cost=PAIR.price(paid, pricing),
        events=paid,
        pricing=pricing,
    )
    ((half, _),) = draws("1/4")
    guard = reserved.guard()
    assert guard.unit == ("epsilon" if accountant == "basic" else "rho")
    for _ in range(fits):
        guard.charge(half)
    with pytest.raises(BudgetRefused):
        guard.charge(half)
