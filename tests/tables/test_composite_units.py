"""Units of several columns: whose a row is, the same from every source, and what one unit can change at most."""

import csv
import random
from datetime import date, datetime, timedelta
from itertools import combinations, product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.cases import in_one_test, slow_but, slowly

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.periods import EVERY, Period
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.cell_values import days, period_numbers
from dpqr.tables.counting import Counting
from dpqr.tables.frames import PandasFrame
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.persons import units
from dpqr.tables.source import TableSource

DOMAIN = Domain((Attribute(name="k", axis=Codes(3)),))
FORMS = {
    "user and day": (("user_id", "day"), None),
    "user and day of a moment": (("user_id", "seen"), "day"),
    "user and week": (("user_id", "seen"), "week"),
    "user and month": (("user_id", "seen"), "month"),
    "user and quarter": (("user_id", "seen"), "quarter"),
    "user and year": (("user_id", "seen"), "year"),
    "device and day": (("device", "seen"), "day"),
    "device and month": (("device", "seen"), "month"),
    "user and item": (("user_id", "item"), None),
    "user, country and day": (("user_id", "country", "day"), None),
    "user, query and day": (("user_id", "query", "seen"), "day"),
    "account and merchant": (("account", "merchant"), None),
    "household": (("household",), None),
    "household and month": (("household", "seen"), "month"),
}
every_form = pytest.mark.parametrize(("columns", "per"), FORMS.values(), ids=FORMS)
some_forms = pytest.mark.parametrize(("columns", "per"), slow_but(range(0, len(FORMS), 5), FORMS.values()), ids=FORMS)
VALUES = ("a", "b", "ab", "bc", "c", "7", "")
DATES = ("2024-02-29", "2024-03-01", "2024-03-31", "2024-12-30", "2025-01-01", "never", "")
PERIODS = {
    "day": lambda day: day.isoformat(),
    "week": lambda day: day.isocalendar()[:2],
    "month": lambda day: (day.year, day.month),
    "quarter": lambda day: (day.year, (day.month - 1) // 3),
    "year": lambda day: day.year,
}


def drawn(columns, per, count, seed):
    """Rows as texts: the code of k, then the unit's columns."""
    draw = random.Random(seed)
    *names, last = [[draw.choice(VALUES) for _ in range(count)] for _ in columns]
    last = [draw.choice(DATES) for _ in range(count)] if per else last
    return [(str(draw.randrange(3)), *cells) for cells in zip(*names, last, strict=True)]


def unit_named(row, per):
    """By the definition, in Python; None: nobody's."""
    *names, last = row[1:]
    if not all((*names, last)) or (per and last == "never"):
        return None
    return (*names, PERIODS[per](date.fromisoformat(last)) if per else last)


def load(source, unit, noise):
    table = load_table(source, DOMAIN, Limits(), unit=unit, noise=noise)
    counts, dropped = (each._unseal(SealKey()) for each in (table.counts, table.dropped))
    return counts.marginal((0,)).tolist(), int(dropped.marginal(()))


def in_csv(folder, columns, rows):
    path = folder / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("k", *columns), *rows])
    return TableSource(paths=(str(path),))


def framed(columns, rows):
    table = pd.DataFrame(rows, columns=["k", *columns], dtype=object)
    return TableSource(frame=PandasFrame(table))


@some_forms
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("seed", [0, *slowly(1, 2)])
def test_tables_that_differ_in_one_unit_differ_in_k_records_at_most(tmp_path, columns, per, most, seed) -> None:
    """Every unit of tiny tables is taken out, with the same key; by CSV and in memory, which keep the same rows."""
    unit = PrivacyUnit(columns=columns, per=per, rows=most)
    rows = drawn(columns, per, 14, seed)
    names = [unit_named(row, per) for row in rows]
    whole, dropped = load(in_csv(tmp_path, columns, rows), unit, SeededNoise(seed))
    assert load(framed(columns, rows), unit, SeededNoise(seed)) == (whole, dropped)
    sizes = [names.count(name) for name in set(names) - {None}]
    assert sum(whole) == sum(min(size, most) for size in sizes)
    assert dropped == sum(min(size - min(size, most), most) for size in sizes)
    for gone in set(names) - {None}:
        rest = [row for row, name in zip(rows, names, strict=True) if name != gone]
        without = load(framed(columns, rest), unit, SeededNoise(seed))[0]
        lost = np.array(whole) - without
        assert (lost >= 0).all()
        assert lost.sum() == min(names.count(gone), most)


