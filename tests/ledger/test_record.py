"""The record of several runs: what stands for each of them where all are priced together."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from fractions import Fraction

import pytest
from support.cases import in_one_test
from support.ledger_jobs import UNIT, draws, ledger_in, reserve, terms

from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import LedgerError, UsageFault
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, LeftOutEvent
from dpqr.kernel.values import replace
from dpqr.ledger.chain import ChainSegment, Link
from dpqr.ledger.codec import encode_entry
from dpqr.ledger.ledger import LedgerEntry
from dpqr.ledger.record import (
    Record,
    account_document,
    entry_document,
    entry_line,
    is_export,
    read_export,
    require_proofs,
    verdict_document,
)
from dpqr.ledger.state import Charge, LedgerState

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


def lived(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms(cap="2"))
    ledger.settle(reserve(ledger, 2), draws("1/3"), note="released")
    reserve(ledger, 1)
    return ledger


def test_an_account_is_exact_and_readable(tmp_path):
    ledger = lived(tmp_path)
    document = account_document(
        ledger.account("survey"), ledger.events("survey"), {"basic": Fraction(4, 3), "zcdp": None}, Fraction(0)
    )
    assert document["spent"] == {"exact": "4/3", "decimal": "1.33333333334"}
    assert document["left"] == {"exact": "11/3", "decimal": "3.66666666666"}
    assert document["unsettled"] == {"reservations": 1, "cost": {"exact": "1", "decimal": "1"}}
    assert document["largest"] == {"exact": "2", "decimal": "2", "options": "--eps 2"}
    assert document["prices"]["epsilon"] == {"basic": document["spent"], "zcdp": None}
    assert [event["count"] for event in document["events"]] == [1, 1]
    assert json.loads(json.dumps(document)) == document


def test_a_sum_that_nobody_can_read_is_left_to_its_decimal(tmp_path):
    ledger = lived(tmp_path)
    price = Fraction(1, 3**5000)
    document = account_document(ledger.account("survey"), ledger.events("survey"), {"basic": price}, Fraction(0))
    assert document["prices"]["epsilon"]["basic"]["exact"] is None
    assert Fraction(document["prices"]["epsilon"]["basic"]["decimal"]) >= price


def test_anybody_can_check_an_export_with_a_hash_alone(tmp_path):
    ledger, previous = lived(tmp_path), ""
    for entry in ledger.entries():
        line = json.loads(entry_line(entry))
        text = json.dumps(line["entry"], sort_keys=True, separators=(",", ":"))
        previous = hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()
        assert line["seal"] == previous
        assert entry_document(entry) == {**line["entry"], "seal": previous}
    verdict = verdict_document(ledger.verify())
    assert (verdict["seal"], verdict["datasets"]) == (previous, ["survey"])
    assert verdict["entries"] == verdict["anchor"]["entries"] == 5
    assert verdict_document(ledger_in(tmp_path, anchored=False).verify())["anchor"] is None


# An exported ledger, read again.


@pytest.fixture
def exported(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    ledger.settle(reserve(ledger, 1), draws("1/2"), note="released")
    place = tmp_path / "ledger.jsonl"
    place.write_text("".join(f"{entry_line(entry)}\n" for entry in ledger.entries()))
    return ledger, place


@pytest.mark.file
def test_it_is_the_same_ledger(exported):
    ledger, place = exported
    assert is_export(place)
    assert not is_export(ledger.store.path)
    assert read_export(place).entries == ledger.verify().entries


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"survey", b"Survey"),
        (b'"number":1', b'"number": 1'),
        (b'"kind"', b'"kinds"'),
        (b"\n", b"\r\n"),
        (b"\n{", b"\n\n{"),
        (b"released", b"\xff"),
        (b"{", b"["),
    ],
)
def test_any_change_is_damage(exported, old, new):
    _, place = exported
    assert old in place.read_bytes()
    place.write_bytes(place.read_bytes().replace(old, new, 1))
    with pytest.raises(LedgerError):
        read_export(place)


GAUSSIAN = ((DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(100)), 1),)


def prove(*entries):
    """Check the entries after the opening, chained or not."""
    require_proofs(record(*entries))


def record(*entries, more=""):
    state = LedgerState()
    entries = (LedgerEntry(number=0, kind="open", time=""), *entries)
    for entry in entries:
        state.add(entry)
    links = tuple(Link(text=encode_entry(entry) + more, seal="") for entry in entries)
    return Record(chain=ChainSegment(links=links), entries=entries, state=state)


def init(made):
    return LedgerEntry(number=1, kind="init", time="", dataset=made.dataset, terms=made)


def reservation(cost, events):
    return LedgerEntry(number=2, kind="reserve", time="", dataset="survey", cost=Cost(Fraction(cost)), events=events)


ZCDP = terms(delta="1e-9", accountant="zcdp")


def test_honest_entries_pass_and_an_old_price_that_was_too_high():
    prove(init(terms()), reservation("1/3", draws("1/3")))
    prove(init(ZCDP), reservation("1/200", GAUSSIAN))
    prove(init(terms()), reservation("1/2", draws("1/3")))


@in_one_test(
    "entries",
    [
        (init(terms()), reservation("1/3", draws("1/2"))),
        (init(terms()), reservation("1/3", draws("1/6", 3))),
        (init(terms()), reservation("1", GAUSSIAN)),
        (init(ZCDP), reservation("1/201", GAUSSIAN)),
        (init(replace(terms(), limit=Cost(Fraction(6)))),),
        (init(replace(ZCDP, limit=Cost(ZCDP.limit.amount * Fraction(1001, 1000)))),),
    ],
)
def test_what_costs_more_than_it_states_is_found(entries):
    with pytest.raises(LedgerError, match="states less"):
        prove(*entries)


def test_a_link_that_says_more_than_its_entry_is_found():
    with pytest.raises(LedgerError, match="not written as dpqr writes it"):
        require_proofs(record(more=" "))


def settle(cost, events):
    return LedgerEntry(
        number=3, kind="settle", time="", dataset="survey", cost=Cost(Fraction(cost)), events=events, settles=2
    )


def test_a_settlement_costs_what_its_draws_cost():
    prove(init(terms()), reservation("1", draws(1)), settle("1/3", draws("1/3")))
    prove(init(terms()), reservation("1", draws(1)), settle(0, ()))
    for cost, events in (("1/4", draws("1/3")), (0, draws("1/3")), ("1/3", draws("1/6", 3)), ("1", GAUSSIAN)):
        with pytest.raises(LedgerError, match="entry 3 states less"):
            prove(init(terms()), reservation("1", draws(1)), settle(cost, events))
