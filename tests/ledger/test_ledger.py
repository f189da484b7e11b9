from dataclasses import replace
from fractions import Fraction

from support.ledger_jobs import terms

from dpqr.kernel.budget import Cost
from dpqr.ledger.ledger import Account


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
