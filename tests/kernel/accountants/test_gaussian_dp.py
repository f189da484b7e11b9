"""Gaussian DP: sums of mu^2, their curve, and the filter under an adversary whose runs are enumerated exactly."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit, ndtr
from support.cases import in_one_test

from dpqr.kernel.accountants.accountant import SumFilter
from dpqr.kernel.accountants.analytic import GaussianDP, largest_squared_mu, require_mu
from dpqr.kernel.accountants.losses import concentrated_rho, squared_mu
from dpqr.kernel.accountants.sums import ZeroConcentrated, largest_rho
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    MuSumEvent,
    PermuteAndFlipEvent,
    PureSumEvent,
    RhoSumEvent,
    RoundedGaussianEvent,
)

DELTA = Fraction(1, 10**6)


def rounded(variance, squared=1):
    return RoundedGaussianEvent(squared_sensitivity=squared, variance=Fraction(variance))


@in_one_test("delta", ["1e-9", "1e-5"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
def test_the_same_noise_costs_less_than_by_zcdp(epsilon, delta):
    """Figures of the guide: 4 to 10% of a standard deviation."""
    budget = PrivacyBudget.parse(epsilon, delta)
    ratio = float(2 * largest_rho(budget) / largest_squared_mu(budget)) ** 0.5
    assert 0.9 < ratio < 0.965
    draws = ((rounded(100), 3), (rounded(50, 2), 1))
    assert GaussianDP().epsilon(draws, budget.delta) < ZeroConcentrated().epsilon(draws, budget.delta)


def test_every_kind_of_draw_has_its_price_or_none():
    pure = squared_mu(PureSumEvent(epsilon=Fraction(1)))
    assert squared_mu(DiscreteLaplaceEvent(sensitivity=2, scale=Fraction(2))) == pure
    assert squared_mu(PermuteAndFlipEvent(epsilon=Fraction(1))) == pure
    assert squared_mu(ExponentialEvent(epsilon=Fraction(2))) == pure
    assert squared_mu(rounded(4, 3)) == Fraction(3, 4)
    assert squared_mu(MuSumEvent(squared_mu=Fraction(1, 7))) == Fraction(1, 7)
    for none in (DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(4)), RhoSumEvent(rho=Fraction(1))):
        assert squared_mu(none) is None
        assert GaussianDP().epsilon(((none, 1), (rounded(4), 1)), DELTA) is None
        with pytest.raises(BudgetRefused, match="gdp"):
            require_mu(none)
    with pytest.raises(BudgetRefused, match="no price"):
        squared_mu(object())


def test_a_sum_in_mu_costs_half_of_it_in_rho():
    assert concentrated_rho(MuSumEvent(squared_mu=Fraction(1, 2))) == Fraction(1, 4)
    assert concentrated_rho(rounded(2)) == squared_mu(rounded(2)) / 2


@in_one_test("epsilon", ["1e-6", "0.1", "1", "100"])
def test_whatever_is_bought_with_mu_costs_at_most_mu(epsilon):
    price = Price(squared_mu=largest_squared_mu(PrivacyBudget.parse(epsilon, "1e-9")) / 7)
    assert squared_mu(ExponentialEvent(epsilon=price.bounded_range)) <= price.figure
    assert squared_mu(PermuteAndFlipEvent(epsilon=price.pure)) <= price.figure
    assert squared_mu(rounded(1 / (2 * price.concentrated))) == price.figure
    assert price.event == MuSumEvent(squared_mu=price.figure)
    assert price.part(float(price.bounded_range)) == pytest.approx(1, rel=1e-4)


WHOLE = Fraction(1)
"""mu^2 of the filter in the enumeration."""


class Enumerated:
    """All paths of an adversary of four turns: ahead he counts, behind he chooses, each at a third of what is refused.

    An outcome's two probabilities are those on a table with the record and without it. Counts: the rounded law, cell by
    cell. Choices: two candidates whose log-odds move by epsilon.
    """

    def __init__(self, cost):
        self.cost = cost

    def paths(self, guard=(), turn=0, here=0.0, there=0.0) -> Iterator[tuple[float, float]]:
        event = self.asked(guard, here >= there)
        if turn == 4 or event is None:
            yield here, there
            return
        for one, other in self.outcomes(event):
            yield from self.paths((*guard, event), turn + 1, here + one, there + other)

    def asked(self, charged, ahead):
        """The dearest of a few draws that the filter admits after those that it has charged."""
        for part in (Fraction(1, 2), Fraction(1, 5), Fraction(1, 20)):
            guard = SumFilter(limit=WHOLE, cost=self.cost, unit="mu^2")
            price = Price(squared_mu=part)
            event = rounded(1 / price.figure) if ahead else ExponentialEvent(epsilon=price.bounded_range)
            try:
                for one in (*charged, event):
                    guard.charge(one)
            except BudgetRefused:
                continue
            return event
        return None

    @staticmethod
    def outcomes(event):
        if isinstance(event, ExponentialEvent):
            chance = np.log(expit(np.array([0.5, -0.5]) * float(event.epsilon)))
            return list(zip(chance, chance[::-1], strict=True))
        deviation = float(event.variance) ** 0.5
        ends = np.array([-np.inf, *(np.arange(-1, 3) + 0.5 + 0.5 * deviation * np.arange(-1, 3)), np.inf])
        one, two = (np.diff(ndtr((ends - moved) / deviation)) for moved in (1.0, 0.0))
        return list(zip(np.log(one), np.log(two), strict=True))


def excess(cost):
    """The largest delta of the enumerated runs above that of the claimed mu, over epsilons from -2 to 4."""
    here, there = np.array(list(Enumerated(cost).paths())).T
    levels = np.linspace(-2, 4, 61)
    spent = np.array([np.maximum(np.exp(here) - np.exp(level + there), 0).sum() for level in levels])
    mu = float(WHOLE) ** 0.5
    curve = ndtr(mu / 2 - levels / mu) - np.exp(levels) * ndtr(-mu / 2 - levels / mu)
    return float((spent - curve).max())


def test_no_adaptive_run_loses_more_than_the_filter_allows():
    assert excess(require_mu) <= 1e-12


@in_one_test(
    "wrong",
    [
        lambda event: Fraction(0) if isinstance(event, ExponentialEvent) else require_mu(event),
        concentrated_rho,
        lambda event: require_mu(event) ** 2,
    ],
)
def test_a_wrong_filter_is_found_out(wrong):
    assert excess(wrong) > 0.01
