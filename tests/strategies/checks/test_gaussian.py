"""The Gaussian check: the noise that a price buys, and the stop test."""

from fractions import Fraction

import numpy as np
import pytest
from support.fakes import Says, measured

from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.errors import InfeasiblePlan
from dpqr.privacy.budget import Price
from dpqr.strategies.checks.gaussian import Gaussian
from dpqr.strategies.known import CHECKS
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

ADD_REMOVE = PrivacyUnit(neighbours=Neighbours.ADD_REMOVE)
REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
MARGINAL = QueryBlock(name="marginal", factors=(Factor.identity(0, 3),))
PREFIX = QueryBlock(name="prefix", factors=(Factor(axes=(1,), sizes=(4,), matrix=Prefix(4)),))
QUARTERS = QueryBlock(
    name="quarters",
    factors=(Factor(axes=(0,), sizes=(3,), matrix=Dense(np.array([[0, 3, 1]]))),),
    scale=Fraction(1, 4),
)
TOTAL = QueryBlock(name="total")
RHO = Price(rho=Fraction(1, 32))


def test_it_is_known_by_its_name_and_says_whether_it_is_pure() -> None:
    assert CHECKS.builtins[Gaussian().name].endswith(":Gaussian")
    assert Gaussian().pure is False


@pytest.mark.parametrize(
    ("blocks", "unit", "squared"),
    [
        ([MARGINAL], ADD_REMOVE, 1),
        ([MARGINAL], REPLACE, 2),
        ([MARGINAL, PREFIX], REPLACE, 6),
        ([QUARTERS], ADD_REMOVE, 9),
        ([TOTAL], REPLACE, 1),  # a dropped record may take the place of another
    ],
)
def test_the_noise_is_what_the_price_buys(blocks, unit, squared) -> None:
    made = Gaussian().mechanism(blocks, unit, RHO)
    assert made.variance == squared * 16
    assert Fraction(made.event.squared_sensitivity) / (2 * made.event.variance) == Fraction(1, 32)


def test_a_pure_price_buys_no_gaussian_noise() -> None:
    with pytest.raises(InfeasiblePlan, match="pure epsilon"):
        Gaussian().mechanism([MARGINAL], REPLACE, Price(epsilon=Fraction(1)))


def test_plans_are_told_the_mechanisms_own_law_and_event() -> None:
    for blocks in ([MARGINAL], [PREFIX, QUARTERS]):
        mechanism = Gaussian().mechanism(blocks, REPLACE, RHO)
        assert mechanism.blocks == tuple(blocks)
        assert mechanism.unit is REPLACE
        assert Gaussian().law(blocks, REPLACE, RHO) == mechanism.law
        assert Gaussian().event(blocks, REPLACE, RHO) == mechanism.event


@pytest.mark.parametrize(("value", "stops"), [(58, False), (59, True), (69, True), (70, False)])
def test_the_loop_stops_strictly_below_the_threshold(value, stops) -> None:
    assert Gaussian().satisfied(measured((TOTAL, [value])), Says({"total": 64.0}), Fraction(6)) is stops
    assert Gaussian().satisfied(measured((TOTAL, [70])), Says({"total": 64.0}), 6 + Fraction(1, 10**30))
