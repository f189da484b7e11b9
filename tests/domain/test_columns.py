from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from support.cases import in_one_test

from dpqr.domain.attribute import Bins, Labels
from dpqr.domain.columns import MAX_CELLS, code_bins, moment, require_few, whole_bins
from dpqr.domain.domain_file import read_domain
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError

PLACE = Location("d.json")


def bins_of(kind: str, low: Any = None, high: Any = None, **cut: Any) -> Bins:
    constraints = {} if low is None else {"minimum": low, "maximum": high}
    domain = read_domain({"fields": [{"name": "a", "type": kind, "constraints": constraints, "dpqr": cut}]})
    axis = domain.attributes[0].axis
    assert isinstance(axis, Bins)
    return axis


def period(day: date, every: str) -> tuple[int, ...]:
    """What two days of one period share, by the calendar's own fields."""
    keys = {
        "day": (day.toordinal(),),
        "week": tuple(day.isocalendar())[:2],
        "month": (day.year, day.month),
        "quarter": (day.year, (day.month - 1) // 3),
        "year": (day.year,),
    }
    return keys[every]


@in_one_test("every", ["day", "week", "month", "quarter", "year"])
@pytest.mark.parametrize(("low", "high"), [("2023-12-15", "2025-03-01"), ("1969-11-30", "1970-02-02")])
def test_periods_follow_the_calendar(every: str, low: str, high: str) -> None:
    bins = bins_of("date", low, high, every=every)
    days, first = [], date.fromisoformat(low)
    while first <= date.fromisoformat(high):
        days.append(first)
        first += timedelta(days=1)
    cell = {}
    bounds = [tuple(map(int, bins.bounds(index))) for index in range(bins.size)]
    for day in days:
        number = (day - date(1970, 1, 1)).days
        (index,) = [index for index, (low, high) in enumerate(bounds) if low <= number <= high]
        cell[day] = index
    assert set(cell.values()) == set(range(bins.size))
    for one, other in pairwise(days):
        assert (cell[one] == cell[other]) == (period(one, every) == period(other, every))


def test_periods_are_named_by_their_days_and_end_with_the_calendar() -> None:
    months = ("[2024-01-15, 2024-02-01)", "[2024-02-01, 2024-03-01)", "[2024-03-01, 2024-03-31]")
    assert bins_of("date", "2024-01-15", "2024-03-31", every="month").titles() == months
    assert bins_of("date", "2024-01-01", "2024-01-03", every="day").titles()[-1] == "2024-01-03"
    assert bins_of("date", "9998-06-01", "9999-12-31", every="year").size == 2
    bins = bins_of("datetime", "2024-01-31T12:00:00", "2024-03-01T00:00:00Z", every="month")
    assert bins.titles() == ("[2024-01-31T12:00:00, 2024-02-01T00:00:00)", "[2024-02-01T00:00:00, 2024-03-01T00:00:00]")


def test_edges_of_dates_and_times() -> None:
    assert bins_of("date", edges=["1970-01-01", "1970-01-03"]).edges == (0, 2)
    times = bins_of("datetime", edges=["1970-01-01", "1970-01-01T00:00:00.5", "1970-01-01T02:00+01:00"], closed="right")
    assert times.edges == (0, 500_000, 3_600_000_000)
    assert times.closed == "right"


def test_times_are_microseconds_of_utc_and_what_is_on_no_calendar_is_refused() -> None:
    for text, stamp in {
        "2024-02-29": datetime(2024, 2, 29, tzinfo=UTC),
        "2024-02-29T23:59:59.999999Z": datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=UTC),
        "1960-01-01 01:02": datetime(1960, 1, 1, 1, 2, tzinfo=UTC),
    }.items():
        assert moment(text, "datetime", PLACE) == Fraction(int(stamp.timestamp()) * 10**6 + stamp.microsecond)
    for value in ("2024-02-30", "20240101", "2024-01-01T00:00", 20240101, "2024-W01-1"):
        with pytest.raises(DocumentError, match=r"^d\.json: \$: .*expected a date"):
            moment(value, "date", PLACE)
    for value in ("2024-01-01T25:00", "0001-01-01T00:00+05:00", "yesterday"):
        with pytest.raises(DocumentError, match=r"^d\.json: \$: .*expected a date"):
            moment(value, "datetime", PLACE)


# Labels, and the texts that stand for them.


def axis(kind="string", own=None, missing=("",), **keys) -> Labels:
    field = {"name": "a", "type": kind, "dpqr": own or {}, "missingValues": list(missing), **keys}
    found = read_domain({"fields": [field]}).attributes[0].axis
    assert isinstance(found, Labels)
    return found


