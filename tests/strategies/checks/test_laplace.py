"""The Laplace check: the noise that a price buys, and the stop test."""

from fractions import Fraction

import numpy as np
import pytest
from support.fakes import Says, measured

from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.privacy.budget import Price
from dpqr.strategies.checks.laplace import Laplace
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
    assert CHECKS.builtins[Laplace().name].endswith(":Laplace")
    assert Laplace().pure is True


@pytest.mark.parametrize(
    ("blocks", "unit", "sensitivity"),
    [
        ([MARGINAL], ADD_REMOVE, 1),
        ([MARGINAL], REPLACE, 2),
        ([MARGINAL, PREFIX], REPLACE, 6),
        ([QUARTERS], ADD_REMOVE, 3),
        ([TOTAL], REPLACE, 1),  # a dropped record may take the place of another
    ],
)
def test_the_noise_is_what_the_price_buys(blocks, unit, sensitivity) -> None:
    made = Laplace().mechanism(blocks, unit, Price(epsilon=Fraction(2, 7)))
    assert made.scale == sensitivity * Fraction(7, 2)
    assert Fraction(made.event.sensitivity) / made.event.scale == Fraction(2, 7)


def test_laplace_noise_for_a_price_in_rho_costs_no_more() -> None:
    event = Laplace().mechanism([MARGINAL], REPLACE, RHO).event
    epsilon = Fraction(event.sensitivity) / event.scale
    assert epsilon**2 / 2 <= Fraction(1, 32) < (epsilon + Fraction(1, 10**9)) ** 2 / 2


def test_plans_are_told_the_mechanisms_own_law_and_event() -> None:
    for blocks in ([MARGINAL], [PREFIX, QUARTERS]):
        mechanism = Laplace().mechanism(blocks, REPLACE, RHO)
        assert mechanism.blocks == tuple(blocks)
        assert mechanism.unit is REPLACE
        assert Laplace().law(blocks, REPLACE, RHO) == mechanism.law
        assert Laplace().event(blocks, REPLACE, RHO) == mechanism.event


@pytest.mark.parametrize(("value", "stops"), [(58, False), (59, True), (69, True), (70, False)])
def test_the_loop_stops_strictly_below_the_threshold(value, stops) -> None:
    assert Laplace().satisfied(measured((TOTAL, [value])), Says({"total": 64.0}), Fraction(6)) is stops
    assert Laplace().satisfied(measured((TOTAL, [70])), Says({"total": 64.0}), 6 + Fraction(1, 10**30))
