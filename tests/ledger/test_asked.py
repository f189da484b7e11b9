from dataclasses import replace
from fractions import Fraction

import pytest
from support.ledger_jobs import UNIT, by, draws, terms

from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.unit import PrivacyUnit
from dpqr.ledger.state import AccountState, Charge, LedgerState
from dpqr.tables.policy import Policy, Source


def state(**given):
    return LedgerState(accounts={"survey": AccountState(terms=terms(**given))})


ASKED = Charge(dataset="survey", events=draws("1/2", 2), unit=UNIT, policy=Policy(), pricing=by(None))


def test_an_entry_is_priced_in_the_budgets_currency():
    assert ASKED.content(state())["cost"] == 1
    assert ASKED.content(state())["pricing"] is None
    assert ASKED.content(state(delta="1e-6"))["pricing"] == by(None)


def test_every_kind_of_draw_is_priced():
    events = (*draws("1/2", 2), *draws("1/8", 3))
    assert replace(ASKED, events=events).content(state())["cost"] == 1 + Fraction(3, 8)


def test_a_run_that_is_priced_again_costs_the_same_in_every_currency():
    asked = replace(ASKED, events=draws("1/2", 2), pricing=by("1e-6"))
    budgets = [state(), state(delta="1e-6"), state(delta="1e-6", accountant="zcdp")]
    for each in (*budgets, *budgets):
        fresh = replace(asked).content(each)["cost"]
        assert asked.content(each)["cost"] == fresh
    assert replace(asked, events=draws("1/8")).content(state())["cost"] == Fraction(1, 8)
    pure, advanced = (replace(asked, pricing=each).content(budgets[1])["cost"] for each in (by(None), by("1e-6")))
    assert (pure.delta, advanced.delta) == (0, Fraction(1, 10**6))


LAXER = [
    {"records": 7},
    {"bytes": 7},
    {"memory": 7},
    {"delimiter": ";"},
    {"encoding": "latin-1"},
    {"counts": "n"},
    {"fail": True},
    {"approval": True},
    {"source": Source(address="duckdb:/data/t.duckdb?table=t")},
]


@pytest.mark.parametrize("other", LAXER, ids=lambda other: next(iter(other)))
def test_every_part_of_the_policy_must_be_the_budgets(other):
    with pytest.raises(BudgetRefused, match="the policy of its budget has changed"):
        replace(ASKED, policy=Policy(**other)).content(state())


def test_another_unit_or_policy_is_refused():
    for other in (replace(ASKED, unit=PrivacyUnit(column="id")), replace(ASKED, policy=Policy(records=7))):
        with pytest.raises(BudgetRefused):
            other.content(state())
