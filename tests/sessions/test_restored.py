"""Which thresholds a process may use of what it finds: by the definition, over all short transcripts and secrets."""

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import pytest
from support.cases import in_one_test, slowly

from dpqr.kernel.budget import Price
from dpqr.kernel.events import ExponentialEvent
from dpqr.kernel.unit import PrivacyUnit
from dpqr.releases.questions import SessionTerms, Start
from dpqr.sessions import turn as module
from dpqr.sessions.session import PastDraw, SessionLock, SessionQuery
from dpqr.sessions.turn import process_start, restore_session
from dpqr.workload.block import QueryBlock

TERMS = SessionTerms.within(Price(epsilon=Fraction(2)), PrivacyUnit(), surprises=3, questions=9)
OTHER = SessionTerms.within(Price(epsilon=Fraction(1)), PrivacyUnit(), surprises=3, questions=9)
FIRST = 2
"""Draws of what was measured first; they are no thresholds, and no surprises."""
PLUS, MINUS = (TERMS.epoch(side).event for side in (1, -1))
ANSWER = ExponentialEvent(epsilon=Fraction(1, 9))
DRAWS = {
    "opened up": (PLUS, 1),
    "opened down": (MINUS, -1),
    "lost threshold": (PLUS, None),
    "of other noise": (OTHER.epoch(1).event, 1),
    "answered up": (ANSWER, [[1], [5]]),
    "answered down": (ANSWER, [[-1], [5]]),
    "lost answer": (ANSWER, None),
}


ASKS = 2
"""How many the log holds."""


def folder(secret):
    log = [{"begun": 0}, *({"ask": number, "queries": [], "start": {}} for number in range(ASKS))]
    return SimpleNamespace(log=lambda: log, secret=lambda: secret, name="desk")


def kept(*lines, asks=ASKS):
    """A secret that was written after so many asks."""
    return {"asks": asks, "thresholds": list(lines)}


def turn_of(kinds, secret):
    draws = [(ANSWER, [7])] * FIRST + [DRAWS[kind] for kind in kinds]
    past = tuple(
        PastDraw(number=number, charge=100 + number, event=event, value=value)
        for number, (event, value) in enumerate(draws)
    )
    return SimpleNamespace(past=past, folder=folder(secret))


def found(kinds, secret):
    paper, document = SimpleNamespace(terms=TERMS), SimpleNamespace(draws=FIRST)
    return restore_session(SimpleNamespace(held=turn_of(kinds, secret), paper=paper, document=document))


def usable(kinds, side, draw):
    """Whether the threshold of this draw still admits comparisons on this side."""
    named = {1: ("opened up", "answered up"), -1: ("opened down", "answered down")}[side]
    places = [place for place, kind in enumerate(kinds) if kind == named[0]]
    if not places or 100 + FIRST + places[-1] != draw:
        return False
    return not {named[1], "lost answer"} & {*kinds[places[-1] + 1 :]}


@pytest.mark.parametrize("length", [1, 2, *slowly(3, 4)])
def test_a_threshold_is_used_if_its_draw_is_the_last_of_its_side_and_no_answer_followed(monkeypatch, length):
    monkeypatch.setattr(module, "read_hard_queries", lambda held, paper: {})
    for kinds in product(DRAWS, repeat=length):
        draws = range(100, 100 + FIRST + length)
        state = found(kinds, None)
        assert (state.watches, state.asks) == ({}, ASKS)
        assert state.epochs == sum(kind.startswith(("opened", "lost threshold", "of other")) for kind in kinds)
        assert state.surprises == sum("answer" in kind for kind in kinds)
        for side in (1, -1):
            for draw in draws:
                watches = found(kinds, kept({"side": side, "threshold": 4, "draw": draw})).watches
                assert set(watches) == ({side} if usable(kinds, side, draw) else set())
                for watch in watches.values():
                    assert (watch.threshold, watch.charge_number, watch.ended) == (4, draw, False)
                    assert watch.epoch == TERMS.epoch(side)


def query(name):
    return QueryBlock(name=name)


def test_every_noisy_answer_is_of_the_query_that_was_asked(monkeypatch):
    """By the number of its draw; of a lost one, or one that the log does not name, nothing is learned."""
    rows = {
        FIRST + 1: (SessionQuery(name="a", detail="", place=0, row=0, block=query("a")), 0),
        FIRST + 3: (SessionQuery(name="b", detail="", place=1, row=2, block=query("b")), 1),
        FIRST + 4: (SessionQuery(name="c", detail="", place=2, row=0, block=query("c")), 1),
    }
    monkeypatch.setattr(module, "read_hard_queries", lambda held, paper: rows)
    kinds = ("opened up", "answered up", "opened up", "answered down", "lost answer", "answered up")
    state = found(kinds, None)
    kept_answers = [(each.ask, each.row.name, each.surprise.side) for each in state.kept_surprises]
    assert kept_answers == [(0, "a", 1), (1, "b", -1)]
    assert [each.surprise.query.name for each in state.kept_surprises] == ["a", "b"]
    assert [each.surprise.measured.values[0].tolist() for each in state.kept_surprises] == [[5], [5]]
    assert (state.surprises, len(state.history)) == (4, 2)


UP, DOWN = ({"side": side, "threshold": 4, "draw": 100 + FIRST + place} for place, side in enumerate((1, -1)))


@in_one_test("asks", range(ASKS + 3))
def test_a_secret_of_another_ask_than_the_newest_admits_nothing(asks):
    """Older copies, and newer ones than this log: in between comparisons were made with its thresholds."""
    state = found(("opened up", "opened down"), kept(UP, DOWN, asks=asks))
    assert set(state.watches) == ({1, -1} if asks == ASKS else set())


DAMAGED = [
    None,
    [UP, DOWN],
    {"thresholds": [UP]},
    {"asks": str(ASKS), "thresholds": [UP]},
    {"asks": ASKS},
    {"asks": ASKS, "thresholds": UP},
    kept("UP", 7, None, []),
    kept({**UP, "side": 0}),
    kept({**UP, "side": "1"}),
    kept({**UP, "threshold": 4.0}),
    kept({**UP, "threshold": None}),
    kept({**UP, "draw": True}),
    kept({**UP, "draw": DOWN["draw"]}),
]


@in_one_test("secret", DAMAGED)
def test_a_damaged_secret_is_as_good_as_lost(secret):
    assert found(("opened up", "opened down"), secret).watches == {}


@in_one_test("lost", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_a_session_settles_what_it_drew_unless_it_is_whole_or_a_draw_is_lost(lost, whole):
    """Either is enough by itself: a lost draw, or an error that rows may have decided."""
    settled = []
    held = SessionLock(
        folder=folder(None),
        ledger=SimpleNamespace(settle=lambda paid, events, *, note, drawn: settled.append((events, note, drawn))),
        paid=SimpleNamespace(events="all"),
        journal=SimpleNamespace(lost=lost),
        run=SimpleNamespace(guard=SimpleNamespace(events="drawn")),
        note="session of questions",
        drawn="a" * 64,
    )
    held.drawn = "a" * 64
    held.settle("ended", whole=whole)
    assert settled == [("all" if lost or whole else "drawn", "ended", "a" * 64)]


def test_a_process_says_how_many_answers_it_knows_and_not_how_many_were_paid():
    """A lost answer is paid, and unknown."""
    online = SimpleNamespace(watches={1: None}, epochs=4, surprises=3, history=["one", "two"])
    assert process_start(online) == Start(sides=(1,), epochs=4, surprises=3, measured=2)
