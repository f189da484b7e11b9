"""Questions one at a time: what is free, what is paid, what an interval says, and where a session ends."""

from fractions import Fraction

import numpy as np
import pytest

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.accountant import EveryFilter
from dpqr.kernel.accountants.analytic import GaussianDP
from dpqr.kernel.accountants.losses import pure_epsilon, squared_mu
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.events import AboveThresholdEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.models.hypothesis import DenseDistribution
from dpqr.models.rows import WeightedRows
from dpqr.releases.questions import Online, SessionTerms, table_of_parts
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


@pytest.mark.parametrize("rows", [1, 3])
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


@pytest.mark.parametrize(
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
