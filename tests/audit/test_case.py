from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.audit.case import ORDERS, Claim, MechanismTrial, Outcomes, epsilon_bounds, records, rho_bounds
from dpqr.audit.cases.noisy_answers import block
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.sums import zcdp_to_epsilon
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, ExponentialEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.noisy_answers import GaussianAnswers, LaplaceAnswers


def test_rows_are_runs_halves_share_none_and_parts_are_joined_in_order():
    seen = Outcomes.of([((1,), (2, 3), ()), ((4,), (5, 6), ()), ((7,), (8, 9), ())])
    assert (len(seen), seen.measured.tolist(), seen.derived.shape) == (3, [[2, 3], [5, 6], [8, 9]], (3, 0))
    one, two = Outcomes.of([((), (index,), (-index,)) for index in range(5)]).halves()
    assert (one.measured[:, 0].tolist(), two.measured[:, 0].tolist()) == ([0, 1], [2, 3])
    joined = Outcomes.joined([one, two])
    assert (joined.measured[:, 0].tolist(), joined.derived[:, 0].tolist()) == ([0, 1, 2, 3], [0, -1, -2, -3])


TABLE = Private[DenseHistogram](records((4,), {(0,): 1000, (3,): 2000}))
LAPLACE = LaplaceAnswers(blocks=(block("marginal"),), unit=PrivacyUnit(), scale=Fraction(2))
GAUSSIAN = GaussianAnswers(blocks=(block("predicate"),), unit=PrivacyUnit(), variance=Fraction(4))


@dataclass
class Seven:
    event = ExponentialEvent(epsilon=Fraction(1, 3))

    def sample(self, value, noise):
        return 7


def test_every_draw_is_shown_in_order():
    context, measured, derived = MechanismTrial(mechanisms=(Seven(), LAPLACE, Seven())).run(TABLE, SeededNoise(1))
    assert (context, derived) == ((), ())
    assert measured[0] == measured[-1] == 7
    assert measured[1:-1] == pytest.approx([1000, 0, 0, 2000], abs=80)


def test_claims_are_derived_from_the_events():
    assert MechanismTrial(mechanisms=(Seven(), LAPLACE)).claim == Claim(epsilon=Fraction(5, 6))
    priced = MechanismTrial(mechanisms=(Seven(), GAUSSIAN), delta=Fraction(1, 100)).claim
    assert priced.rho == Fraction(1, 72) + Fraction(1, 8)


def test_the_guard_admits_the_draws_once():
    guard = MechanismTrial(mechanisms=(Seven(), LAPLACE)).guard()
    guard.charge(LAPLACE.event)
    guard.charge(Seven.event)
    with pytest.raises(BudgetRefused):
        guard.charge(Seven.event)


LAPLACE_EVENT = DiscreteLaplaceEvent(sensitivity=2, scale=Fraction(4))
GAUSSIAN_EVENT = DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(2))


def test_a_pure_claim_is_the_sum_of_the_epsilons():
    claim = Claim.pure(((LAPLACE_EVENT, 3), (ExponentialEvent(epsilon=Fraction(1, 4)), 1)))
    assert claim == Claim(epsilon=Fraction(7, 4))
    with pytest.raises(BudgetRefused):
        Claim.pure(((GAUSSIAN_EVENT, 1),))


def test_a_concentrated_claim_is_the_sum_of_the_rhos_and_its_conversion():
    delta = Fraction(1, 100)
    claim = Claim.concentrated(((GAUSSIAN_EVENT, 2), (ExponentialEvent(epsilon=Fraction(2)), 1)), delta)
    assert claim == Claim(epsilon=zcdp_to_epsilon(Fraction(1), delta), delta=delta, rho=Fraction(1))


def test_epsilon_of_an_event():
    low, high = np.array([0.5, 0.5, 0.1, 0.01]), np.array([0.25, 0.75, 0.02, 0.001])
    assert epsilon_bounds(low, high, 0.0)[:2] == pytest.approx([np.log(2), 0.0])
    assert epsilon_bounds(low, high, 0.02)[2:] == pytest.approx([np.log(4), 0.0])


@in_one_test(("p", "q"), [(0.5, 0.2), (0.9, 0.3), (0.01, 0.0001), (1.0, 0.4)])
def test_rho_of_an_event_is_the_largest_renyi_divergence_by_its_order(p, q):
    with mpmath.workdps(30):
        wanted = max(
            mpmath.log(mpmath.mpf(p) ** a * q ** (1 - a) + mpmath.mpf(1 - p) ** a * mpmath.mpf(1 - q) ** (1 - a))
            / (a * (a - 1))
            for a in map(mpmath.mpf, ORDERS.tolist())
        )
    assert rho_bounds(np.array([p]), np.array([q]))[0] == pytest.approx(float(wanted), rel=1e-9)
    assert rho_bounds(np.array([q, q]), np.array([q, p])).tolist() == [0.0, 0.0], "likelier on the neighbour"


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
