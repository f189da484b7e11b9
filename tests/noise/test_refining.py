"""What is refined before a draw, and when it is given up."""

from fractions import Fraction

import numpy as np
from handsearch import HandSearch

from dpqr.noise.refining import settle_best, tightened
from dpqr.noise.source import SeededNoise

SCORES = [*range(100), 500]
PIECES = [list(range(50)), list(range(50, 101))]


def test_the_best_is_settled_when_no_bound_lies_above_a_known_score() -> None:
    search = HandSearch(SCORES, PIECES, loose=100)
    assert settle_best(search)
    assert search.bounds.max() == search.bounds[search.known > 0].max() == 500
    assert search.refined < 8


def test_trials_succeed_once_bounds_are_close_and_end_in_a_member() -> None:
    search = HandSearch(SCORES, PIECES, loose=100)
    piece, rank = tightened(search, Fraction(1), SeededNoise(1))
    assert search.candidate(piece, rank) == 100


def test_both_end_where_no_more_refining_is_admitted() -> None:
    search = HandSearch(SCORES, PIECES, loose=10**6, allowance=2)
    assert not settle_best(search)
    assert tightened(HandSearch(SCORES, PIECES, loose=10**6, allowance=0), Fraction(1), SeededNoise(2)) is None
    assert np.array_equal(search.evaluate(), SCORES)
