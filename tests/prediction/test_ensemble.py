import contextlib
import os

import numpy as np
import pytest
from tables_of_prediction import Given, counts

from dpqr.mechanisms.fitted import FINENESS
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
