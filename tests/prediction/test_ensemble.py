import contextlib
import os

import numpy as np
import pytest
from support.prediction_tables import Given, counts

from dpqr.mechanisms.learned_functions import FINENESS
from dpqr.noise.source import SystemNoise
from dpqr.prediction.bases import RidgeBase
from dpqr.prediction.ensemble import PartsEnsemble

VECTORS = np.array([[1.0, 0.0], [0.0, 1.0]])
SHAPE = (2, 3, 4)
NOISE = SystemNoise()


class Fixed:
    """A base whose trainer answers as it is told."""

    predicts, trusted, name = None, False, "given"

    def __init__(self, answer):
        self.answer = answer

    @contextlib.contextmanager
    def trainer(self, points):
        yield self

    def classes(self, part, vectors, cells, labels):
        return self.answer(part, vectors, cells)

    def numbers(self, part, vectors, values):
        return self.answer(part, vectors, values)


def raising(*_):
    raise ValueError("a private value 987654321")


def talking(part, vectors, targets):
    print("rows", vectors)
    os.write(1, b"from compiled code")
    return np.full(2, targets[0] if targets.dtype.kind == "i" else np.nan)


def ensemble(base=None, values=None):
    return PartsEnsemble(
        features=Given(VECTORS),
        base=base or RidgeBase(),
        axis=1,
        labels=3,
        values=values,
        points=VECTORS,
        parts=4,
    )


def test_every_member_gives_one_vote_at_every_point():
    table = counts([(0, 1, 0), (1, 2, 0), (0, 2, 1), (0, 2, 1), (1, 1, 2)], SHAPE)
    votes = ensemble().votes(table, NOISE)
    # part 0 has learned place from place, parts 1 and 2 know one class, part 3 is empty
    assert votes.tolist() == [[1, 2, 1], [1, 1, 2]]


def test_a_part_whose_base_fails_votes_for_the_first_label():
    table = counts([(0, 1, 0), (1, 2, 0)], SHAPE)
    assert ensemble(Fixed(raising)).votes(table, NOISE).tolist() == [[4, 0, 0]] * 2


def test_a_base_is_told_the_number_of_the_part():
    told = []
    table = counts([(0, 1, part) for part in range(4)] + [(1, 2, part) for part in (1, 3)], SHAPE)
    ensemble(Fixed(lambda part, *_: told.append(part) or np.zeros(2, dtype=np.int64))).votes(table, NOISE)
    assert told == [1, 3]


def test_what_a_base_prints_is_swallowed(capfd):
    ensemble(Fixed(talking)).votes(counts([(0, 1, 0), (1, 2, 0)], SHAPE), NOISE)
    assert capfd.readouterr() == ("", "")


def test_sums_are_clipped_member_by_member_and_nan_counts_as_nothing():
    values = np.array([-1.0, 1.0, np.nan])
    table = counts([(0, 1, 0), (0, 1, 1), (0, 0, 2), (0, 2, 0), (0, 2, 3)] * 50, SHAPE)
    sums = ensemble(values=values).sums(table, NOISE) / FINENESS
    assert sums == pytest.approx([1.0, 0.0], abs=0.01)
    silent = ensemble(Fixed(talking), values=values)
    assert silent.sums(table, NOISE).tolist() == [0, 0]


def test_one_record_changes_one_member():
    rows = [(0, 1, 0), (1, 2, 0), (0, 2, 1), (1, 1, 2)]
    one, two = ensemble().votes(counts(rows, SHAPE), NOISE), ensemble().votes(counts([*rows, (1, 0, 3)], SHAPE), NOISE)
    assert np.abs(one - two).max() <= 1
    assert (np.abs(one - two).sum(axis=1) <= 2).all()


@pytest.mark.parametrize("wild", [np.nan, np.inf, -np.inf, 1e300, -1e300, 1.5, -1.0000001])
def test_a_member_moves_a_sum_by_its_range_at_most_whatever_it_predicts(wild):
    """From -1 to 1 in steps of the grid: what the noise of an average is made for."""
    values, rows = np.array([-1.0, 1.0, 0.0]), [(0, 1, part) for part in range(4)]
    predicting = Fixed(lambda part, *_: np.array([wild, 0.25]) if part == 2 else np.array([0.5, 0.25]))
    plain = Fixed(lambda *_: np.array([0.5, 0.25]))
    found, without = (ensemble(base, values).sums(counts(rows, SHAPE), NOISE) for base in (predicting, plain))
    told = {np.nan: 0.0, np.inf: 1.0, -np.inf: -1.0}.get(wild, np.clip(wild, -1.0, 1.0))
    assert without.tolist() == [2 * FINENESS, FINENESS]
    assert (found - without).tolist() == [round((np.nan_to_num(told) - 0.5) * FINENESS), 0]


def test_a_regressor_that_fails_counts_as_nothing():
    values, table = np.array([-1.0, 1.0, 0.0]), counts([(0, 1, 0), (0, 1, 1)], SHAPE)
    assert ensemble(Fixed(raising), values).sums(table, NOISE).tolist() == [0, 0]
    half = Fixed(lambda part, *_: raising() if part else np.array([0.5, -0.5]))
    assert ensemble(half, values).sums(table, NOISE).tolist() == [FINENESS // 2, -FINENESS // 2]


def test_every_part_is_taught_by_its_own_rows_as_often_as_they_are_there():
    seen = {}
    told = Fixed(lambda part, vectors, values: seen.update({part: (vectors, values)}) or np.zeros(2))
    table = counts([(0, 0, 2), (1, 1, 2), (1, 1, 2), (0, 1, 0), (1, 0, 3)], SHAPE)
    ensemble(told, np.array([-1.0, 1.0, 0.0])).sums(table, NOISE)
    assert {part: (one.tolist(), two.tolist()) for part, (one, two) in seen.items()} == {
        0: ([[1.0, 0.0]], [1.0]),
        2: ([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [-1.0, 1.0, 1.0]),
        3: ([[0.0, 1.0]], [-1.0]),
    }


def test_all_votes_of_a_point_together_are_one_a_part():
    table = counts([(0, 1, 0), (1, 2, 0), (0, 2, 1), (0, 2, 1), (1, 1, 2)], SHAPE)
    assert ensemble().votes(table, NOISE).sum(axis=1).tolist() == [4, 4]
