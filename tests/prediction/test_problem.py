"""Targets: signs, scales and refusals."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.prediction_tables import UNITS

from dpqr.domain.attribute import Attribute, Bins, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DocumentError, InfeasiblePlan, UsageFault
from dpqr.kernel.unit import Neighbours
from dpqr.prediction.learners.examples import LossScale
from dpqr.prediction.learners.losses import Pinball
from dpqr.prediction.problem import METHODS, REGULARISED, read_target, require_method
from dpqr.prediction.risk_bounds import NORM_GUESSES, balanced_penalty

DOMAIN = Domain(
    (
        Attribute(name="pay", axis=Bins(edges=tuple(map(Fraction, (0, 10, 40)))), rules={"null": Rule.CELL}),
        Attribute(name="two", axis=Labels(("no", "yes"))),
        Attribute(name="three", axis=Labels(("a", "b", "c"))),
    )
)


def test_numbers_lie_between_minus_one_and_one_and_come_back_in_their_unit():
    target = read_target(DOMAIN, "pay", None)
    assert target.scaled().tolist() == pytest.approx([-0.75, 0.25, np.nan], nan_ok=True)
    assert target.unscaled(np.array([-0.75, 0.25, 5.0, -5.0])).tolist() == pytest.approx([5, 25, 40, 0])
    with pytest.raises(InfeasiblePlan, match="positive"):
        target.signs()


def test_of_two_labels_the_last_is_positive():
    target = read_target(DOMAIN, "two", None)
    assert target.signs().tolist() == [-1, 1]
    assert target.labels(np.array([0.1, -0.1, 0.0])).tolist() == ["yes", "no", "no"]
    assert read_target(DOMAIN, "two", "no").labels(np.array([1.0, -1.0])).tolist() == ["no", "yes"]
    with pytest.raises(InfeasiblePlan, match="labels"):
        target.scaled()


def test_of_three_labels_one_must_be_named():
    with pytest.raises(InfeasiblePlan, match=r"--positive LABEL \(known: 'a', 'b', 'c'\)"):
        read_target(DOMAIN, "three", None).signs()
    assert read_target(DOMAIN, "three", "b").signs().tolist() == [-1, 1, -1]


def test_a_target_that_is_not_known_is_no_example_and_several_others_have_no_label_of_one():
    rules = {"null": Rule.CELL, "outside": Rule.CELL}
    ill, sex = Labels(("no", "yes")), DOMAIN.attributes[1]
    known = Domain((Attribute(name="ill", axis=ill, rules={"null": Rule.CELL}), sex))
    target = read_target(known, "ill", "yes")
    assert target.signs().tolist() == pytest.approx([-1, 1, np.nan], nan_ok=True)
    assert target.labels(np.array([1.0, -1.0])).tolist() == ["yes", "no"]
    other = read_target(Domain((Attribute(name="ill", axis=ill, rules=rules), sex)), "ill", "yes")
    assert other.signs().tolist() == pytest.approx([-1, 1, np.nan, -1], nan_ok=True)  # a label that is not listed
    assert read_target(known, "ill", "(null)").signs().tolist() == [-1, -1, 1]
    assert read_target(DOMAIN, "three", "b").labels(np.array([1.0, -1.0])).tolist() == ["b", "not b"]


MANY = Domain((Attribute(name="many", axis=Labels(tuple("abcdefgh"))), Attribute(name="one", axis=Labels(("a",)))))


@in_one_test(
    ("domain", "name", "positive", "family", "said"),
    [
        (DOMAIN, "tow", None, DocumentError, "tow"),
        (DOMAIN, "two", "x", UsageFault, "x"),
        (DOMAIN, "pay", "1", UsageFault, "pay"),
        (DOMAIN, "three", "x", UsageFault, r"'x' is no label of the target 'three'; known: 'a', 'b', 'c'$"),
        (MANY, "many", "x", UsageFault, r"'e', 'f' and others$"),
        (Domain((DOMAIN.attributes[1],)), "two", None, DocumentError, "the target 'two' alone; add the columns"),
        (MANY, "one", None, InfeasiblePlan, "has one label only, so there is nothing to predict"),
    ],
)
def test_what_does_not_fit_is_refused_and_refusals_name_what_there_is(domain, name, positive, family, said):
    with pytest.raises(family, match=said):
        read_target(domain, name, positive).signs()


# Methods of learners.


def test_every_learner_with_a_lambda_has_a_descent_without():
    assert all(METHODS[name][-1] == "descent" for name in REGULARISED)


def test_a_learner_has_its_own_methods_only():
    require_method("svm", "exact")
    require_method("online", None)
    with pytest.raises(UsageFault, match="has output or objective or descent"):
        require_method("logistic", "exact")
    with pytest.raises(UsageFault, match="one method only"):
        require_method("online", "descent")


# Penalties on their grid, and what they balance.


def test_no_other_penalty_has_less_of_what_is_balanced():
    """Lipschitz losses: lambda R^2 + spread C_L / (2 lambda m0) for a record that comes; R is the public guess."""
    scale, loss = LossScale(unit=UNITS[Neighbours.ADD_REMOVE], records=1000), Pinball(tau=Fraction(4, 5))
    found = balanced_penalty(NORM_GUESSES["quantile"], loss, scale, 3.0)

    def cost(penalty):
        return penalty * NORM_GUESSES["quantile"] ** 2 + 3.0 * float(loss.lipschitz) / (2 * penalty * 1000)

    assert cost(found) == pytest.approx(min(cost(found * factor) for factor in (0.5, 0.9, 1, 1.1, 2)))
