"""The online learner's error: the bound against measured errors, its order, and the parts of its proof."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support.prediction_tables import counts, online

from dpqr.prediction.excess_risk import OnlineError
from dpqr.prediction.learners.gradient_steps import Steps

VECTORS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.8, 0.6]])
SHARES = np.array([0.4, 0.3, 0.2, 0.1])
BEST = np.array([0.4, -0.3])
"""f_rho, of norm 1/2; targets are -1 or 1 with the mean that it has, so the noise is large."""


@pytest.mark.parametrize("theta", ["3/5", "3/4", "9/10"])
@pytest.mark.parametrize("slots", [30, 300])
def test_measured_errors_stay_below_the_bound(theta, slots):
    drawn, stable = np.random.default_rng(8), online(VECTORS, slots, theta)
    squares = []
    for _ in range(12):
        places = drawn.choice(4, size=slots, p=SHARES)
        labels = (drawn.random(slots) < (1 + VECTORS[places] @ BEST) / 2).astype(int)
        weights = stable.fit(counts(np.stack([places, labels, np.arange(slots)], axis=1), (1000, 1000, 1000)))
        squares.append(SHARES @ np.square(VECTORS @ (weights - BEST)))
    for smoothness in (0.25, 0.5, 0.75, 1.0):
        error = OnlineError(steps=stable.steps, radius=norm(smoothness), smoothness=smoothness)
        assert np.mean(squares) <= error.after(slots)


def norm(smoothness):
    """Of g in L2, f_rho = L^r g: (b C^(1 - 2 r) b)^(1/2), C the mean of x x."""
    values, vectors = np.linalg.eigh(VECTORS.T @ (SHARES[:, None] * VECTORS))
    return float(np.sqrt((vectors.T @ BEST) ** 2 @ values ** (1 - 2 * smoothness)))


@pytest.mark.parametrize("smoothness", [0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("theta", ["3/5", "3/4", "9/10"])
def test_its_order_is_that_of_the_theory(theta, smoothness):
    """The exponent min(theta, 2 r (1 - theta)), but for the logarithm, between 10^9 and 10^12 records."""
    power = float(Fraction(theta))
    error = OnlineError(steps=Steps(theta=Fraction(theta)), radius=0.5, smoothness=smoothness)
    fallen = math.log(error.after(10**9) / error.after(10**12), 10) / 3
    assert fallen == pytest.approx(min(power, 2 * smoothness * (1 - power)), abs=0.09)
    times = [error.after(10**k) for k in range(1, 10)]
    assert times == sorted(times, reverse=True)


def test_few_steps_prove_little():
    assert OnlineError(steps=Steps(), radius=0.5).after(1) == 4
    assert OnlineError(steps=Steps(), radius=1000.0).after(10**5) == 4


@pytest.mark.parametrize("smoothness", [0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("theta", ["51/100", "3/4", "99/100"])
def test_the_path_of_penalties_moves_and_errs_no_more_than_is_proved(theta, smoothness):
    """All steps of it in each direction, as they are: s^r lambda / (s + lambda), and their sum of changes."""
    steps, slots, values = Steps(theta=Fraction(theta)), 3000, np.geomspace(1e-9, 1, 401)
    times = np.arange(slots + 1) + steps.start
    penalties = times ** (float(steps.theta) - 1)
    paths = values**smoothness * (penalties[:, None] / (values + penalties[:, None]))
    moved = np.abs(np.diff(paths, axis=0)).max(axis=1) * times[:-1]
    for last in (10, 300, 3000):
        real = paths[last].max() + moved[:last].sum() / times[last - 1]
        error = OnlineError(steps=steps, radius=1.0, smoothness=smoothness)
        assert real <= error._bias(times[last - 1]) * (1 + 1e-9)


def test_more_smoothness_than_one_is_as_good_as_one():
    smooth, most = (OnlineError(steps=Steps(), radius=0.5, smoothness=each) for each in (1.0, 3.0))
    assert smooth.after(1000) == most.after(1000)


@pytest.mark.parametrize("theta", ["51/100", "3/4", "99/100"])
def test_the_steps_noise_is_not_below_the_sum_that_it_bounds(theta):
    """sum_i eta_i^2 ((i + t0) / N)^2 min(1, 1 / (2 e S_i)), with the sums S_i as they are."""
    steps = Steps(theta=Fraction(theta))
    error, power = OnlineError(steps=steps, radius=0.5), float(Fraction(theta))
    for slots in (1, 2, 10, 1000):
        sizes = (np.arange(slots) + steps.start) ** -power
        later = np.append(np.cumsum(sizes[::-1])[::-1][1:], 0.0)
        kept = np.minimum(1.0, 1 / (2 * math.e * np.maximum(later, 1e-300)))
        last = slots - 1 + steps.start
        exact = np.sum(sizes**2 * ((np.arange(slots) + steps.start) / last) ** 2 * kept)
        assert exact <= error._noise(last)
