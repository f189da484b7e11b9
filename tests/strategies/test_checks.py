"""Checks: the noise that a price buys, and the stop test in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from fakes import Says

from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.errors import InfeasiblePlan
from dpqr.noise.discrete_laplace import DiscreteLaplace
from dpqr.privacy.price import Price
from dpqr.strategies.checks.gap import gap
from dpqr.strategies.checks.gaussian import Gaussian
from dpqr.strategies.checks.laplace import Laplace
from dpqr.strategies.known import CHECKS
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.measurement import Measurement

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
BOTH = [Laplace(), Gaussian()]
every_check = pytest.mark.parametrize("check", BOTH, ids=[one.name for one in BOTH])
RHO = Price(rho=Fraction(1, 32))


@every_check
def test_it_is_known_by_its_name_and_says_whether_it_is_pure(check) -> None:
    assert CHECKS.builtins[check.name].endswith(f":{type(check).__name__}")
    assert check.pure == isinstance(check, Laplace)


@pytest.mark.parametrize(
    ("blocks", "unit", "l1", "squared"),
    [
        ([MARGINAL], ADD_REMOVE, 1, 1),
        ([MARGINAL], REPLACE, 2, 2),
        ([MARGINAL, PREFIX], REPLACE, 6, 6),
        ([QUARTERS], ADD_REMOVE, 3, 9),
        ([TOTAL], REPLACE, 1, 1),  # a dropped record may take the place of another
    ],
)
def test_the_noise_is_what_the_price_buys(blocks, unit, l1, squared) -> None:
    pure = Laplace().mechanism(blocks, unit, Price(epsilon=Fraction(2, 7)))
    assert pure.scale == l1 * Fraction(7, 2)
    concentrated = Gaussian().mechanism(blocks, unit, RHO)
    assert concentrated.variance == squared * 16
    event = pure.event
    assert Fraction(event.sensitivity) / event.scale == Fraction(2, 7)
    event = concentrated.event
    assert Fraction(event.squared_sensitivity) / (2 * event.variance) == Fraction(1, 32)


def test_laplace_noise_for_a_price_in_rho_costs_no_more() -> None:
    event = Laplace().mechanism([MARGINAL], REPLACE, RHO).event
    epsilon = Fraction(event.sensitivity) / event.scale
    assert epsilon**2 / 2 <= Fraction(1, 32) < (epsilon + Fraction(1, 10**9)) ** 2 / 2


def test_a_pure_price_buys_no_gaussian_noise() -> None:
    with pytest.raises(InfeasiblePlan, match="pure epsilon"):
        Gaussian().mechanism([MARGINAL], REPLACE, Price(epsilon=Fraction(1)))


@every_check
def test_plans_are_told_the_mechanisms_own_law_and_event(check) -> None:
    for blocks in ([MARGINAL], [PREFIX, QUARTERS]):
        mechanism = check.mechanism(blocks, REPLACE, RHO)
        assert mechanism.blocks == tuple(blocks)
        assert mechanism.unit is REPLACE
        assert check.law(blocks, REPLACE, RHO) == mechanism.law
        assert check.event(blocks, REPLACE, RHO) == mechanism.event


def measured(*pairs) -> Measurement:
    return Measurement(
        blocks=tuple(block for block, _ in pairs),
        values=tuple(np.array(values, dtype=np.int64) for _, values in pairs),
        law=DiscreteLaplace(Fraction(1)),
    )


def test_the_gap_of_one_query_is_in_records_and_rounded_to_the_grid() -> None:
    assert gap(measured((TOTAL, [70])), Says({"total": 64.4})) == 6
    assert gap(measured((TOTAL, [64])), Says({"total": 70})) == 6
    assert gap(measured((QUARTERS, [70])), Says({"quarters": 63.4})) == Fraction(7, 4)


def test_the_gap_of_more_is_the_sum_over_all_rows_and_blocks() -> None:
    both = measured((MARGINAL, [5, -2, 9]), (QUARTERS, [8]))
    assert gap(both, Says({"marginal": [4, 2, 9.2], "quarters": 5})) == 1 + 4 + Fraction(3, 4)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_no_hypothesis_can_break_the_gap(value) -> None:
    values = [2**62, -(2**62), 2**62]
    found = gap(measured((MARGINAL, values)), Says({"marginal": value}))
    guess = 0 if np.isnan(value) else 2**61 if value > 0 else -(2**61)
    assert found == sum(abs(v - guess) for v in values)


@every_check
@pytest.mark.parametrize(("value", "stops"), [(58, False), (59, True), (69, True), (70, False)])
def test_the_loop_stops_strictly_below_the_threshold(check, value, stops) -> None:
    assert check.satisfied(measured((TOTAL, [value])), Says({"total": 64.0}), Fraction(6)) is stops
    assert check.satisfied(measured((TOTAL, [70])), Says({"total": 64.0}), 6 + Fraction(1, 10**30))
