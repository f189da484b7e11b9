import random
from fractions import Fraction

import pytest

from dpqr.errors import BudgetRefused
from dpqr.privacy.accountants.filters import PlanFilter, SumFilter, require_pure
from dpqr.privacy.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    PermuteAndFlipEvent,
    RoundedGaussianEvent,
)


def laplace(epsilon):
    return DiscreteLaplaceEvent(sensitivity=1, scale=1 / Fraction(epsilon))


def choice(epsilon):
    return ExponentialEvent(epsilon=Fraction(epsilon))


def test_a_sum_reaches_its_limit_exactly():
    guard = SumFilter(limit=Fraction(1), cost=require_pure, unit="epsilon")
    for number in range(10):
        assert guard.charge(laplace("0.1")) == number
    with pytest.raises(BudgetRefused):
        guard.charge(choice(Fraction(1, 10**40)))
    assert guard.charge(choice(0)) == 10


def test_a_plan_admits_each_event_once_in_any_order():
    plan = ((laplace("0.1"), 3), (choice("0.2"), 2), (laplace("0.5"), 1))
    draws = [event for event, count in plan for _ in range(count)]
    for seed in range(20):
        guard = PlanFilter(planned=plan)
        order = random.Random(seed).sample(draws, len(draws))
        assert [guard.charge(event) for event in order] == list(range(6))
        for event, _ in plan:
            with pytest.raises(BudgetRefused):
                guard.charge(event)


def test_a_cheaper_event_takes_the_cheapest_place_that_covers_it():
    guard = PlanFilter(planned=((laplace(3), 1), (laplace(1), 1), (laplace(2), 1)))
    guard.charge(laplace("1.5"))
    guard.charge(laplace(3))
    with pytest.raises(BudgetRefused, match="none above epsilon 1;"):
        guard.charge(laplace(2))
    guard.charge(laplace("0.5"))
    with pytest.raises(BudgetRefused, match="of 3 planned draws of its kind 3 are spent and 0 left;"):
        guard.charge(laplace("0.001"))


def test_the_same_event_planned_in_two_places_counts_twice():
    guard = PlanFilter(planned=((laplace(1), 1), (choice(1), 1), (laplace(1), 1)))
    assert [guard.charge(laplace(1)) for _ in range(2)] == [0, 1]
    with pytest.raises(BudgetRefused):
        guard.charge(laplace(1))


@pytest.mark.parametrize(
    "event", [choice("0.01"), PermuteAndFlipEvent(epsilon=Fraction(1, 100)), laplace(Fraction(101, 100))]
)
def test_another_kind_or_a_dearer_event_is_not_in_the_plan(event):
    guard = PlanFilter(planned=((laplace(1), 5), (choice(9), 0)))
    with pytest.raises(BudgetRefused, match="which the plan lacks"):
        guard.charge(event)
    assert guard.charge(laplace(1)) == 0


def test_gaussian_noise_has_no_place_in_either():
    gaussian = DiscreteGaussianEvent(squared_sensitivity=0, variance=Fraction(1))
    for guard in (
        SumFilter(limit=Fraction(1), cost=require_pure, unit="epsilon"),
        PlanFilter(planned=((laplace(1), 5),)),
    ):
        with pytest.raises(BudgetRefused, match="Gaussian noise has no pure epsilon"):
            guard.charge(gaussian)
    with pytest.raises(BudgetRefused, match="Gaussian"):
        PlanFilter(planned=((gaussian, 1),))


def test_rounded_gaussian_noise_takes_the_places_of_its_own_kind():
    def rounded(squared):
        return RoundedGaussianEvent(squared_sensitivity=squared, variance=Fraction(1, 2))

    guard = PlanFilter(planned=((rounded(2), 1), (rounded(5), 1), (laplace(9), 1)))
    with pytest.raises(BudgetRefused, match=r"asks rho 6, .* of 2 planned draws .* none above rho 5;"):
        guard.charge(rounded(6))
    assert [guard.charge(rounded(3)), guard.charge(rounded(2))] == [0, 1]
    for event in (rounded(1), DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(9))):
        with pytest.raises(BudgetRefused):
            guard.charge(event)
    assert guard.charge(laplace(9)) == 2


def test_many_different_costs_find_their_places():
    costs = [Fraction(1, number) for number in range(1, 2001)]
    guard = PlanFilter(planned=tuple((choice(cost), 1) for cost in costs))
    for cost in random.Random(3).sample(costs, len(costs)):
        guard.charge(choice(cost))
    with pytest.raises(BudgetRefused):
        guard.charge(choice(Fraction(1, 2000)))
