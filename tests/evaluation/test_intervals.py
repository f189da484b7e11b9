"""Limits against the equation that defines them, in 40 digits, and against how often they really hold."""

import mpmath
import numpy as np
import pytest
from scipy.stats import beta, binom

from dpqr.evaluation.intervals import lower_limits, upper_limits

CASES = [(1, 10), (7, 10), (9, 10), (3, 1_500), (375, 1_500), (1_499, 1_500), (12, 50_000), (30_000, 50_000)]
ALPHAS = [1e-9, 1e-4, 0.05]


def tail(runs: int, hits: int, probability: float) -> mpmath.mpf:
    """Pr[Binomial(runs, probability) >= hits], summed from the side with fewer terms."""
    with mpmath.workdps(40):
        p = mpmath.mpf(float(probability))
        few = range(hits, runs + 1) if runs - hits < hits else range(hits)
        mass = mpmath.fsum(mpmath.binomial(runs, k) * p**k * (1 - p) ** (runs - k) for k in few)
        return mass if runs - hits < hits else 1 - mass


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("hits", "runs"), [case for case in CASES if case[1] <= 1_500])
def test_the_limits_solve_their_equations(hits, runs, alpha):
    low, high = lower_limits(np.array([hits]), runs, alpha)[0], upper_limits(np.array([hits]), runs, alpha)[0]
    assert tail(runs, hits, low) <= alpha < tail(runs, hits, low * (1 + 1e-6))
    assert 1 - tail(runs, hits + 1, high) <= alpha < 1 - tail(runs, hits + 1, high * (1 - 1e-6))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_limits_are_quantiles_of_beta_laws(alpha):
    hits, runs = np.array([hits for hits, _ in CASES[-2:]]), 50_000
    assert lower_limits(hits, runs, alpha) == pytest.approx(beta.ppf(alpha, hits, runs - hits + 1), rel=1e-7)
    assert upper_limits(hits, runs, alpha) == pytest.approx(beta.isf(alpha, hits + 1, runs - hits), rel=1e-7)


def test_nothing_and_everything():
    assert lower_limits(np.array([0]), 50, 0.01).tolist() == [0.0]
    assert upper_limits(np.array([50]), 50, 0.01).tolist() == [1.0]
    assert upper_limits(np.array([0]), 50, 0.01)[0] == pytest.approx(1 - 0.01 ** (1 / 50))
    assert lower_limits(np.array([50]), 50, 0.01)[0] == pytest.approx(0.01 ** (1 / 50))


@pytest.mark.parametrize("probability", [0.003, 0.2, 0.5, 0.97])
def test_each_limit_fails_no_more_often_than_it_says(probability):
    runs, alpha, hits = 300, 0.03, np.arange(301)
    weights = binom.pmf(hits, runs, probability)
    assert weights[lower_limits(hits, runs, alpha) > probability].sum() <= alpha
    assert weights[upper_limits(hits, runs, alpha) < probability].sum() <= alpha
