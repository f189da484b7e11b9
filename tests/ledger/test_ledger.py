from fractions import Fraction

import pytest
from support.cases import in_one_test
from support.ledger_jobs import draws, terms

from dpqr.kernel.budget import Cost, Pricing
from dpqr.kernel.currency import PAIR, currency
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import LONGEST_REASON, NO_REASON, Account, Reason, Reservation
from dpqr.ledger.refusals import (
    LONGEST_NAME,
    LONGEST_NOTE,
    over_cap,
    over_limit,
    require_name,
    require_text,
    require_unit,
)


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


@in_one_test("text", ["a\nb", "\x1b[2J", "\u202e", "x" * (LONGEST_REASON + 1)])
@pytest.mark.parametrize("name", ["purpose", "by"])
def test_it_is_one_printable_line(name, text):
    with pytest.raises(UsageFault, match=f"--{name}: give one line of at most 200 printable characters"):
        Reason(**{name: text})


@in_one_test(("accountant", "cost"), [("basic", "1/2"), ("zcdp", "1/32")])
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


@in_one_test(("accountant", "delta", "fits"), [("basic", "0", 2), ("zcdp", "1/1000000", 4)])
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


# What a ledger refuses, and why.


ZCDP = terms(epsilon="2", delta="1e-6", accountant="zcdp")


@in_one_test(
    ("account", "asked", "said"),
    [
        (
            Account(terms=terms(), spent=Cost(Fraction("4.5")), pending=Cost(Fraction(1))),
            Cost(Fraction(2)),
            "dataset 'survey': asked epsilon 2, spent 4.5 of 5 (1 of it not settled), left 0.5\n"
            "the largest request that fits is epsilon 0.5, as in --eps 0.5",
        ),
        (
            Account(terms=terms(epsilon="1"), spent=Cost(Fraction(2, 3))),
            Cost(Fraction(2, 3)),
            "dataset 'survey': asked epsilon 0.666667, spent 0.666667 of 1, left 0.333333\n"
            "the largest request that fits is epsilon 0.333333, as in --eps 0.333333",
        ),
        (
            Account(terms=ZCDP, spent=Cost(ZCDP.limit.amount / 2)),
            ZCDP.limit,
            "dataset 'survey': asked rho 0.0881527, spent 0.0440764 of 0.0881526, left 0.0440763\n"
            "the largest request that fits is rho 0.0440763, as in --eps 1.37494 --delta 1e-6 --accountant zcdp",
        ),
        (
            Account(terms=terms(), spent=Cost(Fraction(5))),
            Cost(Fraction(1)),
            "dataset 'survey': asked epsilon 1, spent 5 of 5, left 0\nnothing more can be released from this dataset",
        ),
    ],
)
def test_the_refusal_tells_asked_spent_left_and_what_fits(account, asked, said):
    assert str(over_limit(account, asked)) == said


def test_a_cap_is_named():
    assert str(over_cap(Account(terms=terms(cap="1")), Cost(Fraction(2)))) == (
        "dataset 'survey': asked epsilon 2, above the cap of epsilon 1 for one release; spent 0 of 5, left 5\n"
        "the largest request that fits is epsilon 1, as in --eps 1"
    )


ROW, PERSONS, RECORDS = PrivacyUnit(), PrivacyUnit(columns=("id",)), PrivacyUnit(counted="n")


@in_one_test(
    ("held", "same", "others", "said"),
    [
        (ROW, ROW, [PrivacyUnit(neighbours=Neighbours.REPLACE)], "--neighbours replace.*--neighbours add-remove"),
        (ROW, ROW, [PERSONS, RECORDS], "budget protects one row"),
        (PERSONS, PrivacyUnit(columns=("id",), rows=5), [ROW, PrivacyUnit(columns=("household",))], "one person"),
        (
            RECORDS,
            RECORDS,
            [ROW, PrivacyUnit(counted="m"), PrivacyUnit(columns=("n",))],
            "one record counted in column 'n'",
        ),
    ],
)
def test_another_unit_is_refused_naming_both(held, same, others, said):
    """Persons are the same persons whatever rows a release keeps of them."""
    require_unit(terms(unit=held), same)
    for other in others:
        with pytest.raises(BudgetRefused, match=said):
            require_unit(terms(unit=held), other)


@in_one_test("name", ["survey", "Adult-2024_v1.2", "0", "x" * LONGEST_NAME])
def test_plain_names_pass(name):
    assert require_name(name) == name


ODD = ["", "a b", "a\n", "a\0", "\u0430dult", "\u0663", "a\u200b", "x" * (LONGEST_NAME + 1)]


@in_one_test("name", [".", "-x", "_x", "a/b", "ädult", *ODD])
def test_names_that_could_be_mistaken_for_another_do_not(name):
    with pytest.raises(UsageFault, match="ASCII"):
        require_name(name)


@in_one_test("text", ["a\nb", "\x1b[31m", "x" * (LONGEST_NOTE + 1), "\u202e", "\ud800"])
def test_notes_are_one_printable_line(text):
    assert require_text("release ü of 7 blocks", what="a note")
    with pytest.raises(UsageFault, match="a note"):
        require_text(text, what="a note")
