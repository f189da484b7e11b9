"""Sensitivities over the cross product of losses, radii, relations, rows of a person, and parts of a table."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.cases import in_one_test, thinned
from support.prediction_tables import (
    LOSSES,
    TAPERED,
    UNITS,
    VALUES,
    VECTORS,
    counts,
    descent,
    examples,
    learner,
    online,
    pair,
    streamed,
)

from dpqr.kernel.budget import root_below
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.learners.examples import TAPER, LossScale
from dpqr.prediction.learners.gradient_steps import OnlineLearner, Steps
from dpqr.prediction.learners.losses import Hinge, Logistic, Pinball
from dpqr.prediction.learners.moments import STEPS, MomentsLearner
from dpqr.prediction.learners.perturbed import PerturbedLearner
from dpqr.prediction.learners.stable import opposed_pulls, square_distance
from dpqr.prediction.perturbation import SENSITIVITY, GaussianPerturbedWeights, Perturbation

AXIS = [[1.0, 0.0], [-1.0, 0.0]]
UNITS_OF = [
    PrivacyUnit(neighbours=relation, columns=columns, rows=rows, drops=drops)
    for relation, (columns, rows), drops in product(Neighbours, (((), 1), (("who",), 1), (("who",), 3)), (False, True))
]
"""Rows and persons, added and replaced, kept whole or dropped by rules."""
NAMES = [f"{unit.neighbours.value}-{'-'.join(unit.columns)}-{unit.rows}-{unit.drops}" for unit in UNITS_OF]
RADII = (Fraction(1, 4), 1, 2, 4)


def is_public(unit, part):
    """Whether the number of rows that a learner reads is public: of replaced rows that no rule drops, all together."""
    return unit.neighbours is Neighbours.REPLACE and not unit.columns and not unit.drops and not part


def moved(unit, part, gradient):
    """How far the gradient of the mean of losses moves, times m0, where one record's is at most `gradient`."""
    if is_public(unit, part):
        return 2 * gradient
    return unit.rows * (2 if unit.neighbours is Neighbours.REPLACE else 1) * (1 + TAPER) * gradient


@in_one_test("part", [False, True])
@pytest.mark.parametrize("unit", UNITS_OF)
def test_a_scale_counts_every_record_of_a_unit(unit, part):
    scale = LossScale(unit=unit, records=10, part=part)
    gradient, modulus = Fraction(3), Fraction(1, 7)
    assert scale.distance(gradient, modulus) == moved(unit, part, gradient) / (modulus * 10)
    steps = 1 if is_public(unit, part) else unit.rows * (2 if unit.neighbours is Neighbours.REPLACE else 1)
    share = 2 * gradient if is_public(unit, part) else (1 + TAPER) * gradient
    assert scale.bounded_distance(gradient, modulus) == steps / root_below(modulus * 10 / share)
    weighed = max(scale.weight(records) * records for records in range(2000))
    assert weighed <= scale.heaviest or is_public(unit, part)
    assert (scale.weight(5) == scale.weight(10**6)) == is_public(unit, part)


@in_one_test("radius", RADII)
def test_squares_pull_as_far_as_their_ball_is_wide(radius):
    """2 (R + 1) one record, 2 D(R) two that replace each other; D(R) by the definition, over angles."""
    angles = np.linspace(0, np.pi, 20_001)
    widest = float(np.max(2 * np.sin(angles) * (1 + float(radius) * np.cos(angles))))
    assert widest <= float(opposed_pulls(Fraction(radius))) <= widest * (1 + 1e-6)
    for unit, part in product(UNITS_OF, (False, True)):
        pulls = opposed_pulls(Fraction(radius)) if is_public(unit, part) else moved(unit, part, Fraction(radius + 1))
        stable = descent("least squares", AXIS, radius=radius, horizon=Fraction(3), unit=unit, records=50, part=part)
        assert (stable.reached, stable.distance) == (3, 2 * stable.reached * pulls / 50)
        scale = LossScale(unit=unit, records=50, part=part)
        assert square_distance(scale, Fraction(radius), Fraction(1, 9)) == pulls / (Fraction(1, 9) * 50)


