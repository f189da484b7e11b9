"""The policy of a budget in the chain: kept, changed towards stricter, checked at every reservation."""

import json
import sqlite3
from pathlib import Path

import pytest
from support.cases import in_one_test
from support.ledger_jobs import UNIT, another, draws, forge, ledger_in, reserve, terms

from dpqr.kernel.errors import BudgetRefused, LedgerError, UsageFault
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger import chained_ledger as transaction
from dpqr.ledger.codec import POLICY_FORMAT, decode_entry, decode_policy, encode_entry
from dpqr.ledger.ledger import LedgerEntry
from dpqr.ledger.record import entry_line
from dpqr.ledger.state import Charge
from dpqr.ledger.store import APPLICATION, KEYS, STATE, TABLE
from dpqr.tables.policy import FILES, Policy, PolicyChange, Source

ENGINES = True

POLICY = Policy(records=1000, bytes=2**30, memory=2**29, delimiter=";", counts="Zahl \u00fc", fail=True)
OLD = Path(__file__).parent / "old_ledger.jsonl"
"""An export of a ledger that was written before policies existed, and in its last line its keys and its state."""


@pytest.fixture
def ledger(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(replace(terms(), policy=POLICY))
    return ledger


def policy(ledger, dataset="survey"):
    return ledger.account(dataset).terms.policy


SOURCES = [
    Source(address="duckdb:/data/survey.duckdb?table=people"),
    Source(address="postgresql://db/surveys", query="SELECT *\nFROM people WHERE name <> '\u00fc'"),
]


@in_one_test(
    "one",
    [POLICY, Policy(), replace(POLICY, encoding="cp1252"), *(replace(POLICY, source=source) for source in SOURCES)],
)
def test_a_policy_comes_back_as_it_was(one):
    assert decode_policy(json.loads(json.dumps(POLICY_FORMAT.write(one)))) == one
    entry = LedgerEntry(number=2, kind="policy", time="T", dataset="survey", policy=one)
    assert decode_entry(encode_entry(entry), "seal") == replace(entry, hash="seal")


UNREADABLE = {"records": ["1", True], "fail": [1, None], "counts": [1], "delimiter": ["ab"], "encoding": [None, 1]}


@in_one_test("change", [{"more": 1}, *({name: value} for name, each in UNREADABLE.items() for value in each)])
def test_any_other_document_is_a_damaged_ledger(change):
    entry = LedgerEntry(number=2, kind="policy", time="T", dataset="survey", policy=POLICY)
    document = json.loads(encode_entry(entry))
    document["policy"].update(change)
    with pytest.raises(LedgerError, match="cannot read"):
        decode_entry(json.dumps(document), "")


def test_a_policy_changes_towards_stricter_only(ledger):
    assert policy(ledger) == POLICY
    ledger.restrict("survey", PolicyChange(records=500))
    ledger.restrict("survey", PolicyChange(fail=False))
    assert policy(ledger) == replace(POLICY, records=500, fail=False)
    for wider in (PolicyChange(records=501), PolicyChange(fail=True)):
        with pytest.raises(BudgetRefused):
            ledger.restrict("survey", wider)
    assert [entry.kind for entry in ledger.entries()] == ["open", "init", "policy", "policy"]
    ledger.verify()
    with pytest.raises(UsageFault, match="no budget"):
        ledger.restrict("other", PolicyChange(records=5))


def test_a_run_pays_under_the_policy_that_it_was_resolved_under(ledger):
    """Between the look at the policy and the reservation it may change: then nothing is paid, and nothing opened."""
    looked_up = policy(ledger)
    assert ledger.reserve(Charge(dataset="survey", events=draws(1), unit=UNIT, policy=looked_up), note="a").number == 2
    ledger.restrict("survey", PolicyChange(fail=False))
    with pytest.raises(BudgetRefused, match="has changed since this run looked it up"):
        ledger.reserve(Charge(dataset="survey", events=draws(1), unit=UNIT, policy=looked_up), note="b")
    with pytest.raises(BudgetRefused):
        reserve(ledger, 1)  # who says nothing was resolved under no stated policy
    assert ledger.account("survey").spent == 1


@pytest.mark.parametrize(("old", "new"), [('"records":500', '"records":5000'), ('"fail":false', '"fail":true')])
def test_a_policy_that_was_forged_looser_is_found(ledger, old, new):
    ledger.restrict("survey", PolicyChange(fail=False))
    ledger.restrict("survey", PolicyChange(records=500))
    forge(ledger.store, lambda number, text: text.replace(old, new) if number == 3 else text)
    with pytest.raises(LedgerError, match="breaks the rules of a ledger"):
        another(ledger, anchored=False).verify()


def test_a_policy_outlives_a_checkpoint(ledger, monkeypatch):
    monkeypatch.setattr(transaction, "STRIDE", 3)
    ledger.restrict("survey", PolicyChange(records=10))
    for _ in range(4):
        ledger.reserve(
            Charge(dataset="survey", events=draws("0.1"), unit=UNIT, policy=replace(POLICY, records=10)), note="a"
        )
    fresh = replace(ledger, _last=transaction.LastState())
    with pytest.raises(BudgetRefused):
        fresh.restrict("survey", PolicyChange(records=11))
    assert "checkpoint" in [entry.kind for entry in fresh.verify().entries]


def old_ledger(directory):
    """The file that an older version has left."""
    *lines, more = map(json.loads, OLD.read_text().splitlines())
    with sqlite3.connect(directory / "ledger.sqlite") as connection:
        for statement in (TABLE, KEYS, STATE, f"PRAGMA application_id = {APPLICATION}"):
            connection.execute(statement)
        for number, line in enumerate(lines):
            text = json.dumps(line["entry"], sort_keys=True, separators=(",", ":"))
            connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, text, line["seal"]))
        for number, key in more["keys"].items():
            connection.execute("INSERT INTO keys VALUES (?, ?)", (int(number), bytes.fromhex(key)))
        connection.execute("INSERT INTO state VALUES (?, ?)", more["state"])
    connection.close()
    return ledger_in(directory, anchored=False)


