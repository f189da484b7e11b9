"""The largest difference of two records' pulls: by search, and where it is met."""

from fractions import Fraction

import numpy as np
import pytest

from dpqr.prediction.learners.stable import opposed_pulls


def pull(function, vector, target):
    return (function @ vector - target) * vector


@pytest.mark.parametrize("norm", ["1/100", "1/3", "1", "9/4", "30"])
def test_no_pair_of_records_pulls_further_apart(norm):
    """Random functions, rows (short ones too) and targets in three dimensions; half of them close to the worst pair."""
    drawn, reach, bound = np.random.default_rng(4), float(Fraction(norm)), float(opposed_pulls(Fraction(norm)))
    cosine = 2 * reach / (1 + np.sqrt(1 + 8 * reach**2))
    worst = np.array([cosine, np.sqrt(1 - cosine**2), 0.0])
    best = 0.0
    for trial in range(2000):
        near = trial % 2
        vectors = drawn.normal(size=(2, 3)) * (0.1 if near else 1.0)
        vectors += near * np.array([worst, worst * [1, -1, 1]])
        vectors /= np.linalg.norm(vectors, axis=1)[:, None] * (1 if near else drawn.uniform(1, 3, size=(2, 1)))
        targets = np.array([-1.0, -1.0]) if near else drawn.uniform(-1, 1, size=2)
        function = np.array([reach, 0.0, 0.0]) if near else drawn.normal(size=3)
        function *= reach / max(np.linalg.norm(function), reach)
        one, two = (pull(function, vector, target) for vector, target in zip(vectors, targets, strict=True))
        best = max(best, np.linalg.norm(one - two))
    assert 0.9 * bound <= best <= bound


@pytest.mark.parametrize("norm", ["0", "1/7", "1", "5"])
def test_it_is_met_and_lies_below_the_simpler_bounds(norm):
    reach, bound = Fraction(norm), float(opposed_pulls(Fraction(norm)))
    angles = np.linspace(0, np.pi, 100_001)
    assert bound == pytest.approx((2 * np.sin(angles) * (1 + float(reach) * np.cos(angles))).max(), rel=1e-8)
    assert float(reach) + np.sqrt(2) <= bound <= float(reach) + 2 + 1e-9
    assert bound <= 2 * (float(reach) + 1) + 1e-9


def test_it_is_never_rounded_down():
    """D(1) = 3 sqrt(3) / 2 and D(0) = 2."""
    assert opposed_pulls(Fraction(1)) ** 2 >= Fraction(27, 4)
    assert opposed_pulls(Fraction(0)) >= 2
