from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpqr.audit.case import ORDERS, Claim, epsilon_bounds, rho_bounds
from dpqr.kernel.accountants.sums import zcdp_to_epsilon
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, ExponentialEvent

LAPLACE = DiscreteLaplaceEvent(sensitivity=2, scale=Fraction(4))
GAUSSIAN = DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(2))


def test_a_pure_claim_is_the_sum_of_the_epsilons():
    claim = Claim.pure(((LAPLACE, 3), (ExponentialEvent(epsilon=Fraction(1, 4)), 1)))
    assert claim == Claim(epsilon=Fraction(7, 4))
    with pytest.raises(BudgetRefused):
        Claim.pure(((GAUSSIAN, 1),))


def test_a_concentrated_claim_is_the_sum_of_the_rhos_and_its_conversion():
    delta = Fraction(1, 100)
    claim = Claim.concentrated(((GAUSSIAN, 2), (ExponentialEvent(epsilon=Fraction(2)), 1)), delta)
    assert claim == Claim(epsilon=zcdp_to_epsilon(Fraction(1), delta), delta=delta, rho=Fraction(1))


def test_epsilon_of_an_event():
    low, high = np.array([0.5, 0.5, 0.1, 0.01]), np.array([0.25, 0.75, 0.02, 0.001])
    assert epsilon_bounds(low, high, 0.0)[:2] == pytest.approx([np.log(2), 0.0])
    assert epsilon_bounds(low, high, 0.02)[2:] == pytest.approx([np.log(4), 0.0])


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.2), (0.9, 0.3), (0.01, 0.0001), (1.0, 0.4)])
def test_rho_of_an_event_is_the_largest_renyi_divergence_by_its_order(p, q):
    with mpmath.workdps(30):
        wanted = max(
            mpmath.log(mpmath.mpf(p) ** a * q ** (1 - a) + mpmath.mpf(1 - p) ** a * mpmath.mpf(1 - q) ** (1 - a))
            / (a * (a - 1))
            for a in map(mpmath.mpf, ORDERS.tolist())
        )
    assert rho_bounds(np.array([p]), np.array([q]))[0] == pytest.approx(float(wanted), rel=1e-9)


def test_rho_of_an_event_that_is_likelier_on_the_neighbour_is_nothing():
    assert rho_bounds(np.array([0.2, 0.2]), np.array([0.2, 0.9])).tolist() == [0.0, 0.0]


def test_no_event_of_a_randomised_response_breaks_its_claim_and_its_own_attains_it():
    epsilon = Fraction(3, 2)
    truth = 1 / (1 + np.exp(-float(epsilon)))
    shares = Claim(epsilon=epsilon).shares(np.array([truth, 1 - truth]), np.array([1 - truth, truth]))
    assert shares == pytest.approx([1.0, 0.0])
    priced = Claim(epsilon=Fraction(100), delta=Fraction(1, 2), rho=epsilon**2 / 2)
    assert 0.8 < priced.shares(np.array([truth]), np.array([1 - truth]))[0] <= 1.0


def test_a_plan_claims_its_budget_and_in_rho_what_its_events_add_up_to():
    events = ((ExponentialEvent(epsilon=Fraction(2)), 2),)
    assert Claim.planned(PrivacyBudget(Fraction(5)), events) == Claim(epsilon=Fraction(5))
    assert Claim.planned(PrivacyBudget(Fraction(5), Fraction(1, 100)), events).rho == 1
