"""Draws that are kept from proposals, and the cells of exponents."""

from fractions import Fraction

import numpy as np
import pytest

from dpqr.kernel.noise.bits import CELL_BITS, CHUNK, LARGEST_EXPONENT, LAST_CELL, cells_below, draw_by_rejection


def test_proposals_are_drawn_until_enough_are_kept():
    asked = []

    def every_third(count):
        asked.append(count)
        return np.arange(count, dtype=np.int64)[::3]

    draws = draw_by_rejection(100, every_third)
    assert draws.dtype == np.int64
    assert draws.shape == (100,)
    assert asked[0] == 158
    assert draws[:53].tolist() == list(range(0, 158, 3))
    assert len(asked) > 1


def test_nothing_is_proposed_for_no_draws():
    draws = draw_by_rejection(0, None)
    assert draws.shape == (0,)
    assert draws.dtype == np.int64


def test_proposals_come_in_chunks_and_may_all_be_refused():
    asked = []

    def moody(count):
        asked.append(count)
        return np.zeros(count if len(asked) > 1 else 0, dtype=np.int64)

    assert len(draw_by_rejection(CHUNK, moody)) == CHUNK
    assert asked == [CHUNK, CHUNK]


def test_a_cell_is_below_its_exponent_and_within_two_of_it():
    exponents = np.random.default_rng(1).uniform(0, LARGEST_EXPONENT + 1, 10_000)
    cells = cells_below(exponents.copy())
    assert cells.dtype == np.int64
    for cell, exponent in zip(cells.tolist(), exponents.tolist(), strict=True):
        place = Fraction(exponent) * 2**CELL_BITS
        assert cell <= place
        assert place < cell + 2 or (cell == LAST_CELL and exponent >= LARGEST_EXPONENT)
    assert cells_below(np.array([0.0, 1e300])).tolist() == [0, LAST_CELL]


@pytest.mark.parametrize("error", [-0.49, 0.49])
def test_an_exponent_that_is_off_by_less_than_half_a_cell_has_a_cell_that_stands_for_it(error):
    """What is true lies `error` cells from what is given."""
    given = np.random.default_rng(2).uniform(0.001, LARGEST_EXPONENT - 1, 2_000)
    for cell, exponent in zip(cells_below(given.copy()).tolist(), given.tolist(), strict=True):
        place = Fraction(exponent) * 2**CELL_BITS + Fraction(error)
        assert cell <= place < cell + 2
