"""Spherical Laplace noise against its law, integrated another way, and its radius against the gamma law."""

from fractions import Fraction
from math import gamma, pi

import numpy as np
import pytest
from scipy import stats
from support.cases import in_one_test, thinned

from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.noise.spherical_laplace import LARGEST_SCALE, RealExponential, SphericalLaplace, real_exponential

SCALE = Fraction(3, 4)
GRAIN = 32
"""Parts of a cell's side, in the sum that stands for its integral."""


def law(width, reach):
    """Pr[k] for every k in [-reach, reach]^width; midpoints on a fine grid."""
    side = (np.arange((2 * reach + 1) * GRAIN) + 0.5) / GRAIN - reach - 0.5
    norms = np.sqrt(sum(np.square(each) for each in np.meshgrid(*[side] * width, indexing="ij")))
    volume = 2 * pi ** (width / 2) / gamma(width / 2) * gamma(width) * float(SCALE) ** width
    cells = np.exp(-norms / float(SCALE)) / volume / GRAIN**width
    return cells.reshape([2 * reach + 1, GRAIN] * width).sum(axis=tuple(range(1, 2 * width, 2))).ravel()


def test_an_exponential_number_keeps_its_bits():
    noise = SeededNoise(10)
    found = [real_exponential(noise) for _ in range(300)]
    values = [each.prefix(64) / 2**64 for each in found]
    assert [each.prefix(64) / 2**64 for each in found] == values
    assert all(each.prefix(130) >> 66 == each.prefix(64) for each in found)
    assert stats.kstest(values, stats.expon.cdf).pvalue > 1e-9
    assert isinstance(found[0], RealExponential)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "draws", "reach"), [(1, 500, 3), (2, 900, 2)])
def test_chi_square_of_the_stated_law_and_of_a_wrong_one(width, draws, reach, p_value):
    noise = SeededNoise(7)
    drawn = np.array([SphericalLaplace(SCALE, width).sample(noise) for _ in range(draws)])
    inside = drawn[np.abs(drawn).max(axis=1) <= reach] + reach
    seen = np.bincount(inside @ (2 * reach + 1) ** np.arange(width)[::-1], minlength=(2 * reach + 1) ** width)
    assert p_value(seen, law(width, reach), draws) > 1e-9
    if width > 1:
        alone = law(1, reach)
        assert p_value(seen, np.outer(alone, alone).ravel(), draws) < 1e-9


@pytest.mark.parametrize("width", thinned([1, 3, 40], 3))
def test_the_norm_follows_a_gamma_law_and_no_direction_is_preferred(width):
    noise, scale, draws = SeededNoise(8), Fraction(10**9, 7), 100
    drawn = np.array([SphericalLaplace(scale, width).sample(noise) for _ in range(draws)], dtype=float)
    norms = np.linalg.norm(drawn, axis=1) / float(scale)
    assert stats.kstest(norms, stats.gamma(width).cdf).pvalue > 1e-9
    assert np.abs((drawn > 0).mean() - 0.5) * 2 * np.sqrt(draws * width) < 6.2
    halved = np.linalg.norm(drawn, axis=1) / float(scale) / 1.8
    assert width == 1 or stats.kstest(halved, stats.gamma(width).cdf).pvalue < 1e-9


def test_the_deviation_is_that_of_a_coordinate():
    noise, law = SeededNoise(9), SphericalLaplace(Fraction(5), 300)
    drawn = np.concatenate([law.sample(noise) for _ in range(4)])
    assert drawn.std() == pytest.approx(law.deviation, rel=0.1)


def test_the_whole_range_of_scales_fits_into_64_bits():
    drawn = SphericalLaplace(Fraction(LARGEST_SCALE), 100).sample(SeededNoise(11))
    assert drawn.dtype == np.int64
    assert np.abs(drawn).max() < 2**56
    assert SphericalLaplace(Fraction(1, 10**6), 3).sample(SeededNoise(12)).tolist() == [0, 0, 0]


@in_one_test(("scale", "width"), [(0, 1), (LARGEST_SCALE + 1, 1), (1, 0), (1, 2**12 + 1)])
def test_what_is_out_of_range_is_refused(scale, width):
    with pytest.raises(ValueError, match="spherical Laplace"):
        SphericalLaplace(Fraction(scale), width)
