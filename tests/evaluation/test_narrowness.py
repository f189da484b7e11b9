"""The bets on narrower noise: fair under the stated law, and soon rich where noise is narrower."""

import numpy as np
import pytest

from dpqr.evaluation.law import IntegerGaussian, Selection, TwoSidedGeometric
from dpqr.evaluation.narrowness import WIDTHS, narrower

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