TWINS = [{"value": 0, "label": "x"}, {"value": 1, "label": "x"}]
ENUM = {"constraints": {"enum": ["north", "south"]}}
FRUIT = [{"value": 0, "label": "apple"}, {"value": 1, "label": "pear"}, 2]


def test_aliases_are_other_texts_of_a_label() -> None:
    found = axis(own={"aliases": {"north": ["N", "No."]}}, **ENUM)
    assert found == Labels(("north", "south"), texts=(("north", "N", "No."), ("south",)))
    assert found.places() == {"north": 0, "N": 0, "No.": 0, "south": 1}


def test_case_and_blanks() -> None:
    found = axis(own={"caseSensitive": False, "trim": True, "aliases": {"north": ["N ", "n"]}}, **ENUM)
    assert found.folded
    assert found.places() == {"north": 0, "n": 0, "south": 1}
    assert axis("boolean").folded
    assert not axis("boolean", own={"caseSensitive": True}).folded


def test_categories_name_the_cells_and_the_values_are_what_a_table_holds() -> None:
    found = axis("integer", categories=FRUIT, categoriesOrdered=True)
    assert found == Labels(("apple", "pear", "2"), texts=(("0",), ("1",), ("2",)), ordered=True)
    assert axis(categories=["x", "y"]) == axis(constraints={"enum": ["x", "y"]})
    assert axis("integer", categories=FRUIT, constraints={"enum": [2, 0]}).values == ("apple", "2")
    assert axis("integer", own={"aliases": {"apple": ["7"]}}, categories=FRUIT).texts[0] == ("0", "7")


def test_words_for_true_and_false() -> None:
    found = axis("boolean", trueValues=["yes", "1"])
    assert found == Labels(("false", "true"), texts=(("false",), ("yes", "1")))
    assert axis("boolean", trueValues=["J"], constraints={"enum": [True]}) == Labels(("true",), texts=(("J",),))
    assert axis("boolean", trueValues=["J"], falseValues=["N"], own={"caseSensitive": False}).folded


@in_one_test(
    ("keys", "says"),
    [
        ({"own": {"aliases": {"nort": ["N"]}}, **ENUM}, r"aliases.nort: 'nort' is no label .*did you mean 'north'"),
        ({"own": {"aliases": {"north": ["south"]}}, **ENUM}, r"enum\[1\]: 'south' also stands for the label 'north'"),
        ({"own": {"aliases": {"north": ["x"], "south": ["x"]}}, **ENUM}, r"aliases.south\[0\]: 'x' also stands for"),
        ({"own": {"aliases": {"north": []}}, **ENUM}, r"aliases\.\w+: expected a list of length >= 1"),
        ({"own": {"aliases": {"north": [""]}}, **ENUM}, r"aliases.north\[0\]: '' also stands in missingValues"),
        ({"own": {"caseSensitive": False}, "constraints": {"enum": ["a", "A"]}}, r"enum\[1\]: 'A' also stands for"),
        ({"own": {"trim": True}, "constraints": {"enum": ["a", " a"]}}, r"enum\[1\]: ' a' also stands for"),
        ({"own": {"trim": True}, "constraints": {"enum": ["a", " "]}}, r"enum\[1\]: ' ' also stands in missingValues"),
        ({"own": {"caseSensitive": False}, "missing": ["NA"], "constraints": {"enum": ["na"]}}, "missingValues"),
        ({"kind": "integer", "categories": ["0"]}, r"categories\[0\]: '0' is no label of a column of type 'integer'"),
        ({"kind": "integer", "categories": [0, {"value": 0, "label": "x"}]}, r"\[1\].value: the value '0' sta"),
        ({"kind": "integer", "categories": TWINS}, "'x' stands twice"),
        ({"kind": "integer", "categories": FRUIT, "constraints": {"enum": [3]}}, r"enum\[0\]: '3' is no value of the"),
        ({"kind": "integer", "categories": FRUIT, "constraints": {"enum": []}}, "enum: lists no label"),
        ({"kind": "boolean", "categories": ["x"]}, "only columns of type 'string' and 'integer' have categories"),
        ({"kind": "number", "categories": ["x"]}, "categories: a column of type 'number' has no labels"),
        ({"categories": []}, "categories: expected a list of length >= 1"),
        ({"kind": "boolean", "trueValues": ["x"], "falseValues": ["x"]}, r"trueValues\[0\]: 'x' also stands for"),
        ({"kind": "boolean", "trueValues": []}, "trueValues: expected a list of length >= 1"),
        ({"groupChar": ",", **ENUM}, "groupChar: only binned columns of numbers have it"),
        ({"categoriesOrdered": True, **ENUM}, "categoriesOrdered: only columns with categories have it"),
    ],
)
def test_what_is_refused(keys, says) -> None:
    with pytest.raises(DocumentError, match=says):
        axis(**keys)


