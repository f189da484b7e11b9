import numpy as np
import pytest

from dpqr.data.attribute import Attribute, Codes, Rule
from dpqr.io.tables.fault_codes import DROPPED, FAILED, FaultCodes

NAN, INF = float("nan"), float("inf")


def codes(**rules: Rule) -> FaultCodes:
    return FaultCodes.of(Attribute(name="x", axis=Codes(2), rules=rules))  # type: ignore[arg-type]


def test_each_rule_has_its_code() -> None:
    found = codes(null=Rule.CELL, unparsable=Rule.FAIL, infinite=Rule.CLIP, outside=Rule.CELL)
    assert (found.null, found.unparsable, found.nan, found.infinite, found.outside) == (2, FAILED, DROPPED, None, 3)


def test_places_that_all_fit_are_left_as_they_are() -> None:
    places = np.array([0, 1, 1])
    settled = codes(outside=Rule.FAIL).settle(places, 2, places)
    assert settled.clean
    assert settled.codes is places


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({}, [0, -1, -1, -1, -1, -1]),
        ({"outside": Rule.CLIP}, [0, 0, 1, -1, -1, -1]),
        ({"infinite": Rule.CLIP}, [0, -1, -1, 0, 1, -1]),
        ({"nan": Rule.CELL, "outside": Rule.FAIL}, [0, -2, -2, -1, -1, 2]),
    ],
)
def test_numbers_astray_get_the_code_of_their_fault(rules, expected) -> None:
    values = np.array([0.5, -3, 7, -INF, INF, NAN])
    settled = codes(**rules).settle(np.array([0, -1, 2, -1, 2, 2]), 2, values)
    assert settled.codes.tolist() == expected
    assert not settled.clean
