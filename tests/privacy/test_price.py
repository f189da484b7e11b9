from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpqr.errors import InfeasiblePlan
from dpqr.privacy.accountants.losses import concentrated_rho
from dpqr.privacy.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    PermuteAndFlipEvent,
    PureSumEvent,
    RhoSumEvent,
)
from dpqr.privacy.price import Price, root_below

SHORT = 1 - Fraction(1, 2**48)
PARTS = st.integers(min_value=1, max_value=10**60)


@given(PARTS, PARTS)
def test_the_root_is_below_and_nearly_exact(numerator, denominator):
    value = Fraction(numerator, denominator)
    root = root_below(value)
    assert value * SHORT**2 <= root**2 <= value


@pytest.mark.parametrize("power", range(-300, 301, 7))
def test_the_root_at_every_size(power):
    for near in (-1, 0, 1):
        value = Fraction(2) ** power * (1 + near * Fraction(1, 2**200))
        assert value * SHORT**2 <= root_below(value) ** 2 <= value


def test_the_root_of_squares_is_exact():
    assert root_below(Fraction(0)) == 0
    assert root_below(Fraction(9, 16)) == Fraction(3, 4)
    assert root_below(Fraction(10**40)) == 10**20


def test_a_pure_price_is_what_every_pure_draw_may_spend():
    price = Price(epsilon=Fraction(1, 3))
    assert price.pure == price.bounded_range == Fraction(1, 3)
    with pytest.raises(InfeasiblePlan, match=r"no Gaussian noise; use the zcdp accountant"):
        _ = price.concentrated


@given(PARTS, PARTS)
def test_whatever_is_bought_with_rho_costs_at_most_rho(numerator, denominator):
    price = Price(rho=Fraction(numerator, denominator))
    bought = [
        ExponentialEvent(epsilon=price.bounded_range),
        PermuteAndFlipEvent(epsilon=price.pure),
        DiscreteLaplaceEvent(sensitivity=3, scale=3 / price.pure),
        DiscreteGaussianEvent(squared_sensitivity=5, variance=5 / (2 * price.concentrated)),
    ]
    for event in bought:
        assert price.rho * (1 - Fraction(1, 2**46)) <= concentrated_rho(event) <= price.rho


@pytest.mark.parametrize(
    "figures",
    [
        {},
        {"epsilon": Fraction(1), "rho": Fraction(1)},
        {"epsilon": Fraction(0)},
        {"rho": Fraction(-1)},
        {"epsilon": 0.5},
        {"rho": float("nan")},
    ],
)
def test_a_price_is_one_exact_positive_fraction(figures):
    with pytest.raises(InfeasiblePlan, match="one exact positive fraction"):
        Price(**figures)


def test_prices_of_one_currency_add_up():
    third = Fraction(1, 3)
    assert Price(epsilon=third).plus(Price(epsilon=third)) == Price(epsilon=2 * third)
    assert Price(rho=third).plus(Price(rho=third)) == Price(rho=2 * third)
    with pytest.raises(InfeasiblePlan, match="do not add up"):
        Price(rho=third).plus(Price(epsilon=third))


def test_draws_within_a_price_are_one_event() -> None:
    third = Fraction(1, 3)
    assert Price(epsilon=third).event == PureSumEvent(epsilon=third)
    assert Price(rho=third).event == RhoSumEvent(rho=third)
