"""What an entry holds is in the text that is sealed, and comes back from it; what is unset is left out of it."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from fractions import Fraction

import pytest
from support.ledger_jobs import draws, terms

from dpqr.kernel.budget import Cost, Pricing
from dpqr.ledger.codec import decode_entry, encode_entry
from dpqr.ledger.ledger import LedgerEntry, Reason
from dpqr.ledger.periods import Layer
from dpqr.tables.policy import Policy

NOW = "2026-11-24T10:00:00+00:00"
EVENTS, COST, HASH = draws("1/2"), Cost(Fraction(1, 2)), "a" * 64
LAYER = Layer(column="day", first="2024-01", rows=3, read="b" * 64, number=1)
REASON = Reason(purpose="a report", by="Ann", approved_by="M. Lee")
PRICED = Pricing(accountant="zcdp", delta=Fraction(1, 10**9))
RUN = {"dataset": "survey", "cost": COST, "events": EVENTS, "note": "released"}
ENTRIES = {
    "open": {"note": "abc", "anchored": True},
    "anchor": {},
    "checkpoint": {"state": HASH},
    "move": {"note": "elsewhere"},
    "arrive": {"note": "here"},
    "init": {"dataset": "survey", "terms": replace(terms(), reason=REASON)},
    "policy": {"dataset": "survey", "policy": Policy(approval=True)},
    "approve": {"dataset": "survey", "plan": HASH, "reason": REASON},
    "reserve": {**RUN, "pricing": PRICED, "plan": HASH, "period": "2024-01", "layer": LAYER, "reason": REASON},
    "draw": {"dataset": "survey", "run": 2, "transcript": HASH, "events": EVENTS},
    "record": {"dataset": "survey", "run": 2, "transcript": HASH},
    "settle": {**RUN, "settles": 2, "drawn": HASH},
    "reject": {"rejected": (3, 4)},
}
"""Every kind of entry with all that it can hold."""
ANOTHER = {
    "number": 8,
    "time": "2027-01-01T00:00:00+00:00",
    "dataset": "other",
    "terms": replace(terms(), limit=Cost(Fraction(9)), reason=REASON),
    "cost": Cost(Fraction(1, 3)),
    "events": draws("1/3"),
    "pricing": Pricing(accountant="pld", delta=Fraction(1, 10**9)),
    "settles": 3,
    "note": "another",
    "run": 3,
    "transcript": "c" * 64,
    "anchored": False,
    "state": "c" * 64,
    "policy": Policy(records=5),
    "reason": replace(REASON, approved_by="R. Jones"),
    "plan": "c" * 64,
    "period": "2024-02",
    "layer": replace(LAYER, number=2),
    "drawn": "c" * 64,
    "rejected": (5,),
}
"""Another value of each field."""


def entry(kind, **changed):
    if kind == "init" and "dataset" in changed:
        changed["terms"] = replace(ENTRIES["init"]["terms"], dataset=changed["dataset"])
    return LedgerEntry(**{"number": 7, "kind": kind, "time": NOW, "hash": HASH, **ENTRIES[kind], **changed})


def test_every_field_and_kind_is_here():
    assert {each.name for each in fields(LedgerEntry)} == {*ANOTHER, "kind", "hash", "text"}
    assert {name for content in ENTRIES.values() for name in content} == {*ANOTHER} - {"number", "time"}


@pytest.mark.parametrize(
    ("kind", "field"), [(kind, field) for kind, content in ENTRIES.items() for field in ("number", "time", *content)]
)
def test_a_changed_field_changes_the_text(kind, field):
    sound, other = entry(kind), entry(kind, **{field: ANOTHER[field]})
    assert encode_entry(other) != encode_entry(sound)
    assert decode_entry(encode_entry(other), HASH) == other
    assert decode_entry(encode_entry(sound), HASH) == sound


@pytest.mark.parametrize("part", ["purpose", "by", "approved_by"])
@pytest.mark.parametrize("kind", ["init", "approve", "reserve"])
def test_each_part_of_a_reason_is_sealed(kind, part):
    other = replace(REASON, **{part: "Zoe"})
    changed = {"terms": replace(terms(), reason=other)} if kind == "init" else {"reason": other}
    assert encode_entry(entry(kind, **changed)) != encode_entry(entry(kind))


UNSET = {"reason": Reason(), "plan": "", "period": "", "layer": None, "pricing": None, "drawn": ""}


@pytest.mark.parametrize("kind", ["approve", "reserve", "settle"])
def test_what_is_unset_is_left_out_so_older_entries_keep_their_text(kind):
    held = set(ENTRIES[kind]) - ({"plan"} if kind == "approve" else set())
    named = {name: value for name, value in UNSET.items() if name in held}
    bare = entry(kind, **named)
    kept = {
        "approve": {"dataset", "entry", "number", "plan", "time"},
        "reserve": {"cost", "dataset", "entry", "events", "note", "number", "time"},
        "settle": {"cost", "dataset", "entry", "events", "note", "number", "settles", "time"},
    }
    assert set(json.loads(encode_entry(bare))) == kept[kind]
    assert decode_entry(encode_entry(bare), HASH) == bare
