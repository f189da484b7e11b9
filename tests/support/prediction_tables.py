"""Tiny tables for prediction tests: counts made of vectors, and features that are given as they are."""

from fractions import Fraction

import numpy as np

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.learners.exact_kernel import ExactKernel
from dpqr.prediction.learners.examples import Examples, LossScale
from dpqr.prediction.learners.features import Kernel
from dpqr.prediction.learners.gradient_steps import GradientDescent, OnlineLearner, Steps
from dpqr.prediction.learners.losses import ExactHinge, ExactPinball, Hinge, Logistic, Pinball, Square, TaperedCorner
from dpqr.prediction.learners.perturbed import PerturbedLearner
from dpqr.prediction.learners.stable import LipschitzLearner, RidgeRegression


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
TAPERED = [
    TaperedCorner(corner=corner, width=Fraction(1, 16))
    for corner in (ExactHinge(), ExactPinball(), ExactPinball(tau=Fraction(9, 10)))
]
VECTORS = 12
VALUES = np.array([-1.0, 1.0, 0.0, 0.3])
KERNEL_VALUES = np.array([-1.0, 1.0, 0.4])
LOSSES = {
    "logistic": Logistic(),
    "hinge": Hinge(),
    "exact hinge": ExactHinge(),
    "pinball": Pinball(tau=Fraction(4, 5)),
    "exact pinball": ExactPinball(tau=Fraction(4, 5)),
    "least squares": None,
}


def learner(name, vectors, penalty, unit, records):
    given = {"examples": examples(vectors, VALUES), "penalty": penalty, "scale": LossScale(unit=unit, records=records)}
    return LipschitzLearner(loss=LOSSES[name], **given) if LOSSES[name] else RidgeRegression(**given)


def descent(name, vectors, *, radius, horizon, unit, records, part=False):
    scale, loss = LossScale(unit=unit, records=records, part=part), LOSSES[name] or Square()
    given = examples(vectors, VALUES)
    return GradientDescent(examples=given, loss=loss, radius=Fraction(radius), horizon=horizon, scale=scale)


def measured_descent_shares(drawn, name, relation, pairs):
    """How much of its certified bound a descent moves by."""

    def made(vectors, declared):
        radius, horizon = (Fraction(int(10 ** drawn.uniform(2, high)), 1000) for high in (4, 3.5))
        return descent(name, vectors, radius=radius, horizon=horizon, unit=UNITS[relation], records=declared)

    return moved_shares(drawn, name, relation, pairs, made)


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

    def made(vectors, declared):
        return learner(name, vectors, Fraction(int(10 ** drawn.uniform(0, 5)), 1000), UNITS[relation], declared)

    return moved_shares(drawn, name, relation, pairs, made)


def moved_shares(drawn, name, relation, pairs, made):
    """made: a learner of vectors and a declared number of records."""
    for _ in range(pairs):
        vectors = drawn.normal(size=(VECTORS, 2))
        vectors /= np.maximum(1, np.linalg.norm(vectors, axis=1, keepdims=True))
        size = int(drawn.integers(2, 9))
        declared = size if relation is Neighbours.REPLACE else int(drawn.integers(1, 2 * size))
        stable = made(vectors, declared)
        one, two = (stable.fit(counts(rows)) for rows in pair(drawn, name, relation, size))
        yield np.linalg.norm(one - two) / float(stable.bound)


def measured_pull_shares(drawn, name, relation, pairs):
    """How much of gradient / strength, and of the solver's tolerance at both ends, the minimiser of an objective moves
    by under one pull, which is small or large."""
    for _ in range(pairs):
        vectors = drawn.normal(size=(VECTORS, 2))
        vectors /= np.maximum(1, np.linalg.norm(vectors, axis=1, keepdims=True))
        strength, pull = (
            Fraction(int(10 ** drawn.uniform(1, 4)), 100),
            drawn.normal(size=2) * 10 ** drawn.uniform(-1, 3),
        )
        given = pulled(name, vectors, strength, relation)
        tables = pair(drawn, name, relation, int(drawn.integers(2, 9)))
        one, two = (given.fit(counts(rows), pull) for rows in tables)
        yield np.linalg.norm(one - two) / float(given.gradient / strength + 2 * given.tolerance)


def pulled(name, vectors, strength, relation):
    given = {"examples": examples(vectors, VALUES), "strength": strength, "unit": UNITS[relation]}
    return PerturbedLearner(loss=LOSSES[name], **given)


