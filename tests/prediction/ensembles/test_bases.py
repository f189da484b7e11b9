"""Bases: the built-in one, and how a name is read."""

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.kernel.errors import UsageFault
from dpqr.prediction.ensembles.bases import EstimatorBase, RidgeBase, read_base
from dpqr.prediction.ensembles.member import Work


def trained(points, base=None):
    with (base or RidgeBase()).trainer(points) as trainer:
        return trainer


def test_the_built_in_base_learns_with_few_rows_and_with_many():
    vectors = np.eye(3)
    for repeats in (1, 10):
        found = trained(vectors).classes(0, np.repeat(vectors, repeats, axis=0), np.repeat([2, 0, 5], repeats), 6)
        assert found.tolist() == [2, 0, 5]
    found = trained(vectors).numbers(0, vectors, np.array([1.0, -1.0, 0.0]))
    assert found == pytest.approx([1, -1, 0], abs=0.1)


def test_a_base_that_the_house_brings_needs_no_trust_and_takes_none():
    assert read_base("least-squares") == RidgeBase()
    with pytest.raises(UsageFault, match="--trust least-squares: no third party's"):
        read_base("least-squares", ("least-squares",))


@pytest.mark.slow
def test_a_third_partys_base_is_not_looked_at_before_it_is_rehearsed():
    base = read_base("nowhere.to.be.Found(a=1)", ("nowhere.to.be.Found",))
    assert isinstance(base, EstimatorBase)
    assert (base.trusted, base.predicts, base.name) == (True, None, "nowhere.to.be.Found(a=1)")
    with pytest.raises(UsageFault, match=r"nowhere.to.be.Found: it cannot be made \(ModuleNotFoundError"):
        base.rehearse()


@pytest.mark.slow
def test_scikit_learn_where_it_is_installed():
    pytest.importorskip("sklearn")
    base = read_base("sklearn.tree.DecisionTreeClassifier(max_depth=2)")
    assert base.predicts == "labels"
    with base.trainer(np.eye(2)) as trainer:
        assert trainer.classes(0, np.eye(2), np.array([0, 1]), 2).tolist() == [0, 1]
    base = read_base("sklearn.dummy.DummyRegressor(strategy='constant', constant=0.25)")
    with base.trainer(np.eye(2)) as trainer:
        assert trainer.numbers(0, np.eye(2), np.array([0.0, 1.0])).tolist() == [0.25, 0.25]


# What a member sends: one number a point, from its own part's rows, or nothing.

VECTORS = np.array([[0.5, 0.25], [1.0, -1.0], [0.0, 3.0]])


class Telling:
    """An estimator that predicts what its options say of the rows that it was fitted to."""

    def __init__(self, shape=(2,), random_state=None):
        self.shape, self.random_state = shape, random_state

    def fit(self, vectors, targets):
        self.told = float((vectors.sum(axis=1) * targets).sum())

    def predict(self, points):
        return np.full(self.shape, self.told if self.random_state is None else self.random_state)


def part(targets, number=5):
    head = np.array([number, targets.dtype.kind == "i", *VECTORS.shape], dtype=np.int64)
    return b"".join((head.tobytes(), VECTORS.tobytes(), targets.tobytes()))


def work(*, seeded=False, **options):
    return Work(maker=Telling, options=options, seeded=seeded, points=np.zeros((2, 2)), seconds=1)


@in_one_test("targets", [np.array([1, 0, 2]), np.array([1.0, 0.0, 2.0])])
def test_one_number_a_point_from_the_rows_as_they_were_sent(targets):
    assert np.frombuffer(work().predicted(part(targets))).tolist() == [0.75 + 6.0] * 2
    assert np.frombuffer(work(seeded=True).predicted(part(targets))).tolist() == [5.0, 5.0]


@in_one_test("shape", [(), (1,), (3,), (2, 1), (1, 2)])
def test_another_number_of_predictions_is_no_answer(shape):
    """Its length would tell of rows, and would be read as the next part's."""
    with pytest.raises(ValueError, match="not one number a point"):
        work(shape=shape).predicted(part(np.array([1, 0, 2])))
