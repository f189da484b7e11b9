from dataclasses import replace
from fractions import Fraction

import pytest
from support.ledger_jobs import draws, terms

from dpqr.kernel.budget import Cost, Pricing
from dpqr.kernel.currency import PAIR, currency
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.ledger.ledger import LONGEST_REASON, NO_REASON, Account, Reason, Reservation


def test_left_is_what_is_not_spent_and_a_release_gets_at_most_the_cap():
    account = Account(terms=terms(cap="1"), spent=Cost(Fraction("0.5")))
    assert (account.left, account.largest) == (Fraction("4.5"), 1)
    account = replace(account, spent=Cost(Fraction("4.5")))
    assert (account.left, account.largest) == (Fraction("0.5"), Fraction("0.5"))
    assert Account(terms=terms(), spent=Cost(Fraction(1))).largest == 4


def test_the_largest_request_is_worded_as_options():
    assert Account(terms=terms(), spent=Cost(Fraction("4.5"))).request == "--eps 0.5"
    assert Account(terms=terms(), spent=Cost(Fraction(14, 3))).request == "--eps 0.333333"
    opened = terms(epsilon="2", delta="1e-6", accountant="zcdp")
    assert Account(terms=opened).request == "--eps 2 --delta 1e-6 --accountant zcdp"
    assert Account(terms=opened, spent=opened.limit).request is None


def test_words_say_what_was_stated():
    assert Reason(purpose="report", by="R. J\u00f8nes").words == "report, by R. J\u00f8nes"
    assert Reason(purpose="report").words == "report"
    assert Reason(by="the team").words == "by the team"
    assert NO_REASON.words == ""


@pytest.mark.parametrize("text", ["a\nb", "\x1b[2J", "\u202e", "x" * (LONGEST_REASON + 1)], ids=repr)
@pytest.mark.parametrize("name", ["purpose", "by"])
def test_it_is_one_printable_line(name, text):
    with pytest.raises(UsageFault, match=f"--{name}: give one line of at most 200 printable characters"):
        Reason(**{name: text})


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
