"""Distinguishers: what a price buys, and that the shortfall F(gamma) holds exactly."""

import math
from fractions import Fraction

import pytest
from audits.choices import exponential_law, permute_and_flip_law
from support.cases import in_one_test
from support.fakes import Says

from dpqr.kernel.budget import Price
from dpqr.kernel.events import ExponentialEvent, PermuteAndFlipEvent
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.candidates import BlockCandidates
from dpqr.strategies.distinguishers import DistinguisherByCurrency, Exponential, PermuteAndFlip
from dpqr.strategies.known import DISTINGUISHERS
from dpqr.workload.block import Factor, QueryBlock

REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
PURE = Price(epsilon=Fraction(2, 5))
RHO = Price(rho=Fraction(1, 50))
every_distinguisher = pytest.mark.parametrize(
    "distinguisher", [Exponential(), PermuteAndFlip()], ids=["exponential", "permute-and-flip"]
)


@every_distinguisher
def test_it_is_known_by_its_name(distinguisher) -> None:
    assert DISTINGUISHERS.builtins[distinguisher.name].target.endswith(f":{type(distinguisher).__name__}")


def _marginal_scores():
    """They move by 2 under replace."""
    marginal = QueryBlock(name="m", factors=(Factor.identity(0, 2),))
    return BlockCandidates(blocks=(marginal,), unit=REPLACE).scores(Says({"m": 0}))


@in_one_test("price", [PURE, RHO])
def test_a_price_buys_what_the_exponential_law_may_claim(price) -> None:
    mechanism = Exponential().mechanism(_marginal_scores(), REPLACE, price)
    assert mechanism.event == Exponential().event(price) == ExponentialEvent(epsilon=price.bounded_range)
    assert mechanism.rate == price.bounded_range / 4
    assert mechanism.unit is REPLACE


@in_one_test("price", [PURE, RHO])
def test_a_price_buys_what_the_law_of_permute_and_flip_may_claim(price) -> None:
    mechanism = PermuteAndFlip().mechanism(_marginal_scores(), REPLACE, price)
    assert mechanism.event == PermuteAndFlip().event(price) == PermuteAndFlipEvent(epsilon=price.pure)
    assert mechanism.rate == price.pure / 4
    assert mechanism.unit is REPLACE


@in_one_test(("distinguisher", "factor"), [(Exponential(), 8), (PermuteAndFlip(), 2)])
def test_rho_buys_epsilon_squared_over_a_factor(distinguisher, factor) -> None:
    epsilon = distinguisher.event(RHO).epsilon
    assert epsilon**2 <= factor * Fraction(1, 50) <= (epsilon + Fraction(1, 10**9)) ** 2


@in_one_test("gamma", [Fraction(1, 5), Fraction(1, 10), Fraction(1, 10**4)])
@pytest.mark.parametrize("others", [1, 3, 5])
@pytest.mark.parametrize(
    ("distinguisher", "law"),
    [(Exponential(), exponential_law), (PermuteAndFlip(), permute_and_flip_law)],
    ids=["exponential", "permute-and-flip"],
)
def test_no_candidate_beyond_the_shortfall_is_likelier_than_gamma(distinguisher, law, others, gamma) -> None:
    """All but one candidate are as far below the best as F allows not to be: exactly then the bound is hardest."""
    sensitivity = 3
    shortfall = distinguisher.shortfall(others + 1, sensitivity, PURE, gamma)
    scores = [0] * others + [math.floor(shortfall) + 1]
    missed = sum(law(scores, PURE.pure / (2 * sensitivity))[:others])
    assert missed <= float(gamma)
    nearer = law([0] * others + [math.floor(shortfall / 3)], PURE.pure / (2 * sensitivity))
    assert sum(nearer[:others]) > float(gamma)  # the control: the bound says something


@every_distinguisher
def test_the_shortfall_is_the_sources_and_rounded_up(distinguisher) -> None:
    epsilon = Fraction(1, 7)
    found = distinguisher.shortfall(200, 1, Price(epsilon=epsilon), Fraction(1, 1000))
    exact = 14 * math.log(200_000)
    assert exact < found < exact * (1 + 1e-11)
    assert distinguisher.shortfall(200, 0, Price(epsilon=epsilon), Fraction(1, 1000)) == found
    tiny = distinguisher.shortfall(10**6, 1, Price(epsilon=epsilon), Fraction(1, 10**400))
    assert tiny == pytest.approx(14 * 406 * math.log(10))


def test_a_price_in_rho_falls_short_by_what_its_own_epsilon_does() -> None:
    """sqrt(2 rho) = 1/5, half of what the exponential mechanism would get for it."""
    found = PermuteAndFlip().shortfall(200, 3, RHO, Fraction(1, 1000))
    assert found == pytest.approx(2 * 3 * 5 * math.log(200_000), rel=1e-9)


@in_one_test(
    ("price", "own"),
    [
        (Price(epsilon=Fraction(1, 4)), PermuteAndFlip()),
        (Price(rho=Fraction(1, 9)), Exponential()),
        (Price(squared_mu=Fraction(1, 9)), Exponential()),
    ],
)
def test_the_currency_of_a_price_names_the_selection(price, own):
    choice = DistinguisherByCurrency()
    assert choice.event(price) == own.event(price)
    assert choice.shortfall(5, 1, price, Fraction(1, 20)) == own.shortfall(5, 1, price, Fraction(1, 20))
    assert choice.name == "permute-and-flip or exponential"
