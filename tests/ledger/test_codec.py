from __future__ import annotations

import json
from fractions import Fraction
from typing import get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import in_one_test
from support.ledger_jobs import draws, terms

from dpqr.domain.periods import Period
from dpqr.kernel.budget import Cost, Pricing, PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, LedgerError
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, Draw, GaussianObjectiveEvent, LeftOutEvent
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import field_names, replace
from dpqr.ledger.codec import LONGEST, decode_entry, decode_events, encode_entry, encode_events, exact_text, parse_exact
from dpqr.ledger.ledger import DataKind, LedgerEntry, Reason
from dpqr.ledger.periods import Layer, PeriodBudgets
from dpqr.tables.policy import Policy, Source

TIME = "2030-01-02T03:04:05+00:00"
RESERVE = LedgerEntry(
    number=2, kind="reserve", time=TIME, dataset="survey", cost=Cost(Fraction(1, 3)), events=draws("1/3"), note="ü"
)
ENTRIES = [
    LedgerEntry(number=0, kind="open", time=TIME, note="00ff"),
    LedgerEntry(number=1, kind="init", time=TIME, dataset="survey", terms=terms(cap="0.1")),
    LedgerEntry(number=1, kind="init", time=TIME, dataset="z", terms=terms("z", "2", "1e-9", "zcdp")),
    LedgerEntry(number=0, kind="open", time=TIME, note="00ff", anchored=True),
    LedgerEntry(number=2, kind="anchor", time=TIME),
    LedgerEntry(number=3, kind="checkpoint", time=TIME, state="0" * 64),
    RESERVE,
    replace(RESERVE, reason=Reason(purpose="annual report", by="R. Jønes")),
    LedgerEntry(
        number=1, kind="init", time=TIME, dataset="a", terms=replace(terms("a"), reason=Reason(by="the survey team"))
    ),
    replace(RESERVE, kind="settle", settles=2, cost=Cost(Fraction(0)), events=()),
    replace(
        RESERVE, cost=Cost(Fraction(1, 3), Fraction(1, 9)), pricing=Pricing(accountant="zcdp", delta=Fraction(1, 9))
    ),
]


@in_one_test("entry", ENTRIES)
def test_an_entry_comes_back_as_it_was(entry):
    text = encode_entry(entry)
    assert decode_entry(text, "seal") == replace(entry, hash="seal")
    assert text.isascii()
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


def test_budgets_are_exact_text_and_never_floats():
    document = json.loads(encode_entry(ENTRIES[1]))
    assert (document["limit"], document["cap"]) == ("5", "1/10")
    assert not any(isinstance(value, float) for value in document.values())


@in_one_test(
    "text",
    [
        "",
        "[]",
        "1",
        "null",
        "{}",
        "{",
        "[" * 100_000,
        '{"entry":"open","number":0,"time":1,"ledger":"x"}',
        encode_entry(RESERVE).replace('"1/3"', "0.33"),
        *(
            encode_entry(RESERVE).replace('"cost":"1/3"', f'"cost":{cost}')
            for cost in ('["1/3","0"]', '["1/3"]', '["1/3","1/2","1/2"]', "{}", "null", "1")
        ),
        encode_entry(RESERVE).replace('"survey"', "7"),
        encode_entry(ENTRIES[1]).replace('"add-remove"', '"none"'),
        encode_entry(ENTRIES[1]).replace('"private"', '"secret"'),
        encode_entry(ENTRIES[1]).replace('"epsilon":"5"', '"epsilon":"0"'),
        encode_entry(ENTRIES[1]).replace('"epsilon":"5",', ""),
        encode_entry(RESERVE).replace('"note"', '"purpose":7,"note"'),
        encode_entry(RESERVE).replace('"note"', '"by":"a\\u001b[2J","note"'),
    ],
)
def test_anything_else_is_a_damaged_ledger(text):
    with pytest.raises(LedgerError, match="cannot read"):
        decode_entry(text, "")


POLICIES = {
    "records": 7,
    "bytes": 7,
    "memory": 7,
    "delimiter": ";",
    "encoding": "latin-1",
    "counts": "n",
    "fail": True,
    "approval": True,
    "learning": True,
    "source": Source(address="duckdb:/data/t.duckdb?table=t", query="SELECT 1"),
}
MONTHS = PeriodBudgets(column="day", every="month", share=Cost(Fraction(1), Fraction(1, 9)))
TERMS = {
    "budget": PrivacyBudget(Fraction(7)),
    "accountant": "zcdp",
    "limit": Cost(Fraction(3), Fraction(1, 9)),
    "cap": Cost(Fraction(1, 7)),
    "neighbours": Neighbours.REPLACE,
    "unit": "another",
    "kind": DataKind.SYNTHETIC,
    "periods": MONTHS,
    "reason": Reason(by="Ann", purpose="a report"),
}
PERIODS = {
    "column": "left",
    "every": "year",
    "share": Cost(Fraction(2)),
    "first": Period.parse("2026-01"),
    "parallel": False,
}


