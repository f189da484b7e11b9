from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpqr.noise import geometric
from dpqr.noise.geometric import geometric_edges, geometric_parts
from dpqr.noise.source import SeededNoise

ONES = (1 << 64) - 1
TABLE_SCALES = [Fraction(1, 30), Fraction(1), Fraction(7, 3), Fraction(3**120, 2**187), Fraction(32)]


@pytest.mark.parametrize("scale", TABLE_SCALES)
def test_edges_are_the_floors_of_the_thresholds(scale, exp_minus):
    edges = geometric_edges(scale)
    truth = [int(mpmath.floor(mpmath.ldexp(exp_minus(j / scale), 32))) for j in range(len(edges), 0, -1)]
    assert edges.tolist() == truth
    assert edges[0] == 0


@pytest.mark.parametrize("scale", [Fraction(1, 30), Fraction(1), Fraction(7, 3), Fraction(19)])
def test_law_by_the_intervals_of_the_first_bits(scale, scripted, exp_minus):
    """Words beside and on every edge, followed by zeros and by ones: the draw counts the thresholds above U."""
    edges = geometric_edges(scale).astype(np.int64)
    words = np.unique(np.clip(np.concatenate([edges - 1, edges, edges + 1, [2**32 - 1]]), 0, 2**32 - 1))
    words = words[words > 0]
    words = words[: len(words) // 2 * 2]
    script = words.astype(np.uint32).view(np.uint64)
    for rest, end in ((0, mpmath.mpf(0)), (ONES, 1 - mpmath.ldexp(1, -500))):
        drawn = geometric_parts(scale).sample(len(words), scripted(script, rest))
        for word, value in zip(words.tolist(), drawn.tolist(), strict=True):
            uniform = (word + end) / mpmath.mpf(2**32)
            assert uniform < exp_minus(value / scale)
            assert uniform >= exp_minus((value + 1) / scale)


def test_the_end_of_the_table_is_not_the_end_of_the_law(scripted):
    draw = geometric_parts(Fraction(2)).sample(1, scripted([0, 1 << 32, 5], rest=ONES))
    assert draw[0] > len(geometric_edges(Fraction(2)))


@pytest.mark.parametrize("scale", [Fraction(1, 30), Fraction(7, 3), Fraction(33), Fraction(1000, 3), Fraction(10**6)])
def test_chi_square(scale, p_value):
    draws = geometric_parts(scale).sample(200_000, SeededNoise(11))
    step = max(1, int(scale / 10))

    def chances(true_scale):
        edges = np.exp(-np.arange(0, 101) * step / float(true_scale))
        return edges[:-1] - edges[1:]

    seen = np.bincount(draws[draws < 100 * step] // step, minlength=100)
    assert p_value(seen, chances(scale), len(draws)) > 1e-9
    if scale > 1:
        assert p_value(seen, chances(scale * Fraction(11, 10)), len(draws)) < 1e-9


@pytest.mark.parametrize("scale", [Fraction(100), Fraction(2**15), Fraction(2**40, 3)])
def test_the_low_bits_have_their_own_law(scale, p_value):
    """G mod 2^width is proportional to exp(-r / scale): seen through its leading bits, against the uniform law too."""
    parts = geometric_parts(scale)
    assert 16 < scale / 2**parts.width <= 32
    cells = 1 << min(parts.width, 3)
    draws = parts.sample(200_000, SeededNoise(12)) & ((1 << parts.width) - 1)
    seen = np.bincount(draws >> (parts.width - (cells.bit_length() - 1)), minlength=cells)
    ratio = np.exp(-np.arange(cells) * (2**parts.width / cells / float(scale)))
    assert p_value(seen, ratio / ratio.sum(), len(draws)) > 1e-9
    reverse = ratio[::-1]
    assert p_value(seen, reverse / reverse.sum(), len(draws)) < 1e-9


@pytest.mark.parametrize("scale", [Fraction(100), Fraction(10**6, 7), Fraction(2**40, 3)])
def test_cells_and_exponents_of_the_remainders_agree(scale, checked_coins, monkeypatch):
    monkeypatch.setattr(geometric, "bernoulli_exp", checked_coins)
    assert geometric_parts(scale).sample(300, SeededNoise(13)).shape == (300,)


def test_only_remainders_that_were_kept_are_given(monkeypatch):
    """However often they are drawn again: here the odd ones are kept."""
    monkeypatch.setattr(geometric, "bernoulli_exp", lambda cells, exact, noise: cells % 2 == 1)
    monkeypatch.setattr(geometric.DistanceGrid, "cells", lambda grid, distances: distances.astype(np.int64))
    parts = geometric_parts(Fraction(2**20))
    assert (parts.sample(2000, SeededNoise(14)) % 2 == 1).all()
