"""What a price buys of permute-and-flip, and that the shortfall F(gamma) holds exactly."""

import math
from fractions import Fraction

import pytest
from audits.choices import permute_and_flip_law
from support.fakes import Says

from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.privacy.budget import Price
from dpqr.privacy.events import PermuteAndFlipEvent
from dpqr.strategies.candidates import BlockCandidates
from dpqr.strategies.distinguishers.permute_and_flip import PermuteAndFlip
from dpqr.strategies.known import DISTINGUISHERS
from dpqr.workload.block import Factor, QueryBlock

REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
PURE = Price(epsilon=Fraction(2, 5))
RHO = Price(rho=Fraction(1, 50))


def test_it_is_known_by_its_name() -> None:
    assert DISTINGUISHERS.builtins[PermuteAndFlip().name].endswith(":PermuteAndFlip")


@pytest.mark.parametrize("price", [PURE, RHO])
def test_a_price_buys_what_its_law_may_claim(price) -> None:
    marginal = QueryBlock(name="m", factors=(Factor.identity(0, 2),))
    scores = BlockCandidates(blocks=(marginal,), unit=REPLACE).scores(Says({"m": 0}))
    mechanism = PermuteAndFlip().mechanism(scores, REPLACE, price)
    assert mechanism.event == PermuteAndFlip().event(price) == PermuteAndFlipEvent(epsilon=price.pure)
    assert mechanism.rate == price.pure / 4  # a marginal's score moves by 2 under replace
    assert mechanism.unit is REPLACE


def test_rho_buys_epsilon_squared_over_two() -> None:
    epsilon = PermuteAndFlip().event(RHO).epsilon
    assert epsilon**2 <= 2 * Fraction(1, 50) <= (epsilon + Fraction(1, 10**9)) ** 2


@pytest.mark.parametrize("gamma", [Fraction(1, 5), Fraction(1, 10), Fraction(1, 10**4)])
@pytest.mark.parametrize("others", [1, 3, 5])
def test_no_candidate_beyond_the_shortfall_is_likelier_than_gamma(others, gamma) -> None:
    """All but one candidate are as far below the best as F allows not to be: exactly then the bound is hardest."""
    sensitivity = 3
    shortfall = PermuteAndFlip().shortfall(others + 1, sensitivity, PURE, gamma)
    scores = [0] * others + [math.floor(shortfall) + 1]
    missed = sum(permute_and_flip_law(scores, PURE.pure / (2 * sensitivity))[:others])
    assert missed <= float(gamma)
    nearer = permute_and_flip_law([0] * others + [math.floor(shortfall / 3)], PURE.pure / (2 * sensitivity))
    assert sum(nearer[:others]) > float(gamma)  # the control: the bound says something


def test_the_shortfall_is_the_sources_and_rounded_up() -> None:
    epsilon = Fraction(1, 7)
    found = PermuteAndFlip().shortfall(200, 1, Price(epsilon=epsilon), Fraction(1, 1000))
    exact = 14 * math.log(200_000)
    assert exact < found < exact * (1 + 1e-11)
    assert PermuteAndFlip().shortfall(200, 0, Price(epsilon=epsilon), Fraction(1, 1000)) == found
    tiny = PermuteAndFlip().shortfall(10**6, 1, Price(epsilon=epsilon), Fraction(1, 10**400))
    assert tiny == pytest.approx(14 * 406 * math.log(10))


def test_a_price_in_rho_falls_short_by_what_its_own_epsilon_does() -> None:
    """sqrt(2 rho) = 1/5, half of what the exponential mechanism would get for it."""
    found = PermuteAndFlip().shortfall(200, 3, RHO, Fraction(1, 1000))
    assert found == pytest.approx(2 * 3 * 5 * math.log(200_000), rel=1e-9)
