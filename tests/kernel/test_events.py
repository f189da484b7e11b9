from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    LabelSelectionEvent,
    PermuteAndFlipEvent,
    PureSumEvent,
    RhoSumEvent,
    RoundedGaussianEvent,
    SphericalLaplaceEvent,
    of_any_blocks,
)
from dpqr.kernel.values import replace

SOUND = [
    DiscreteLaplaceEvent(sensitivity=2, scale=Fraction(3, 7)),
    SphericalLaplaceEvent(sensitivity=2, scale=Fraction(3, 7), coordinates=5),
    DiscreteGaussianEvent(squared_sensitivity=2, variance=Fraction(3, 7)),
    ExponentialEvent(epsilon=Fraction(1, 9)),
    LabelSelectionEvent(epsilon=Fraction(1, 9), delta=Fraction(1, 10**9), labels=3),
    PermuteAndFlipEvent(epsilon=Fraction(1, 9)),
    PureSumEvent(epsilon=Fraction(1, 9)),
    RhoSumEvent(rho=Fraction(1, 9)),
    RoundedGaussianEvent(squared_sensitivity=2, variance=Fraction(3, 7)),
]


def positive(figure):
    return [
        lambda: DiscreteLaplaceEvent(sensitivity=1, scale=figure),
        lambda: DiscreteGaussianEvent(squared_sensitivity=1, variance=figure),
        lambda: RoundedGaussianEvent(squared_sensitivity=1, variance=figure),
    ]


def whole(figure):
    return [
        lambda: DiscreteLaplaceEvent(sensitivity=figure, scale=Fraction(1)),
        lambda: DiscreteGaussianEvent(squared_sensitivity=figure, variance=Fraction(1)),
        lambda: RoundedGaussianEvent(squared_sensitivity=figure, variance=Fraction(1)),
    ]


def epsilon(figure):
    kinds = (ExponentialEvent, PermuteAndFlipEvent, PureSumEvent)
    return [*(lambda kind=kind: kind(epsilon=figure) for kind in kinds), lambda: RhoSumEvent(rho=figure)]


@in_one_test(
    "make",
    [
        *positive(Fraction(0)),
        *positive(Fraction(-1)),
        *positive(1.5),
        *positive(float("inf")),
        *positive(float("nan")),
        *whole(-1),
        *whole(1.0),
        *whole(True),
        *whole(np.int64(1)),
        *epsilon(Fraction(-1, 10**30)),
        *epsilon(0.1),
        *epsilon(float("nan")),
    ],
)
def test_an_event_without_an_exact_finite_cost_cannot_be_made(make):
    """numpy's integers are refused too: they wrap around inside a fraction."""
    with pytest.raises(
        BudgetRefused, match=r"must be an exact (int|Fraction) (above 0|of at least 0); nothing was drawn"
    ):
        make()


@in_one_test("make", [*whole(0), *epsilon(Fraction(0))])
def test_an_event_may_cost_nothing(make):
    assert make() == make()


def test_a_plan_states_no_number_of_coordinates_that_it_cannot_know():
    known = DiscreteLaplaceEvent(sensitivity=2, scale=Fraction(3, 7), coordinates=1)
    assert of_any_blocks(known) == replace(known, coordinates=None) == SOUND[0]
    assert [of_any_blocks(event) for event in SOUND] == SOUND
