"""Counting: the question to a source of rows, answered in one piece and in parts."""

import numpy as np
import pyarrow as pa
import pytest
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Codes, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.counting import Counting
from dpqr.tables.limits import Limits

DOMAIN = Domain(
    (
        Attribute(name="sex", axis=Labels(("f", "m")), rules={"null": Rule.CELL}),
        Attribute(name="k", axis=Codes(3), rules={"outside": Rule.FAIL}),
    )
)
WIDE = Domain(tuple(Attribute(name=f"c{place}", axis=Codes(50)) for place in range(5)))


def rows(**columns):
    return pa.record_batch(columns)


ONE = rows(sex=["f", "m", None, "x"], k=pa.array([0, 1, 2, 0]), who=["a", "a", "b", "b"])
TWO = rows(sex=["m", "m", ""], k=pa.array([2.0, 7.0, 1.0]), who=["c", "c", "d"])


def chosen(asked, *batches):
    return asked.counted(lambda: [batch.select(list(asked.columns)) for batch in batches])


def test_columns_are_the_domains_then_the_persons() -> None:
    assert list(Counting(domain=DOMAIN).columns) == ["sex", "k"]
    assert list(Counting(domain=DOMAIN, unit=PrivacyUnit(columns=("who",), rows=2)).columns) == ["sex", "k", "who"]
    assert list(Counting(domain=DOMAIN, count_column="n").columns) == ["sex", "k", "n"]


@in_one_test("unit", [PrivacyUnit(), PrivacyUnit(columns=("who",), rows=1), PrivacyUnit(columns=("who",), rows=9)])
def test_parts_add_up_to_the_whole(unit) -> None:
    asked = Counting(domain=DOMAIN, unit=unit, key=bytes(32))
    whole = chosen(asked, ONE, TWO)
    asked = Counting(domain=DOMAIN, unit=unit, key=bytes(32))
    sum_ = asked.together([chosen(asked, ONE), chosen(asked, TWO)])
    assert (sum_.read, sum_.units, sum_.dropped) == (whole.read, whole.units, whole.dropped) == (7, *whole_units(unit))
    assert sum_.failed == whole.failed == {"k"}
    assert sum_.counts.marginal(()) == whole.counts.marginal(())
    if unit.rows != 1 or not unit.columns:
        assert whole.counts.marginal((0, 1)).tolist() == [[1, 0, 0], [0, 1, 1], [0, 1, 1]]
        assert (sum_.counts.marginal((0, 1)) == whole.counts.marginal((0, 1))).all()


def whole_units(unit):
    """Persons, and rows that are left out: of each person at most K of them."""
    if not unit.columns:
        return 7, 2
    return 4, 2 if unit.rows > 1 else 3


@in_one_test("asked", [None, ((0, 1), (2, 3)), ((4,), (0,))])
def test_parts_of_groups_and_of_occupied_cells_add_up(asked) -> None:
    chance = np.random.default_rng(3)
    batches = [rows(**{name: pa.array(chance.integers(0, 50, 40)) for name in WIDE.names}) for _ in range(3)]
    question = Counting(domain=WIDE, column_sets=asked, limits=Limits(cells=2**17))
    whole = chosen(question, *batches)
    parts = question.together(chosen(question, *some) for some in (batches[:1], [], batches[1:]))
    assert type(parts.counts) is type(whole.counts)
    for axes in asked or [(0, 1), (2, 4)]:
        assert (parts.counts.marginal(axes) == whole.counts.marginal(axes)).all()
    assert int(whole.counts.marginal(asked[0] if asked else (0,)).sum()) == 120


def test_the_limit_on_records_holds_for_the_sum_too() -> None:
    asked = Counting(domain=DOMAIN, limits=Limits(records=5))
    with pytest.raises(DataError, match="more records than the declared limit"):
        asked.together([chosen(asked, ONE), chosen(asked, TWO)])
    with pytest.raises(DataError, match="more records than the declared limit"):
        chosen(asked, ONE, TWO)


def of_persons(people, **how):
    """Rows of persons whose codes differ, counted in batches of `size`."""
    unit = PrivacyUnit(columns=("who",), rows=2)
    asked = Counting(domain=Domain((Attribute(name="k", axis=Codes(50)),)), unit=unit, key=bytes(32))
    codes = [place if place % 3 else 99 for place in range(len(people))]  # 99 is no cell: a rule drops the row
    table = pa.table({"k": pa.array(codes), "who": people})
    size = how.pop("size", 100)
    found = asked.counted(lambda: table.to_batches(max_chunksize=size), **how)
    return found.counts.marginal((0,)).tolist(), found.units, found.dropped


TEXTS = pa.array(
    sorted(["7"] * 9 + ["07"] * 8 + ["ann"] * 7 + ["b"] + ["Zo\N{LATIN SMALL LETTER E WITH ACUTE}"] * 5, key=str.encode)
)
FLOATS = pa.array(
    [float("-inf"), -10.5, -10.5, -9.0, *[-0.0, 0.0] * 4, 0.5, *[9.0] * 5, *[10.0] * 5, 1e300, float("nan"), None]
)
NUMBERS = pa.array([-5] * 9 + [None] * 3 + [0, 7, 7, 7, 7] + [2**40] * 9)


@in_one_test(
    "people",
    [
        TEXTS,
        FLOATS,
        FLOATS.cast("float32"),
        NUMBERS,
        NUMBERS.drop_null().cast("string").sort(),
        TEXTS.dictionary_encode(),
    ],
)
@pytest.mark.parametrize("size", [1, 4, 100])
def test_rows_in_the_order_of_persons_are_counted_one_person_at_a_time(people, size) -> None:
    """The same rows are kept as where all persons are held, in one pass or in three."""
    expected = of_persons(people)
    assert of_persons(people, groups=3) == expected
    assert of_persons(people, in_order=True, size=size) == expected


@in_one_test("size", [1, 2, 100])
@pytest.mark.parametrize(
    "people", [["a", "b", "a"], ["a", "B"], [9, 10, 9], [10, 9], [10.0, 9.0], [10.0, float("nan"), 9.0]]
)
def test_another_order_than_promised_ends_the_run(people, size) -> None:
    with pytest.raises(DataError, match="fault of the engine"):
        of_persons(pa.array(people), in_order=True, size=size)