@in_one_test()
@every_form
def test_a_row_that_lacks_one_of_the_values_is_nobodys(columns, per) -> None:
    unit, good = PrivacyUnit(columns=columns, per=per, rows=9), ["a" for _ in columns]
    good[-1] = "2024-03-01" if per else "b"
    lacking = [[*good[:place], "", *good[place + 1 :]] for place in range(len(columns))]
    rows = [("0", *good), *(("1", *row) for row in lacking)]
    assert load(framed(columns, rows), unit, SeededNoise(0)) == ([1, 0, 0], 0)


PIECES = ["".join(text) for size in (1, 2, 3) for text in product("ab:13", repeat=size)]


def named(*columns, per=None):
    found, present = units([pa.array(each) for each in columns], per)
    return found.to_pylist(), present.tolist()


def test_two_pairs_whose_texts_join_alike_are_two_units_and_no_two_share_a_name() -> None:
    """All pairs of short texts of letters, digits and the sign between; and all ways to cut one text in three."""
    found, present = named(*zip(("a", "bc"), ("ab", "c"), ("1:a", "b"), ("a", "1:b"), strict=True))
    assert len(set(found)) == 4
    assert all(present)
    assert len(set(named(["11" + 9 * "y", "1"], ["x", 9 * "y" + "1x"])[0])) == 2
    pairs = list(product(PIECES, PIECES))
    assert len(set(named(*zip(*pairs, strict=True))[0])) == len(pairs)
    text = "1:a:1:b:1:a"
    cuts = [(text[:a], text[a:b], text[b:]) for a, b in combinations(range(1, len(text)), 2)]
    assert len(set(named(*zip(*cuts, strict=True))[0])) == len(cuts)


def test_a_unit_has_one_name_whatever_types_its_columns_are_written_in() -> None:
    texts, present = named(
        ["7", "07", "7", None], ["2024-03-05", "2024-03-31T23:59", "never", "2024-03-05"], per="month"
    )
    assert (len(texts), texts[0] == texts[1], present) == (2, False, [True, True, False, False])
    days_ = [date(2024, 3, 5), date(2024, 3, 31), None]
    for kind in (pa.date32(), pa.date64(), *(pa.timestamp(each) for each in ("s", "ms", "us", "ns"))):
        cells = pa.array(days_, pa.date32()).cast(kind)
        for dates in (cells, cells.dictionary_encode()):
            found, present = units([pa.array([7, 8, 9], pa.uint8()), dates], "month")
            assert present.tolist() == [True, True, False]
            assert found.to_pylist()[0] == texts[0]
    assert named([None, None], ["a", "b"])[1] == [False, False]
    assert units([pa.array(["a"]), pa.nulls(1)], "day")[1].tolist() == [False]
    assert named([], [])[0] == []


def test_numbers_of_periods_are_those_of_the_calendar() -> None:
    first, draw = date(1, 1, 1).toordinal(), random.Random(5)
    taken = [first, *(draw.randrange(first, date(9998, 12, 31).toordinal()) for _ in range(2000))]
    taken += [
        date(year, month, 1).toordinal() - step for year in (1969, 1970, 2024) for month in (1, 4) for step in (0, 1)
    ]
    epoch = date(1970, 1, 1)
    for every in EVERY:
        zero = Period.of(every, epoch)
        numbers = period_numbers(every, np.array(taken) - epoch.toordinal())
        expected = [Period.of(every, date.fromordinal(day)).index(zero) for day in taken]
        assert (numbers - period_numbers(every, np.zeros(1, dtype=np.int64))).tolist() == expected


