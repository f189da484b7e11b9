"""Objective perturbation: the minimiser, its tolerance, and the loss of privacy against densities worked out anew."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit
from support.cases import in_one_test
from support.prediction_tables import UNITS, Given, built_pull_share, counts, examples, measured_pull_shares

from dpqr.kernel.unit import Neighbours
from dpqr.prediction.learners.examples import TrainingRows
from dpqr.prediction.learners.losses import Hinge, Logistic, Pinball
from dpqr.prediction.learners.perturbed import EXACTNESS, PIECE, Near, PerturbedLearner, PerturbedObjective, in_pieces
from dpqr.prediction.learners.solver import Objective, Solver

SIGNS = [-1.0, 1.0]
VECTORS = [[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]]
ROWS = [(0, 1), (1, 0), (2, 1), (2, 1)]


def learner(strength=1, relation=Neighbours.ADD_REMOVE, vectors=VECTORS, unit=None):
    return PerturbedLearner(
        examples=examples(vectors, SIGNS), loss=Logistic(), strength=Fraction(strength), unit=unit or UNITS[relation]
    )


def gradient(rows, strength, pull, point):
    slopes = [-SIGNS[sign] * expit(-SIGNS[sign] * (np.array(VECTORS[vector]) @ point)) for vector, sign in rows]
    pulls = [slope * np.array(VECTORS[vector]) for slope, (vector, _) in zip(slopes, rows, strict=True)]
    return sum(pulls) + strength * point + pull


@in_one_test("strength", [0.25, 5])
@pytest.mark.parametrize("pull", [[0.0, 0.0], [3.0, -40.0], [-1e4, 5e3]])
def test_it_finds_the_minimiser(strength, pull):
    """By strong convexity a point is no further from it than its gradient over the strength."""
    found = learner(strength).fit(counts(ROWS), np.array(pull))
    assert np.linalg.norm(gradient(ROWS, strength, np.array(pull), found)) <= strength * learner(strength).tolerance


def test_the_sum_of_losses_is_no_average():
    """Twice the rows at twice the strength and pull have the same minimiser; nothing is divided by their number."""
    once, twice = learner(3).fit(counts(ROWS), np.ones(2)), learner(6).fit(counts(ROWS * 2), 2 * np.ones(2))
    np.testing.assert_allclose(once, twice, atol=2e-4)


MOST = 2**36
"""Records that a run takes at most."""
MANY = {(0, 1): MOST // 2 - 9, (1, 0): MOST // 4 + 1, (2, 1): MOST // 8, (2, 0): MOST // 8}


def minimiser(rows, pull, point):
    """Of the objective of strength 1, by Newton's method in 60 digits from a point near it: its last step, and so its
    distance from the minimiser, is below 1e-30."""
    with localcontext() as context:
        context.prec = 60
        point = [Decimal(float(each)) for each in point]
        for _ in range(8):
            slope = [Decimal(one) + two for one, two in zip(pull, point, strict=True)]
            curved = [Decimal(1), Decimal(0), Decimal(1)]
            for (vector, sign), often in rows.items():
                (x, y), target = map(Decimal, VECTORS[vector]), Decimal(SIGNS[sign])
                share = 1 / (1 + (target * (x * point[0] + y * point[1])).exp())
                slope = [each - often * share * target * one for each, one in zip(slope, (x, y), strict=True)]
                each = often * share * (1 - share)
                curved = [one + each * two for one, two in zip(curved, (x * x, x * y, y * y), strict=True)]
            a, b, c = curved
            step = [(c * slope[0] - b * slope[1]) / (a * c - b * b), (a * slope[1] - b * slope[0]) / (a * c - b * b)]
            point = [each - one for each, one in zip(point, step, strict=True)]
        assert max(abs(each) for each in step) < Decimal("1e-30")
        return point


@in_one_test("pull", [[3.0, -40.0], [-7e5, 11.0]])
def test_the_largest_tables_are_minimised_to_the_tolerance(pull):
    given = learner()
    found = given.fit(counts(list(MANY), often=list(MANY.values())), np.array(pull))
    apart = [float(Decimal(float(one)) - two) for one, two in zip(found, minimiser(MANY, pull, found), strict=True)]
    assert np.linalg.norm(apart) <= given.tolerance


def largest(pull):
    """The objective of MANY, and a solver for it."""
    given = learner()
    rows = given.examples.rows(np.array(list(MANY)), np.array(list(MANY.values()), dtype=float))
    objective = PerturbedObjective(
        base=Objective(rows=rows, loss=given.loss, penalty=0.5), loss=given.loss, pull=np.array(pull)
    )
    figures = {"modulus": Fraction(1), "smoothness": Fraction(MOST), "start": Fraction(MOST)}
    return objective, Solver(tolerance=given.tolerance, **figures)


def test_a_point_that_is_off_by_twice_the_tolerance_is_not_certified():
    """A broken solver would be seen: of the largest table in extended precision, of a small one in doubles."""
    objective, solver = largest([3.0, -40.0])
    near = Near(pulled=objective, point=learner().fit(counts(list(MANY), often=list(MANY.values())), objective.pull))
    step, twice = solver.refine(near), 2 * float(solver.tolerance)
    assert solver.certified(near.size(near.gradient(step)))
    for angle in np.linspace(0, 6, 13):
        wrong = step + twice * np.array([np.cos(angle), np.sin(angle)])
        assert not solver.certified(near.size(near.gradient(wrong)))
    found, pulled = learner().fit(counts(ROWS), np.ones(2)), np.array([1.0, 1.0])
    for angle in np.linspace(0, 6, 13):
        wrong = found + twice * np.array([np.cos(angle), np.sin(angle)])
        assert np.linalg.norm(gradient(ROWS, 1, pulled, wrong)) > solver.needed


def test_a_double_cannot_hold_the_minimiser_of_the_largest_tables(monkeypatch):
    """Why there is extended precision: what doubles find is not shown to be within the tolerance."""
    objective, solver = largest([3.0, -40.0])
    found = solver.minimise(objective)
    assert objective.rounding(float(np.linalg.norm(found)), MOST) > solver.needed
    assert objective.rounding(float(np.linalg.norm(found)), MOST, extended=True) < solver.needed / 2
    assert objective.rounding(1.0, 2.0**24) < solver.needed  # and where a double does


@in_one_test(("loss", "reach"), [(Logistic(), 10), (Hinge(), 10), (Pinball(), 1), (Pinball(tau=Fraction(9, 10)), 1)])
@pytest.mark.parametrize("width", [2, 100, 2**12])
@pytest.mark.parametrize("strength", [Fraction(1, 4), 40, 10**6])
def test_rounding_has_less_than_its_half_of_the_tolerance_whatever_the_table(loss, reach, width, strength):
    """||f* + pull / strength||^2 <= 2 n L(<x, pull> / strength) / strength: the objective there is at least that of f*.
    Here n = 2^36, and the pull is 20 times what its strength is balanced against."""
    strength = max(strength, loss.smoothness)
    pulled = 20 * reach
    apart = math.sqrt(2 * MOST * float(loss.start + loss.lipschitz * pulled) / float(strength))
    features = Given(np.zeros((1, width)))
    rows = TrainingRows(features=features, codes=np.zeros((0, 1), dtype=int), targets=np.zeros(0), weights=np.zeros(0))
    base = Objective(rows=rows, loss=loss, penalty=float(strength) / 2)
    pull = np.full(width, pulled * float(strength) / math.sqrt(width))
    rounding = PerturbedObjective(base=base, loss=loss, pull=pull).rounding(pulled + apart, MOST, extended=True)
    assert rounding < float(EXACTNESS * loss.lipschitz) / 2


def test_sums_of_pieces_are_sums():
    drawn = np.random.default_rng(3)
    for rows, columns in ((1, 1), (3, PIECE), (PIECE + 1, 3 * PIECE + 5)):
        matrix, vector = drawn.normal(size=(rows, columns)), drawn.normal(size=columns)
        np.testing.assert_allclose(in_pieces(matrix.astype(np.longdouble), vector), matrix @ vector, atol=1e-12)


def test_no_rows_and_a_large_pull_are_no_error():
    assert learner(2).fit(counts([]), np.array([4.0, 0.0])) == pytest.approx([-2, 0], abs=1e-3)


@in_one_test("name", ["logistic", "hinge", "pinball"])
@pytest.mark.parametrize("relation", Neighbours)
def test_one_record_moves_the_minimiser_by_its_gradient_over_the_strength_at_most(name, relation):
    assert max(measured_pull_shares(np.random.default_rng(6), name, relation, 20)) <= 1
    assert 0.85 <= built_pull_share(name, relation) <= 1