# Which values each bin holds is found by trying values, not by repeating the formula.


def members(bins: Bins, values: range) -> list[list[int]]:
    """Whole values of each bin, by the meaning of edges and closed sides alone."""
    held: list[list[int]] = [[] for _ in range(bins.size)]
    for value in values:
        for index, (low, high) in enumerate(zip(bins.edges[:-1], bins.edges[1:], strict=True)):
            above = value > low or (value == low and (bins.closed == "left" or index == 0))
            below = value < high or (value == high and (bins.closed == "right" or index == bins.size - 1))
            if above and below:
                held[index].append(value)
    return held


def test_whole_numbers_without_bins_have_one_bin_a_value() -> None:
    bins = bins_of("integer", -2, 3)
    assert members(bins, range(-9, 9)) == [[-2], [-1], [0], [1], [2], [3]]
    assert bins.titles() == ("-2", "-1", "0", "1", "2", "3")


@in_one_test("closed", ["left", "right"])
@pytest.mark.parametrize(("high", "width"), [(9, 2), (9, 5), (10, 4), (7, 8), (3, 100), (5, 1)])
def test_a_width_counts_whole_values_and_the_last_bin_has_the_rest(high: int, width: int, closed: str) -> None:
    held = members(bins_of("integer", 0, high, width=width, closed=closed), range(-3, 200))
    assert [value for part in held for value in part] == [*range(high + 1)]
    assert all(len(part) == width for part in held[:-1])
    assert 1 <= len(held[-1]) <= width


@in_one_test("count", [1, 2, 3, 7, 10, 11])
@pytest.mark.parametrize("closed", ["left", "right"])
def test_a_count_of_bins_cuts_whole_values_evenly(count: int, closed: str) -> None:
    held = members(bins_of("integer", 0, 10, bins=count, closed=closed), range(-3, 20))
    assert [value for part in held for value in part] == [*range(11)]
    assert {len(part) for part in held} <= {11 // count, -(-11 // count)}


def test_bins_of_ten_hold_the_tens() -> None:
    assert bins_of("integer", 0, 99, bins=10).titles()[:2] == ("[0, 10)", "[10, 20)")
    assert bins_of("integer", 0, 99, width=10).titles()[-1] == "[90, 99]"
    assert bins_of("integer", 0, 100, bins=10, closed="right").titles()[0] == "[0, 11)"


def test_numbers_are_cut_in_exact_fractions() -> None:
    assert bins_of("number", 0, 1, bins=3).edges == (0, Fraction(1, 3), Fraction(2, 3), 1)
    assert bins_of("number", 0, 1, width=0.1).edges == tuple(Fraction(k, 10) for k in range(11))
    assert bins_of("number", 0, 1, width=0.4).edges == (0, Fraction(2, 5), Fraction(4, 5), 1)
    assert bins_of("number", -1, 1, width=5, closed="right") == Bins((Fraction(-1), Fraction(1)), closed="right")


def test_edges_are_taken_as_they_are_and_titles_show_their_closed_side() -> None:
    bins = bins_of("integer", edges=[0, 18, 65, 120])
    assert bins.integral
    assert bins.titles() == ("[0, 18)", "[18, 65)", "[65, 120]")
    assert (bins.span_title(0, 1), bins.span_title(1, 2)) == ("[0, 65)", "[18, 120]")
    assert bins_of("number", 0, 2, edges=[0, 1, 2]).edges == (0, 1, 2)
    assert bins_of("number", edges=[0, 0.5, 2]).titles() == ("[0, 0.5)", "[0.5, 2]")
    assert bins_of("number", edges=[0, 0.5, 2], closed="right").titles() == ("[0, 0.5]", "(0.5, 2]")
    require_few(MAX_CELLS, PLACE)
    with pytest.raises(DocumentError, match="makes 1048577 cells, more than the 1048576 of one column"):
        require_few(MAX_CELLS + 1, PLACE)


def test_whole_bins_hold_runs_of_whole_values() -> None:
    assert members(whole_bins([0, 3, 4, 9]), range(-2, 12)) == [[0, 1, 2], [3], [4, 5, 6, 7, 8]]
    assert whole_bins([0, 3, 4, 9]).titles() == ("[0, 3)", "3", "[4, 8]")
    assert code_bins(3).titles() == ("0", "1", "2")
