"""Prices of epochs, what questions are refused, and that a threshold serves until it is passed. The law and its loss:
tests/audit/cases/test_filters.py."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.accountant import SumFilter, require_pure
from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon, squared_mu
from dpqr.kernel.budget import Price
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan, UsageFault
from dpqr.kernel.noise.discrete_laplace import Geometric
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.sparse_vector import AboveThreshold, OpenThreshold, Question, is_above_threshold, open_threshold
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

ROWS, REPLACE = PrivacyUnit(), PrivacyUnit(neighbours=Neighbours.REPLACE)
PERSONS = PrivacyUnit(column="person", rows=3)
PRICES = [Price(epsilon=Fraction(1, 3)), Price(rho=Fraction(1, 300)), Price(squared_mu=Fraction(1, 300))]
TABLE = Private(DenseHistogram(np.array([400, 100])))
COUNT = QueryBlock(name="records")


def weighted(*coefficients):
    matrix = Dense(np.array([coefficients]))
    return QueryBlock(name="weighted", factors=(Factor(axes=(0,), sizes=(2,), matrix=matrix),))


@pytest.mark.parametrize("unit", [ROWS, REPLACE, PERSONS])
@pytest.mark.parametrize("price", PRICES)
def test_an_epoch_costs_what_it_was_bought_for(unit, price):
    event = AboveThreshold.at(price, unit, 1).event
    cost = {"epsilon": pure_epsilon, "rho": concentrated_rho, "squared_mu": squared_mu}[price.currency](event)
    assert cost <= price.figure
    assert cost == pytest.approx(price.figure, rel=1e-6)
    assert event.sensitivity == unit.rows


@pytest.mark.parametrize("price", PRICES[1:])
def test_one_direction_halves_the_noise_under_rho_and_mu(price):
    one, two = (AboveThreshold.at(price, unit, 1) for unit in (ROWS, REPLACE))
    assert two.threshold_scale == pytest.approx(2 * one.threshold_scale, rel=1e-6)
    assert two.answer_scale == pytest.approx(2 * one.answer_scale, rel=1e-6)


def opened(side=1):
    epoch = AboveThreshold.at(Price(epsilon=Fraction(60)), ROWS, side)
    return open_threshold(epoch, SumFilter(limit=Fraction(60), cost=require_pure, unit="epsilon"), SeededNoise(1))


@pytest.mark.parametrize(("side", "near", "far"), [(1, 450, 350), (-1, 550, 650)])
def test_a_side_looks_one_way_and_a_pass_ends_the_epoch(side, near, far):
    """At epsilon 60 there is no noise but with probability below 1e-12: rates of 30 a record."""
    watch = opened(side)
    wrong_way = 10_000 if side > 0 else 0
    for expected in (near, wrong_way, near):
        assert not is_above_threshold(
            TABLE, watch, Question(block=COUNT, expected=expected, margin=100), SeededNoise(2)
        )
    assert is_above_threshold(TABLE, watch, Question(block=COUNT, expected=far, margin=100), SeededNoise(2))
    assert watch.ended
    with pytest.raises(BudgetRefused, match="paid anew"):
        is_above_threshold(TABLE, watch, Question(block=COUNT, expected=near, margin=100), SeededNoise(2))


def test_a_query_of_larger_coefficients_is_compared_in_its_own_units():
    """3 x 400 + 100 = 1,300: 240 above 1,060 are 80 times the largest coefficient."""
    for margin, found in ((79, True), (81, False)):
        asked = Question(block=weighted(3, 1), expected=1_060, margin=margin)
        assert asked.step(ROWS) == 3
        assert is_above_threshold(TABLE, opened(), asked, SeededNoise(2)) is found


def test_the_noise_of_a_query_is_in_its_own_units_too(monkeypatch):
    """Both draws are 5: 0 + 3 x 5 reaches 3 x (0 + 5), and not 3 x (1 + 5)."""
    monkeypatch.setattr(Geometric, "sample", lambda law, count, noise: np.full(count, 5))
    asked = Question(block=weighted(3, 1), expected=1_300, margin=0)
    assert is_above_threshold(TABLE, opened(), asked, SeededNoise(2))
    assert not is_above_threshold(TABLE, opened(), replace(asked, margin=1), SeededNoise(2))


def test_the_filter_pays_before_a_threshold_is_drawn():
    class NoNoise:
        private = True

        def words(self, count):
            raise AssertionError("drawn")

    epoch = AboveThreshold.at(Price(epsilon=Fraction(1)), ROWS, 1)
    with pytest.raises(BudgetRefused):
        open_threshold(epoch, SumFilter(limit=Fraction(1, 2), cost=require_pure, unit="epsilon"), NoNoise())


def test_other_comparisons_are_refused():
    watch = opened()
    other = replace(watch.epoch, answer_scale=Fraction(1))
    with pytest.raises(BudgetRefused):
        watch.charge(other.event)
    assert "threshold=" not in repr(OpenThreshold(epoch=other, threshold=7, charge_number=0))


def test_questions_that_are_refused():
    with pytest.raises(UsageFault, match="one by one"):
        Question(block=QueryBlock(name="m", factors=(Factor.identity(0, 2),)), expected=0, margin=1)
    with pytest.raises(UsageFault, match="negative"):
        Question(block=weighted(1, -1), expected=0, margin=1)
    with pytest.raises(InfeasiblePlan, match="2\\^62"):
        Question(block=weighted(2**40, 0), expected=0, margin=1)
    with pytest.raises(InfeasiblePlan, match="margin"):
        Question(block=COUNT, expected=0, margin=-1)
