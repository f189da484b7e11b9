"""The record of several runs: what stands for each of them where all are priced together."""

from collections import Counter
from fractions import Fraction

import pytest
from support.ledger_jobs import UNIT, another, draws, kept, ledger_in, reserve, restore, terms

from dpqr.kernel.errors import LedgerError, UsageFault
from dpqr.kernel.events import DiscreteLaplaceEvent, LeftOutEvent
from dpqr.ledger.state import Charge

ENGINES = True


@pytest.fixture
def ledger(tmp_path):
    made = ledger_in(tmp_path)
    made.open(terms(epsilon="20"))
    made.open(terms("other", epsilon="20"))
    return made


def laplace(epsilon):
    return DiscreteLaplaceEvent(sensitivity=1, scale=1 / Fraction(epsilon))


def out(epsilon):
    return LeftOutEvent(event=laplace(epsilon))


def paid(ledger, *events):
    return ledger.reserve(Charge(dataset="survey", events=tuple(Counter(events).items()), unit=UNIT), note="a test")


def test_a_run_counts_as_reserved_until_it_is_settled_and_then_as_settled(ledger):
    first, second = reserve(ledger, 2), reserve(ledger, 2)
    reserve(ledger, 3, "other")
    assert ledger.events("survey") == draws(2, 2)
    ledger.settle(first, draws("1/2"), note="released")
    assert Counter(dict(ledger.events("survey"))) == Counter(dict((*draws("1/2"), *draws(2))))
    ledger.settle(second, (), note="nothing was drawn")
    assert ledger.events("survey") == draws("1/2")
    assert ledger.events("other") == draws(3)
    with pytest.raises(UsageFault):
        ledger.events("nobody")


def test_draws_from_left_out_records_are_not_merged_over_runs(ledger):
    """A record may be kept in one run and left out in the other: the larger of the two sums would not cover it."""
    paid(ledger, laplace(1), out(2))
    paid(ledger, laplace(2), out(1))
    assert dict(ledger.events("survey")) == {laplace(1): 1, laplace(2): 2}
    paid(ledger, laplace(1), out(2), out(2))
    assert dict(ledger.events("survey")) == {laplace(1): 2, laplace(2): 4}


def test_what_stands_for_all_runs_costs_no_less_than_each_of_them_by_itself(ledger):
    runs = [(laplace(1), out(2)), (laplace(2), out(1)), (out(3),), (laplace(1), laplace(1))]
    worst = sum(paid(ledger, *events).cost.amount for events in runs)
    together = sum(1 / event.scale * count for event, count in ledger.events("survey"))
    assert worst == ledger.account("survey").spent.amount <= together


def test_a_record_that_is_off_its_anchor_is_not_walked(ledger):
    reserve(ledger, 1)
    other = another(ledger, anchored=False)
    content = kept(ledger.store)
    reserve(ledger, 1)
    restore(ledger.store, content)
    assert len(other.entries()) == 4
    with pytest.raises(LedgerError, match="rolled back"):
        ledger.entries()
