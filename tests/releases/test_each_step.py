"""Questions one at a time, step by step: what is written before what, which threshold goes, and what a model learns."""

from fractions import Fraction

import numpy as np
import pytest
from releases.test_online import FIRST, LAST, TABLE, query, session
from support.one_test import in_one_test

from dpqr.kernel.budget import Price
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.models.rows import WeightedRows
from dpqr.releases import questions as module
from dpqr.releases.questions import HardQueryAnswer, Replay, SessionTerms, Start
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

KNOWN = query([1, 1, 0, 0])


class Steps:
    """A journal and a source of noise that keep the order of what they are asked."""

    def __init__(self):
        self.seen, self.inner, self.private = [], SeededNoise(5), False

    def words(self, count):
        self.seen.append("noise")
        return self.inner.words(count)

    def begin(self, event, blocks):
        self.seen.append(("begin", event, len(blocks)))

    def record(self, value):
        self.seen.append(("record", value))

    def past(self, event, blocks):
        return None


def stepwise(online):
    """The session, whose steps are kept from now on."""
    online.journal = online.noise = steps = Steps()
    return online, steps


def order(steps):
    """Without the number of words that a draw takes."""
    kinds = [each if each == "noise" else each[0] for each in steps.seen]
    return [each for place, each in enumerate(kinds) if place == 0 or each != "noise" or kinds[place - 1] != "noise"]


@pytest.mark.parametrize(("block", "side"), [(FIRST, 1), (LAST, -1)])
def test_the_ledger_knows_of_every_draw_before_it_is_made_and_of_its_side_after(block, side):
    online, steps = stepwise(session())
    online.watches.clear()
    online.epochs = 0
    online.open_watches()
    assert order(steps) == ["begin", "noise", "record"] * 2
    assert [each[1] for each in steps.seen if each[0] == "record"] == [1, -1]
    assert [each[1] for each in steps.seen if each[0] == "begin"] == [
        online.terms.epoch(each).event for each in (1, -1)
    ]
    steps.seen.clear()
    assert not online.ask(block).free
    begun = [each for each in steps.seen if each[0] == "begin"]
    assert order(steps)[:4] == ["noise", "begin", "noise", "record"]
    answer = online.terms.check.mechanism((online.terms.measured(block),), online.terms.unit, online.terms.answer)
    assert begun[0][1:] == (answer.event, 1)
    recorded = next(each[1] for each in steps.seen if each[0] == "record")
    assert recorded[0] == [side]
    assert recorded[1:] == [values.tolist() for values in online.history[-1].values]


def test_a_free_answer_draws_nothing_but_its_comparisons():
    online, steps = stepwise(session())
    assert online.ask(KNOWN).free
    assert order(steps) == ["noise"]


@pytest.mark.parametrize("surprises", [1, 2, 3])
def test_after_the_last_surprise_that_is_paid_for_nothing_is_compared(monkeypatch, surprises):
    """Though the threshold of the other side was not passed: no answer could be paid where it is."""
    online = session(surprises=surprises)
    for number in range(surprises):
        assert not online.ask((FIRST, LAST)[number % 2]).free
        online.hypothesis = online.rule.start_rows
    assert online.watches
    assert not online.checked

    def opened(*_):
        raise AssertionError("the table is looked at")

    monkeypatch.setattr(module, "is_above_threshold", opened)
    monkeypatch.setattr(module, "measure", opened)
    answer = online.ask(FIRST)
    assert (answer.free, answer.low, answer.high) == (True, None, None)
    assert (online.surprises, online.epochs) == (surprises, len(online.history) + 1)


@pytest.mark.parametrize(("block", "side"), [(FIRST, 1), (LAST, -1)])
@pytest.mark.parametrize("epochs", [2, 9])
def test_the_threshold_that_was_passed_is_gone_and_the_other_one_stays(block, side, epochs):
    """Also where no further epoch is paid for."""
    online = session()
    passed, other = online.watches[side], online.watches[-side]
    online.epochs = epochs
    online.ask(block)
    assert passed.ended
    assert online.watches.get(side) is not passed
    assert online.watches[-side] is other
    assert not other.ended
    assert online.ask(KNOWN).free


