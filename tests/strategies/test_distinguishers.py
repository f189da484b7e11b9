"""Distinguishers: what a price buys, and that the shortfall F(gamma) holds exactly."""

import math
from fractions import Fraction

import pytest
from audits.choices import exponential_law, permute_and_flip_law
from fakes import Says

from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.privacy.events import ExponentialEvent, PermuteAndFlipEvent
from dpqr.privacy.price import Price
from dpqr.strategies.candidates import BlockCandidates
from dpqr.strategies.distinguishers.exponential import Exponential
from dpqr.strategies.distinguishers.permute_and_flip import PermuteAndFlip
from dpqr.strategies.known import DISTINGUISHERS
from dpqr.workload.block import Factor, QueryBlock

REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
BOTH = [Exponential(), PermuteAndFlip()]
every_distinguisher = pytest.mark.parametrize("distinguisher", BOTH, ids=[one.name for one in BOTH])
PURE = Price(epsilon=Fraction(2, 5))
RHO = Price(rho=Fraction(1, 50))


@every_distinguisher
def test_it_is_known_by_its_name(distinguisher) -> None:
    assert DISTINGUISHERS.builtins[distinguisher.name].endswith(f":{type(distinguisher).__name__}")


@pytest.mark.parametrize(
    ("distinguisher", "price", "event"),
    [
        (Exponential(), PURE, ExponentialEvent(epsilon=Fraction(2, 5))),
        (PermuteAndFlip(), PURE, PermuteAndFlipEvent(epsilon=Fraction(2, 5))),
        (Exponential(), RHO, ExponentialEvent(epsilon=RHO.bounded_range)),
        (PermuteAndFlip(), RHO, PermuteAndFlipEvent(epsilon=RHO.pure)),
    ],
)
def test_a_price_buys_what_its_law_may_claim(distinguisher, price, event) -> None:
    marginal = QueryBlock(name="m", factors=(Factor.identity(0, 2),))
    scores = BlockCandidates(blocks=(marginal,), unit=REPLACE).scores(Says({"m": 0}))
    mechanism = distinguisher.mechanism(scores, REPLACE, price)
    assert mechanism.event == distinguisher.event(price) == event
    assert mechanism.rate == event.epsilon / 4  # a marginal's score moves by 2 under replace
    assert mechanism.unit is REPLACE
    # rho buys sqrt(8 rho) for bounded range, sqrt(2 rho) otherwise, and never more
    if price is RHO:
        per = 8 if isinstance(distinguisher, Exponential) else 2
        assert event.epsilon**2 <= per * Fraction(1, 50) <= (event.epsilon + Fraction(1, 10**9)) ** 2


@every_distinguisher
@pytest.mark.parametrize("gamma", [Fraction(1, 5), Fraction(1, 10), Fraction(1, 10**4)])
@pytest.mark.parametrize("others", [1, 3, 5])
def test_no_candidate_beyond_the_shortfall_is_likelier_than_gamma(distinguisher, others, gamma) -> None:
    """All but one candidate are as far below the best as F allows not to be: exactly then the bound is hardest."""
    law = exponential_law if isinstance(distinguisher, Exponential) else permute_and_flip_law
    sensitivity = 3
    shortfall = distinguisher.shortfall(others + 1, sensitivity, PURE, gamma)
    scores = [0] * others + [math.floor(shortfall) + 1]
    missed = sum(law(scores, PURE.pure / (2 * sensitivity))[:others])
    assert missed <= float(gamma)
    nearer = [0] * others + [math.floor(shortfall / 3)]
    assert sum(law(nearer, PURE.pure / (2 * sensitivity))[:others]) > float(gamma)  # so the bound says something


@every_distinguisher
def test_the_shortfall_is_the_sources_and_rounded_up(distinguisher) -> None:
    epsilon = Fraction(1, 7)
    found = distinguisher.shortfall(200, 1, Price(epsilon=epsilon), Fraction(1, 1000))
    exact = 14 * math.log(200_000)
    assert exact < found < exact * (1 + 1e-11)
    assert distinguisher.shortfall(200, 0, Price(epsilon=epsilon), Fraction(1, 1000)) == found
    tiny = distinguisher.shortfall(10**6, 1, Price(epsilon=epsilon), Fraction(1, 10**400))
    assert tiny == pytest.approx(14 * 406 * math.log(10))