@in_one_test("name", [name for name in LOSSES if name not in ("exact hinge", "exact pinball")])
def test_a_descent_moves_by_its_reach_times_the_gradients(name):
    for unit, part in product(UNITS_OF, (False, True)):
        stable = descent(name, AXIS, radius=1, horizon=Fraction(5), unit=unit, records=50, part=part)
        if name != "least squares":
            assert stable.distance == stable.reached * moved(unit, part, stable.loss.lipschitz) / 50
        assert stable.bound > stable.distance + 2 * stable.tolerance
        assert stable.reached / stable.steps * stable.scale.heaviest * stable.loss.smoothness <= 2


def test_squares_that_a_record_comes_against_use_more_than_the_slopes_of_the_unit_ball():
    """Most records hold f at norm 4 along the first axis; one that comes pulls sidewards, with a slope above 5."""
    stable = descent(
        "least squares",
        [[0.25, 0.0], [-0.64, (1 - 0.64**2) ** 0.5]],
        radius=4,
        horizon=Fraction(200),
        unit=UNITS[Neighbours.ADD_REMOVE],
        records=10**6,
    )
    fits = [stable.fit(counts([(0, 1), (1, 1)][: len(often)], often=often)) for often in ([999_999], [999_999, 1])]
    apart = np.linalg.norm(fits[0] - fits[1])
    assert 4 * float(stable.reached) / 10**6 < apart <= float(stable.bound)


@pytest.mark.slow
@in_one_test("relation", Neighbours)
@pytest.mark.parametrize("name", ["logistic", "hinge", "pinball", "least squares"])
def test_a_descent_stays_in_its_ball_in_every_direction(name, relation):
    drawn = np.random.default_rng(11)
    for radius in RADII[:2]:
        vectors = drawn.normal(size=(VECTORS, 3))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        stable = descent(name, vectors, radius=radius, horizon=Fraction(15), unit=UNITS[relation], records=4)
        for table in pair(drawn, name, relation, 4):
            assert np.linalg.norm(stable.fit(counts(table))) <= float(radius) * (1 + 1e-12)


