import os

import numpy as np
import pytest
from tables_of_prediction import Given, counts

from dpqr.mechanisms.fitted import FINENESS
from dpqr.noise.source import SystemNoise
from dpqr.prediction.bases import ForeignBase, RidgeBase
from dpqr.prediction.ensemble import PartsEnsemble

VECTORS = np.array([[1.0, 0.0], [0.0, 1.0]])
SHAPE = (2, 3, 4)
NOISE = SystemNoise()


class Broken:
    def fit(self, *_):
        raise ValueError("a private value 987654321")


class Talking:
    def fit(self, vectors, targets):
        print("rows", vectors)
        os.write(1, b"from compiled code")
        self.kept = targets

    def predict(self, points):
        return np.full(len(points), self.kept[0] if self.kept.dtype.kind == "i" else np.nan)


class Foreign:
    def fit(self, *_): ...

    def predict(self, points):
        return np.full(len(points), 7)


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


@pytest.mark.parametrize("kind", [Broken, Foreign])
def test_a_part_whose_base_fails_votes_for_the_first_label(kind):
    table = counts([(0, 1, 0), (1, 2, 0)], SHAPE)
    assert ensemble(ForeignBase(maker=kind, options={})).votes(table, NOISE).tolist() == [[4, 0, 0]] * 2


def test_what_an_estimator_prints_is_swallowed(capfd):
    ensemble(ForeignBase(maker=Talking, options={})).votes(counts([(0, 1, 0), (1, 2, 0)], SHAPE), NOISE)
    assert capfd.readouterr() == ("", "")


def test_sums_are_clipped_member_by_member_and_nan_counts_as_nothing():
    values = np.array([-1.0, 1.0, np.nan])
    table = counts([(0, 1, 0), (0, 1, 1), (0, 0, 2), (0, 2, 0), (0, 2, 3)] * 50, SHAPE)
    sums = ensemble(values=values).sums(table, NOISE) / FINENESS
    assert sums == pytest.approx([1.0, 0.0], abs=0.01)
    silent = ensemble(ForeignBase(maker=Talking, options={}), values=values)
    assert silent.sums(table, NOISE).tolist() == [0, 0]


def test_one_record_changes_one_member():
    rows = [(0, 1, 0), (1, 2, 0), (0, 2, 1), (1, 1, 2)]
    one, two = ensemble().votes(counts(rows, SHAPE), NOISE), ensemble().votes(counts([*rows, (1, 0, 3)], SHAPE), NOISE)
    assert np.abs(one - two).max() <= 1
    assert (np.abs(one - two).sum(axis=1) <= 2).all()