def opened(**changed):
    return LedgerEntry(number=1, kind="init", time=TIME, dataset="survey", terms=replace(terms(), **changed))


PARTS = {
    **{f"policy: {name}": ({"policy": Policy()}, {"policy": Policy(**{name: POLICIES[name]})}) for name in POLICIES},
    **{f"terms: {name}": ({}, {name: TERMS[name]}) for name in TERMS},
    **{
        f"periods: {name}": ({"periods": MONTHS}, {"periods": replace(MONTHS, **{name: PERIODS[name]})})
        for name in PERIODS
    },
    **{f"reason: {name}": ({}, {"reason": Reason(**{name: "Zoe"})}) for name in ("purpose", "by", "approved_by")},
}


@in_one_test(("one", "other"), PARTS.values())
def test_every_part_of_the_terms_is_sealed_and_read(one, other):
    assert {*Policy.__struct_fields__} == {*POLICIES}
    assert {*PeriodBudgets.__struct_fields__} == {*PERIODS}
    one, other = opened(**one), opened(**other)
    assert encode_entry(one) != encode_entry(other)
    for each in (one, other):
        assert decode_entry(encode_entry(each), "seal") == replace(each, hash="seal")


LAPLACE = {"kind": "discrete-laplace", "sensitivity": "2", "scale": "5/3", "count": 7}
WHOLE = st.integers(1, 10**20)
EXACT = st.builds(Fraction, st.integers(1, 10**30), st.integers(1, 10**30))
PARAMETERS = {int: WHOLE, Fraction: EXACT, bool: st.booleans(), int | None: st.none() | WHOLE}
BELOW_1 = EXACT.map(lambda exact: 1 / (1 + exact))
OWN = {"directions": st.sampled_from((1, 2)), "opposite": BELOW_1, "delta": BELOW_1}


def events_of(made):
    """Any event of a class, by the types of its fields."""
    hints = get_type_hints(made)
    names = [name for name in field_names(made) if not name.startswith("_")]
    return st.builds(made, **{name: OWN.get(name, PARAMETERS[hints[name]]) for name in names})


EVENTS = st.one_of(*map(events_of, get_args(Draw)))
EVENTS |= EVENTS.map(lambda event: LeftOutEvent(event=event))


@given(st.lists(st.tuples(EVENTS, st.integers(0, 10**9)), max_size=4))
def test_every_event_comes_back_as_it_was(composition):
    assert decode_events(encode_events(tuple(composition))) == tuple(composition)


PULL = GaussianObjectiveEvent(
    squared_sensitivity=1, variance=Fraction(2), changes=1, curvature=Fraction(1, 9), closing=Fraction(1, 64)
)


@in_one_test("lacking", [(), ("tapered",), ("opposite",), ("opposite", "tapered")])
def test_the_text_of_a_version_without_a_parameter_comes_back_as_it_was(lacking):
    """The seal is of that text; the event and its price are those of the parameter's default."""
    (now,) = encode_events(((PULL, 3),))
    assert (now["opposite"], now["tapered"]) == ("0", "0")
    older = {name: text for name, text in now.items() if name not in lacking}
    decoded = decode_events([older])
    assert encode_events(decoded) == [older]
    assert decoded == ((PULL, 3),)
    assert hash(decoded) == hash(((PULL, 3),))
    with pytest.raises(ValueError, match="unknown"):
        decode_events([{**older, "_unstated": "1"}])


@given(EVENTS)
def test_every_parameter_is_written_unless_it_is_none(event):
    drawn = event.event if isinstance(event, LeftOutEvent) else event
    (part,) = encode_events(((event, 1),))
    stated = part["event"] if isinstance(event, LeftOutEvent) else part
    names = [name for name in field_names(drawn) if not name.startswith("_")]
    assert {*stated} - {"kind", "count"} == {name for name in names if getattr(drawn, name) is not None}


def test_the_parts_are_plain_text_and_a_parameter_that_came_later_may_be_left_out():
    event = DiscreteLaplaceEvent(sensitivity=2, scale=Fraction(5, 3))
    assert encode_events(((event, 7),)) == [LAPLACE]
    assert decode_events([LAPLACE]) == ((event, 7),)


