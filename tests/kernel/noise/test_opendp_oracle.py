"""The samplers and their prices against opendp, which draws and prices by code of its own: `dpqr[opendp]`.

Two samples are compared, ours and theirs, by the chi-square test of homogeneity. Each comparison has a control that
must fail: a scale ten percent off, or the other law of selection. Their draws come from the system's randomness, so
the thresholds leave one chance in 10^9.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, ExponentialEvent, PermuteAndFlipEvent
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.noise.selection import draw_exponential, draw_permute_and_flip
from dpqr.kernel.noise.source import SeededNoise

dp = pytest.importorskip("opendp.prelude", reason="opendp is not installed; it comes with dpqr[opendp]")

THEIRS = "0.16.0"
DRAWS = 60_000
CHOICES = 8_000
SCORES = np.array([0, 8, 1, -6, 2, 0], dtype=np.int64)
ONE_ULP = 2.0**-52


@pytest.fixture(scope="module", autouse=True)
def _enabled():
    """Their features are a set for the whole process; it is left as it was found."""
    dp.enable_features("contrib")
    yield
    dp.disable_features("contrib")


def homogeneity(here, there):
    """p-value of two samples of integers coming from one law; cells with few draws are pooled at either end."""
    from scipy.stats import chi2

    low, high = (int(np.quantile(np.concatenate([here, there]), part)) for part in (0.001, 0.999))
    cells = [np.bincount(np.clip(sample, low, high) - low, minlength=high - low + 1) for sample in (here, there)]
    both = cells[0] + cells[1]
    kept = both >= 20
    share = len(here) / (len(here) + len(there))
    statistic = 0.0
    for seen, part in zip(cells, (share, 1 - share), strict=True):
        wanted = np.append(both[kept], both[~kept].sum()) * part
        found = np.append(seen[kept], seen[~kept].sum())
        statistic += float(((found - wanted) ** 2 / np.maximum(wanted, 1e-9)).sum())
    return float(chi2.sf(statistic, int(kept.sum())))


def integers():
    return dp.vector_domain(dp.atom_domain(T="i64"))


def their_laplace(scale):
    return dp.m.make_laplace(integers(), dp.l1_distance(T="i64"), scale)


def their_gaussian(scale):
    return dp.m.make_gaussian(integers(), dp.l2_distance(T="f64"), scale)


def their_choice(measure, scale):
    return dp.m.make_noisy_max(integers(), dp.linf_distance(T="i64"), measure, scale)


def test_the_oracle_is_the_one_that_was_read():
    """Its interface and its laws change between versions; this file speaks of one."""
    from importlib.metadata import version

    assert version("opendp") == THEIRS


@pytest.mark.parametrize("scale", [1.0, 3.0, 20.0])
def test_discrete_laplace(scale):
    theirs = np.array(their_laplace(scale)(np.zeros(DRAWS, dtype=np.int64)))
    assert homogeneity(DiscreteLaplace(Fraction(scale)).sample(2 * DRAWS, SeededNoise(61)), theirs) > 1e-9
    wide = DiscreteLaplace(Fraction(scale) * Fraction(11, 10)).sample(2 * DRAWS, SeededNoise(61))
    assert homogeneity(wide, theirs) < 1e-9


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_discrete_gaussian(scale):
    theirs = np.array(their_gaussian(scale)(np.zeros(DRAWS, dtype=np.int64)))
    variance = Fraction(scale) ** 2
    assert homogeneity(DiscreteGaussian(variance).sample(2 * DRAWS, SeededNoise(62)), theirs) > 1e-9
    wide = DiscreteGaussian(variance * Fraction(121, 100)).sample(2 * DRAWS, SeededNoise(62))
    assert homogeneity(wide, theirs) < 1e-9


def test_both_selections_and_neither_is_the_other():
    """Under max-divergence opendp draws by permute-and-flip, under zero-concentrated divergence by the exponential
    mechanism; both at probability or heads exp(score / scale)."""
    scale = 4
    rate, noise = Fraction(1, scale), SeededNoise(63)
    ours = {
        one: np.array([one(SCORES, rate, noise) for _ in range(CHOICES)])
        for one in (draw_permute_and_flip, draw_exponential)
    }
    theirs = {
        draw_permute_and_flip: their_choice(dp.max_divergence(), float(scale)),
        draw_exponential: their_choice(dp.zero_concentrated_divergence(), float(scale)),
    }
    for law, choice in theirs.items():
        drawn = np.array([choice(SCORES) for _ in range(CHOICES)])
        for one, sample in ours.items():
            assert (homogeneity(sample, drawn) > 1e-9) == (one is law)


def rounded_up(exact, price):
    """Whether a float price is at least the exact one, and only just."""
    return Fraction(price) >= exact and price <= float(exact) * (1 + 8 * ONE_ULP)


@pytest.mark.parametrize("scale", [1, 3, 7, 1000])
@pytest.mark.parametrize("sensitivity", [1, 2, 5])
def test_laplace_costs_the_same(scale, sensitivity):
    event = DiscreteLaplaceEvent(sensitivity=sensitivity, scale=Fraction(scale))
    assert rounded_up(pure_epsilon(event), their_laplace(float(scale)).map(sensitivity))


def test_a_third_is_rounded_up():
    assert their_laplace(3.0).map(1) == 0.33333333333333337
    assert pure_epsilon(DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(3))) == Fraction(1, 3)


@pytest.mark.parametrize("scale", [1, 3, 7, 1000])
@pytest.mark.parametrize("sensitivity", [1, 2, 5])
def test_gaussian_costs_the_same(scale, sensitivity):
    event = DiscreteGaussianEvent(squared_sensitivity=sensitivity**2, variance=Fraction(scale) ** 2)
    assert rounded_up(concentrated_rho(event), their_gaussian(float(scale)).map(float(sensitivity)))


@pytest.mark.parametrize("scale", [1, 3, 7, 1000])
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_selections_cost_the_same(scale, sensitivity):
    """A rate of 1 / scale is epsilon = 2 sensitivity / scale; as rho, an eighth of its square."""
    epsilon = Fraction(2 * sensitivity, scale)
    picked = their_choice(dp.max_divergence(), float(scale)).map(sensitivity)
    assert rounded_up(pure_epsilon(PermuteAndFlipEvent(epsilon=epsilon)), picked)
    drawn = their_choice(dp.zero_concentrated_divergence(), float(scale)).map(sensitivity)
    assert rounded_up(concentrated_rho(ExponentialEvent(epsilon=epsilon)), drawn)


def test_a_price_off_by_a_factor_would_be_seen():
    assert not rounded_up(Fraction(1, 3), 0.3333333333333333)
    assert not rounded_up(Fraction(1, 8), 0.5)
    assert math.isclose(their_choice(dp.zero_concentrated_divergence(), 2.0).map(1), 0.125)
