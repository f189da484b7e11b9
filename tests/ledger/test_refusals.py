from dataclasses import replace
from fractions import Fraction

import pytest
from support.ledger_jobs import terms

from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.ledger.ledger import Account
from dpqr.ledger.refusals import (
    LONGEST_NAME,
    LONGEST_NOTE,
    over_cap,
    over_limit,
    require_name,
    require_text,
    require_unit,
)


def test_the_refusal_tells_asked_spent_left_and_what_fits():
    account = Account(terms=terms(), spent=Cost(Fraction("4.5")), pending=Cost(Fraction(1)))
    assert str(over_limit(account, Cost(Fraction(2)))) == (
        "dataset 'survey': asked epsilon 2, spent 4.5 of 5 (1 of it not settled), left 0.5\n"
        "the largest request that fits is epsilon 0.5, as in --eps 0.5"
    )


def test_figures_are_rounded_to_the_safe_side():
    account = Account(terms=terms(epsilon="1"), spent=Cost(Fraction(2, 3)))
    assert "asked epsilon 0.666667, spent 0.666667 of 1, left 0.333333\n" in str(
        over_limit(account, Cost(Fraction(2, 3)))
    )


def test_in_rho_the_options_of_a_release_that_fits_are_named():
    opened = terms(epsilon="2", delta="1e-6", accountant="zcdp")
    said = str(over_limit(Account(terms=opened, spent=Cost(opened.limit.amount / 2)), opened.limit))
    assert "asked rho 0.0881527, spent 0.0440764 of 0.0881526, left 0.0440763\n" in said
    assert said.endswith("as in --eps 1.37494 --delta 1e-6 --accountant zcdp")


def test_an_empty_budget_says_so():
    account = Account(terms=terms(), spent=Cost(Fraction(5)))
    assert str(over_limit(account, Cost(Fraction(1)))).endswith(
        "left 0\nnothing more can be released from this dataset"
    )


def test_a_cap_is_named():
    account = Account(terms=terms(cap="1"))
    assert str(over_cap(account, Cost(Fraction(2)))) == (
        "dataset 'survey': asked epsilon 2, above the cap of epsilon 1 for one release; spent 0 of 5, left 5\n"
        "the largest request that fits is epsilon 1, as in --eps 1"
    )


def test_another_neighbour_relation_is_refused_naming_both():
    require_unit(terms(), PrivacyUnit())
    with pytest.raises(BudgetRefused, match=r"--neighbours replace.*--neighbours add-remove"):
        require_unit(terms(), PrivacyUnit(neighbours=Neighbours.REPLACE))


def test_another_unit_is_refused_naming_both():
    with pytest.raises(BudgetRefused, match=r"protect one row of.*budget protects one person"):
        require_unit(replace(terms(), unit="one person"), PrivacyUnit())


def test_persons_are_the_same_persons_whatever_rows_a_release_keeps_of_them():
    persons = terms(unit=PrivacyUnit(column="id"))
    for rows in (1, 5):
        require_unit(persons, PrivacyUnit(column="id", rows=rows))
    for other in (PrivacyUnit(), PrivacyUnit(column="household")):
        with pytest.raises(BudgetRefused, match="one person"):
            require_unit(persons, other)


def test_records_of_a_histogram_are_another_unit_than_rows_and_than_another_columns():
    records = terms(unit=PrivacyUnit(counted="n"))
    require_unit(records, PrivacyUnit(counted="n"))
    for other in (PrivacyUnit(), PrivacyUnit(counted="m"), PrivacyUnit(column="n")):
        with pytest.raises(BudgetRefused, match="budget protects one record counted in column 'n'"):
            require_unit(records, other)


@pytest.mark.parametrize("name", ["survey", "Adult-2024_v1.2", "0", "x" * LONGEST_NAME])
def test_plain_names_pass(name):
    assert require_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "-x",
        "_x",
        "a b",
        "a/b",
        "a\n",
        "\u0430dult",
        "ädult",
        "a\0",
        "\u0663",
        "x" * (LONGEST_NAME + 1),
        "a\u200b",
    ],
)
def test_names_that_could_be_mistaken_for_another_do_not(name):
    with pytest.raises(UsageFault, match="ASCII"):
        require_name(name)


@pytest.mark.parametrize("text", ["a\nb", "\x1b[31m", "x" * (LONGEST_NOTE + 1), "\u202e", "\ud800"])
def test_notes_are_one_printable_line(text):
    assert require_text("release ü of 7 blocks", what="a note")
    with pytest.raises(UsageFault, match="a note"):
        require_text(text, what="a note")