def test_gaussian_parameters_keep_their_types():
    (event, _), *_ = decode_events(
        encode_events(((DiscreteGaussianEvent(squared_sensitivity=4, variance=Fraction(9)), 1),))
    )
    assert type(event.squared_sensitivity) is int
    assert type(event.variance) is Fraction


UNREADABLE = {
    "kind": ["laplace", None, []],
    "scale": ["10/6", "1.5", "-1", 1, 1.5, "1/0", "0", "1e5", "٣", " 1", "9" * (LONGEST + 1)],
    "sensitivity": ["1/2", None],
    "count": [-1, "7", True, 1.0],
    "more": ["1"],
}


@in_one_test(("name", "value"), [(name, value) for name, each in UNREADABLE.items() for value in each])
def test_anything_else_is_refused(name, value):
    lacking = {each: value for each, value in LAPLACE.items() if each != "scale"}
    for part in (LAPLACE | {name: value}, lacking):
        with pytest.raises((ValueError, KeyError, TypeError, BudgetRefused)):
            decode_events([part])


def test_figures_of_many_digits_are_refused_before_they_are_stored():
    assert parse_exact(exact_text(Fraction(10**LONGEST - 1))) == 10**LONGEST - 1
    with pytest.raises(BudgetRefused, match="digits"):
        exact_text(Fraction(1, 10**LONGEST))


# What an entry holds is in the text that is sealed, and comes back from it; what is unset is left out of it.

NOW = "2026-11-24T10:00:00+00:00"
SEALED_EVENTS, COST, HASH = draws("1/2"), Cost(Fraction(1, 2)), "a" * 64
LAYER = Layer(column="day", first="2024-01", rows=3, read="b" * 64, number=1)
REASON = Reason(purpose="a report", by="Ann", approved_by="M. Lee")
PRICED = Pricing(accountant="zcdp", delta=Fraction(1, 10**9))
RUN = {"dataset": "survey", "cost": COST, "events": SEALED_EVENTS, "note": "released"}
CONTENTS = {
    "open": {"note": "abc", "anchored": True},
    "anchor": {},
    "checkpoint": {"state": HASH},
    "move": {"note": "elsewhere"},
    "arrive": {"note": "here"},
    "init": {"dataset": "survey", "terms": replace(terms(), reason=REASON)},
    "policy": {"dataset": "survey", "policy": Policy(approval=True)},
    "approve": {"dataset": "survey", "plan": HASH, "reason": REASON},
    "reserve": {**RUN, "pricing": PRICED, "plan": HASH, "period": "2024-01", "layer": LAYER, "reason": REASON},
    "draw": {"dataset": "survey", "run": 2, "transcript": HASH, "events": SEALED_EVENTS},
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
        changed["terms"] = replace(CONTENTS["init"]["terms"], dataset=changed["dataset"])
    return LedgerEntry(**{"number": 7, "kind": kind, "time": NOW, "hash": HASH, **CONTENTS[kind], **changed})


def test_every_field_and_kind_is_here():
    assert {*LedgerEntry.__struct_fields__} == {*ANOTHER, "kind", "hash", "text"}
    assert {name for content in CONTENTS.values() for name in content} == {*ANOTHER} - {"number", "time"}


@in_one_test(
    ("kind", "field"), [(kind, field) for kind, content in CONTENTS.items() for field in ("number", "time", *content)]
)
def test_a_changed_field_changes_the_text(kind, field):
    sound, other = entry(kind), entry(kind, **{field: ANOTHER[field]})
    assert encode_entry(other) != encode_entry(sound)
    assert decode_entry(encode_entry(other), HASH) == other
    assert decode_entry(encode_entry(sound), HASH) == sound


UNSET = {"reason": Reason(), "plan": "", "period": "", "layer": None, "pricing": None, "drawn": ""}


@in_one_test("kind", ["approve", "reserve", "settle"])
def test_what_is_unset_is_left_out_so_older_entries_keep_their_text(kind):
    held = set(CONTENTS[kind]) - ({"plan"} if kind == "approve" else set())
    named = {name: value for name, value in UNSET.items() if name in held}
    bare = entry(kind, **named)
    kept = {
        "approve": {"dataset", "entry", "number", "plan", "time"},
        "reserve": {"cost", "dataset", "entry", "events", "note", "number", "time"},
        "settle": {"cost", "dataset", "entry", "events", "note", "number", "settles", "time"},
    }
    assert set(json.loads(encode_entry(bare))) == kept[kind]
    assert decode_entry(encode_entry(bare), HASH) == bare
