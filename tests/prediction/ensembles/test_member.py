"""What a member sends: one number a point, from its own part's rows, or nothing."""

import numpy as np
import pytest

from dpqr.prediction.ensembles.member import Work

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


@pytest.mark.parametrize("targets", [np.array([1, 0, 2]), np.array([1.0, 0.0, 2.0])], ids=["labels", "numbers"])
def test_one_number_a_point_from_the_rows_as_they_were_sent(targets):
    assert np.frombuffer(work().predicted(part(targets))).tolist() == [0.75 + 6.0] * 2
    assert np.frombuffer(work(seeded=True).predicted(part(targets))).tolist() == [5.0, 5.0]


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1), (1, 2)])
def test_another_number_of_predictions_is_no_answer(shape):
    """Its length would tell of rows, and would be read as the next part's."""
    with pytest.raises(ValueError, match="not one number a point"):
        work(shape=shape).predicted(part(np.array([1, 0, 2])))