@pytest.mark.file
def test_an_older_ledger_opens_verifies_and_prints_as_it_was(tmp_path):
    ledger = old_ledger(tmp_path)
    found = ledger.verify()
    assert [entry_line(entry) for entry in found.entries] == OLD.read_text().splitlines()[:-1]
    assert [policy(ledger, name) for name in ("survey", "z")] == [Policy(), Policy()]


@pytest.mark.file
def test_an_older_ledger_pays_and_its_runs_go_on(tmp_path):
    ledger = old_ledger(tmp_path)
    before = ledger.account("survey").spent
    ledger.settle(reserve(ledger, 1), draws("1/2"), note="released")
    assert ledger.account("survey").spent - before == draws("1/2")[0][0].epsilon
    waiting = ledger.entries()[5]
    run = ledger.run("z", 5, waiting.hash)
    assert (run.recorded, run.lost is not None) == (1, True)
    ledger.record(run.reservation, number=1, transcript="3" * 64)
    ledger.settle(run.reservation, waiting.events, note="released")
    ledger.verify()


@pytest.mark.file
def test_a_budget_from_before_policies_may_be_given_any_once(tmp_path):
    ledger = old_ledger(tmp_path)
    given = PolicyChange(bytes=2**41, fail=True)
    ledger.restrict("survey", given)
    assert policy(ledger) == Policy(bytes=2**41, fail=True)
    with pytest.raises(BudgetRefused):
        ledger.restrict("survey", PolicyChange(bytes=2**42))
    ledger.restrict("z", PolicyChange(records=5))
    with pytest.raises(BudgetRefused):
        ledger.reserve(Charge(dataset="z", events=draws(1), unit=PrivacyUnit(columns=("id",), rows=3)), note="a")
    ledger.verify()


@in_one_test(
    "stated",
    [{}, {"address": ""}, {"address": 1}, {"address": "a", "query": ""}, {"address": "a", "more": 1}, "duckdb:a", 7],
)
def test_what_is_no_source_is_no_policy(stated):
    with pytest.raises((ValueError, KeyError, TypeError, UsageFault)):
        decode_policy({**POLICY_FORMAT.write(POLICY), "source": stated})


def test_a_source_changes_in_any_direction_and_the_history_keeps_all(ledger):
    for source in (*SOURCES, SOURCES[0]):
        ledger.restrict("survey", PolicyChange(source=source))
        assert policy(ledger) == replace(POLICY, source=source)
    ledger.restrict("survey", PolicyChange(records=999))
    assert policy(ledger).source == SOURCES[0], "another change leaves it as it is"
    ledger.restrict("survey", PolicyChange(source=FILES))
    assert policy(ledger) == replace(POLICY, records=999)
    kept = [entry.policy.source for entry in ledger.entries() if entry.policy is not None]
    assert kept == [*SOURCES, SOURCES[0], SOURCES[0], None]
    ledger.verify()


def test_a_run_that_was_resolved_under_another_source_is_not_paid(ledger):
    before = policy(ledger)
    ledger.restrict("survey", PolicyChange(source=SOURCES[0]))
    with pytest.raises(BudgetRefused, match="policy of its budget has changed"):
        ledger.require_fit(Charge(dataset="survey", events=draws(1), unit=UNIT, policy=before))


def test_a_policy_without_an_encoding_has_the_text_that_it_always_had():
    assert set(POLICY_FORMAT.write(POLICY)) == {"records", "bytes", "memory", "delimiter", "counts", "fail"}
