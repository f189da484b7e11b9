from fractions import Fraction

import pytest
from support.prediction_tables import domain

from dpqr.data.attribute import Attribute, Bins
from dpqr.data.domain import Domain
from dpqr.data.unit import PrivacyUnit
from dpqr.errors import InfeasiblePlan, UsageFault
from dpqr.prediction.aggregate import Aggregate, read_vote
from dpqr.prediction.bases import RidgeBase
from dpqr.prediction.features import CellFeatures
from dpqr.prediction.problem import PredictionProblem
from dpqr.prediction.target import Target

LABELS = domain(3, 2)
NUMBERS = Domain((LABELS.attributes[0], Attribute(name="y", axis=Bins(edges=(Fraction(0), Fraction(9))))))


def aggregate(**given):
    features = CellFeatures(domain=domain(3))
    return Aggregate(features=features, base=RidgeBase(), **given)


def problem(table):
    return PredictionProblem(domain=table, target=Target(attribute=table.attributes[1], axis=1), unit=PrivacyUnit())


@pytest.mark.parametrize(("table", "parts"), [(LABELS, 90), (NUMBERS, 50)], ids=["labels", "numbers"])
def test_parts_follow_from_epsilon_and_the_target_error_and_back(table, parts):
    """6 log(4 / 0.2) / 0.2 and 2 / (0.2 0.2)."""
    found = aggregate().chosen_parts(problem(table), Fraction(1, 5))
    assert found == parts
    assert aggregate().added_error(problem(table), Fraction(1, 5), found) == pytest.approx(0.2, rel=0.01)


@pytest.mark.parametrize(("error", "parts"), [("1/5", 25), ("1/10", 50), ("1/3", 15)])
def test_randomised_votes_take_as_many_parts_as_the_noise_needs(error, parts):
    """1 / (a epsilon)."""
    recipe = aggregate(vote="randomised", error=Fraction(error))
    found = recipe.chosen_parts(problem(LABELS), Fraction(1, 5))
    assert found == parts
    assert recipe.added_error(problem(LABELS), Fraction(1, 5), found) == pytest.approx(float(Fraction(error)))
    assert recipe.added_error(problem(LABELS), Fraction(1, 5), 2) == 1


def test_randomised_votes_are_for_two_labels():
    aggregate(vote="randomised").require(problem(LABELS))
    aggregate(vote="exponential").require(problem(domain(3, 4)))
    with pytest.raises(UsageFault, match="'c1' has 4"):
        aggregate(vote="randomised").require(problem(domain(3, 4)))
    for vote in ("randomised", "exponential"):
        with pytest.raises(UsageFault, match="averaged"):
            aggregate(vote=vote).require(problem(NUMBERS))


def test_votes_by_name():
    assert [read_vote(name) for name in (None, "randomised")] == [None, "randomised"]
    with pytest.raises(UsageFault, match="there is exponential, randomised"):
        read_vote("majority")


def test_stated_parts_are_used_as_they_are():
    assert aggregate(parts=7).chosen_parts(problem(LABELS), Fraction(1)) == 7
    assert aggregate().added_error(problem(LABELS), Fraction(1), 7) == 1


def test_what_cannot_be_is_refused():
    for wrong in ({"parts": 0}, {"parts": 2**20 + 1}, {"error": Fraction(1)}):
        with pytest.raises(UsageFault):
            aggregate(**wrong)
    with pytest.raises(InfeasiblePlan, match="--parts"):
        aggregate().chosen_parts(problem(LABELS), Fraction(1, 10**6))
