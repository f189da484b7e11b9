from fractions import Fraction

import numpy as np
import pytest

from dpqr.noise.distance_grid import distance_grid, distances_below

RATES = [
    Fraction(0),
    Fraction(1, 10**40),
    Fraction(1, 2**64),
    Fraction(45, 2**64),
    Fraction(3**60, 2**130),
    Fraction(1, 10**6),
    Fraction(12345678901234567890123456789, 2**100),
    Fraction(1, 3),
    Fraction(44),
    Fraction(45),
    Fraction(2**20 + 1, 3),
    Fraction(2**19 * 2**14),
    Fraction(10**30),
]


def distances_for(rate):
    span = min(2**64 - 1, int(46 / rate) + 2) if rate else 2**64 - 1
    near = {min(2**64 - 1, span * k // 97) for k in range(98)}
    cells = (
        {min(2**64 - 1, int(Fraction(c, 2**14) / rate) + d) for c in (1, 2, 45 * 2**14) for d in (0, 1)}
        if rate
        else set()
    )
    return sorted(near | cells | {0, 1, 2, 3, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1})


@pytest.mark.parametrize("bits", [8, 14])
@pytest.mark.parametrize("rate", RATES)
def test_cells_lie_below_and_near(rate, bits):
    distances = distances_for(rate)
    grid = distance_grid(rate, bits)
    cells = grid.cells(np.array(distances, dtype=np.uint64))
    assert cells.dtype == np.int64
    for distance, cell in zip(distances, cells.tolist(), strict=True):
        place = rate * distance * (1 << bits)
        assert 0 <= cell <= place
        assert place < cell + 2 or cell == grid.last == 45 << bits


def test_differences_of_the_whole_of_int64_are_exact():
    scores = np.array([-(2**63), -1, 0, 5, 2**63 - 1])
    for best in (5, 2**63 - 1):
        below = [score for score in scores.tolist() if score <= best]
        drawn = distances_below(best, np.array(below)).tolist()
        assert drawn == [best - score for score in below]
    assert distances_below(-(2**63), scores[:1]).tolist() == [0]


def test_takes_a_slice_with_steps():
    scores = np.arange(20)
    assert distances_below(19, scores[::3]).tolist() == list(range(19, -1, -3))
