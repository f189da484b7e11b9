from fractions import Fraction

import mpmath
import pytest
from support.cases import in_one_test

from dpqr.kernel.accountants.accountant import larger, pure_losses
from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    LeftOutEvent,
    PermuteAndFlipEvent,
    PureSumEvent,
    RhoSumEvent,
    RoundedGaussianEvent,
)

LAPLACE = DiscreteLaplaceEvent(sensitivity=3, scale=Fraction(12))
GAUSSIAN = DiscreteGaussianEvent(squared_sensitivity=3, variance=Fraction(12))
ROUNDED = RoundedGaussianEvent(squared_sensitivity=3, variance=Fraction(12))
EXPONENTIAL = ExponentialEvent(epsilon=Fraction(1, 4))
PERMUTE = PermuteAndFlipEvent(epsilon=Fraction(1, 4))
PURE_SUM, RHO_SUM = PureSumEvent(epsilon=Fraction(1, 4)), RhoSumEvent(rho=Fraction(1, 4))


def test_no_division_of_a_sum_costs_more_than_it():
    parts = [Fraction(1, 8), Fraction(1, 16), Fraction(1, 16)]
    drawn = [kind(epsilon=part) for part in parts for kind in (ExponentialEvent, PermuteAndFlipEvent)]
    assert sum(concentrated_rho(event) for event in drawn) <= concentrated_rho(PureSumEvent(epsilon=2 * sum(parts)))


def divergence(order, here, there):
    """Renyi divergence of two finite laws."""
    total = mpmath.fsum(p**order * q ** (1 - order) for p, q in zip(here, there, strict=True))
    return mpmath.log(total) / (order - 1)


def largest_ratio(law, other):
    """Largest divergence over the order: the smallest rho that covers the pair, on a grid of orders."""
    orders = [1 + mpmath.mpf(step) / 20 for step in range(1, 400, 4)]
    return max(divergence(order, law, other) / order for order in orders)


@in_one_test(
    ("event", "epsilon", "rho"),
    [
        (LAPLACE, Fraction(1, 4), Fraction(1, 32)),
        (GAUSSIAN, None, Fraction(1, 8)),
        (ROUNDED, None, Fraction(1, 8)),
        (EXPONENTIAL, Fraction(1, 4), Fraction(1, 128)),
        (PERMUTE, Fraction(1, 4), Fraction(1, 32)),
        (PURE_SUM, Fraction(1, 4), Fraction(1, 32)),
        (RHO_SUM, None, Fraction(1, 4)),
    ],
)
def test_epsilons_and_rhos(event, epsilon, rho):
    assert pure_epsilon(event) == epsilon
    assert concentrated_rho(event) == rho
    assert type(concentrated_rho(event)) is Fraction


def test_an_eighth_of_the_square_would_not_cover_permute_and_flip():
    """Two candidates, scores (0, 1) and (1, 0) at sensitivity 1: why the two events are kept apart."""
    epsilon = 1
    here, there = permute_and_flip(0, 1, epsilon), permute_and_flip(1, 0, epsilon)
    reached = largest_ratio(here, there)
    assert reached > 2.5 * epsilon**2 / 8
    assert reached <= float(concentrated_rho(PermuteAndFlipEvent(epsilon=Fraction(epsilon))))


def permute_and_flip(first, second, epsilon):
    """Exact law for two candidates: the better one wins unless the worse comes first and its coin shows heads."""
    gap = abs(first - second)
    worse = mpmath.exp(-mpmath.mpf(epsilon * gap) / 2) / 2
    return (1 - worse, worse) if first >= second else (worse, 1 - worse)


def test_the_square_over_twice_the_variance_covers_the_discrete_gaussian():
    variance, event = 2, DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(2))
    weights = [mpmath.exp(-mpmath.mpf(k * k) / (2 * variance)) for k in range(-60, 61)]
    law = [weight / mpmath.fsum(weights) for weight in weights]
    reached = max(
        divergence(order, law[:-1], law[1:]) / order for order in (mpmath.mpf("1.01"), mpmath.mpf(2), mpmath.mpf(5))
    )
    assert 0.9 * float(concentrated_rho(event)) < reached <= float(concentrated_rho(event)) * (1 + 1e-12)


def test_losses_of_a_composition_keep_their_counts():
    assert pure_losses(((LAPLACE, 2), (PERMUTE, 5))) == ((Fraction(1, 4), 2), (Fraction(1, 4), 5))
    assert pure_losses(((LAPLACE, 2), (GAUSSIAN, 1))) is None
    assert pure_losses(()) == ()


@in_one_test("price", [pure_epsilon, concentrated_rho])
@pytest.mark.parametrize("stranger", [None, 1, "event", object()])
def test_strangers_are_refused_by_the_name_of_their_type_alone(price, stranger):
    with pytest.raises(BudgetRefused, match=f"type {type(stranger).__name__} has no price"):
        price(stranger)


def straight(events):
    """A price that adds up epsilons, None where one is missing."""
    losses = pure_losses(events)
    return None if losses is None else sum(epsilon * count for epsilon, count in losses)


def out(event):
    return LeftOutEvent(event=event)


@in_one_test(
    ("events", "price"),
    [
        ((), 0),
        (((LAPLACE, 3), (out(LAPLACE), 1)), Fraction(3, 4)),
        (((LAPLACE, 1), (out(LAPLACE), 3)), Fraction(3, 4)),
        (((out(LAPLACE), 2),), Fraction(1, 2)),
        (((LAPLACE, 2),), Fraction(1, 2)),
        (((LAPLACE, 1), (out(GAUSSIAN), 1)), None),
        (((GAUSSIAN, 1), (out(LAPLACE), 1)), None),
    ],
)
def test_disjoint_records_cost_the_larger_of_two_prices_and_none_where_one_has_none(events, price):
    assert larger(events, straight) == price