@in_one_test("penalty", ["1/1000", "1/10", "30"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_minimiser_moves_by_the_smaller_of_both_bounds(name, penalty):
    modulus = 2 * Fraction(penalty)
    for unit in UNITS_OF:
        stable = learner(name, AXIS, Fraction(penalty), unit, 20)
        if name == "least squares":
            assert stable.distance == square_distance(stable.scale, stable.radius, Fraction(penalty))
            continue
        largest = stable.loss.start + stable.loss.lipschitz * stable.norm
        straight = moved(unit, False, stable.loss.lipschitz) / (modulus * 20)
        assert stable.distance == min(straight, stable.scale.bounded_distance(largest, modulus))
        ends = [np.full(len(VALUES), side * float(stable.norm)) for side in (-1, 1)]
        assert max(stable.loss.value(end, VALUES).max() for end in ends) <= float(largest) * (1 + 1e-12)


CORNERS = [Logistic(), Hinge(), Hinge(width=Fraction(1, 2)), Pinball(), Pinball(tau=Fraction(9, 10)), *TAPERED]
GRID = np.linspace(-4, 4, 2001)


def tapers(loss):
    """The definition: everywhere L'' <= 4 smoothness p (1 - p), p the slope's place between its two ends."""
    for target in (-1.0, 1.0):
        targets = np.full_like(GRID, target)
        slopes, largest = loss.slope(GRID, targets), float(loss.lipschitz)
        least = -largest if slopes.min() < -0.9 * largest else -float(loss.opposite)
        place = (slopes - least) / (largest + float(loss.opposite))
        if (loss.curvature(GRID, targets) > 4 * float(loss.smoothness) * place * (1 - place) + 1e-9).any():
            return False
    return True


@pytest.mark.parametrize("unit", UNITS_OF[::2], ids=NAMES[::2])
@pytest.mark.parametrize(
    "loss", thinned(CORNERS, 8), ids=[f"{place}-{type(loss).__name__}" for place, loss in enumerate(CORNERS)]
)
def test_a_perturbed_objective_claims_what_its_loss_and_unit_have(loss, unit):
    """In the learner, in what a price buys and in the event that is charged."""
    given = PerturbedLearner(examples=examples(AXIS, [-1.0, 1.0]), loss=loss, strength=Fraction(3), unit=unit)
    records = unit.rows * (2 if unit.neighbours is Neighbours.REPLACE else 1)
    assert (given.units, given.changes, given.gradient) == (unit.rows, records, records * loss.lipschitz)
    slopes = [loss.slope(GRID, np.full_like(GRID, target)) for target in (-1.0, 1.0)]
    opposite = max(min(max(each.max(), 0), max(-each.min(), 0)) for each in slopes)
    assert float(given.opposite) == pytest.approx(opposite / float(loss.lipschitz), abs=1e-12)
    steepest = max(np.abs(np.diff(each)).max() for each in slopes) / (GRID[1] - GRID[0])
    assert steepest <= 3 * float(given.curvature) * (1 + 1e-9)
    assert given.tapered == tapers(loss)
    bought = Perturbation.of(given, 2.0, (2,), 1000, Fraction(1, 10**6))
    event = bought.gaussian_event(Fraction(1))
    assert (event.tapered, event.changes, event.opposite) == (tapers(loss), records, given.opposite)
    assert bought.tapers == (tapers(loss) and records == 1)
    weights = GaussianPerturbedWeights(learner=given, variance=Fraction(SENSITIVITY**2), closing=Fraction(2**26))
    drawn = weights.event
    assert (drawn.tapered, drawn.changes, drawn.opposite) == (tapers(loss), records, given.opposite)
    assert (drawn.curvature, drawn.closing) == (given.curvature, weights.closing_epsilon)


@in_one_test("unit", UNITS_OF)
def test_moments_move_by_all_rows_of_a_unit(unit):
    """One row after the other in one direction, or to another one: brute force over rows and targets."""
    vectors = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.6, 0.8]]
    given = MomentsLearner(examples=examples(vectors, [-1.0, 1.0]), unit=unit)
    rows = list(product(range(4), range(2)))
    sums = {row: given.sums(counts([row] * unit.rows)) for row in rows}
    none = np.zeros_like(sums[rows[0]])
    pairs = list(product(sums.values(), repeat=2)) if unit.neighbours is Neighbours.REPLACE else []
    pairs += [(one, none) for one in sums.values()]
    worst = max(int(np.square(one - two).sum()) for one, two in pairs)
    replaced = unit.neighbours is Neighbours.REPLACE
    assert worst >= (4 if replaced else 2) * unit.rows**2 * STEPS**4
    assert worst <= given.squared_sensitivity <= (2.001 if replaced else 1.001) * worst


@in_one_test("rows", [1, 3])
@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize("column", [None, 1])
def test_a_stream_moves_by_every_slot_and_every_row_of_a_unit(column, added, rows):
    given = {"examples": examples(AXIS, [-1.0, 1.0]), "steps": Steps(), "slots": 40}
    one = OnlineLearner(**given, column=column, added=True).distance
    found = OnlineLearner(**given, column=column, added=added, rows=rows).distance
    assert found == one * rows * (2 if column is not None and not added else 1)


def test_two_records_of_a_stream_that_pull_apart_use_more_than_half_of_the_bound():
    """All slots but the last hold f; there one pull is replaced by the one on the other side."""
    angle = 0.9
    vectors = [[1.0, 0.0], *([np.cos(angle), side * np.sin(angle)] for side in (1, -1))]
    stable = online(vectors, 1)
    fits = [streamed(stable, [(side, 1)]) for side in (1, 2)]
    assert 0.3 * float(stable.distance) <= np.linalg.norm(fits[0] - fits[1]) <= float(stable.bound)
