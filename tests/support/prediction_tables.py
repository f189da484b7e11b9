"""Tiny tables for prediction tests: counts made of vectors, and features that are given as they are."""

from fractions import Fraction

import numpy as np

from dpqr.data.attribute import Attribute, Codes
from dpqr.data.domain import Domain
from dpqr.data.histogram import SparseHistogram
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.prediction.descent import GradientDescent
from dpqr.prediction.examples import Examples, Scale
from dpqr.prediction.losses import ExactHinge, ExactPinball, Hinge, Logistic, Pinball, Square
from dpqr.prediction.online import OnlineLearner, Steps
from dpqr.prediction.stable import LeastSquares, LipschitzLearner


class Given:
    """A feature map that looks vectors up by one column of codes."""

    def __init__(self, vectors):
        self.vectors = np.asarray(vectors, dtype=float)

    @property
    def width(self):
        return self.vectors.shape[1]

    def of(self, codes):
        return self.vectors[codes[:, 0]]


def examples(vectors, values):
    """Column 0: which vector; column 1, the target: which of the values."""
    return Examples(features=Given(vectors), axis=1, values=np.asarray(values, dtype=float))


def counts(rows, shape=(1000, 1000), often=None):
    """A histogram of rows of codes, each once or as often as it stands there; or as often as stated, in their order."""
    codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(shape))
    if often is not None:
        return SparseHistogram(shape, codes, np.array(often, dtype=np.int64))
    found, often = np.unique(codes, axis=0, return_counts=True)
    return SparseHistogram(shape, found, often.astype(np.int64))


def domain(*sizes):
    return Domain(tuple(Attribute(name=f"c{place}", axis=Codes(size)) for place, size in enumerate(sizes)))


UNITS = {each: PrivacyUnit(neighbours=each) for each in Neighbours}
VECTORS = 12
VALUES = np.array([-1.0, 1.0, 0.0, 0.3])
LOSSES = {
    "logistic": Logistic(),
    "hinge": Hinge(),
    "exact hinge": ExactHinge(),
    "pinball": Pinball(tau=Fraction(4, 5)),
    "exact pinball": ExactPinball(tau=Fraction(4, 5)),
    "least squares": None,
}


def learner(name, vectors, penalty, unit, records):
    given = {"examples": examples(vectors, VALUES), "penalty": penalty, "scale": Scale(unit=unit, records=records)}
    return LipschitzLearner(loss=LOSSES[name], **given) if LOSSES[name] else LeastSquares(**given)


def descent(name, vectors, *, radius, horizon, unit, records, part=False):
    scale, loss = Scale(unit=unit, records=records, part=part), LOSSES[name] or Square()
    given = examples(vectors, VALUES)
    return GradientDescent(examples=given, loss=loss, radius=Fraction(radius), horizon=horizon, scale=scale)


def measured_descent_shares(drawn, name, relation, pairs):
    """How much of its certified bound a descent moves by."""
    for _ in range(pairs):
        vectors = drawn.normal(size=(VECTORS, 2))
        vectors /= np.maximum(1, np.linalg.norm(vectors, axis=1, keepdims=True))
        size = int(drawn.integers(2, 9))
        declared = size if relation is Neighbours.REPLACE else int(drawn.integers(1, 2 * size))
        radius, horizon = (Fraction(int(10 ** drawn.uniform(2, high)), 1000) for high in (4, 3.5))
        stable = descent(name, vectors, radius=radius, horizon=horizon, unit=UNITS[relation], records=declared)
        one, two = (stable.fit(counts(rows)) for rows in pair(drawn, name, relation, size))
        yield np.linalg.norm(one - two) / float(stable.bound)


def pair(drawn, name, relation, size):
    """Two tables of rows (vector, value), neighbours; classifiers see signs only."""
    kinds = 2 if name in ("logistic", "hinge", "exact hinge") else len(VALUES)
    rows = [(int(drawn.integers(VECTORS)), int(drawn.integers(kinds))) for _ in range(size)]
    if drawn.random() < 0.5:  # everybody alike but for one
        rows = [rows[0]] * (size - 1) + [(rows[0][0], 1 - rows[0][1] % 2)]
    if relation is Neighbours.ADD_REMOVE:
        return rows, rows[:-1]
    return rows, [*rows[:-1], (int(drawn.integers(VECTORS)), int(drawn.integers(kinds)))]


def measured_shares(drawn, name, relation, pairs):
    """How much of its certified bound a learner moves by, for random and adversarial neighbours."""
    for _ in range(pairs):
        vectors = drawn.normal(size=(VECTORS, 2))
        vectors /= np.maximum(1, np.linalg.norm(vectors, axis=1, keepdims=True))
        size = int(drawn.integers(2, 9))
        declared = size if relation is Neighbours.REPLACE else int(drawn.integers(1, 2 * size))
        penalty = Fraction(int(10 ** drawn.uniform(0, 5)), 1000)
        stable = learner(name, vectors, penalty, UNITS[relation], declared)
        one, two = (stable.fit(counts(rows)) for rows in pair(drawn, name, relation, size))
        yield np.linalg.norm(one - two) / float(stable.bound)


EMPTY = None
"""A slot without a row."""
STREAM_VALUES = np.array([-1.0, 1.0, 0.25])


def online(vectors, slots, theta="3/4", offset=None, rows=1):
    steps = Steps(theta=Fraction(theta), offset=offset)
    return OnlineLearner(examples=examples(vectors, STREAM_VALUES), steps=steps, slots=slots, rows=rows)


def streamed(stable, stream):
    """Weights after a stream of (vector, value) or EMPTY, slot by slot."""
    rows = [(*row, slot) for slot, row in enumerate(stream) if row is not EMPTY]
    return stable.fit(counts(np.array(rows, dtype=int).reshape(len(rows), 3), (1000, 1000, 1000)))


def measured_online_shares(drawn, theta, pairs):
    """The same for streams, with a change at any position; half of them are all alike but for it."""
    for _ in range(pairs):
        vectors = drawn.normal(size=(6, 2))
        vectors /= np.maximum(1, np.linalg.norm(vectors, axis=1, keepdims=True))
        slots = int(drawn.integers(1, 30))
        stable = online(vectors, slots, theta, offset=int(drawn.integers(4, 9)))
        stream = [(int(drawn.integers(6)), int(drawn.integers(3))) for _ in range(slots)]
        if drawn.random() < 0.5:
            stream = [(0, 1)] * slots
        other = list(stream)
        other[int(drawn.integers(slots))] = EMPTY if drawn.random() < 0.2 else (int(drawn.integers(6)), 0)
        yield np.linalg.norm(streamed(stable, stream) - streamed(stable, other)) / float(stable.bound)
