"""What is refined before a draw, and when it is given up."""

from fractions import Fraction

import numpy as np
import pytest
from support.handmade_search import HandSearch

from dpqr.kernel.noise.selection import refine_until_accepted, settle_best
from dpqr.kernel.noise.source import SeededNoise

SCORES = [*range(100), 500]
PIECES = [list(range(50)), list(range(50, 101))]


def test_the_best_is_settled_when_no_bound_lies_above_a_known_score() -> None:
    search = HandSearch(SCORES, PIECES, loose=100)
    assert settle_best(search)
    assert search.bounds.max() == search.bounds[search.known > 0].max() == 500
    assert search.refined < 8


def test_trials_succeed_once_bounds_are_close_and_end_in_a_member() -> None:
    search = HandSearch(SCORES, PIECES, loose=100)
    piece, rank = refine_until_accepted(search, Fraction(1), SeededNoise(1))
    assert search.candidate(piece, rank) == 100


def test_both_end_where_no_more_refining_is_admitted() -> None:
    search = HandSearch(SCORES, PIECES, loose=10**6, allowance=2)
    assert not settle_best(search)
    assert (
        refine_until_accepted(HandSearch(SCORES, PIECES, loose=10**6, allowance=0), Fraction(1), SeededNoise(2)) is None
    )
    assert np.array_equal(search.evaluate(), SCORES)


@pytest.mark.parametrize("loose", [0, 1, 2])
def test_no_score_lies_above_the_best_that_was_settled(loose) -> None:
    """Scores one apart, so that a bound one above a known score counts."""
    for seed in range(60):
        drawn = np.random.default_rng(seed)
        scores = drawn.integers(0, 4, 12)
        pieces = np.array_split(drawn.permutation(12), 4)
        search = HandSearch(scores, pieces, loose=loose)
        assert settle_best(search)
        assert search.bounds.max() == search.bounds[search.known > 0].max() == scores.max()