def built_pull_share(name, relation):
    """A pull so strong along one axis that every loss has its full slope; along the other one rows pull up or down."""
    up, strength = 0.99**0.5, Fraction(1)
    given = pulled(name, [[-0.1, up], [-0.1, -up]], strength, relation)
    tables = [(0, 1)], [] if relation is Neighbours.ADD_REMOVE else [(1, 1)]
    one, two = (given.fit(counts(table), np.array([-1000.0, 0.0])) for table in tables)
    return np.linalg.norm(one - two) / float(given.gradient / strength + 2 * given.tolerance)


SHORT = 0.01
"""Rows of this length, many of them, hold f near (1, 0) and hardly weigh on any direction where lambda is as small."""


def built_share(name, relation):
    """Logistic: most rows pull f far along the first axis; the others are badly wrong there, with the full slope, and
    pull along the second axis, up and then down. Least squares, add-remove: a record comes against f, (R + 1) / (lambda
    m0); replace: one at 60 degrees to f goes, and one on the other side of it comes, D(1) / (lambda m)
    with D(1) = 3 sqrt(3) / 2."""
    if name == "logistic":
        vectors, many, penalty = [[1.0, 0.0], [-0.3, 0.91**0.5], [-0.3, -(0.91**0.5)]], 10**7, Fraction(1, 10**6)
        goes, comes = ((), ((1, 1),)) if relation is Neighbours.ADD_REMOVE else (((1, 1),), ((2, 1),))
    else:
        vectors = [[SHORT, 0.0], [-1.0, 0.0], [0.5, 0.75**0.5], [0.5, -(0.75**0.5)]]
        many, penalty = 10**6, Fraction(1, 100)
        goes, comes = ((), ((1, 1),)) if relation is Neighbours.ADD_REMOVE else (((2, 0),), ((3, 0),))
    stable = learner(name, vectors, penalty, UNITS[relation], many)
    fits = [stable.fit(counts([(0, 1), *rows], often=[many - 1, *[1] * len(rows)])) for rows in (goes, comes)]
    return np.linalg.norm(fits[0] - fits[1]) / float(stable.bound)


def built_descent_share(relation):
    """Logistic: most records pull f far along the first axis. One that is badly wrong there, before and after, pulls
    along the second axis, where nobody else does: up and then down, or it comes."""
    short = 0.42 if relation is Neighbours.ADD_REMOVE else 0.38
    vectors = [[1.0, 0.0], *([-short, side * (1 - short**2) ** 0.5] for side in (1, -1))]
    goes, comes = ((), ((1, 1),)) if relation is Neighbours.ADD_REMOVE else (((1, 1),), ((2, 1),))
    stable = descent("logistic", vectors, radius=20, horizon=Fraction(4000), unit=UNITS[relation], records=10**6)
    fits = [stable.fit(counts([(0, 1), *rows], often=[10**6 - 1, *[1] * len(rows)])) for rows in (goes, comes)]
    return np.linalg.norm(fits[0] - fits[1]) / float(stable.bound)


def built_kernel_share():
    """The same of a kernel's values, whose bound is in the kernel's norm: at (0, 1), where both pull upwards, one from
    either side of it. Rounding, which is charged, leaves no room for a smaller lambda."""
    up = (1 - 0.38**2) ** 0.5
    values = exact_kernel(
        np.array([[1.0, 0.0], [0.38, up], [-0.38, up], [0.0, 1.0]]),
        Logistic(),
        Kernel(name="polynomial", degree=1),
        40_000,
        "1/30000",
    ).at(np.array([[3]]))
    one, two = (values.fit(counts([(0, 1), other], often=[39_999, 1])) for other in ((1, 0), (2, 1)))
    return float(np.abs(one - two).max()) / float(values.learner.bound)


def unit_vectors(drawn, number=8, width=3):
    vectors = drawn.normal(size=(number, width))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def exact_kernel(vectors, loss, kernel, records, penalty="1/50"):
    scale = LossScale(unit=UNITS[Neighbours.REPLACE], records=records)
    given = examples(vectors, KERNEL_VALUES)
    return ExactKernel(examples=given, kernel=kernel, loss=loss, penalty=Fraction(penalty), scale=scale)


def measured_kernel_shares(drawn, loss, kernel, pairs):
    """How much of its bound a value of a kernel's function moves by."""
    for _ in range(pairs):
        number, penalty = int(drawn.integers(1, 9)), Fraction(int(10 ** drawn.uniform(0, 4)), 1000)
        values = exact_kernel(unit_vectors(drawn), loss, kernel, number, penalty).at(np.arange(8)[:, None])
        rows = [(int(drawn.integers(8)), int(drawn.integers(2))) for _ in range(number)]
        rows = rows if drawn.random() < 0.5 else [(0, 1)] * number
        other = [*rows[:-1], (int(drawn.integers(8)), int(drawn.integers(2)))]
        moved = values.fit(counts(rows)) - values.fit(counts(other))
        yield np.abs(moved).max() / float(values.learner.bound)


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
