from fractions import Fraction

import pytest
from tables_of_prediction import domain

from dpqr.data.attribute import Attribute, Bins
from dpqr.data.domain import Domain
from dpqr.data.unit import PrivacyUnit
from dpqr.errors import InfeasiblePlan, UsageFault
from dpqr.prediction.aggregate import Aggregate
from dpqr.prediction.bases import RidgeBase
from dpqr.prediction.features import CellFeatures
from dpqr.prediction.problem import PredictionProblem
from dpqr.prediction.target import Target

LABELS = domain(3, 2)
NUMBERS = Domain((LABELS.attributes[0], Attribute(name="y", axis=Bins(edges=(Fraction(0), Fraction(9))))))


def aggregate(**given):
    features = CellFeatures(domain=domain(3))
    return Aggregate(features=features, base=RidgeBase(), base_name="least-squares", **given)


def problem(table):
    return PredictionProblem(domain=table, target=Target(attribute=table.attributes[1], axis=1), unit=PrivacyUnit())


@pytest.mark.parametrize(("table", "parts"), [(LABELS, 90), (NUMBERS, 50)], ids=["labels", "numbers"])
def test_parts_follow_from_epsilon_and_the_target_error_and_back(table, parts):
    """6 log(4 / 0.2) / 0.2 and 2 / (0.2 0.2)."""
    found = aggregate().chosen_parts(problem(table), Fraction(1, 5))
    assert found == parts
    assert aggregate().added_error(problem(table), Fraction(1, 5), found) == pytest.approx(0.2, rel=0.01)


def test_stated_parts_are_used_as_they_are():
    assert aggregate(parts=7).chosen_parts(problem(LABELS), Fraction(1)) == 7
    assert aggregate().added_error(problem(LABELS), Fraction(1), 7) == 1


def test_what_cannot_be_is_refused():
    for wrong in ({"parts": 0}, {"parts": 2**20 + 1}, {"error": Fraction(1)}):
        with pytest.raises(UsageFault):
            aggregate(**wrong)
    with pytest.raises(InfeasiblePlan, match="--parts"):
        aggregate().chosen_parts(problem(LABELS), Fraction(1, 10**6))
