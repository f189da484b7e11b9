"""Penalties on their grid, and what they balance."""

from fractions import Fraction

import pytest
from support.prediction_tables import UNITS

from dpqr.kernel.unit import Neighbours
from dpqr.prediction.learners.examples import LossScale
from dpqr.prediction.learners.losses import Pinball
from dpqr.prediction.risk_bounds import NORM_GUESSES, balanced_penalty, on_grid, theory_exponent


def test_two_digits_within_the_bounds():
    assert [on_grid(value) for value in (0.012345, 1e-12, 1e6)] == [Fraction(12, 1000), Fraction(1, 10**9), 100]


def test_no_other_penalty_has_less_of_what_is_balanced():
    """Lipschitz losses: lambda R^2 + spread C_L / (2 lambda m0) for a record that comes; R is the public guess."""
    scale, loss = LossScale(unit=UNITS[Neighbours.ADD_REMOVE], records=1000), Pinball(tau=Fraction(4, 5))
    found = balanced_penalty(NORM_GUESSES["quantile"], loss, scale, 3.0)

    def cost(penalty):
        return penalty * NORM_GUESSES["quantile"] ** 2 + 3.0 * float(loss.lipschitz) / (2 * penalty * 1000)

    assert cost(found) == pytest.approx(min(cost(found * factor) for factor in (0.5, 0.9, 1, 1.1, 2)))


def test_exponents_of_the_theory():
    assert theory_exponent("least-squares", Fraction(1, 4)) == pytest.approx(4 / 7)
    assert theory_exponent("svm", Fraction(1, 2)) == 0.5
