"""One-sided geometric noise: its law by frequencies, and its figures."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from dpqr.kernel.noise.discrete_laplace import Geometric
from dpqr.kernel.noise.source import SeededNoise


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(300)])
def test_frequencies_follow_the_law(scale):
    """Each tail frequency stays within Hoeffding's bound of exp(-k / scale), all of them but with probability 1e-9."""
    draws, count = Geometric(scale).sample(50_000, SeededNoise(3)), 50_000
    places = np.unique(np.rint(np.linspace(0, 5 * float(scale), 12)).astype(int))
    room = np.sqrt(log(2 * len(places) / 1e-9) / (2 * count))
    assert draws.min() >= 0
    for place in places:
        assert abs((draws >= place).mean() - exp(-place / scale)) < room


@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(1), Fraction(7, 2), Fraction(2**40)])
def test_figures(scale):
    law, q = Geometric(scale), exp(-1 / scale)
    assert law.mean == pytest.approx(q / (1 - q), rel=1e-6)
    for beta in (0.5, 1e-3, 1e-12):
        k = law.tail(beta)
        assert exp(-(k + 1) / scale) <= beta * (1 + 1e-6)
        assert k <= 2 or exp(-(k - 1) / scale) > beta * (1 - 1e-3)
    assert law.tail(1.0) == 0


def test_what_is_no_law():
    for scale in (Fraction(0), Fraction(-1), Fraction(2**52 + 1)):
        with pytest.raises(ValueError, match="scale"):
            Geometric(scale)
    with pytest.raises(ValueError, match="beta"):
        Geometric(Fraction(1)).tail(0.0)
