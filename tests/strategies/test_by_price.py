"""Strategies by price: each price gets the noise that its theorem covers."""

from fractions import Fraction

import pytest

from dpqr.kernel.budget import Price
from dpqr.kernel.unit import PrivacyUnit
from dpqr.strategies.checks import CheckByPrice, DistinguisherByPrice, Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential, PermuteAndFlip
from dpqr.workload.block import Factor, QueryBlock

CHECK = CheckByPrice(few=Laplace(), many=Gaussian())
CHOICE = DistinguisherByPrice(few=PermuteAndFlip(), many=Exponential())
UNIT = PrivacyUnit()
BLOCKS = (QueryBlock(name="column", factors=(Factor.identity(0, 3),)),)
PURE = Price(epsilon=Fraction(1, 4))
OTHERS = (Price(squared_mu=Fraction(1, 9)), Price(rho=Fraction(1, 9)))


@pytest.mark.parametrize(("price", "own"), [(PURE, Laplace()), *((price, Gaussian()) for price in OTHERS)])
def test_measurements_are_those_of_the_check_for_the_price(price, own):
    for made in ("law", "event", "mechanism"):
        assert getattr(CHECK, made)(BLOCKS, UNIT, price) == getattr(own, made)(BLOCKS, UNIT, price)


@pytest.mark.parametrize(("price", "own"), [(PURE, PermuteAndFlip()), *((price, Exponential()) for price in OTHERS)])
def test_choices_are_those_of_the_distinguisher_for_the_price(price, own):
    assert CHOICE.event(price) == own.event(price)
    assert CHOICE.shortfall(5, 1, price, Fraction(1, 20)) == own.shortfall(5, 1, price, Fraction(1, 20))


def test_the_names_say_both_and_the_whole_is_not_pure():
    assert (CHECK.name, CHOICE.name) == ("laplace or gaussian", "permute-and-flip or exponential")
    assert not CHECK.pure
