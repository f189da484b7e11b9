"""What a later process reads of a session's folder: how the table is read, and which filters its draws must pass."""

from dataclasses import asdict, fields
from fractions import Fraction
from types import SimpleNamespace

import pytest
from support.ledger_jobs import draws

from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import Cost, PrivacyBudget
from dpqr.kernel.currency import currency
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.ledger.ledger import Reservation
from dpqr.releases.reading import TableReading
from dpqr.sessions.session import SessionDocument, _session_filters, filter_of, session_document
from dpqr.tables.limits import Limits
from dpqr.tables.source import TableSource

BUDGET = {"epsilon": "1", "delta": "0", "accountant": "basic"}
SOURCE = TableSource(paths=("/data/t.csv",), delimiter=";", encoding="latin-1", count_column="n")


def held(document):
    folder = SimpleNamespace(document=lambda: document, name="desk")
    return SimpleNamespace(folder=folder)


@pytest.mark.parametrize("name", [each.name for each in fields(Limits) if each.type in ("int", int)])
def test_later_processes_read_the_table_as_the_first_one_did(name):
    limits = Limits(**{name: getattr(Limits(), name) // 2})
    document = session_document("interactive", BUDGET, TableReading(source=SOURCE, limits=limits))
    assert document["limits"] == asdict(limits)
    session = SessionDocument(held=held(document), document=document)
    assert session.limits == limits != Limits()
    read = session.reading(None)
    assert (read.limits, read.source) == (limits, SOURCE)
    other = TableSource(paths=("elsewhere",))
    assert session.reading(other).limits == limits
    assert session.budget == PrivacyBudget(Fraction(1))


@pytest.mark.parametrize("paid", ["1/2", "1", "5"])
@pytest.mark.parametrize("stating", ["1/2", "1", "5"])
def test_draws_pass_the_filter_of_what_was_paid_and_that_of_the_guarantee(paid, stating):
    reservation = Reservation(
        dataset="survey",
        number=2,
        receipt="",
        currency=currency("basic"),
        cost=Cost(Fraction(paid)),
        events=draws(paid),
    )
    document = {"budget": {**BUDGET, "epsilon": str(float(Fraction(stating)))}}
    guard, spent = _session_filters(held(document).folder, reservation), Fraction(0)
    ((part, _),) = draws("1/4")
    least = min(Fraction(paid), Fraction(stating))
    while spent < least:
        guard.charge(part)
        spent += Fraction(1, 4)
    with pytest.raises(BudgetRefused):
        guard.charge(part)


@pytest.mark.parametrize("name", sorted(ACCOUNTANTS))
def test_only_accountants_that_are_filters_prove_a_session(name):
    budget = PrivacyBudget(Fraction(1)) if name == "basic" else PrivacyBudget(Fraction(1), Fraction(1, 10**9))
    if name in ("basic", "zcdp", "gdp"):
        assert filter_of(name, budget).name == name
    else:
        with pytest.raises(UsageFault, match="choose basic, zcdp or gdp"):
            filter_of(name, budget)
