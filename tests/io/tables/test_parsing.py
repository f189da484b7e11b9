import math
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpqr.io.tables.parsing import day, is_text, moment, number, numbers, parsed


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), (" 12 ", 12), ("1e3", 1000), ("+5", 5), ("-0.5", -0.5), ("1.", 1), (".5", 0.5), ("0012", 12)],
)
def test_decimal_text_is_a_number(text, value) -> None:
    assert number(text) == value


@pytest.mark.parametrize("text", ["", "0x10", "1_000", "1,5", "٣", "1d", "--1", "+-1", "1e", "e5", "1 2", "infin", "n"])
def test_other_text_is_not(text) -> None:
    assert number(text) is None


def test_special_spellings() -> None:
    assert math.isnan(number(" -NaN ") or 0)
    assert (number("INF"), number("-infinity"), number("1e999")) == (math.inf, -math.inf, math.inf)


ODD = st.sampled_from(
    ["1e400", "-1e400", "1e-400", "nan", "+Inf", "0x1p3", "+-5", "5e", "1__0", "1.5.", "\t5", "nan(1)"]
)
PLAIN = st.one_of(
    st.floats().map(repr), st.integers().map(str), st.from_regex(r"\A[+-]?[0-9.]{1,25}(e[+-]?[0-9]{1,3})?\Z")
)
CELLS = st.lists(st.one_of(PLAIN, PLAIN, ODD, st.text("0123456789.+-eE xnaif_", max_size=6)), max_size=8)


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


def test_types_of_texts() -> None:
    assert all(map(is_text, (pa.string(), pa.large_string(), pa.string_view())))
    assert not any(map(is_text, (pa.binary(), pa.int8(), pa.dictionary(pa.int8(), pa.string()))))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("1970-01-02", 1),
        ("1969-12-31", -1),
        (" 1970-01-02 ", 1),
        ("1970-01-02T23:59:59", 1),
        ("1970-01-03T01:00+02:00", 1),
    ],
)
def test_days(text, days) -> None:
    assert day(text) == days


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2024-02-29", datetime(2024, 2, 29)),
        ("2024-02-29 12:34:56.000001", datetime(2024, 2, 29, 12, 34, 56, 1)),
        ("2024-02-29T12:00:00Z", datetime(2024, 2, 29, 12)),
        ("2024-02-29T12:00:00+05:30", datetime(2024, 2, 29, 6, 30)),
    ],
)
def test_moments_are_microseconds_in_utc(text, when) -> None:
    assert moment(text) == round(when.replace(tzinfo=UTC).timestamp()) * 10**6 + when.microsecond


@pytest.mark.parametrize("text", ["", "2023-02-29", "soon", "31.12.2024", "2024", "0001-01-01T00:00+23:00", "12:00"])
def test_text_that_is_no_date(text) -> None:
    assert day(text) is None
    assert moment(text) is None
