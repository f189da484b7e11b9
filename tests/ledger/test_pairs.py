"""A ledger in epsilon and delta, from the first entry to its proofs."""

import json
from fractions import Fraction

import pytest
from support.ledger_jobs import UNIT, another, draws, forge, ledger_in, terms

from dpqr.kernel.accountants.sums import zcdp_to_epsilon
from dpqr.kernel.budget import PURE, Cost, Pricing
from dpqr.kernel.currency import PAIR
from dpqr.kernel.errors import BudgetRefused, LedgerError
from dpqr.kernel.events import DiscreteGaussianEvent, ExponentialEvent
from dpqr.kernel.values import replace
from dpqr.ledger import chained_ledger as transaction
from dpqr.ledger import record
from dpqr.ledger.codec import encode_entry
from dpqr.ledger.ledger import Account
from dpqr.ledger.state import Charge, decode_state

ENGINES = True

MICRO = Fraction(1, 10**6)
GAUSSIAN = ((DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(100)), 2),)
ZCDP = Pricing(accountant="zcdp", delta=MICRO / 5)
ADVANCED = Pricing(accountant="advanced", delta=MICRO / 5)
TEXTS = ("1" * 64, "2" * 64, "3" * 64, "4" * 64)


@pytest.fixture
def ledger(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms(delta="1e-6", accountant="basic"))
    return ledger


def reserve(ledger, events, pricing=PURE):
    return ledger.reserve(Charge(dataset="survey", events=events, unit=UNIT, pricing=pricing), note="a test")


def test_both_figures_add_up(ledger):
    assert ledger.account("survey").terms.currency is PAIR
    zcdp = zcdp_to_epsilon(Fraction(1, 100), ZCDP.delta)
    assert reserve(ledger, GAUSSIAN, ZCDP).cost == Cost(zcdp, ZCDP.delta)
    assert reserve(ledger, draws(1)).cost == 1
    account = ledger.account("survey")
    assert account.spent == account.pending == Cost(1 + zcdp, ZCDP.delta)
    assert account.left == Cost(4 - zcdp, MICRO - ZCDP.delta)
    ledger.verify()


def test_deltas_run_out_by_themselves(ledger):
    for _ in range(5):
        reserve(ledger, draws("1/10"), ADVANCED)
    with pytest.raises(BudgetRefused) as refused:
        reserve(ledger, draws("1/10"), ADVANCED)
    assert str(refused.value) == (
        "dataset 'survey': asked (epsilon 0.1, delta 2e-7), spent (0.5, 1e-6) of (5, 1e-6) ((0.5, 1e-6) of it not "
        "settled), left (4.5, 0)\nthe largest request that fits is (epsilon 4.5, delta 0), as in --eps 4.5"
    )
    reserve(ledger, draws("4.5"))
    with pytest.raises(BudgetRefused, match="nothing more can be released"):
        reserve(ledger, draws("1e-9"))


@pytest.mark.parametrize(("events", "pricing"), [(draws(2), PURE), (draws("1/10"), replace(ADVANCED, delta=MICRO / 2))])
def test_a_cap_holds_each_figure(tmp_path, events, pricing):
    ledger = ledger_in(tmp_path)
    ledger.open(replace(terms(delta="1e-6", accountant="basic"), cap=Cost(Fraction(1), MICRO / 4)))
    assert ledger.account("survey").request == "--eps 1 --delta 2.5e-7"
    with pytest.raises(BudgetRefused, match=r"above the cap of \(epsilon 1, delta 2.5e-7\) for one release"):
        reserve(ledger, events, pricing)


def test_a_pure_sum_gives_back_what_was_not_drawn_and_no_other_run_does(ledger):
    ledger.settle(reserve(ledger, draws("1/10", 20)), draws("1/10", 5), note="released")
    assert ledger.account("survey").spent == Fraction(1, 2)
    paid = reserve(ledger, GAUSSIAN, ZCDP)
    ledger.settle(paid, ((GAUSSIAN[0][0], 1),), note="released")
    assert ledger.account("survey").spent == Cost(Fraction(1, 2)) + paid.cost
    ledger.settle(reserve(ledger, GAUSSIAN, ZCDP), (), note="nothing was drawn")
    assert ledger.account("survey").spent == Cost(Fraction(1, 2)) + paid.cost
    ledger.verify()