def test_days_are_read_as_periods_read_them() -> None:
    texts = ["2024-03-05", " 2024-03-05 ", "2024-03-05T23:30-05:00", "5.3.2024", "", None, "9999-01-01", "0001-01-01"]
    found, good = days(pa.array(texts))
    assert good.tolist() == [True, True, True, False, False, False, False, True]
    assert (found[:3] - (date(2024, 3, 5) - date(1970, 1, 1)).days).tolist() == [0, 0, 1]
    zoned = pa.array([datetime(2024, 3, 5, 23, 30) + timedelta(hours=5)], pa.timestamp("us", "UTC"))
    assert days(zoned)[0].tolist() == found[2:3].tolist()


@some_forms
def test_parquet_and_an_engine_keep_the_rows_that_a_csv_keeps(tmp_path, columns, per) -> None:
    """Texts, numbers and dates in Parquet, and DuckDB, which hands out rows by the first column alone."""
    rows = [row for row in drawn(columns, per, 60, 9) if row[-1] != "never"]
    rows = [(row[0], *(("1" if cell == "ab" else "7" if cell else "") for cell in row[1:2]), *row[2:]) for row in rows]
    unit = PrivacyUnit(columns=columns, per=per, rows=2)
    expected = load(in_csv(tmp_path, columns, rows), unit, SeededNoise(3))
    code, first, *others = [[cell or None for cell in cells] for cells in zip(*rows, strict=True)]
    others = [pa.array(each).dictionary_encode() for each in others]
    if per:
        others[-1] = pa.array([None if each is None else date.fromisoformat(each) for each in others[-1].to_pylist()])
    first = pa.array([None if each is None else int(each) for each in first])
    table = pa.table([pa.array([int(each) for each in code]), first, *others], names=["k", *columns])
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=7)
    for path in (tmp_path / "t.parquet", f"duckdb:{tmp_path / 't.parquet'}"):
        assert load(TableSource(paths=(str(path),)), unit, SeededNoise(3)) == expected


def test_the_column_of_persons_is_none_of_the_domain_and_the_others_may_be(tmp_path) -> None:
    with pytest.raises(UsageFault, match="'k' is a column of the domain too"):
        load(framed(("k2",), [("0", "a")]), PrivacyUnit(columns=("k", "k2"), rows=1), SeededNoise(0))
    rows = [("0", "a"), ("0", "a"), ("1", "a"), ("1", "b"), ("2", "")]
    assert load(in_csv(tmp_path, ("who",), rows), PrivacyUnit(columns=("who", "k"), rows=1), SeededNoise(0))[0] == [
        1,
        2,
        0,
    ]


@in_one_test("size", [1, 2, 5, 60])
def test_rows_in_the_order_of_the_first_column_make_the_same_units_wherever_batches_end(size) -> None:
    """Units of one person lie scattered among that person's rows."""
    columns, per = FORMS["user and month"]
    rows = [row for row in drawn(columns, per, 60, 4) if row[1]]
    asked = Counting(domain=DOMAIN, unit=PrivacyUnit(columns=columns, per=per, rows=1), key=bytes(32))
    batch = pa.record_batch(
        [pa.array(each) for each in zip(*sorted(rows, key=lambda row: row[1]), strict=True)], names=["k", *columns]
    )
    pieces = [batch.slice(start, size) for start in range(0, batch.num_rows, size)]
    found, whole = asked.counted(lambda: pieces, in_order=True), asked.counted(lambda: [batch])
    assert found.counts.marginal((0,)).tolist() == whole.counts.marginal((0,)).tolist()
    named_units = {unit_named(row, per) for row in rows} - {None}
    assert (found.units, found.dropped) == (len(named_units), whole.dropped) == (whole.units, whole.dropped)
