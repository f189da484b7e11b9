"""What a price buys of each form, with the sensitivities as their proofs have them; and that it is what is drawn."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from support.prediction_tables import UNITS, VALUES, Given

from dpqr.data.unit import Neighbours
from dpqr.mechanisms.learned_functions import GaussianWeights, SphericalWeights
from dpqr.prediction.examples import Examples, Scale
from dpqr.prediction.forms import (
    AveragesForm,
    FunctionForm,
    PointsForm,
    RandomisedVotesForm,
    VotesForm,
    added_loss,
    better_selection,
    mean_share,
    noise_deviation,
    tail_share,
)
from dpqr.prediction.losses import Hinge, Logistic
from dpqr.prediction.stable import LipschitzLearner
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import (
    DiscreteLaplaceEvent,
    ExponentialEvent,
    PermuteAndFlipEvent,
    RoundedGaussianEvent,
    SphericalLaplaceEvent,
)

PURE, RHO = Price(epsilon=Fraction(1, 3)), Price(rho=Fraction(1, 50))
STEPS = 2**20
"""Grid steps in a learner's bound."""


@pytest.mark.parametrize("width", [1, 2, 10, 257])
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


@pytest.mark.parametrize("touched", [1, 4])
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


@pytest.mark.parametrize("width", [1, 3])
def test_what_a_form_is_charged_is_what_its_mechanism_draws(width):
    vectors = np.eye(width)[:1]
    given = Examples(features=Given(vectors), axis=1, values=VALUES)
    scale = Scale(unit=UNITS[Neighbours.ADD_REMOVE], records=9)
    learner = LipschitzLearner(examples=given, loss=Hinge(), penalty=Fraction(1, 5), scale=scale)
    form = FunctionForm(width=width)
    spherical, gaussian = form.event(PURE, "spherical"), form.event(RHO, "gaussian")
    assert SphericalWeights(learner=learner, width=width, scale=spherical.scale).event == spherical
    assert GaussianWeights(learner=learner, width=width, variance=gaussian.variance).event == gaussian


@pytest.mark.parametrize(("noise", "price"), [("laplace", PURE), ("gaussian", RHO)])
def test_mean_and_tail_of_noise_by_its_law(noise, price):
    event = PointsForm(count=1).event(price, noise)
    if noise == "laplace":
        scale = float(event.scale)
        mean, tail = 1 / math.sinh(1 / scale), scale * math.log(20)
    else:
        spread = math.sqrt(event.variance)
        mean, tail = spread * math.sqrt(2 / math.pi), spread * NormalDist().inv_cdf(0.975)
    assert mean <= mean_share(noise) * noise_deviation(event) * (1 + 1e-9)
    assert mean_share(noise) * noise_deviation(event) == pytest.approx(mean, rel=1e-6)
    assert tail_share(noise) * noise_deviation(event) == pytest.approx(tail, rel=1e-4)


def test_noise_adds_to_a_loss_by_its_mean_or_by_its_square_whichever_is_less():
    """Rana 2019, Theorem 4, at gamma / epsilon = b: C_L b, or smoothness b^2 (a Laplace variable's mean square is
    2 b^2); and the loss is no worse than that."""
    for scale in (0.1, 1.0, 10.0):
        spread = math.sqrt(2) * scale
        assert added_loss(Logistic(), 1.0, spread, mean_share("laplace")) == pytest.approx(min(scale, scale**2 / 4))
        half = scale * np.log((np.arange(4000) + 0.5) / 4000)
        noise = np.concatenate([half, -half])
        for score in (-3.0, 0.0, 2.0):
            worse = Logistic().value(score + noise, np.ones(len(noise))).mean() - np.logaddexp(0, -score)
            assert worse <= added_loss(Logistic(), 1.0, spread, mean_share("laplace")) * 1.01
