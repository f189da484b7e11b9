"""Scale: the weight of a loss, and how far a minimiser moves between neighbours."""

from fractions import Fraction

import pytest

from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.errors import InfeasiblePlan
from dpqr.prediction.examples import TAPER, Scale

ROWS = PrivacyUnit()
REPLACED = PrivacyUnit(neighbours=Neighbours.REPLACE)
PERSONS = PrivacyUnit(column="who", rows=3)
SWAPPED = PrivacyUnit(neighbours=Neighbours.REPLACE, column="who", rows=3)


@pytest.mark.parametrize("declared", [1, 2, 7, 20])
def test_one_record_moves_the_gradient_by_no_more_than_claimed_for_any_true_number(declared):
    scale = Scale(unit=ROWS, records=declared)
    for m in range(70 * declared):
        now, then = scale.weight(m), scale.weight(m + 1)
        assert then + m * (now - then) <= float(1 + TAPER) / declared * (1 + 1e-12)
        assert m * now <= float(scale.heaviest) * (1 + 1e-12)


def test_the_taper_costs_nothing_up_to_the_declared_number_and_ends_at_zero():
    scale = Scale(unit=ROWS, records=10)
    assert scale.weight(10) == scale.weight(0) == 0.1
    assert 0 < scale.weight(20) < 0.1
    assert scale.weight(10 * 65) == scale.weight(10**9) == 0


@pytest.mark.parametrize(
    ("unit", "times"), [(ROWS, 1 + TAPER), (REPLACED, 2), (PERSONS, 3 * (1 + TAPER)), (SWAPPED, 6 * (1 + TAPER))]
)
def test_distance_by_unit(unit, times):
    scale = Scale(unit=unit, records=100)
    assert scale.distance(Fraction(1), Fraction(1, 2)) == times * Fraction(2, 100)


def test_under_replace_of_rows_the_number_is_used_as_it_is():
    assert Scale(unit=REPLACED, records=4).weight(4) == 0.25
    assert Scale(unit=REPLACED, records=4).heaviest == 1


def test_where_only_persons_are_public_the_number_of_rows_is_not():
    """Persons come in the place of others with more or fewer rows: m is private, and a taper holds the sum down."""
    assert not Scale(unit=SWAPPED, records=4).replaced
    assert Scale(unit=SWAPPED, records=4).weight(1000) == 0
    assert Scale(unit=ROWS, records=4).heaviest == Fraction(65, 64) ** 2 * 16


@pytest.mark.parametrize("unit", [ROWS, PERSONS, SWAPPED])
def test_the_private_number_of_records_divides_nothing(unit):
    scale = Scale(unit=unit, records=8)
    assert [scale.weight(m) for m in (1, 3, 8)] == [1 / 8] * 3
    assert scale.weight(16) == 63 / 64 / 8


@pytest.mark.parametrize("records", [0, 2**28 + 1])
def test_numbers_out_of_range_are_refused(records):
    with pytest.raises(InfeasiblePlan, match="--n"):
        Scale(unit=ROWS, records=records)
