import json
from dataclasses import replace
from fractions import Fraction

import pytest
from support.ledger_jobs import draws, terms

from dpqr.errors import LedgerError
from dpqr.io.ledger.entry_codec import decode_entry, encode_entry
from dpqr.privacy.budget import Cost
from dpqr.privacy.ledger import Entry
from dpqr.privacy.reason import Reason

TIME = "2030-01-02T03:04:05+00:00"
RESERVE = Entry(
    number=2, kind="reserve", time=TIME, dataset="survey", cost=Cost(Fraction(1, 3)), events=draws("1/3"), note="ü"
)
ENTRIES = [
    Entry(number=0, kind="open", time=TIME, note="00ff"),
    Entry(number=1, kind="init", time=TIME, dataset="survey", terms=terms(cap="0.1")),
    Entry(number=1, kind="init", time=TIME, dataset="z", terms=terms("z", "2", "1e-9", "zcdp")),
    Entry(number=0, kind="open", time=TIME, note="00ff", anchored=True),
    Entry(number=2, kind="anchor", time=TIME),
    Entry(number=3, kind="checkpoint", time=TIME, state="0" * 64),
    RESERVE,
    replace(RESERVE, reason=Reason(purpose="annual report", by="R. Jønes")),
    Entry(
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