def test_each_draw_is_held_against_what_was_paid_for(ledger):
    paid = reserve(ledger, GAUSSIAN, ZCDP)
    event = GAUSSIAN[0][0]
    ledger.begin(paid, event, number=0, transcript=TEXTS[0])
    ledger.record(paid, number=0, transcript=TEXTS[1])
    with pytest.raises(LedgerError, match="does not pay for another draw"):
        ledger.begin(paid, replace(event, variance=event.variance / 2), number=1, transcript=TEXTS[1])
    ledger.begin(paid, event, number=1, transcript=TEXTS[1])
    ledger.record(paid, number=1, transcript=TEXTS[2])
    with pytest.raises(LedgerError, match="does not pay for another draw"):
        ledger.begin(paid, event, number=2, transcript=TEXTS[2])
    ledger.settle(paid, GAUSSIAN, note="released")
    ledger.verify()


def test_a_plan_that_is_fixed_in_advance_admits_its_own_events_only(ledger):
    dear, cheap = ExponentialEvent(epsilon=Fraction(1, 5)), ExponentialEvent(epsilon=Fraction(1, 10))
    paid = reserve(ledger, ((dear, 1), (cheap, 1)), ADVANCED)
    ledger.begin(paid, dear, number=0, transcript=TEXTS[0])
    ledger.record(paid, number=0, transcript=TEXTS[1])
    with pytest.raises(LedgerError, match="does not pay for another draw"):
        ledger.begin(paid, dear, number=1, transcript=TEXTS[1])
    ledger.begin(paid, cheap, number=1, transcript=TEXTS[1])


def test_an_open_run_outlives_a_checkpoint_with_the_order_of_its_draws(ledger, monkeypatch):
    monkeypatch.setattr(transaction, "STRIDE", 4)
    one, other = ExponentialEvent(epsilon=Fraction(1, 5)), ExponentialEvent(epsilon=Fraction(1, 10))
    paid = reserve(ledger, ((one, 2), (other, 2)), ADVANCED)
    for number, event in enumerate((one, other, one, other)):
        fresh = replace(ledger, _last=transaction.LastState())
        fresh.begin(paid, event, number=number, transcript=TEXTS[0])
        fresh.record(paid, number=number, transcript=TEXTS[0])
    text = ledger.walk().state.text
    state = decode_state(text)
    assert state.text == text
    (run,) = state.accounts["survey"].runs.values()
    assert run.draws == [one, other, one, other]
    assert state.accounts["survey"].account.spent.delta == ADVANCED.delta
    ledger.verify()


@pytest.mark.parametrize(
    ("number", "old", "new"),
    [
        (2, "COST", '["1/100","1/5000000"]'),
        (3, "COST", '["1/100","1/5000000"]'),
        (2, '"delta":"1/5000000"', '"delta":"1/4000000"'),
        (2, '"zcdp"', '"advanced"'),
    ],
)
def test_a_forged_price_refund_or_theorem_is_found(ledger, number, old, new):
    """Another delta would make the price smaller, and another accountant has another price, or none."""
    ledger.settle(reserve(ledger, GAUSSIAN, ZCDP), GAUSSIAN, note="released")
    cost = json.dumps(json.loads(encode_entry(ledger.entries()[number]))["cost"], separators=(",", ":"))
    old = old.replace("COST", cost)
    forge(ledger.store, lambda place, text: text.replace(old, new) if place == number else text)
    said = "states less than its events cost" if old == cost and number == 3 else "was forged|breaks the rules"
    with pytest.raises(LedgerError, match=said):
        another(ledger, anchored=False).verify()


def test_a_price_that_cannot_be_derived_again_is_named(ledger, monkeypatch):
    reserve(ledger, draws("1/10", 3), Pricing(accountant="pld", delta=MICRO / 5))
    reserve(ledger, draws("1/10"))
    assert ledger.verify().unproved == ()
    monkeypatch.setattr(record, "is_installed", lambda name: name != "pld")
    assert ledger.verify().unproved == (2,)


def test_pairs_are_for_budgets_with_a_delta_alone(tmp_path):
    """A reservation says how it is priced where pairs add up, and nowhere else."""
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    assert reserve(ledger, draws(1), ADVANCED).cost == 1
    assert "accountant" not in json.loads(encode_entry(ledger.entries()[2]))
    assert Account(terms=terms(delta="1e-6", accountant="zcdp")).terms.currency is not PAIR
