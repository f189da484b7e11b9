import json
from dataclasses import fields, replace
from fractions import Fraction

import pytest
from support.ledger_jobs import draws, terms

from dpqr.domain.periods import Period
from dpqr.kernel.budget import Cost, PrivacyBudget
from dpqr.kernel.errors import LedgerError
from dpqr.kernel.unit import Neighbours
from dpqr.ledger.codec import decode_entry, encode_entry
from dpqr.ledger.ledger import DataKind, LedgerEntry, Reason
from dpqr.ledger.periods import PeriodBudgets
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
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.kind)
def test_an_entry_comes_back_as_it_was(entry):
    text = encode_entry(entry)
    assert decode_entry(text, "seal") == replace(entry, hash="seal")
    assert text.isascii()
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


def test_budgets_are_exact_text_and_never_floats():
    document = json.loads(encode_entry(ENTRIES[1]))
    assert (document["limit"], document["cap"]) == ("5", "1/10")
    assert not any(isinstance(value, float) for value in document.values())


@pytest.mark.parametrize(
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
        encode_entry(RESERVE).replace('"survey"', "7"),
        encode_entry(ENTRIES[1]).replace('"add-remove"', '"none"'),
        encode_entry(ENTRIES[1]).replace('"private"', '"secret"'),
        encode_entry(ENTRIES[1]).replace('"epsilon":"5"', '"epsilon":"0"'),
        encode_entry(ENTRIES[1]).replace('"epsilon":"5",', ""),
        encode_entry(RESERVE).replace('"note"', '"purpose":7,"note"'),
        encode_entry(RESERVE).replace('"note"', '"by":"a\\u001b[2J","note"'),
    ],
    ids=lambda text: text[:20],
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
    "source": Source(address="duckdb:/data/t.duckdb?table=t", query="SELECT 1"),
}
TERMS = {
    "budget": PrivacyBudget(Fraction(7)),
    "accountant": "zcdp",
    "limit": Cost(Fraction(3), Fraction(1, 9)),
    "cap": Cost(Fraction(1, 7)),
    "neighbours": Neighbours.REPLACE,
    "unit": "another",
    "kind": DataKind.SYNTHETIC,
    "periods": PeriodBudgets(column="day", every="month", share=Cost(Fraction(1), Fraction(1, 9))),
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


@pytest.mark.parametrize("name", POLICIES)
def test_every_part_of_a_policy_is_sealed_and_read(name):
    assert {each.name for each in fields(Policy)} == {*POLICIES}
    for kind in ("init", "policy"):
        made = [
            opened(policy=policy)
            if kind == "init"
            else LedgerEntry(number=4, kind="policy", time=TIME, dataset="survey", policy=policy)
            for policy in (Policy(), Policy(**{name: POLICIES[name]}))
        ]
        assert encode_entry(made[0]) != encode_entry(made[1])
        assert [decode_entry(encode_entry(each), "seal") for each in made] == [
            replace(one, hash="seal") for one in made
        ]


@pytest.mark.parametrize("name", TERMS)
def test_every_part_of_the_terms_is_sealed_and_read(name):
    one, other = opened(), opened(**{name: TERMS[name]})
    assert encode_entry(one) != encode_entry(other)
    assert decode_entry(encode_entry(other), "seal") == replace(other, hash="seal")


@pytest.mark.parametrize("name", PERIODS)
def test_every_part_of_the_budgets_of_periods_is_sealed_and_read(name):
    assert {each.name for each in fields(PeriodBudgets)} == {*PERIODS}
    one, other = (opened(periods=replace(TERMS["periods"], **part)) for part in ({}, {name: PERIODS[name]}))
    assert encode_entry(one) != encode_entry(other)
    assert decode_entry(encode_entry(other), "seal") == replace(other, hash="seal")
