"""What a price buys of each form, with the sensitivities as their proofs have them; and that it is what is drawn."""

import math
from fractions import Fraction

import pytest
from support.cases import in_one_test

from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.events import (
    DiscreteLaplaceEvent,
    ExponentialEvent,
    PermuteAndFlipEvent,
    RoundedGaussianEvent,
    SphericalLaplaceEvent,
)
from dpqr.prediction.forms import (
    AveragesForm,
    FunctionForm,
    PointsForm,
    RandomisedVotesForm,
    VotesForm,
    better_selection,
)

PURE, RHO = Price(epsilon=Fraction(1, 3)), Price(rho=Fraction(1, 50))
STEPS = 2**20
"""Grid steps in a learner's bound."""


@in_one_test("width", [1, 2, 10, 257])
def test_all_weights_of_a_function_move_together(width):
    """In L2 by the bound, half a step a weight at either end, and one for the grid's step."""
    form = FunctionForm(width=width)
    gaussian = form.event(RHO, "gaussian")
    moved = STEPS + math.sqrt(width) + 1
    assert moved**2 <= gaussian.squared_sensitivity <= (moved + 1) ** 2
    assert gaussian.variance == gaussian.squared_sensitivity * 25
    spherical = form.event(PURE, "spherical")
    assert spherical.sensitivity**2 == gaussian.squared_sensitivity
    assert spherical == SphericalLaplaceEvent(
        sensitivity=spherical.sensitivity, scale=3 * Fraction(spherical.sensitivity), coordinates=width
    )
    in_every_coordinate = math.sqrt(2 * width) * 3
    assert form.spread(PURE, "spherical") == pytest.approx(3 * math.sqrt(width + 1), rel=1e-4)
    assert form.spread(PURE, "spherical") < in_every_coordinate * (1 + 1e-4)


def test_one_prediction_moves_by_the_bound_and_its_rounding():
    """Half a step at either end and one for the grid's step."""
    assert PointsForm(count=7).event(PURE, "laplace") == DiscreteLaplaceEvent(
        sensitivity=STEPS + 2, scale=3 * Fraction(STEPS + 2), coordinates=1
    )
    assert PointsForm(count=7).event(RHO, "gaussian") == RoundedGaussianEvent(
        squared_sensitivity=(STEPS + 2) ** 2, variance=25 * Fraction((STEPS + 2) ** 2)
    )


@in_one_test("touched", [1, 4])
def test_an_ensemble_moves_by_the_parts_that_a_unit_changes(touched):
    """A member's number lies in [-1, 1]: two bounds a part. A share of votes moves by one a part."""
    averages = AveragesForm(count=3, touched=touched).event(PURE, "laplace")
    assert averages == DiscreteLaplaceEvent(
        sensitivity=2 * STEPS * touched, scale=6 * Fraction(STEPS * touched), coordinates=1
    )
    votes = RandomisedVotesForm(count=3, touched=touched).event(PURE, "laplace")
    assert votes == DiscreteLaplaceEvent(sensitivity=touched, scale=3 * Fraction(touched), coordinates=1)


def test_a_pure_price_buys_permute_and_flip_as_much_as_the_exponential_mechanism_and_rho_half_of_it():
    form = VotesForm(count=3)
    for price, dearer in ((PURE, 1), (RHO, 2)):
        assert form.event(price, "exponential") == ExponentialEvent(epsilon=price.bounded_range)
        assert form.event(price, "permute-and-flip") == PermuteAndFlipEvent(epsilon=price.pure)
        spreads = [form.spread(price, noise) for noise in ("permute-and-flip", "exponential")]
        assert spreads[0] == pytest.approx(dearer * spreads[1])
    assert better_selection(PrivacyBudget.parse("1")) == "permute-and-flip"
    assert better_selection(PrivacyBudget.parse("1", "1e-9")) == "exponential"
