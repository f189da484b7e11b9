"""Bounds with all constants: their parts against exact figures, measured risks, and the least loss of each sign."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from support.cases import in_one_test, thinned

from dpqr.kernel.budget import Price
from dpqr.prediction.forms import PointsForm, noise_deviation
from dpqr.prediction.learners.losses import ExactHinge, Hinge, Logistic, Pinball
from dpqr.prediction.risk_bounds import RiskBound, added_loss, mean_share, most_noise, sign_risk, tail_share


def squares(**given):
    return RiskBound(**{"radius": 0.5, "slope": None, "records": 1000, "width": 40, **given})


@in_one_test("decay", [1.5, 2.0, 4.0])
@pytest.mark.parametrize("penalty", [1e-4, 1e-2, 0.2])
def test_no_spectrum_that_falls_as_fast_has_a_larger_dimension(decay, penalty):
    falling = np.arange(1, 10**5) ** -decay
    falling /= falling.sum()
    exact = float((falling / (falling + penalty)).sum())
    assert exact <= squares(decay=decay, width=10**5).dimension(penalty) <= 2.2 * exact + 1


def test_without_a_decay_equal_eigenvalues_have_the_largest_dimension():
    drawn = np.random.default_rng(0).dirichlet(np.ones(40) / 3, size=200)
    for penalty in (1e-3, 0.1):
        bound = squares().dimension(penalty)
        assert (drawn / (drawn + penalty)).sum(axis=1).max() <= bound
        assert bound == pytest.approx(40 * (1 / 40) / (1 / 40 + penalty))


@pytest.mark.parametrize("smoothness", thinned([0.2, 0.4, 0.5, 1.0], 4))
def test_what_lambda_costs_is_never_more_whatever_the_spectrum(smoothness):
    """f_rho = L^r g: the best in the ball, by its multiplier, against the bound; nearly reached by one eigenvalue."""
    drawn, shares = np.random.default_rng(1), []
    for _ in range(200):
        spectrum, penalty = drawn.dirichlet(np.ones(5)), 10 ** drawn.uniform(-4, -0.7)
        target = drawn.normal(size=5)
        radius = drawn.uniform(0.1, 1.0 if smoothness >= 0.5 else 1.5)
        wanted = spectrum**smoothness * target / np.linalg.norm(target) * radius
        for shift in [penalty, *(penalty * np.geomspace(1.01, 1e5, 400))]:
            shrunk = spectrum / (spectrum + shift)
            norm = np.sum((shrunk * wanted) ** 2 / spectrum)
            if norm <= 1:
                break
        cost = np.sum(((1 - shrunk) * wanted) ** 2) + penalty * norm
        shares.append(cost / squares(radius=radius, smoothness=smoothness).fitted(penalty))
    assert max(shares) <= 1 + 1e-9


def measured(penalty, records, runs, drawn):
    """Mean excess risk of ridge functions of 30 directions of eigenvalues like 1 / j^2, f_rho of norm 1 / 2."""
    spectrum = np.arange(1, 31) ** -2.0
    spectrum /= spectrum.sum()
    best, found = np.zeros(30), []
    best[:4] = 1 / 4
    for _ in range(runs):
        rows = np.eye(30)[drawn.choice(30, size=records, p=spectrum)]
        labels = np.where(drawn.random(records) < (1 + rows @ best) / 2, 1.0, -1.0)
        weights = np.linalg.solve(rows.T @ rows / records + penalty * np.eye(30), rows.T @ labels / records)
        assert np.linalg.norm(weights) <= 1
        found.append(np.sum(spectrum * (weights - best) ** 2))
    return float(np.mean(found))


@in_one_test("penalty", [0.01, 0.1])
def test_measured_risks_of_least_squares_stay_below_the_bound(penalty):
    """With the noise of labels that are -1 or 1 they are more than a fortieth of it; a decay makes it smaller."""
    found = measured(penalty, 1000, 30, np.random.default_rng(2))
    plain, stated = squares(width=30), squares(width=30, decay=2.0)
    assert found <= stated.fitted(penalty) + stated.sample(penalty) < plain.fitted(penalty) + plain.sample(penalty)
    assert found >= (stated.fitted(penalty) + stated.sample(penalty)) / 40


def test_a_record_left_out_has_no_larger_loss_than_its_leverage_allows():
    """|f_i(x_i) - y_i| <= |f(x_i) - y_i| / (1 - h), with equality for ridge functions, whose ball is not reached."""
    drawn, penalty = np.random.default_rng(3), 0.05
    rows, labels = drawn.normal(size=(20, 3)), drawn.choice([-1.0, 1.0], size=20)
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    matrix = rows.T @ rows + 19 * penalty * np.eye(3)
    whole = np.linalg.solve(matrix, rows.T @ labels)
    for place in range(20):
        kept = np.arange(20) != place
        without = np.linalg.solve(rows[kept].T @ rows[kept] + 19 * penalty * np.eye(3), rows[kept].T @ labels[kept])
        share = rows[place] @ np.linalg.solve(matrix, rows[place])
        left, inside = (abs(rows[place] @ weights - labels[place]) for weights in (without, whole))
        assert left == pytest.approx(inside / (1 - share))
        assert share <= 1 / (1 + penalty * 19)


def test_parts_of_lipschitz_losses_by_hand():
    bound = RiskBound(radius=3.0, slope=2.0, records=100, width=7, smoothness=0.5)
    assert (bound.fitted(0.04), bound.sample(0.04)) == pytest.approx((9 * 0.2, 4 / 4))


@in_one_test("loss", [ExactHinge(), Hinge(), Logistic()])
def test_a_wrong_sign_loses_what_the_comparison_says(loss):
    """For every probability of the label: the least loss of a wrong sign, that is at 0, above the least of all."""
    ones = np.ones(1)
    for probability in np.linspace(0.501, 0.999, 60):

        def mean(value, probability=probability):
            values = np.array([value])
            return float(probability * loss.value(values, ones)[0] + (1 - probability) * loss.value(values, -ones)[0])

        lost = mean(0.0) - minimize_scalar(mean, bounds=(0, 12), method="bounded").fun
        assert 2 * probability - 1 <= sign_risk(loss, lost) + 1e-6


def test_the_comparison_is_sharp_near_a_coin_and_unknown_elsewhere():
    assert sign_risk(Hinge(), 0.07) == pytest.approx(0.08)
    assert sign_risk(Logistic(), 0.02) == pytest.approx(math.sqrt(0.04))
    assert sign_risk(Pinball(), 0.1) is None
    assert sign_risk(Hinge(width=1), 0.1) is None


# What noise adds to a mean loss, by the laws themselves.

PURE, RHO = Price(epsilon=Fraction(1, 3)), Price(rho=Fraction(1, 50))


@in_one_test(("noise", "price"), [("laplace", PURE), ("gaussian", RHO)])
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


@in_one_test("loss", [Logistic(), ExactHinge()])
@pytest.mark.parametrize("added", [1e-4, 0.5, 7.0])
def test_most_noise_is_the_other_way_round(loss, added):
    assert added_loss(loss, 1.0, most_noise(loss, 1.0, added, 0.8), 0.8) == pytest.approx(added)
