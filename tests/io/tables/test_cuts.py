"""Every placing is compared with exact rational arithmetic on the cell's value."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpqr.data.attribute import Bins
from dpqr.io.tables.cuts import float_cuts, place_decimals, place_floats, place_whole, whole_cuts

SIDES = st.sampled_from(["left", "right"])
FINE = st.fractions(min_value=-300, max_value=300, max_denominator=8)


def bins_of(edges, closed="left") -> Bins:
    return Bins(edges=tuple(sorted(set(map(Fraction, edges)))), closed=closed)


def place(value: Fraction, bins: Bins) -> int:
    """-1 below the first edge, bins.size above the last, else the bin, by the definition of the closed side."""
    if value < bins.edges[0]:
        return -1
    if value > bins.edges[-1]:
        return bins.size
    inner = bins.edges[1:-1]
    return sum(value >= edge if bins.closed == "left" else value > edge for edge in inner)


@given(st.sets(FINE, min_size=2, max_size=6), SIDES, st.lists(st.integers(-128, 127)), st.sampled_from("bhiq"))
def test_whole_numbers_of_any_type(edges, closed, values, kind) -> None:
    bins = bins_of(edges, closed)
    found = place_whole(np.array(values, dtype=kind), whole_cuts(bins))
    assert [min(each, bins.size) for each in found] == [place(Fraction(value), bins) for value in values]


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_edges_beyond_the_type_and_at_its_ends(closed, kind) -> None:
    bounds = np.iinfo(kind)
    bins = bins_of([-(10**30), bounds.min, 5, bounds.max, 10**30], closed)
    values = [bounds.min, 0, 4, 5, 6, bounds.max - 1, bounds.max]
    found = place_whole(np.array(values, dtype=kind), whole_cuts(bins))
    assert found.tolist() == [place(Fraction(int(value)), bins) for value in values]


@given(st.sets(FINE, min_size=2, max_size=6), SIDES, st.lists(st.integers(-(10**4), 10**4)))
def test_smaller_units(edges, closed, values) -> None:
    bins, unit = bins_of(edges, closed), Fraction(1, 10)
    found = place_whole(np.array(values, dtype=np.int64), whole_cuts(bins, unit))
    assert found.tolist() == [place(value * unit, bins) for value in values]


@given(st.sets(FINE, min_size=2, max_size=6), SIDES, st.data(), st.sampled_from([np.float16, np.float32, np.float64]))
def test_floats_against_edges_of_their_own_type(edges, closed, data, kind) -> None:
    """Eighths up to 300 need 12 bits: exact in every type but float16 beyond 256, where edges are rounded too."""
    bins = bins_of(edges, closed)
    rounded = bins_of([Fraction(float(kind(float(edge)))) for edge in bins.edges], closed)
    values = data.draw(st.lists(st.one_of(FINE.map(float), st.sampled_from([float(e) for e in bins.edges]))))
    cells = np.array(values, dtype=kind)
    if len(rounded.edges) == len(bins.edges):
        expected = [place(Fraction(float(cell)), rounded) for cell in cells]
        assert place_floats(cells, float_cuts(bins, cells.dtype)).tolist() == expected


@pytest.mark.parametrize(("closed", "expected"), [("left", [0, 1, 2, 2]), ("right", [0, 0, 1, 2])])
def test_a_decimal_cell_lies_on_the_edge_that_reads_the_same(closed, expected) -> None:
    bins = bins_of(["0.1", "0.3", "0.7", "0.9"], closed)
    for kind in (np.float32, np.float64):
        cells = np.array(["0.1", "0.3", "0.7", "0.9"]).astype(kind)
        assert place_floats(cells, float_cuts(bins, cells.dtype)).tolist() == expected


def test_floats_beside_an_edge_and_special_ones() -> None:
    double = np.dtype(np.float64)
    cuts = float_cuts(bins_of([0, 1, 2]), double)
    assert place_floats(np.nextafter(1.0, [0.0, 2.0]), cuts).tolist() == [0, 1]
    special = np.array([-np.inf, np.inf, np.nan, 2.0, np.nextafter(2.0, 3)])
    assert place_floats(special, cuts).tolist() == [-1, 2, 2, 1, 2]
    assert place_floats(np.array([1e308]), float_cuts(bins_of([0, 10**400]), double)).tolist() == [0]


WIDTHS = {"decimal32": 9, "decimal64": 18, "decimal128": 38, "decimal256": 60}
"""The most digits that each decimal of Arrow holds. The oldest Arrow that is allowed has the last two alone."""


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("kind", [getattr(pa, name)(most, 2) for name, most in WIDTHS.items() if hasattr(pa, name)])
def test_decimals_are_placed_exactly(closed, kind) -> None:
    bins = bins_of([-(10**70), "-0.015", "0.01", "0.3", "0.305", 10**70], closed)
    texts = ["-9999999.99", "-0.02", "-0.01", "0", "0.01", "0.30", "0.31", "9999999.99"]
    found = place_decimals(pa.array([Decimal(text) for text in texts], type=kind), bins)
    assert found.tolist() == [place(Fraction(text), bins) for text in texts]
