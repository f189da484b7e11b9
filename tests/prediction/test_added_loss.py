"""What noise adds to a mean loss, by the laws themselves."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from dpqr.kernel.budget import Price
from dpqr.prediction.forms import PointsForm, noise_deviation
from dpqr.prediction.learners.losses import ExactHinge, Logistic
from dpqr.prediction.risk_bounds import added_loss, mean_share, most_noise, tail_share

PURE, RHO = Price(epsilon=Fraction(1, 3)), Price(rho=Fraction(1, 50))


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


@pytest.mark.parametrize("loss", [Logistic(), ExactHinge()])
@pytest.mark.parametrize("added", [1e-4, 0.5, 7.0])
def test_most_noise_is_the_other_way_round(loss, added):
    assert added_loss(loss, 1.0, most_noise(loss, 1.0, added, 0.8), 0.8) == pytest.approx(added)
