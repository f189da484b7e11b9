"""What a price buys of exponential, and that the shortfall F(gamma) holds exactly."""

import math
from fractions import Fraction

import pytest
from audits.choices import exponential_law
from support.fakes import Says

from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.privacy.budget import Price
from dpqr.privacy.events import ExponentialEvent
from dpqr.strategies.candidates import BlockCandidates
from dpqr.strategies.distinguishers.exponential import Exponential
from dpqr.strategies.known import DISTINGUISHERS
from dpqr.workload.block import Factor, QueryBlock

REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
PURE = Price(epsilon=Fraction(2, 5))
RHO = Price(rho=Fraction(1, 50))


def test_it_is_known_by_its_name() -> None:
    assert DISTINGUISHERS.builtins[Exponential().name].endswith(":Exponential")


@pytest.mark.parametrize("price", [PURE, RHO])
def test_a_price_buys_what_its_law_may_claim(price) -> None:
    marginal = QueryBlock(name="m", factors=(Factor.identity(0, 2),))
    scores = BlockCandidates(blocks=(marginal,), unit=REPLACE).scores(Says({"m": 0}))
    mechanism = Exponential().mechanism(scores, REPLACE, price)
    assert mechanism.event == Exponential().event(price) == ExponentialEvent(epsilon=price.bounded_range)
    assert mechanism.rate == price.bounded_range / 4  # a marginal's score moves by 2 under replace
    assert mechanism.unit is REPLACE


def test_rho_buys_epsilon_squared_over_eight() -> None:
    epsilon = Exponential().event(RHO).epsilon
    assert epsilon**2 <= 8 * Fraction(1, 50) <= (epsilon + Fraction(1, 10**9)) ** 2


@pytest.mark.parametrize("gamma", [Fraction(1, 5), Fraction(1, 10), Fraction(1, 10**4)])
@pytest.mark.parametrize("others", [1, 3, 5])
def test_no_candidate_beyond_the_shortfall_is_likelier_than_gamma(others, gamma) -> None:
    """All but one candidate are as far below the best as F allows not to be: exactly then the bound is hardest."""
    sensitivity = 3
    shortfall = Exponential().shortfall(others + 1, sensitivity, PURE, gamma)
    scores = [0] * others + [math.floor(shortfall) + 1]
    missed = sum(exponential_law(scores, PURE.pure / (2 * sensitivity))[:others])
    assert missed <= float(gamma)
    nearer = exponential_law([0] * others + [math.floor(shortfall / 3)], PURE.pure / (2 * sensitivity))
    assert sum(nearer[:others]) > float(gamma)  # the control: the bound says something


def test_the_shortfall_is_the_sources_and_rounded_up() -> None:
    epsilon = Fraction(1, 7)
    found = Exponential().shortfall(200, 1, Price(epsilon=epsilon), Fraction(1, 1000))
    exact = 14 * math.log(200_000)
    assert exact < found < exact * (1 + 1e-11)
    assert Exponential().shortfall(200, 0, Price(epsilon=epsilon), Fraction(1, 1000)) == found
    tiny = Exponential().shortfall(10**6, 1, Price(epsilon=epsilon), Fraction(1, 10**400))
    assert tiny == pytest.approx(14 * 406 * math.log(10))
