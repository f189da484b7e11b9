import json
from fractions import Fraction

import pytest
from support.ledger_jobs import draws, ledger_in, reserve, terms

from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import LedgerError
from dpqr.kernel.events import ExponentialEvent
from dpqr.ledger.periods import ALL_PERIODS
from dpqr.ledger.state import Checkpoint, decode_state, encode_state

DIGESTS = ("1" * 64, "2" * 64)


@pytest.fixture
def text(tmp_path):
    """Two datasets, a settled run, one that has not begun, one with a draw that is not recorded."""
    ledger = ledger_in(tmp_path)
    ledger.open(terms(cap="2"))
    ledger.open(terms("z", "3", "1e-9", "zcdp"))
    ledger.settle(reserve(ledger, 2), draws("1/3"), note="released")
    reserve(ledger, 1)
    paid = reserve(ledger, "1/10", "z")
    half = ExponentialEvent(epsilon=Fraction(1, 20))
    ledger.begin(paid, half, number=0, transcript=DIGESTS[0])
    ledger.record(paid, number=0, transcript=DIGESTS[1])
    ledger.begin(paid, half, number=1, transcript=DIGESTS[1])
    return ledger.walk().state.text


def test_a_state_comes_back_as_it_was(text):
    state = decode_state(text)
    assert encode_state(state) == text
    assert state.accounts["survey"].account.spent == Fraction(4, 3)
    (run,) = state.accounts["z"].runs.values()
    assert (run.begun, run.recorded, run.last) == (2, 1, ExponentialEvent(epsilon=Fraction(1, 20)))
    assert run.settled(run.events) == Fraction(2, 8 * 20**2)


def test_a_sum_of_any_length_can_be_kept(text):
    state = decode_state(text)
    state.accounts["survey"].spent = {ALL_PERIODS: Cost(Fraction(1, 3**20_000))}
    again = decode_state(encode_state(state))
    assert again.accounts["survey"].account.spent == Fraction(1, 3**20_000)


def changed(text, change):
    document = json.loads(text)
    change(document)
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.pop("anchored"),
        lambda found: found.update(more=1),
        lambda found: found.update(dpqr="dpqr state/2"),
        lambda found: found["datasets"][0].update(more=1),
        lambda found: found["datasets"][0].update(spent=["8", "6"]),
        lambda found: found["datasets"][0].update(spent=["4", "0"]),
        lambda found: found["datasets"][0].update(spent=4),
        lambda found: found["datasets"].append(found["datasets"][0]),
        lambda found: found["datasets"][1]["runs"][0]["paid"].update(cost="x"),
        lambda found: found["datasets"][1]["runs"][0].update(last=[{"kind": "exponential", "count": 1}]),
        lambda found: found.update(datasets=None),
    ],
)
def test_any_other_text_is_refused(text, change):
    assert changed(text, lambda _: None) == text
    with pytest.raises(LedgerError):
        decode_state(changed(text, change))


@pytest.mark.parametrize("other", ["", "[]", "{}", "[" * 100_000, "null"])
def test_garbage_is_refused(other):
    with pytest.raises(LedgerError):
        decode_state(other)


def test_an_empty_ledger_has_a_state_too():
    state = Checkpoint(length=1, anchored=False, accounts={})
    assert decode_state(encode_state(state)) == state
