"""Every code, by search and from the table, is compared with exact rational arithmetic on the number."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exact_bins import FINE, SIDES, bins_of, place

from dpqr.domain.attribute import Attribute, Rule
from dpqr.tables.cell_values import FaultCodes, WholeNumbers, whole_cuts

COPIES = 1000
"""Of any number, more than lie between the edges."""


def coded(values, kind, bins, unit=Fraction(1), rule=Rule.CELL):
    """Codes of the numbers alone, where most batches are shorter than a table, and of many copies of them."""
    attribute = Attribute(name="x", axis=bins, rules={"outside": rule})
    numbers = WholeNumbers.of(whole_cuts(bins, unit), np.dtype(kind), FaultCodes.of(attribute))
    few = numbers.codes(np.array(values, dtype=kind))
    many = numbers.codes(np.tile(np.array(values, dtype=kind), COPIES))
    assert (many.codes == np.tile(few.codes, COPIES)).all()
    assert (few.codes >= 0).all() or not (few.clean or many.clean)
    return few.codes.tolist()


def by_definition(values, bins, rule):
    """Codes by the definition of the closed side and of the rule for what is outside."""
    places = [place(Fraction(value), bins) for value in values]
    ends = {Rule.CELL: (bins.size, bins.size), Rule.DROP: (-1, -1), Rule.CLIP: (0, bins.size - 1)}[rule]
    return [ends[0] if each < 0 else ends[1] if each == bins.size else each for each in places]


RULES = st.sampled_from([Rule.CELL, Rule.DROP, Rule.CLIP])


@given(st.sets(FINE, min_size=2, max_size=6), SIDES, st.lists(st.integers(-128, 127)), st.sampled_from("bhiq"), RULES)
def test_whole_numbers_of_any_type(edges, closed, values, kind, rule) -> None:
    bins = bins_of(edges, closed)
    assert coded(values, kind, bins, rule=rule) == by_definition(values, bins, rule)


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_edges_beyond_the_type_and_at_its_ends(closed, kind) -> None:
    bounds = np.iinfo(kind)
    values = [bounds.min, bounds.min + 1, 0, 4, 5, 6, bounds.max - 1, bounds.max]
    for edges in (
        [-(10**30), bounds.min, 5, bounds.max, 10**30],
        [bounds.max - 3, bounds.max - 1, 10**30],
        [-(10**30), bounds.min + 1, bounds.min + 3],
        [10**30, 10**31],
    ):
        bins = bins_of(edges, closed)
        assert coded([int(value) for value in values], kind, bins) == by_definition(map(int, values), bins, Rule.CELL)


@given(st.sets(FINE, min_size=2, max_size=6), SIDES, st.lists(st.integers(-(10**4), 10**4)))
def test_smaller_units(edges, closed, values) -> None:
    bins, unit = bins_of(edges, closed), Fraction(1, 10)
    assert coded(values, np.int64, bins, unit) == by_definition([value * unit for value in values], bins, Rule.CELL)


def test_more_bins_than_a_byte_holds() -> None:
    bins = bins_of(range(301))
    values = [*range(-2, 303)]
    assert coded(values, np.int32, bins) == by_definition(values, bins, Rule.CELL)
