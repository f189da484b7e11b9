"""Checks: the exact gap behind the stop test, the noise that a price buys, and the stop test itself."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.fakes import Says, measured

from dpqr.kernel.budget import Price
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import RoundedGaussianEvent
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.checks import CheckByCurrency, Gaussian, Laplace, gap
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
every_check = pytest.mark.parametrize("check", [Laplace(), Gaussian()], ids=["laplace", "gaussian"])


def test_the_gap_of_one_query_is_in_records_and_rounded_to_the_grid() -> None:
    assert gap(measured((TOTAL, [70])), Says({"total": 64.4})) == 6
    assert gap(measured((TOTAL, [64])), Says({"total": 70})) == 6
    assert gap(measured((TOTAL, [70])), Says({"total": 64.6})) == 5
    assert gap(measured((TOTAL, [64])), Says({"total": 69.6})) == 6
    assert gap(measured((QUARTERS, [70])), Says({"quarters": 63.4})) == Fraction(7, 4)


def test_the_gap_of_more_is_the_sum_over_all_rows_and_blocks() -> None:
    both = measured((MARGINAL, [5, -2, 9]), (QUARTERS, [8]))
    assert gap(both, Says({"marginal": [4, 2, 9.2], "quarters": 5})) == 1 + 4 + Fraction(3, 4)


@in_one_test("value", [np.nan, np.inf, -np.inf, 1e300])
def test_no_hypothesis_can_break_the_gap(value) -> None:
    values = [2**62, -(2**62), 2**62]
    found = gap(measured((MARGINAL, values)), Says({"marginal": value}))
    guess = 0 if np.isnan(value) else 2**61 if value > 0 else -(2**61)
    assert found == sum(abs(v - guess) for v in values)


@in_one_test(("check", "pure"), [(Laplace(), True), (Gaussian(), False)])
def test_it_is_known_by_its_name_and_says_whether_it_is_pure(check, pure) -> None:
    assert CHECKS.builtins[check.name].target.endswith(f":{type(check).__name__}")
    assert check.pure is pure


@in_one_test(
    ("blocks", "unit", "sensitivity"),
    [
        ([MARGINAL], ADD_REMOVE, 1),
        ([MARGINAL], REPLACE, 2),
        ([MARGINAL, PREFIX], REPLACE, 6),
        ([QUARTERS], ADD_REMOVE, 3),
        ([TOTAL], REPLACE, 1),  # a dropped record may take the place of another
    ],
)
def test_laplace_noise_is_what_the_price_buys(blocks, unit, sensitivity) -> None:
    made = Laplace().mechanism(blocks, unit, Price(epsilon=Fraction(2, 7)))
    assert made.scale == sensitivity * Fraction(7, 2)
    assert Fraction(made.event.sensitivity) / made.event.scale == Fraction(2, 7)


@in_one_test(
    ("blocks", "unit", "squared"),
    [
        ([MARGINAL], ADD_REMOVE, 1),
        ([MARGINAL], REPLACE, 2),
        ([MARGINAL, PREFIX], REPLACE, 6),
        ([QUARTERS], ADD_REMOVE, 9),
        ([TOTAL], REPLACE, 1),  # a dropped record may take the place of another
    ],
)
def test_gaussian_noise_is_what_the_price_buys(blocks, unit, squared) -> None:
    made = Gaussian().mechanism(blocks, unit, RHO)
    assert made.variance == squared * 16
    assert Fraction(made.event.squared_sensitivity) / (2 * made.event.variance) == Fraction(1, 32)


def test_laplace_noise_for_a_price_in_rho_costs_no_more() -> None:
    event = Laplace().mechanism([MARGINAL], REPLACE, RHO).event
    epsilon = Fraction(event.sensitivity) / event.scale
    assert epsilon**2 / 2 <= Fraction(1, 32) < (epsilon + Fraction(1, 10**9)) ** 2 / 2


def test_a_pure_price_buys_no_gaussian_noise() -> None:
    with pytest.raises(InfeasiblePlan, match="pure epsilon"):
        Gaussian().mechanism([MARGINAL], REPLACE, Price(epsilon=Fraction(1)))


@every_check
def test_plans_read_the_mechanisms_own_law_and_event(check) -> None:
    for blocks in ([MARGINAL], [PREFIX, QUARTERS]):
        mechanism = check.mechanism(blocks, REPLACE, RHO)
        assert mechanism.blocks == tuple(blocks)
        assert mechanism.unit is REPLACE
        assert check.law(blocks, REPLACE, RHO) == mechanism.law
        assert check.event(blocks, REPLACE, RHO) == mechanism.event


@in_one_test(("value", "stops"), [(58, False), (59, True), (69, True), (70, False)])
@every_check
def test_the_loop_stops_strictly_below_the_threshold(check, value, stops) -> None:
    assert check.satisfied(measured((TOTAL, [value])), Says({"total": 64.0}), Fraction(6)) is stops
    assert check.satisfied(measured((TOTAL, [70])), Says({"total": 64.0}), 6 + Fraction(1, 10**30))


def test_a_price_in_mu_buys_rounded_noise_and_never_less_than_can_be_drawn() -> None:
    for figure, variance in ((Fraction(1, 4), Fraction(4)), (Fraction(1000), Fraction(1, 64))):
        event = Gaussian().event((TOTAL,), ADD_REMOVE, Price(squared_mu=figure))
        assert event == RoundedGaussianEvent(squared_sensitivity=1, variance=variance)


@in_one_test(
    ("price", "own"),
    [
        (Price(epsilon=Fraction(1, 4)), Laplace()),
        (Price(rho=Fraction(1, 9)), Gaussian()),
        (Price(squared_mu=Fraction(1, 9)), Gaussian()),
    ],
)
def test_the_currency_of_a_price_names_the_noise(price, own):
    check, blocks = CheckByCurrency(), (QueryBlock(name="column", factors=(Factor.identity(0, 3),)),)
    for made in ("law", "event", "mechanism"):
        assert getattr(check, made)(blocks, PrivacyUnit(), price) == getattr(own, made)(blocks, PrivacyUnit(), price)
    assert (check.name, check.pure) == ("laplace or gaussian", False)