class Taught:
    """An update rule that keeps what it was given."""

    def __init__(self, rule):
        self.rule, self.given = rule, []

    def __getattr__(self, name):
        return getattr(self.rule, name)

    def update(self, problem, hypothesis, history):
        self.given.append([id(each) for each in history])
        return hypothesis


def test_the_model_learns_from_every_surprise_so_far():
    online = session()
    online.rule = taught = Taught(online.rule)
    for block in (FIRST, LAST, FIRST):
        assert not online.ask(block).free
    known = [id(each) for each in online.history]
    assert taught.given == [known[:1], known[:2], known[:3]]


WEIGHTED = QueryBlock(
    name="w", factors=(Factor(axes=(0,), sizes=(4,), matrix=Dense(np.array([[3, 0, 1, 0]]))),), scale=Fraction(1, 2)
)


@in_one_test("rows", [0, 1, 3])
@pytest.mark.parametrize("relation", Neighbours, ids=lambda each: each.value)
@pytest.mark.parametrize("block", [FIRST, WEIGHTED], ids=["count", "weighted"])
def test_a_free_interval_is_as_wide_as_the_margin_and_the_threshold_allow(block, relation, rows):
    """In the largest change of one row: a missed answer is at most the margin and Z away, and Z is above `slack` with
    half of beta on either side."""
    unit = PrivacyUnit(neighbours=relation, columns=("who",) if rows else (), rows=max(rows, 1))
    terms = SessionTerms.within(Price(epsilon=Fraction(3)), unit, surprises=4, questions=50)
    model = WeightedRows(
        shape=TABLE.shape, codes=np.array([[0, 0], [2, 1]]), shares=np.array([0.5, 0.5]), total=10.0**7
    )
    asked, beta = terms.question(block, model), 0.05
    quantile = next(z for z in range(10**6) if np.exp(-(z + 1) / float(terms.epoch(1).threshold_scale)) <= beta / 2)
    step = 1 if block is FIRST else 3
    reach = float(block.scale) * step * (terms.margin + quantile)
    for live in ((1, -1), (1,), (-1,), ()):
        found = terms.free(asked, live, beta)
        assert found.high == (found.estimate + reach if 1 in live else None)
        assert found.low == (max(found.estimate - reach, 0) if -1 in live else None)


@pytest.mark.parametrize("surprises", [1, 2, 7])
def test_all_epochs_and_answers_that_are_possible_cost_the_whole_price(surprises):
    for whole in (Price(epsilon=Fraction(3)), Price(rho=Fraction(1, 3)), Price(squared_mu=Fraction(1, 3))):
        terms = SessionTerms.within(whole, PrivacyUnit(), surprises=surprises, questions=9)
        assert terms.epochs == surprises + 1
        assert terms.epochs * terms.threshold.figure + surprises * terms.answer.figure == whole.figure


def test_a_replay_goes_on_from_the_answers_that_were_not_lost():
    """Two surprises were paid and one answer was lost: the model knows the other one, and one surprise is left."""
    online = session(surprises=3)
    for block in (FIRST, LAST):
        online.hypothesis = online.rule.start_rows
        assert not online.ask(block).free
    surprise, later = (
        HardQueryAnswer(side=side, query=block, measured=measured)
        for side, block, measured in zip((1, -1), (FIRST, LAST), online.history, strict=True)
    )
    again = Replay(terms=online.terms, problem=online.problem, rule=online.rule, surprises=[surprise, later])
    learned = again.learned([surprise])
    for surprises in (1, 2, 3):
        start = Start(sides=(1, -1), epochs=3, surprises=surprises, measured=1)
        (answer,) = again.answers(start, [(KNOWN, True)])
        live = (1, -1) if surprises < 3 else ()
        assert answer == online.terms.free(online.terms.question(KNOWN, learned), live)
    start = Start(sides=(1, -1), epochs=3, surprises=1, measured=0)
    (answer,) = again.answers(start, [(KNOWN, True)])
    assert answer == online.terms.free(online.terms.question(KNOWN, online.rule.start_rows), (1, -1))
