"""Tables on which a solver's rounding is largest: tiny and equal rows, weights far apart, penalties near 0."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from dpqr.kernel.unit import Neighbours
from dpqr.prediction.learners.losses import ExactHinge, Hinge, Logistic, Pinball
from dpqr.prediction.learners.perturbed import PerturbedLearner
from support.prediction_tables import LOSSES, UNITS, VALUES, counts, examples, learner


def hostile_vectors(drawn):
    width, number = int(drawn.choice([1, 2, 3, 8])), int(drawn.integers(1, 12))
    vectors = drawn.normal(size=(number, width)) * 10 ** drawn.uniform(-6, 0, size=(number, 1))
    vectors /= np.maximum(1, np.linalg.norm(vectors, axis=1, keepdims=True))
    if drawn.random() < 0.3:
        vectors[:] = vectors[0]
    if drawn.random() < 0.3:
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def hostile_rows(drawn, number, classes):
    kinds = 2 if classes else len(VALUES)
    size = int(drawn.integers(1, 12))
    return sorted({(int(drawn.integers(number)), int(drawn.integers(kinds))) for _ in range(size)})


def hostile_fit(seed, name):
    """A learner and a table for it, of 1 to 2^28 records, whose rows stand for 1 or for nearly all of them."""
    drawn = np.random.default_rng(seed)
    vectors, records = hostile_vectors(drawn), int(2 ** drawn.uniform(0, 28))
    relation = list(Neighbours)[int(drawn.integers(2))]
    penalty = Fraction(10 ** drawn.uniform(-9, 2)).limit_denominator(10**12)
    rows = hostile_rows(drawn, len(vectors), name in ("logistic", "hinge", "exact hinge"))
    often = (drawn.dirichlet(np.full(len(rows), 0.2)) * records).astype(int) + 1
    if drawn.random() < 0.3:
        often = 2 ** drawn.integers(0, 28, size=len(rows))
    if relation is Neighbours.REPLACE:  # the number of records is public
        while often.sum() > records:
            often = often // 2
        often[0] += records - often.sum()
    held = [(row, int(times)) for row, times in zip(rows, often, strict=True) if times]
    table = counts([row for row, _ in held], often=[times for _, times in held])
    return learner(name, vectors, penalty, UNITS[relation], records), table


PULLED = [Logistic(), Hinge(), Pinball(), Hinge(width=Fraction(1, 1000)), Pinball(width=Fraction(1, 10**5))]


def hostile_pull(seed):
    """The same for a perturbed objective, of up to 2^32 records a row, and its pull."""
    drawn = np.random.default_rng(seed)
    vectors, loss = hostile_vectors(drawn), PULLED[seed % len(PULLED)]
    strength = max(Fraction(10 ** drawn.uniform(-3, 6)).limit_denominator(10**9), loss.smoothness)
    given = PerturbedLearner(
        examples=examples(vectors, VALUES), loss=loss, strength=strength, unit=UNITS[Neighbours.ADD_REMOVE]
    )
    rows = hostile_rows(drawn, len(vectors), classes=True)
    often = [int(2 ** drawn.uniform(0, 32)) for _ in rows]
    pull = drawn.normal(size=vectors.shape[1]) * float(strength) * 10 ** drawn.uniform(-2, 2)
    return given, counts(rows, often=often), pull


def exact_rows(learner, table):
    """Vectors, targets and weights as the learner computes them, in rational numbers."""
    codes, records = table.codes, table.counts
    scale = getattr(learner, "scale", None)
    weights = records.astype(float) if scale is None else scale.weights(records)
    rows = learner.examples.rows(codes, weights)
    for block in rows.blocks():
        for vector, target, weight in zip(block.vectors, block.targets, block.weights, strict=True):
            yield [Fraction(float(each)) for each in vector], Fraction(float(target)), Fraction(float(weight))


def dot(one, two):
    return sum((a * b for a, b in zip(one, two, strict=True)), Fraction(0))


def gap_of(learner, table, point, shares):
    """What the objective of a loss with a corner at a rational point exceeds its least value by, at most: weak duality,
    whatever the shares in [0, 1] are, in rational numbers. 0: the point is the minimiser."""
    gap, penalty = Fraction(0), Fraction(float(learner.penalty))
    pulls, loss = [Fraction(0)] * len(point), learner.loss
    for (vector, target, weight), share in zip(exact_rows(learner, table), shares, strict=True):
        assert 0 <= share <= 1
        classes = isinstance(loss, ExactHinge)
        direction = -target if classes else Fraction(-1)
        short = (1 if classes else target) + direction * dot(vector, point)
        gap += weight * (max(Fraction(0), short) - share * short)
        base = Fraction(float(loss.base))
        pulls = [pull + weight * (base + share) * direction * x for pull, x in zip(pulls, vector, strict=True)]
    apart = [each + pull / (2 * penalty) for each, pull in zip(point, pulls, strict=True)]
    return gap + penalty * dot(apart, apart)


def distance_in_digits(learner, table, found, pull=None):
    """From the minimiser of a smooth loss, in 60 digits: Newton steps, each as long as the objective falls along it, to
    a point whose gradient over the modulus, which bounds its distance from the minimiser, is below 1e-25."""
    with localcontext() as context:
        context.prec = 60
        modulus = _decimal(learner.strength if pull is not None else 2 * Fraction(float(learner.penalty)))
        rows = [
            ([_decimal(each) for each in vector], _decimal(target), _decimal(weight))
            for vector, target, weight in exact_rows(learner, table)
        ]
        pulled = [_decimal(Fraction(float(each))) for each in (found * 0 if pull is None else pull)]

        def gradient(point):
            total = [modulus * each + one for each, one in zip(point, pulled, strict=True)]
            for row, target, weight in rows:
                slope = weight * _slope(learner.loss, _dot(row, point), target)
                total = [each + slope * x for each, x in zip(total, row, strict=True)]
            return total

        start = [_decimal(Fraction(float(each))) for each in found]
        point = start
        for _ in range(60):
            slope = gradient(point)
            if _dot(slope, slope).sqrt() / modulus < Decimal("1e-25"):
                apart = [one - two for one, two in zip(start, point, strict=True)]
                return float(_dot(apart, apart).sqrt())
            curved = [[modulus * (place == other) for other in range(len(point))] for place in range(len(point))]
            for row, target, weight in rows:
                bent = weight * _curvature(learner.loss, _dot(row, point), target)
                curved = [
                    [each + bent * x * y for each, y in zip(line, row, strict=True)]
                    for line, x in zip(curved, row, strict=True)
                ]
            step, low, high = _solved(curved, slope), Decimal(0), Decimal(1)

            def reached(length, point=point, step=step):
                return [each - length * one for each, one in zip(point, step, strict=True)]

            if _dot(gradient(reached(high)), step) < 0:
                for _ in range(120):
                    middle = (low + high) / 2
                    low, high = (low, middle) if _dot(gradient(reached(middle)), step) < 0 else (middle, high)
            point = reached(high)
        raise AssertionError("Newton's method has not arrived")


def _dot(one, two):
    return sum((a * b for a, b in zip(one, two, strict=True)), Decimal(0))


def _solved(matrix, right):
    """Gaussian elimination of a positive definite matrix."""
    lines = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for place, line in enumerate(lines):
        line[:] = [each / line[place] for each in line]
        for other in lines:
            if other is not line and other[place]:
                other[:] = [each - other[place] * one for each, one in zip(other, line, strict=True)]
    return [line[-1] for line in lines]


def _slope(loss, predicted, target):
    if isinstance(loss, Logistic):
        exponent = target * predicted
        if abs(exponent) > 10**4:
            return -target if exponent < 0 else Decimal(0)
        return -target / (1 + exponent.exp())
    width = _decimal(Fraction(float(loss.width)))
    if isinstance(loss, Hinge):
        return -target * min(max((1 - target * predicted + width) / (2 * width), Decimal(0)), Decimal(1))
    tau = _decimal(Fraction(float(loss.tau)))
    below = min(max((target - predicted + width) / (2 * width), Decimal(0)), Decimal(1))
    return -(tau - 1 + below)


def _curvature(loss, predicted, target):
    if isinstance(loss, Logistic):
        share = abs(_slope(loss, predicted, target))
        return share * (1 - share)
    width = _decimal(Fraction(float(loss.width)))
    short = 1 - target * predicted if isinstance(loss, Hinge) else target - predicted
    return (1 if abs(short) <= width else 0) / (2 * width)


def _decimal(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


CORNERED = [name for name, loss in LOSSES.items() if name.startswith("exact")]
SMOOTH = ["logistic", "hinge", "pinball"]
