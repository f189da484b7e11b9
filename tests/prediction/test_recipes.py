"""Learners by their names: which one is made, for which unit, and what is refused."""

from fractions import Fraction

import pytest
from support.cases import in_one_test
from support.prediction_tables import domain

from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.domain import Domain
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.prediction.learners.exact_kernel import ExactKernel
from dpqr.prediction.learners.examples import LossScale
from dpqr.prediction.learners.features import CellFeatures, Kernel
from dpqr.prediction.learners.losses import Pinball
from dpqr.prediction.learners.stable import RidgeRegression
from dpqr.prediction.perturbation import round_corner, round_corner_logistic
from dpqr.prediction.problem import PredictionProblem, Target
from dpqr.prediction.recipes import StableRecipe

REPLACED = PrivacyUnit(neighbours=Neighbours.REPLACE)
PERSONS = PrivacyUnit(neighbours=Neighbours.REPLACE, columns=("who",), rows=3)
FEATURES = CellFeatures(domain=domain(4))
NUMBERS = Domain((domain(4).attributes[0], Attribute(name="y", axis=Bins(edges=(Fraction(0), Fraction(4))))))


def recipe(name, **given):
    return StableRecipe(name=name, **({"features": FEATURES} | given))


def problem(unit=REPLACED, records=100, points=5):
    target = Target(attribute=NUMBERS.attributes[1], axis=1)
    return PredictionProblem(domain=NUMBERS, target=target, unit=unit, records=records, points=points)


def test_a_stream_of_persons_has_a_slot_for_each_of_their_rows_and_moves_by_all_of_them():
    learner = recipe("online").learner(problem(PERSONS), 50, 1.0)
    assert (learner.slots, learner.rows) == (150, 3)
    assert learner.distance == 3 * recipe("online").learner(problem(), 150, 1.0).distance


SLOTS = Domain((*domain(4, 6).attributes, NUMBERS.attributes[1]))


@in_one_test("rows", [1, 3])
@pytest.mark.parametrize("relation", Neighbours)
def test_a_column_of_slots_moves_by_the_records_that_come_and_that_go(relation, rows):
    """A record that is replaced leaves one slot and comes to another."""
    unit = PrivacyUnit(neighbours=relation, columns=("who",), rows=rows)
    asked = replace(problem(unit), domain=SLOTS, target=Target(attribute=SLOTS.attributes[2], axis=2))
    learner = recipe("online", slots=1, features=CellFeatures(domain=domain(4, 6))).learner(asked, 50, 1.0)
    one = replace(learner, rows=1, added=True).distance
    assert (learner.slots, learner.rows, learner.added) == (6, rows, relation is Neighbours.ADD_REMOVE)
    assert learner.distance == one * rows * (2 if relation is Neighbours.REPLACE else 1)


UNITS = [PrivacyUnit(), PrivacyUnit(columns=("who",), rows=1), PrivacyUnit(columns=("who",), rows=3), REPLACED, PERSONS]


@in_one_test("unit", UNITS)
@pytest.mark.parametrize("records", [10**3, 10**6])
@pytest.mark.parametrize("delta", ["0", "1/1000000"])
def test_a_corner_is_rounded_for_the_share_of_epsilon_that_one_record_has(delta, unit, records):
    """By a logistic curve where one record alone changes and a normal pull is offered; by a parabola elsewhere."""
    budget, found = PrivacyBudget(Fraction(2), Fraction(delta)), recipe("quantile")
    changes = unit.rows * (2 if unit.neighbours is Neighbours.REPLACE else 1)
    bought = found.perturbation(problem(unit, records=records, points=None), budget)
    curved = round_corner_logistic if delta != "0" and changes == 1 else round_corner
    expected = curved(Pinball(), bought.reach, records, Fraction(2, changes))
    assert bought.loss == expected
    assert (bought.changes, bought.units, bought.gradient) == (changes, unit.rows, changes * expected.lipschitz)
    assert bought.tapers == (curved is round_corner_logistic)


def test_every_release_has_learned_from_its_part_of_the_slots_and_the_last_from_all():
    stream = recipe("online", releases=4)
    assert [stream.learner(problem(PERSONS), 50, 1.0, release).slots for release in range(4)] == [37, 75, 112, 150]


@in_one_test("unit", [PrivacyUnit(), PrivacyUnit(columns=("who",), rows=3)])
def test_no_stream_where_records_come_and_go(unit):
    with pytest.raises(InfeasiblePlan, match="move all later ones"):
        recipe("online").require(problem(unit))
    recipe("online").require(problem())


def test_the_private_number_of_records_never_decides_which_learner_is_used():
    """The kernel itself is used where few rows can be: that is public under replace of rows alone."""
    kernel = Kernel(name="gaussian", features=None)
    wide = replace(problem(), domain=NUMBERS)
    drawn = recipe("least-squares", kernel=kernel, features=replace_features(kernel))
    assert isinstance(drawn.learner(wide, 100, 1.0), ExactKernel)
    for unit in (PrivacyUnit(), PERSONS, PrivacyUnit(neighbours=Neighbours.REPLACE, drops=True)):
        assert not drawn.exact(problem(unit))
        assert isinstance(drawn.learner(problem(unit), 100, 1.0), RidgeRegression)


def replace_features(kernel):
    """Random ones, as the kernel takes for a large domain."""
    return kernel.of(domain(30, 40, 50))


@in_one_test("name", ["logistic", "svm", "quantile", "least-squares"])
def test_lambda_is_a_number_of_two_digits_within_its_bounds(name):
    scale = LossScale(unit=REPLACED, records=1000)
    for spread in (0.0, 1e-300, 0.37, 12.3456, 1e9, 1e40):
        found = recipe(name).chosen_penalty(scale, spread)
        assert Fraction(1, 10**9) <= found <= 100
        assert found == Fraction(f"{float(found):.1e}")
    assert recipe(name).chosen_penalty(scale, 1e40) == 100
    assert recipe(name).chosen_penalty(LossScale(unit=REPLACED, records=2**28), 0.0, Fraction(1, 10**9)) == Fraction(
        1, 10**9
    )


def test_a_lambda_by_the_theory_lies_on_the_grid_too():
    scale = LossScale(unit=REPLACED, records=12_345)
    assert recipe("svm", smoothness=Fraction(1, 2)).chosen_penalty(scale, 1.0) == Fraction("0.009")
    assert recipe("svm", penalty=Fraction(1, 7)).chosen_penalty(scale, 1.0) == Fraction(1, 7)
