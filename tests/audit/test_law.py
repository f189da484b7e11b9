"""Laws against the samplers' own laws, worked out another way, and against enumeration.

The bets on narrower noise: fair under the stated law, and soon rich where noise is narrower.
"""

from fractions import Fraction
from itertools import permutations
from math import exp

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.audit.law import WIDTHS, Coin, Flips, IntegerGaussian, Selection, TwoSidedGeometric, narrower

EVERY = np.arange(-400, 401)


@in_one_test("width", [1.0, 0.5])
@pytest.mark.parametrize("law", [TwoSidedGeometric(answer=3, scale=2.5), IntegerGaussian(answer=-2, variance=6.0)])
def test_noise_adds_up_to_one_around_its_answer(law, width):
    chances = np.exp(law.log_probabilities(EVERY, width))
    assert chances.sum() == pytest.approx(1, rel=1e-12)  # what lies beyond weighs below 1e-60; 801 sums of doubles
    assert chances @ EVERY == pytest.approx(law.answer, abs=1e-10)
    low, high = law.support
    assert chances[(low > EVERY) | (high < EVERY)].sum() < 1e-25


def test_the_ratios_are_those_of_the_definition():
    laplace = np.exp(TwoSidedGeometric(answer=0, scale=2.0).log_probabilities(np.array([0, 1, -3])))
    assert laplace[1:] / laplace[0] == pytest.approx([exp(-1 / 2), exp(-3 / 2)], rel=1e-12)
    gaussian = np.exp(IntegerGaussian(answer=0, variance=2.0).log_probabilities(np.array([0, 1, -3])))
    assert gaussian[1:] / gaussian[0] == pytest.approx([exp(-1 / 4), exp(-9 / 4)], rel=1e-12)
    half = np.exp(TwoSidedGeometric(answer=0, scale=2.0).log_probabilities(np.array([0, 1]), 0.5))
    assert half[1] / half[0] == pytest.approx(exp(-1), rel=1e-12)


@in_one_test("scores", [[0.0, 1.0], [2.0, 0.0, 2.0, -1.0]])
def test_permute_and_flip_by_enumeration(scores):
    """Over every order: the first head, where each head comes with exp(rate (score - best))."""
    heads = [exp(0.7 * (score - max(scores))) for score in scores]
    expected = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        waiting = 1.0
        for place in order:
            expected[place] += waiting * heads[place] / len(orders)
            waiting *= 1 - heads[place]
    found = Flips(scores=np.array(scores), rate=0.7).log_probabilities(np.arange(len(scores)))
    assert np.exp(found) == pytest.approx(expected, rel=1e-12)


def test_a_selection_goes_by_the_exponential_of_its_scores():
    found = np.exp(Selection(scores=np.array([0.0, 2.0]), rate=0.5).log_probabilities(np.array([0, 1])))
    assert found[1] / found[0] == pytest.approx(exp(1), rel=1e-12)
    assert found.sum() == pytest.approx(1, rel=1e-12)


def test_a_coin_is_the_mean_share_of_noisy_votes():
    """Two parts and no vote: one vote or more, with q / (1 + q) (1 - q) q^0 ..., counts half; two or more the rest."""
    q = exp(-2.0)
    one = (1 - q) / (1 + q) * q
    more = q**2 / (1 + q)
    found = np.exp(Coin(votes=0, parts=2, scale=float(Fraction(1, 2))).log_probabilities(np.array([0, 1])))
    assert found[1] == pytest.approx(one / 2 + more, rel=1e-12)
    assert found.sum() == pytest.approx(1, rel=1e-12)


LAWS = {
    "laplace": TwoSidedGeometric(answer=4, scale=3.0),
    "gaussian": IntegerGaussian(answer=4, variance=9.0),
    "selection": Selection(scores=np.array([0.0, 0.0, 0.0, 2.0]), rate=1.0),
}
by_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())


def values(law):
    low, high = law.support
    return np.arange(low, high + 1)


@by_law
def test_every_bet_is_fair_under_the_stated_law(law):
    """Its mean gain is sum P(o) P_narrow(o) / P(o) = 1: so the capital passes 1 / alarm with probability alarm."""
    every = values(law)
    stated = law.log_probabilities(every)
    for width in WIDTHS:
        gains = law.log_probabilities(every, width) - stated
        assert np.exp(stated + gains).sum() == pytest.approx(1, rel=1e-9)


@by_law
@pytest.mark.parametrize(("width", "refuted"), [(1.0, False), (0.8, True)])
def test_two_thousand_quantiles_of_a_law(law, width, refuted):
    """No noise: as many of each value as its probability makes of them."""
    every = values(law)
    measured = np.repeat(every, np.rint(3_000 * np.exp(law.log_probabilities(every, width))).astype(int))[:, None]
    assert (narrower(measured, (law,), 1e-9) >= 1) is refuted


def test_the_capital_is_that_of_all_numbers_together():
    law = LAWS["laplace"]
    measured = np.full((50, 1), 4)
    twice = narrower(np.hstack([measured, measured]), (law, law), 1e-9)
    assert twice > 1.5 * narrower(measured, (law,), 1e-9)
