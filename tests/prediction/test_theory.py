from fractions import Fraction

import pytest
from support.prediction_tables import domain

from dpqr.prediction.features import CellFeatures
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.theory import theory


def rates(name, smoothness):
    return theory(StableRecipe(name=name, features=CellFeatures(domain=domain(2)), smoothness=smoothness), 10**6)


@pytest.mark.parametrize(
    ("name", "smoothness", "penalty", "risk", "epsilon"),
    [
        # Nie and Wang 2017, JAMP: r = 1/2 is where both minima turn over
        ("least-squares", "1/2", 1 / 2, 1 / 2, 1 / 3),
        ("least-squares", "1/4", 4 / 7, 2 / 7, 2 / 9),
        ("least-squares", "3", 1 / 2, 1 / 2, 1 / 3),
        # J. Inequal. Appl., Theorem 4
        ("quantile", "1/2", 1 / 2, 1 / 4, 1 / 4),
        ("logistic", "1/2", 1 / 2, 1 / 8, 1 / 4),
        ("svm", "3/4", 2 / 5, 3 / 20, 3 / 10),
    ],
)
def test_the_sources_exponents(name, smoothness, penalty, risk, epsilon):
    found = rates(name, Fraction(smoothness))
    assert (found.penalty, found.risk, found.epsilon) == pytest.approx((penalty, risk, epsilon))
    assert found.power(found.penalty) == pytest.approx(10 ** (-6 * penalty))
    assert not found.assumed


def test_a_smoothness_that_nobody_states_is_assumed():
    assert rates("svm", None).assumed
    assert rates("svm", None).smoothness == Fraction(1, 2)
