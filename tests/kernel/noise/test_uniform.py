from collections import Counter

import numpy as np
import pytest

from dpqr.kernel.noise.bits import uniform_below, uniforms_below
from dpqr.kernel.noise.source import SeededNoise


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 8, 13])
def test_every_leading_pattern_once_gives_every_integer_once(bound, scripted):
    """All first words that differ in their leading bits: those kept map one to one to 0 .. bound - 1."""
    bits = (bound - 1).bit_length()
    firsts = [pattern << (64 - bits) if bits else 0 for pattern in range(1 << bits)]
    seen = Counter()
    for first in firsts:
        noise = scripted([first], rest=0)
        drawn = uniform_below(bound, noise)
        again = uniforms_below(bound, 1, scripted([first], rest=0))[0]
        assert drawn == again
        seen[drawn if first >> (64 - bits) < bound or not bits else "redrawn"] += 1
    assert all(seen[value] == 1 for value in range(bound))
    assert seen["redrawn"] == (1 << bits) - bound


def test_only_failing_entries_are_drawn_again(scripted):
    top = 3 << 62
    drawn = uniforms_below(3, 4, scripted([0, top, 1 << 62, top, 2 << 62, top, 1 << 62]))
    np.testing.assert_array_equal(drawn, [0, 2, 1, 1])


@pytest.mark.parametrize("bound", [3, 6, 1000])
def test_is_uniform(bound, p_value):
    draws = uniforms_below(bound, 100_000, SeededNoise(1))
    assert p_value(np.bincount(draws, minlength=bound), np.full(bound, 1 / bound), len(draws)) > 1e-9
    biased = np.arange(bound) * 0.2 / bound + 0.9
    assert p_value(np.bincount(draws, minlength=bound), biased / biased.sum(), len(draws)) < 1e-9


@pytest.mark.parametrize("bound", [2**62, 2**62 + 1, 3 * 2**61, 2**63])
def test_large_bounds_stay_in_range_and_reach_high(bound):
    draws = uniforms_below(bound, 4000, SeededNoise(2))
    assert draws.min() >= 0
    assert int(draws.max()) < bound
    assert int(draws.max()) > bound - bound // 256


def test_scalars_of_any_size():
    bound = 3**300
    draws = [uniform_below(bound, SeededNoise(seed)) for seed in range(200)]
    assert max(draws) < bound
    assert max(draws) > bound - bound // 32
    assert min(draws) < bound // 32


@pytest.mark.parametrize("bound", [0, -4])
def test_refuses_an_empty_range(bound):
    with pytest.raises(ValueError, match="bound"):
        uniform_below(bound, SeededNoise(1))
    with pytest.raises(ValueError, match="bound"):
        uniforms_below(bound, 1, SeededNoise(1))


def test_refuses_what_int64_cannot_hold():
    with pytest.raises(ValueError, match="2\\^63"):
        uniforms_below(2**63 + 1, 1, SeededNoise(1))
