"""Every placing is compared with exact rational arithmetic on the cell's value."""

import math
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import in_one_test
from support.exact_bins import FINE, SIDES, bins_of, place

from dpqr.domain.attribute import Attribute, Codes, Rule
from dpqr.tables.cell_values import (
    DROPPED,
    FAILED,
    FaultCodes,
    WholeNumbers,
    day,
    float_cuts,
    is_text,
    mask,
    moment,
    not_null,
    number,
    numbers,
    numpy_values,
    parsed,
    place_decimals,
    places_among,
    text_array,
    whole_cuts,
)


def test_decimal_text_is_a_number_and_other_text_is_not() -> None:
    numbers = {"12": 12, " 12 ": 12, "1e3": 1000, "+5": 5, "-0.5": -0.5, "1.": 1, ".5": 0.5, "0012": 12}
    assert {text: number(text) for text in numbers} == numbers
    none = ["", "0x10", "1_000", "1,5", "٣", "1d", "--1", "+-1", "1e", "e5", "1 2", "infin", "n"]
    assert [text for text in none if number(text) is not None] == []
    assert math.isnan(number(" -NaN ") or 0)
    assert (number("INF"), number("-infinity"), number("1e999")) == (math.inf, -math.inf, math.inf)


ODD = st.sampled_from(
    ["1e400", "-1e400", "1e-400", "nan", "+Inf", "0x1p3", "+-5", "5e", "1__0", "1.5.", "\t5", "nan(1)"]
)
PLAIN = st.one_of(
    st.floats().map(repr), st.integers().map(str), st.from_regex(r"\A[+-]?[0-9.]{1,25}(e[+-]?[0-9]{1,3})?\Z")
)
CELLS = st.lists(st.one_of(PLAIN, PLAIN, ODD, st.text("0123456789.+-eE xnaif_", max_size=6)), max_size=8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@given(cells=CELLS)
def test_a_whole_column_is_read_as_its_cells_one_by_one(kind, cells) -> None:
    values, good = numbers(pa.array(cells, kind))
    alone = [number(cell) for cell in cells]
    assert good.tolist() == [value is not None for value in alone]
    expected = np.array([0.0 if value is None else value for value in alone])
    np.testing.assert_array_equal(values, expected)


def test_each_distinct_text_is_parsed_once() -> None:
    seen: list[str] = []

    def noted(text):
        seen.append(text)
        return None if text == "x" else int(text)

    values, good = parsed(pa.array(["4", "x", "5"] * 50), noted, np.int64)
    assert (values.tolist(), good.tolist()) == ([4, 0, 5] * 50, [True, False, True] * 50)
    assert sorted(seen) == ["4", "5", "x"]


def test_days_and_moments_in_utc() -> None:
    days = {"1970-01-02": 1, "1969-12-31": -1, " 1970-01-02 ": 1, "1970-01-02T23:59:59": 1}
    assert {text: day(text) for text in days} == days
    assert day("1970-01-03T01:00+02:00") == 1
    for text, when in {
        "2024-02-29": datetime(2024, 2, 29),
        "2024-02-29 12:34:56.000001": datetime(2024, 2, 29, 12, 34, 56, 1),
        "2024-02-29T12:00:00Z": datetime(2024, 2, 29, 12),
        "2024-02-29T12:00:00+05:30": datetime(2024, 2, 29, 6, 30),
    }.items():
        assert moment(text) == round(when.replace(tzinfo=UTC).timestamp()) * 10**6 + when.microsecond
    for text in ("", "2023-02-29", "soon", "31.12.2024", "2024", "0001-01-01T00:00+23:00", "12:00"):
        assert (day(text), moment(text)) == (None, None), text


@settings(max_examples=40)
@given(st.sets(FINE, min_size=2, max_size=6), SIDES, st.data(), st.sampled_from([np.float16, np.float32, np.float64]))
def test_floats_against_edges_of_their_own_type(edges, closed, data, kind) -> None:
    """Eighths up to 300 need 12 bits: exact in every type but float16 beyond 256, where edges are rounded too."""
    bins = bins_of(edges, closed)
    rounded = bins_of([Fraction(float(kind(float(edge)))) for edge in bins.edges], closed)
    values = data.draw(st.lists(st.one_of(FINE.map(float), st.sampled_from([float(e) for e in bins.edges]))))
    cells = np.array(values, dtype=kind)
    if len(rounded.edges) == len(bins.edges):
        expected = [place(Fraction(float(cell)), rounded) for cell in cells]
        assert places_among(float_cuts(bins, cells.dtype), cells).tolist() == expected


@in_one_test(("closed", "expected"), [("left", [0, 1, 2, 2]), ("right", [0, 0, 1, 2])])
def test_a_decimal_cell_lies_on_the_edge_that_reads_the_same(closed, expected) -> None:
    bins = bins_of(["0.1", "0.3", "0.7", "0.9"], closed)
    for kind in (np.float32, np.float64):
        cells = np.array(["0.1", "0.3", "0.7", "0.9"]).astype(kind)
        assert places_among(float_cuts(bins, cells.dtype), cells).tolist() == expected


def test_floats_beside_an_edge_and_special_ones() -> None:
    double = np.dtype(np.float64)
    cuts = float_cuts(bins_of([0, 1, 2]), double)
    assert places_among(cuts, np.nextafter(1.0, [0.0, 2.0])).tolist() == [0, 1]
    special = np.array([-np.inf, np.inf, np.nan, 2.0, np.nextafter(2.0, 3)])
    assert places_among(cuts, special).tolist() == [-1, 2, 2, 1, 2]
    assert places_among(float_cuts(bins_of([0, 10**400]), double), np.array([1e308])).tolist() == [0]


WIDTHS = {"decimal32": 9, "decimal64": 18, "decimal128": 38, "decimal256": 60}
"""The most digits that each decimal of Arrow holds. The oldest Arrow that is allowed has the last two alone."""


@in_one_test("closed", ["left", "right"])
@pytest.mark.parametrize("kind", [getattr(pa, name)(most, 2) for name, most in WIDTHS.items() if hasattr(pa, name)])
def test_decimals_are_placed_exactly(closed, kind) -> None:
    bins = bins_of([-(10**70), "-0.015", "0.01", "0.3", "0.305", 10**70], closed)
    texts = ["-9999999.99", "-0.02", "-0.01", "0", "0.01", "0.30", "0.31", "9999999.99"]
    found = place_decimals(pa.array([Decimal(text) for text in texts], type=kind), bins)
    assert found.tolist() == [place(Fraction(text), bins) for text in texts]


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


@in_one_test(
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


# Every code, by search and from the table, is compared with exact rational arithmetic on the number.

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


@settings(max_examples=40)
@given(st.sets(FINE, min_size=2, max_size=6), SIDES, st.lists(st.integers(-128, 127)), st.sampled_from("bhiq"), RULES)
def test_whole_numbers_of_any_type(edges, closed, values, kind, rule) -> None:
    bins = bins_of(edges, closed)
    assert coded(values, kind, bins, rule=rule) == by_definition(values, bins, rule)


@in_one_test("closed", ["left", "right"])
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


@pytest.mark.slow
@given(st.sets(FINE, min_size=2, max_size=6), SIDES, st.lists(st.integers(-(10**4), 10**4)))
def test_smaller_units(edges, closed, values) -> None:
    bins, unit = bins_of(edges, closed), Fraction(1, 10)
    assert coded(values, np.int64, bins, unit) == by_definition([value * unit for value in values], bins, Rule.CELL)


def test_more_bins_than_a_byte_holds() -> None:
    bins = bins_of(range(301))
    values = [*range(-2, 303)]
    assert coded(values, np.int32, bins) == by_definition(values, bins, Rule.CELL)


# Arrow arrays from NumPy's and back, compared with pyarrow's own conversions.


def test_types_of_texts() -> None:
    assert all(map(is_text, (pa.string(), pa.large_string(), pa.string_view())))
    assert not any(map(is_text, (pa.binary(), pa.int8(), pa.dictionary(pa.int8(), pa.string()))))


@in_one_test("count", [0, 1, 7, 8, 9, 1000])
def test_masks(count) -> None:
    chosen = np.random.default_rng(count).random(count) < 0.5
    assert mask(chosen).to_pylist() == chosen.tolist()
    assert pa.array(np.arange(count)).filter(mask(chosen)).to_pylist() == np.flatnonzero(chosen).tolist()


@in_one_test("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("texts", [(), ("",), ("a", "", "é\0", "x" * 99)])
def test_texts(kind, texts) -> None:
    made = text_array(texts, kind)
    made.validate(full=True)
    assert made.equals(pa.array(texts, kind))


NUMBERS = [pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()]


@in_one_test("kind", [pa.bool_(), *NUMBERS])
@pytest.mark.parametrize("cells", [[], [1], [None], [1, 0, None, 1, None, 0, 1, 1, 0, 1, None]], ids=len)
def test_values(kind, cells) -> None:
    bits = pa.array([None if cell is None else bool(cell) for cell in cells], pa.bool_())
    array = bits if kind == pa.bool_() else bits.cast(pa.int8()).cast(kind)
    for part in (array, array[3:], array[:2]):
        found, whole = numpy_values(part, 1), part.to_pylist()
        assert found.tolist() == [1 if cell is None else cell for cell in whole]
        assert not_null(part).tolist() == [cell is not None for cell in whole]
        if not part.null_count:
            assert found.dtype == kind.to_pandas_dtype()


@pytest.mark.slow
def test_none_of_it_imports_pandas() -> None:
    script = """
import sys, numpy, pyarrow
from dpqr.tables.cell_values import mask, numpy_values, not_null, text_array
texts = text_array(("a", "b"), pyarrow.string()).filter(mask(numpy.array([True, False])))
found = numpy_values(texts.is_valid()), not_null(texts), texts.to_pylist()
assert "pandas" not in sys.modules
pyarrow.array([1])
assert "pandas" in sys.modules, "the reason for this module is gone"
"""
    subprocess.run([sys.executable, "-c", script], check=True)
