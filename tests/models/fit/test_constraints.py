"""Structural zeros and known totals, in fits and by themselves."""

from itertools import combinations

import numpy as np
import pytest
from support.small_universes import marginal, measured, problem

from dpqr.domain.domain import KnownTotal, PublicFacts, Region
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import replace
from dpqr.models.factored import FactoredDistribution
from dpqr.models.fit.maximum_entropy import possible
from dpqr.models.hypothesis import DenseDistribution
from dpqr.strategies.updates import multiplicative_weights
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights

SHAPE = (4, 3, 5)
BARRED = np.zeros((4, 3), dtype=bool)
BARRED[:2, 1:] = True
IMPOSSIBLE = Region(text="young and married", axes=(0, 1), cells=BARRED)
TOTALS = (
    KnownTotal(region=Region(text="west", axes=(2,), cells=np.arange(5) < 2), count=300),
    KnownTotal(region=Region(text="east", axes=(2,), cells=np.arange(5) >= 2), count=700),
)
FACTS = PublicFacts(impossible=(IMPOSSIBLE,), totals=TOTALS, least=1000, most=1000)
RULE = MultiplicativeWeights()


def facing(facts, **more):
    base = problem(SHAPE, [marginal(axes, SHAPE) for axes in combinations(range(3), 2)], **more)
    return replace(base, domain=replace(base.domain, facts=facts))


@pytest.fixture(params=["dense", "factored"])
def form(request, monkeypatch):
    if request.param == "factored":
        monkeypatch.setattr(multiplicative_weights, "MOST_LISTED", 1)
        return FactoredDistribution
    return DenseDistribution


def noisy(seed=0, deviation=30.0):
    rng = np.random.default_rng(seed)
    history = []
    for axes in combinations(range(3), 2):
        block = marginal(axes, SHAPE)
        history.append(measured([block], [rng.integers(-40, 150, block.rows)], deviation))
    return history


def test_every_hypothesis_obeys_from_the_start(form):
    asked = facing(FACTS)
    for state in (RULE.start(asked), RULE.update(asked, RULE.start(asked), noisy())):
        assert isinstance(state, form)
        assert state.total == 1000
        assert not state.marginal((0, 1))[BARRED].any()
        assert state.marginal((0, 1))[~BARRED].min() > 0
        region = state.marginal((2,))
        assert region[:2].sum() == pytest.approx(300, abs=1)
        assert region.sum() == pytest.approx(1000)
        assert not BARRED[tuple(state.rows(5000, 1)[:, :2].T)].any()


def test_without_facts_the_same_answers_fill_impossible_cells(form):
    free = facing(PublicFacts())
    assert RULE.update(free, RULE.start(free), noisy()).marginal((0, 1))[BARRED].sum() > 50


def test_an_answer_against_the_facts_loses(form):
    """A fact that is false of the table still constrains the fit: the fit stays a distribution, and quick."""
    asked = facing(PublicFacts(impossible=(IMPOSSIBLE,)))
    block = marginal((0, 1), SHAPE)
    state = RULE.update(asked, RULE.start(asked), [measured([block], [np.where(BARRED, 10**6, 10).reshape(-1)], 1.0)])
    assert not state.marginal((0, 1))[BARRED].any()
    assert np.isfinite(state.marginal((0, 1))).all()


def test_totals_alone_bound_the_noisy_number_of_records():
    asked = facing(PublicFacts(totals=TOTALS[:1], least=300))
    few = [measured([marginal((2,), SHAPE)], [[1, 2, 3, 4, 5]], 5.0)]
    assert RULE.update(asked, RULE.start(asked), few).total == 300
    public = facing(PublicFacts(least=10), n=50, neighbours=Neighbours.REPLACE)
    assert RULE.start(public).total == 50


def test_rules_that_step_do_not_bind():
    asked = facing(FACTS)
    assert RULE.applies_constraints(asked)
    stepping = MultiplicativeWeights(replay=False)
    assert not stepping.applies_constraints(asked)
    assert np.ptp(stepping.start(asked).probabilities) == 0


def test_the_room_for_facts_is_taken_before_any_measurement(monkeypatch):
    monkeypatch.setattr("dpqr.models.junction_tree.SMALL", 1)
    rule = MultiplicativeWeights(model_size=8 * 25)
    pair = [marginal((1, 2), SHAPE)]
    assert rule.fits(facing(PublicFacts()), (), pair)
    assert not rule.fits(facing(PublicFacts(impossible=(IMPOSSIBLE,))), (), pair)


def test_whether_a_cell_is_left():
    rest = Region(text="rest", axes=(0, 1), cells=~BARRED)
    assert possible(SHAPE, PublicFacts(impossible=(IMPOSSIBLE,)), 100)
    assert possible(SHAPE, PublicFacts(impossible=(IMPOSSIBLE, rest)), 100) is False
