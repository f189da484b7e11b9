"""How unlike halves of boxes are: learned from noise-free and noisy differences."""

import numpy as np
import pytest

from dpqr.models.fit.buckets import IMBALANCES, PRIOR, Imbalances

BLANK = Imbalances(weights=PRIOR)


def test_even_halves_are_learned_to_be_alike_and_uneven_ones_not() -> None:
    counts, noise = np.full(64, 1e4), np.full(64, 100.0)
    rng = np.random.default_rng(1)
    alike = BLANK.learned(rng.normal(0, 1e2, 64), counts, noise)
    unlike = BLANK.learned(rng.normal(0, 5e3, 64), counts, noise)
    mean = [float(one.weights @ IMBALANCES) for one in (alike, BLANK, unlike)]
    assert mean[0] < 0.01 < mean[1] < 0.15 < mean[2]
    np.testing.assert_allclose([alike.weights.sum(), unlike.weights.sum()], 1)


def test_the_level_below_is_nearly_as_this_one() -> None:
    known = BLANK.learned(np.zeros(64), np.full(64, 1e7), np.ones(64))
    below = known.below()
    assert below.weights.sum() == pytest.approx(1)
    assert below.weights[:2].sum() > 0.8
    assert below.weights.min() > 0


def test_differences_are_shrunk_by_their_noise() -> None:
    counts = np.full(3, 1000.0)
    found = BLANK.posterior(np.full(3, 200.0), counts, np.array([1e-6, 1e4, np.inf]))
    np.testing.assert_allclose(found.means[[0, 2]], [200, 0], rtol=1e-6, atol=1e-9)
    assert 50 < found.means[1] < 200
    variances = found.systematic + found.sampled
    assert variances[0] < 1e-3 < variances[1] < variances[2]


def test_a_difference_is_at_most_the_count() -> None:
    counts = np.array([0.0, 3.0])
    found = BLANK.posterior(np.zeros(2), counts, np.full(2, np.inf))
    assert (found.means**2 + found.systematic + found.sampled <= counts**2).all()


def test_draws_have_the_moments_of_the_posterior() -> None:
    many = 20_000
    rng = np.random.default_rng(2)
    uniforms, normals = rng.random(many), rng.normal(size=many)
    for noise in (1e-6, 1e4, np.inf):
        unlike, counts, variances = np.full(many, 200.0), np.full(many, 1000.0), np.full(many, noise)
        found = BLANK.drawn(unlike, counts, variances, uniforms, normals)
        known = BLANK.posterior(unlike, counts, variances)
        deviation = float(np.sqrt(known.systematic + known.sampled)[0])
        assert found.mean() == pytest.approx(known.means[0], abs=0.1 * deviation + 1e-3)
        assert found.std() == pytest.approx(deviation, rel=0.05, abs=1e-3)
