"""Comparisons with a noisy threshold over the cross product of units, sides, prices and coefficients: each has the
threshold, the noise and the step that its epoch states, and none is made with a threshold that was passed."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.accountant import SumFilter
from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon, squared_mu
from dpqr.kernel.budget import Price
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.kernel.noise.discrete_laplace import Geometric
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
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

UNITS = [
    PrivacyUnit(neighbours=relation, column=column, rows=rows)
    for relation, (column, rows) in product(Neighbours, ((None, 1), ("who", 1), ("who", 3)))
]
PRICES = [Price(epsilon=Fraction(1, 3)), Price(rho=Fraction(1, 300)), Price(squared_mu=Fraction(1, 300))]
COSTS = {"epsilon": pure_epsilon, "rho": concentrated_rho, "squared_mu": squared_mu}
TABLE = np.array([400, 100])
WEIGHTS = [(1, 0), (1, 1), (0, 3), (5, 2)]
NAMES = [f"{unit.neighbours.value}-{unit.column}-{unit.rows}" for unit in UNITS]


def query(*coefficients):
    matrix = Dense(np.array([coefficients]))
    return QueryBlock(name="weighted", factors=(Factor(axes=(0,), sizes=(2,), matrix=matrix),))


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
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


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
def test_a_threshold_and_every_comparison_have_the_noise_of_their_own_scales(unit):
    """Recomputed from an equal source: near the threshold the outcome turns with every part of it."""
    for price, side, weights in product(PRICES, (1, -1), WEIGHTS):
        epoch = AboveThreshold.at(price, unit, side)
        accountant = SumFilter(limit=price.figure, cost=COSTS[price.currency], unit="a price")
        watch = open_threshold(epoch, accountant, SeededNoise(3))
        assert watch.threshold == Geometric(epoch.threshold_scale).sample(1, SeededNoise(3))[0]
        truth, step, margin = int(TABLE @ np.array(weights)), max(weights), 7
        seen = set()
        for seed in range(4):
            drawn = int(Geometric(epoch.answer_scale).sample(1, SeededNoise(seed))[0])
            edge = step * (margin + watch.threshold - drawn)
            for beyond in (-1, 0, 1):
                expected = truth - side * (edge + beyond)
                asked = Question(block=query(*weights), expected=expected, margin=margin)
                assert asked.step(unit) == step
                compared = ThresholdComparison(question=asked, epoch=epoch, threshold=watch.threshold)
                found = compared.sample(DenseHistogram(TABLE), SeededNoise(seed))
                assert found == (beyond >= 0)
                seen.add(found)
        assert seen == {True, False}


def test_a_pass_ends_the_epoch_whatever_is_asked_next():
    table, epoch = Private(DenseHistogram(TABLE)), AboveThreshold.at(Price(epsilon=Fraction(60)), UNITS[0], 1)
    watch = OpenThreshold(epoch=epoch, threshold=0, charge_number=4)
    near, far = (Question(block=query(1, 1), expected=expected, margin=20) for expected in (500, 100))
    assert [is_above_threshold(table, watch, each, SeededNoise(1)) for each in (near, near, far)] == [
        False,
        False,
        True,
    ]
    assert watch.ended
    for each in (near, far):
        with pytest.raises(BudgetRefused):
            is_above_threshold(table, watch, each, SeededNoise(1))


@pytest.mark.parametrize("weights", [(-1, 5), (5, -1), (-1, -1)])
def test_no_negative_coefficient_is_asked_beside_whatever_others(weights):
    """Of one factor, or of one of several: a record could then move the answer against the epoch's direction."""
    other = Factor(axes=(1,), sizes=(2,), matrix=Dense(np.array([[1, 1]])))
    for factors in (query(*weights).factors, (*query(*weights).factors, other), (other, *query(*weights).factors)):
        with pytest.raises(UsageFault, match="negative coefficient"):
            Question(block=QueryBlock(name="q", factors=factors), expected=0, margin=1)
