from fractions import Fraction

import pytest

from dpqr.domain.attribute import FAULTS, Attribute, Axis, Bins, Codes, Labels, Rule
from dpqr.domain.domain import Domain, failing_attributes, possible_faults, unstated_faults

EDGES = (Fraction(0), Fraction(1), Fraction(2))


@pytest.mark.parametrize(
    ("axis", "faults"),
    [
        (Labels(("a",)), ("null", "outside")),
        (Codes(3), FAULTS),
        (Bins(EDGES), FAULTS),
        (Bins(EDGES, integral=True), FAULTS),
        (Bins(EDGES, integral=True, kind="date"), ("null", "unparsable", "outside")),
        (Bins(EDGES, kind="datetime"), ("null", "unparsable", "outside")),
    ],
)
def test_each_kind_of_column_has_its_faults(axis: Axis, faults: tuple[str, ...]) -> None:
    assert possible_faults(axis) == faults


def test_unstated_faults_lists_what_the_curator_left_out() -> None:
    domain = Domain(
        (
            Attribute(name="whole", axis=Labels(("a",)), rules={"null": Rule.DROP, "outside": Rule.CELL}),
            Attribute(name="half", axis=Labels(("a",)), rules={"outside": Rule.CELL}),
        )
    )
    assert unstated_faults(domain) == {"half": ("null",)}


def test_failing_attributes_lists_fail_rules_only() -> None:
    domain = Domain(
        (
            Attribute(name="a", axis=Labels(("x",)), rules={"null": Rule.FAIL, "outside": Rule.DROP}),
            Attribute(name="b", axis=Labels(("x",)), rules={"null": Rule.CELL}),
        )
    )
    assert failing_attributes(domain) == {"a": ("null",)}
