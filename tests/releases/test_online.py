"""Questions one at a time: what is free, what is paid, what an interval says, and where a session ends."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.accountant import EveryFilter
from dpqr.kernel.accountants.analytic import GaussianDP
from dpqr.kernel.accountants.losses import pure_epsilon, squared_mu
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import GoalMissed, UsageFault
from dpqr.kernel.events import AboveThresholdEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.models.hypothesis import DenseDistribution
from dpqr.models.rows import WeightedRows
from dpqr.releases import questions as module
from dpqr.releases.questions import HardQueryAnswer, Online, Replay, SessionTerms, Start, table_of_parts
from dpqr.strategies.problem import Problem
from dpqr.strategies.updates.multiplicative_weights import RowWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Workload

SHAPE = (4, 4)
TABLE = np.array([[4_000, 0, 0, 0], [0, 1_000, 0, 0], [0, 0, 3_000, 0], [0, 0, 0, 2_000]])
DOMAIN = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(4)) for axis in range(2)))
BUDGET = PrivacyBudget(Fraction(6))


def query(*rows, name="q"):
    factors = tuple(Factor(axes=(axis,), sizes=(4,), matrix=Dense(np.array([row]))) for axis, row in enumerate(rows))
    return QueryBlock(name=name, factors=factors)


FIRST, LAST = query([1, 0, 0, 0], [1, 0, 0, 0]), query([0, 0, 0, 1], [1, 0, 0, 0])
"""4,000 records where the product of the columns says 1,600; 0 where it says 800."""


def session(surprises=4, unit=PrivacyUnit(), budget=BUDGET, accountant=None, price=None):  # noqa: B008 (frozen)
    """It starts from the product of the true columns. The noise is repeatable, of some ten records."""
    accountant = accountant or Basic()
    whole = price or Price(epsilon=Fraction(6))
    columns = [TABLE.sum(axis=1 - axis) / TABLE.sum() for axis in range(2)]
    model = DenseDistribution(probabilities=np.multiply.outer(*columns), total=float(TABLE.sum()))
    rows = WeightedRows.of(model, SHAPE, 0)
    made = Online(
        terms=SessionTerms.within(whole, unit, surprises=surprises, questions=100),
        problem=Problem(domain=DOMAIN, workload=Workload((FIRST,)), unit=unit),
        rule=RowWeights(start_rows=rows),
        hypothesis=rows,
        data=Private(DenseHistogram(TABLE)),
        accountant=EveryFilter(filters=(accountant.filter(budget),)),
        noise=SeededNoise(5),
    )
    made.open_watches()
    return made


def test_what_the_model_knows_is_free_and_a_surprise_pays_and_teaches():
    online = session()
    known = online.ask(query([1, 1, 0, 0]))
    assert known.free
    assert known.low <= 5_000 <= known.high
    assert known.estimate == pytest.approx(5_000, abs=1)
    assert len(online.accountant.charged) == 2
    surprise = online.ask(FIRST)
    assert not surprise.free
    assert surprise.low <= 4_000 <= surprise.high
    assert len(online.accountant.charged) == 3
    again = online.ask(FIRST)
    assert len(online.accountant.charged) == 4, "a new threshold is paid where the next question needs it"
    assert again.free
    assert again.estimate == pytest.approx(4_000, abs=60)
    assert again.high - again.low < 400


def test_both_directions_are_looked_at_and_epochs_charged_as_they_are_opened():
    online = session()
    assert [type(event) for event in online.accountant.charged] == [AboveThresholdEvent] * 2
    assert not online.ask(LAST).free
    assert not online.ask(FIRST).free
    assert (online.surprises, online.epochs, set(online.watches)) == (2, 3, {-1})
    online.open_watches()
    assert (online.epochs, set(online.watches)) == (4, {1, -1})
    others = query([0, 1, 1, 1], [1, 0, 0, 0]), query([1, 0, 0, 0], [0, 1, 1, 1])
    online = session()
    online.ask(FIRST)
    assert all(online.ask(other).free for other in others), "the table of parts teaches all of its cells"


@in_one_test("rows", [1, 3])
def test_where_records_are_replaced_a_surprise_has_the_noise_of_its_query_alone(rows):
    """As its answer says it, as the terms say it and as it was charged; its table would have had twice as much."""
    unit = PrivacyUnit(neighbours=Neighbours.REPLACE, **({"columns": ("p",), "rows": rows} if rows > 1 else {}))
    online = session(unit=unit, budget=PrivacyBudget(Fraction(60)), price=Price(epsilon=Fraction(60)))
    assert not online.ask(FIRST).free
    (found,) = online.history
    assert [len(values) for values in found.values] == [1]
    assert found.law == online.terms.law(FIRST) == online.terms.stated_law(FIRST)
    paid = [event for event in online.accountant.charged if not isinstance(event, AboveThresholdEvent)]
    assert [event.scale for event in paid] == [found.law.scale] == [rows / online.terms.answer.epsilon]
    assert sum(map(pure_epsilon, paid)) == online.terms.answer.epsilon


def test_a_session_ends_with_its_surprises_and_costs_no_more_than_it_paid():
    online = session(surprises=1)
    assert not online.ask(FIRST).free
    assert not online.checked
    after = online.ask(LAST)
    assert (after.free, after.low, after.high) == (True, None, None)
    charged = online.accountant.charged
    assert len(charged) == 3
    assert sum(map(pure_epsilon, charged)) <= 6
    assert sum(map(pure_epsilon, charged)) > 5.99


def test_a_side_without_a_threshold_is_not_looked_at():
    online = session()
    del online.watches[1]
    online.epochs = online.terms.epochs
    answer = online.ask(FIRST)
    assert answer.free
    assert answer.high is None
    assert answer.low is not None


@in_one_test(
    ("accountant", "price"),
    [
        (GaussianDP(), Price(squared_mu=Fraction(1))),
        (ZeroConcentrated(), Price(rho=Fraction(1, 2))),
    ],
)
def test_all_surprises_fit_what_was_paid(accountant, price):
    """Whatever happens: all epochs and all answers, of counts and of tables, cost no more than the price."""
    online = session(
        surprises=5, budget=PrivacyBudget(Fraction(9), Fraction(1, 10**6)), accountant=accountant, price=price
    )
    terms = online.terms
    parts = [terms.epoch(1).event] * terms.epochs
    parts += [terms.check.mechanism((terms.measured(FIRST),), terms.unit, terms.answer).event] * terms.surprises
    if price.rho is None:
        assert 0.999 < sum(map(squared_mu, parts)) <= 1
    assert terms.epochs == 6


def test_a_table_of_parts():
    table = table_of_parts(FIRST)
    assert table.answer(DenseHistogram(TABLE)).tolist() == [4_000, 0, 0, 6_000]
    weighted = QueryBlock(name="w", factors=(Factor(axes=(0,), sizes=(4,), matrix=Dense(np.array([[1, 2, 3, 4]]))),))
    assert table_of_parts(weighted) is weighted
    assert table_of_parts(QueryBlock(name="all")).rows == 1


def test_a_weighted_query_has_its_interval_in_its_own_units():
    online = session()
    weighted = QueryBlock(name="w", factors=(Factor(axes=(0,), sizes=(4,), matrix=Dense(np.array([[1, 2, 3, 40]]))),))
    answer, count = online.ask(weighted), online.ask(query([1, 1, 0, 0]))
    true = int(TABLE.sum(axis=1) @ [1, 2, 3, 40])
    assert answer.low <= true <= answer.high
    assert answer.high - answer.low == pytest.approx(40 * (count.high - count.low))


def test_a_negative_coefficient_is_refused_before_anything_is_drawn():
    online = session()
    charged = len(online.accountant.charged)
    with pytest.raises(UsageFault, match="negative"):
        online.ask(query([1, -1, 0, 0]))
    assert len(online.accountant.charged) == charged


# Questions one at a time, step by step: what is written before what, which threshold goes, and what a model learns.

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


@in_one_test(("block", "side"), [(FIRST, 1), (LAST, -1)])
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


@in_one_test("surprises", [1, 2, 3])
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


@in_one_test(("block", "side"), [(FIRST, 1), (LAST, -1)])
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


@in_one_test("surprises", [1, 2, 7])
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


# Replay of questions: the same answers from the noisy ones alone, process by process.


def replay(online, surprises):
    return Replay(terms=online.terms, problem=online.problem, rule=online.rule, surprises=surprises)


def asked(online, *blocks):
    """Answers of one process, and how it found its session."""
    start = Start(
        sides=tuple(online.watches), epochs=online.epochs, surprises=online.surprises, measured=len(online.history)
    )
    answers = [online.ask(block) for block in blocks]
    return start, [(block, answer.free) for block, answer in zip(blocks, answers, strict=True)], answers


@in_one_test("paid", [1, 2, 4])
def test_the_answers_of_every_process_come_again(paid):
    online = session(surprises=paid)
    first = asked(online, KNOWN, FIRST, KNOWN)
    online.hypothesis = online.rule.update(online.problem, online.rule.start_rows, online.history)  # a new process
    second = asked(online, KNOWN, LAST, FIRST)
    queries = [block for _, rows, _ in (first, second) for block, free in rows if not free]
    surprises = [
        HardQueryAnswer(side=1 if block is FIRST else -1, query=block, measured=measured)
        for block, measured in zip(queries, online.history, strict=True)
    ]
    again = replay(online, surprises)
    for start, rows, answers in (first, second):
        assert list(again.answers(start, rows)) == answers


def test_a_paid_answer_without_a_noisy_one_is_refused():
    online = session()
    start, rows, _ = asked(online, FIRST)
    other = HardQueryAnswer(side=1, query=LAST, measured=online.history[0])
    for surprises in ([], [other]):
        with pytest.raises(GoalMissed, match="no noisy answer"):
            list(replay(online, surprises).answers(start, rows))
