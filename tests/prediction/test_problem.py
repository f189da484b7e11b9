"""Targets: signs, scales and refusals."""

from fractions import Fraction

import numpy as np
import pytest

from dpqr.domain.attribute import Attribute, Bins, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DocumentError, InfeasiblePlan, UsageFault
from dpqr.prediction.problem import read_target

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
    with pytest.raises(InfeasiblePlan, match="--positive"):
        read_target(DOMAIN, "three", None).signs()
    assert read_target(DOMAIN, "three", "b").signs().tolist() == [-1, 1, -1]


def test_what_does_not_fit_is_refused():
    for name, positive, family in (("tow", None, DocumentError), ("two", "x", UsageFault), ("pay", "1", UsageFault)):
        with pytest.raises(family):
            read_target(DOMAIN, name, positive)


def test_refusals_name_what_there_is():
    with pytest.raises(UsageFault, match=r"'x' is no label of the target 'three'; known: 'a', 'b', 'c'$"):
        read_target(DOMAIN, "three", "x")
    many = Domain((Attribute(name="many", axis=Labels(tuple("abcdefgh"))), Attribute(name="one", axis=Labels(("a",)))))
    with pytest.raises(UsageFault, match=r"'e', 'f' and others$"):
        read_target(many, "many", "x")
    with pytest.raises(InfeasiblePlan, match="has one label only, so there is nothing to predict"):
        read_target(many, "one", None).signs()
