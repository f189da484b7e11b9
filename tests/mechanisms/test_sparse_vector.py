"""Prices of epochs, what questions are refused, and that a threshold serves until it is passed. The law and its loss:
tests/audit/cases/test_filters.py."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.cases import in_one_test, thinned

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.accountant import SumFilter, require_pure
from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon, squared_mu
from dpqr.kernel.budget import Price
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan, UsageFault
from dpqr.kernel.noise.discrete_laplace import Geometric
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.sparse_vector import (
    AboveThreshold,
    OpenThreshold,
    Question,
    ThresholdComparison,
    is_above_threshold,
    open_threshold,
)
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

ROWS, REPLACE = PrivacyUnit(), PrivacyUnit(neighbours=Neighbours.REPLACE)
PRICES = [Price(epsilon=Fraction(1, 3)), Price(rho=Fraction(1, 300)), Price(squared_mu=Fraction(1, 300))]
TABLE = Private(DenseHistogram(np.array([400, 100])))
COUNT = QueryBlock(name="records")


def weighted(*coefficients):
    matrix = Dense(np.array([coefficients]))
    return QueryBlock(name="weighted", factors=(Factor(axes=(0,), sizes=(2,), matrix=matrix),))


def opened(side=1):
    epoch = AboveThreshold.at(Price(epsilon=Fraction(60)), ROWS, side)
    return open_threshold(epoch, SumFilter(limit=Fraction(60), cost=require_pure, unit="epsilon"), SeededNoise(1))


@in_one_test(("side", "near", "far"), [(1, 450, 350), (-1, 550, 650)])
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
    with pytest.raises(InfeasiblePlan, match="2\\^62"):
        Question(block=weighted(2**40, 0), expected=0, margin=1)
    with pytest.raises(InfeasiblePlan, match="margin"):
        Question(block=COUNT, expected=0, margin=-1)


# Comparisons over the cross product of units, sides, prices and coefficients: each has the threshold, the noise and the
# step that its epoch states.


UNITS = [
    PrivacyUnit(neighbours=relation, columns=columns, rows=rows)
    for relation, (columns, rows) in product(Neighbours, (((), 1), (("who",), 1), (("who",), 3)))
]
COSTS = {"epsilon": pure_epsilon, "rho": concentrated_rho, "squared_mu": squared_mu}
COUNTS = np.array([400, 100])
WEIGHTS = [(1, 0), (1, 1), (0, 3), (5, 2)]
NAMES = [f"{unit.neighbours.value}-{'-'.join(unit.columns)}-{unit.rows}" for unit in UNITS]


@in_one_test("unit", UNITS)
def test_an_epoch_costs_its_price_and_no_neighbour_loses_more(unit):
    """By the law: Z and N are geometric, so a shift of K costs K over the scale. One direction loses a + b, in rho and
    mu^2 a range of a + 2 b; two directions a + 2 b."""
    one_way = unit.neighbours is Neighbours.ADD_REMOVE
    for price in PRICES:
        epoch = AboveThreshold.at(price, unit, 1)
        a, b = (unit.rows / scale for scale in (epoch.threshold_scale, epoch.answer_scale))
        loss = a + b if one_way else a + 2 * b
        assert pure_epsilon(epoch.event) == loss
        if price.epsilon is not None:
            assert loss == price.epsilon
        cost = COSTS[price.currency](epoch.event)
        assert Fraction(999, 1000) * price.figure <= cost <= price.figure
        if price.rho is not None:
            assert cost >= ((a + 2 * b) ** 2 / 8 if one_way else loss**2 / 2) * Fraction(999, 1000)
        assert (epoch.event.sensitivity, epoch.event.directions) == (unit.rows, 1 if one_way else 2)


@pytest.mark.parametrize("unit", thinned(UNITS, 3), ids=NAMES)
def test_a_threshold_and_every_comparison_have_the_noise_of_their_own_scales(unit):
    """Recomputed from an equal source: near the threshold the outcome turns with every part of it."""
    for price, side, weights in product(PRICES, (1, -1), WEIGHTS):
        epoch = AboveThreshold.at(price, unit, side)
        accountant = SumFilter(limit=price.figure, cost=COSTS[price.currency], unit="a price")
        watch = open_threshold(epoch, accountant, SeededNoise(3))
        assert watch.threshold == Geometric(epoch.threshold_scale).sample(1, SeededNoise(3))[0]
        truth, step, margin = int(COUNTS @ np.array(weights)), max(weights), 7
        seen = set()
        for seed in range(4):
            drawn = int(Geometric(epoch.answer_scale).sample(1, SeededNoise(seed))[0])
            edge = step * (margin + watch.threshold - drawn)
            for beyond in (-1, 0, 1):
                expected = truth - side * (edge + beyond)
                asked = Question(block=weighted(*weights), expected=expected, margin=margin)
                assert asked.step(unit) == step
                compared = ThresholdComparison(question=asked, epoch=epoch, threshold=watch.threshold)
                found = compared.sample(DenseHistogram(COUNTS), SeededNoise(seed))
                assert found == (beyond >= 0)
                seen.add(found)
        assert seen == {True, False}


@in_one_test("weights", [(-1, 5), (5, -1), (-1, -1)])
def test_no_negative_coefficient_is_asked_beside_whatever_others(weights):
    """Of one factor, or of one of several: a record could then move the answer against the epoch's direction."""
    other = Factor(axes=(1,), sizes=(2,), matrix=Dense(np.array([[1, 1]])))
    for factors in (
        weighted(*weights).factors,
        (*weighted(*weights).factors, other),
        (other, *weighted(*weights).factors),
    ):
        with pytest.raises(UsageFault, match="negative coefficient"):
            Question(block=QueryBlock(name="q", factors=factors), expected=0, margin=1)
