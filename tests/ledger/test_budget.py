import json
from fractions import Fraction

import pytest
from support.ledger_jobs import draws, ledger_in, reserve

from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.accountants.sums import largest_rho
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.ledger.budgets import BudgetRequest, budgets, export, history, open_budget, price_account, terms, verify
from dpqr.ledger.ledger import DataKind
from dpqr.tables.policy import Policy

NANO = Fraction(1, 10**9)


@pytest.fixture
def ledger(tmp_path):
    return ledger_in(tmp_path)


def request(**more):
    return BudgetRequest(**{"dataset": "survey", "epsilon": "5", **more})


def test_terms_are_exact_and_default_to_basic():
    made = terms(request(epsilon="0.1", cap="0.01"))
    assert (made.budget.epsilon, made.limit, made.cap) == (Fraction(1, 10), Fraction(1, 10), Fraction(1, 100))
    assert (made.accountant, made.kind) == ("basic", DataKind.PRIVATE)
    assert made.unit == PrivacyUnit().whom


def test_a_delta_means_rho_by_one_conversion_for_life():
    made = terms(request(epsilon="2", delta="1e-9", cap="1", neighbours="replace", kind="synthetic"))
    assert made.accountant == "zcdp"
    assert made.limit == largest_rho(PrivacyBudget(Fraction(2), NANO))
    assert made.cap == largest_rho(PrivacyBudget(Fraction(1), NANO))
    assert made.neighbours is Neighbours.REPLACE
    assert made.unit == PrivacyUnit(neighbours=Neighbours.REPLACE).whom
    assert made.kind is DataKind.SYNTHETIC


def test_a_budget_can_be_of_persons_or_of_counted_records():
    assert terms(request(unit="id")).unit == PrivacyUnit(columns=("id",), rows=3).whom
    assert terms(request(policy=Policy(counts="n"))).unit == PrivacyUnit(counted="n").whom
    with pytest.raises(UsageFault, match="--unit cannot go with --counts"):
        terms(request(unit="id", policy=Policy(counts="n")))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"epsilon": "nan"}, "--eps"),
        ({"epsilon": "0"}, "--eps"),
        ({"epsilon": "1e-300"}, "--eps"),
        ({"delta": "1"}, "--delta"),
        ({"cap": "6"}, "--cap-eps 6: is above"),
        ({"cap": "-1"}, "plain decimal"),
        ({"accountant": "advanced", "delta": "1e-9"}, "--accounting advanced"),
        ({"accountant": "zcdp"}, "needs a delta"),
        ({"cap_delta": "1e-9"}, "--cap-delta caps what counts deltas"),
        ({"accountant": "zcdp", "delta": "1e-6", "cap_delta": "1e-9"}, "--accounting basic"),
        ({"accountant": "basic", "delta": "1e-6", "cap_delta": "1e-5"}, "above the whole budget's delta"),
        ({"accountant": "basic", "delta": "1e-6", "cap_delta": "x"}, "--cap-delta 'x': give a plain decimal"),
        ({"accountant": "basic", "delta": "1e-6", "cap": "6"}, "above the whole budget's epsilon"),
        ({"accountant": "basic", "delta": "1e-6", "cap": "0"}, "--eps 0"),
    ],
)
def test_what_no_ledger_can_keep_is_refused(ledger, more, said):
    with pytest.raises(UsageFault, match=said):
        open_budget(ledger, request(**more))
    assert not ledger.store.path.exists()


def test_a_budget_is_opened_once(ledger):
    assert open_budget(ledger, request()).account.left == 5
    with pytest.raises(BudgetRefused, match="no reset"):
        open_budget(ledger, request(epsilon="50"))


def test_the_history_is_priced_under_every_accountant_and_over_releases(ledger):
    open_budget(ledger, request())
    for _ in range(20):
        ledger.settle(reserve(ledger, "0.2"), draws("0.1"), note="released")
    (shown,) = budgets(ledger, "survey", "1e-9")
    assert set(shown.prices) == set(ACCOUNTANTS)
    assert shown.prices["basic"] == 2 == shown.account.spent
    for name, accountant in ACCOUNTANTS.items():
        assert shown.prices[name] == accountant.epsilon(draws("0.1", 20), NANO)
    assert shown.prices["zcdp"] < 2
    assert price_account(shown.account, shown.events).prices["zcdp"] is None


@pytest.mark.parametrize("delta", ["1", "1e-40", "x", "-1"])
def test_the_delta_of_a_price_is_one(ledger, delta):
    open_budget(ledger, request())
    with pytest.raises(UsageFault, match="--delta"):
        budgets(ledger, None, delta)


def test_histories_are_of_one_dataset_or_all_and_an_export_holds_every_entry(ledger):
    for name in "ab":
        open_budget(ledger, request(dataset=name))
    reserve(ledger, 1, "a")
    kinds = ["open", "init", "init", "reserve"]
    assert [entry.kind for entry in history(ledger, "a")] == ["init", "reserve"]
    assert [entry.kind for entry in history(ledger, None)] == kinds
    assert [json.loads(line)["entry"]["entry"] for line in export(ledger)] == kinds
    assert verify(ledger)["entries"] == 4
    assert budgets(ledger, "a", None)[0].prices["basic"] == 1, "what is not settled is in the price"
    with pytest.raises(UsageFault, match="'c'"):
        history(ledger, "c")
