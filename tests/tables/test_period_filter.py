"""The rows of one period: decided by each row's own date, in every form of table; all others are nowhere."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Labels, Spelling
from dpqr.domain.columns import whole_bins
from dpqr.domain.domain import Domain
from dpqr.domain.periods import Period, PeriodRows
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.tables.encoders import TableBatch
from dpqr.tables.frames import in_memory
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.persons import PeriodFilter
from dpqr.tables.source import TableSource
from dpqr.tables.structure import check_table

MARCH = PeriodRows(column="day", period=Period.parse("2026-03"))
DOMAIN = Domain((Attribute(name="ward", axis=Labels(("A", "B"))),))
EAST = timezone(timedelta(hours=2))


def kept(cells, period=MARCH):
    """The places of the rows that stay."""
    batch = pa.record_batch({"place": pa.array(range(len(cells))), "day": cells})
    found = PeriodFilter.of(period, ("place", "day")).records(TableBatch(batch, np.array([0])))
    assert len(found.malformed) == 0
    return found.rows.column(0).to_pylist()


DAYS = [date(2026, 2, 28), date(2026, 3, 1), None, date(2026, 3, 31), date(2026, 4, 1), date(1969, 3, 1)]
TIMES = [datetime(2026, 2, 28, 23, 59, 59), datetime(2026, 3, 1), None, datetime(2026, 3, 31, 23, 59, 59, 999999)]
ZONED = [datetime(2026, 3, 1, 1, tzinfo=EAST), datetime(2026, 4, 1, 1, tzinfo=EAST), datetime(2026, 4, 1, tzinfo=UTC)]
TEXTS = ["2026-03-01", "2026-03-31T23:59:59", "2026-04-01T01:00:00+02:00", "2026-03-01T01:00:00+02:00", "31.03.2026"]


@in_one_test(
    ("cells", "places"),
    [
        (pa.array(DAYS), [1, 3]),
        (pa.array(DAYS, pa.date64()), [1, 3]),
        (pa.array(TIMES, pa.timestamp("us")), [1, 3]),
        (pa.array(TIMES[:3], pa.timestamp("s")), [1]),
        (pa.array(ZONED, pa.timestamp("ms", tz="Europe/Berlin")), [1]),
        (pa.array([*TEXTS, "", "2026-03", "March", None, " 2026-03-05 "]), [0, 1, 2, 9]),
        (pa.array([*TEXTS, TEXTS[0]], pa.large_string()).dictionary_encode(), [0, 1, 2, 5]),
        (pa.nulls(3), []),
        (pa.array([], pa.date32()), []),
    ],
)
def test_a_row_is_in_the_period_of_its_own_date(cells, places):
    assert kept(cells) == places


@in_one_test("name", ["2026-03-01", "2026-W09", "2026-Q1", "2026"])
def test_every_kind_of_period_begins_and_ends_on_its_days(name):
    period = Period.parse(name)
    days = [period.start - timedelta(1), period.start, period.end - timedelta(1), period.end]
    assert kept(pa.array(days), PeriodRows(column="day", period=period)) == [1, 2]


TABLE = """ward,day,who
A,2026-02-28,1
A,2026-03-01,1
B,2026-03-31,1
B,2026-03-15T12:00:00,2
x,2026-03-02,3
A,,4
A,soon,4
B
x,2026-04-02,5
"""


def counted(source, period=MARCH, domain=DOMAIN, unit=PrivacyUnit()):  # noqa: B008 (frozen)
    """Records by cell of the first column, and how many were left out."""
    asked = replace(source, period=period)
    check_table(asked, domain, Limits(), unit)
    loaded = load_table(asked, domain, Limits(), unit=unit, noise=SeededNoise(1))
    counts, dropped = (each._unseal(SealKey()) for each in (loaded.counts, loaded.dropped))
    return counts.marginal((0,)).tolist(), int(dropped.marginal(()))


@pytest.fixture
def forms(tmp_path):
    """The same table as CSV, Parquet, and in memory; without the ragged row where there is none of its kind."""
    (tmp_path / "table.csv").write_text(TABLE)
    frame = pd.DataFrame(
        [line.split(",") for line in TABLE.splitlines()[1:] if line != "B"], columns=["ward", "day", "who"]
    )
    frame["who"] = frame["who"].astype(int)
    parquet.write_table(pa.table(frame), tmp_path / "table.parquet")
    dates = frame.assign(day=pd.to_datetime(frame["day"], format="ISO8601", errors="coerce"))
    paths = [TableSource(paths=(str(tmp_path / name),)) for name in ("table.csv", "table.parquet")]
    return [*paths, TableSource(frame=in_memory(frame)), TableSource(frame=in_memory(dates))]


def test_all_forms_of_a_table_have_the_same_rows_in_a_period(forms):
    assert [counted(source) for source in forms] == [([1, 2], 1)] * 4
    persons = [counted(source, unit=PrivacyUnit(columns=("who",), rows=1)) for source in forms]
    assert [(sum(kept), dropped) for kept, dropped in persons] == [(2, 2)] * 4  # one of two rows, and a row by a rule


def test_a_row_is_in_one_period_or_in_none(forms):
    """Malformed rows, and those without a date, are left out by no period: else one row would be in all of them."""
    months = [PeriodRows(column="day", period=Period.parse("2026-01").later(steps)) for steps in range(12)]
    found = [counted(forms[0], month) for month in months]
    assert [sum(kept) for kept, _ in found] == [0, 1, 3, *[0] * 9]
    assert [dropped for _, dropped in found] == [0, 0, 1, 1, *[0] * 8]
    assert counted(forms[0], None) == ([4, 2], 3)


def test_the_column_may_be_an_attribute_too_whose_rules_change_nothing(forms):
    column = Attribute(name="day", axis=whole_bins([19_000, 20_000], "date"), missing=("2026-03-01",))
    _, dropped = counted(forms[0], domain=Domain((*DOMAIN.attributes, column)))
    assert dropped == 4  # all four rows of March, for none of which the attribute has a bin


def test_texts_that_the_domain_file_writes_otherwise_are_refused_before_any_row(forms):
    """Read as ISO 8601 alone, all would be in no period, and the budget spent; dates need no format."""
    column = Attribute(name="day", axis=whole_bins([20_500, 20_600], "date"), spelling=Spelling(pattern="%d.%m.%Y"))
    domain = Domain((*DOMAIN.attributes, column))
    *texts, dates = (replace(source, period=MARCH) for source in forms)
    for source in texts:
        check_table(source, DOMAIN, Limits())
        with pytest.raises(DataError, match=r"the format '%d\.%m\.%Y' in the domain file, and --period reads ISO"):
            check_table(source, domain, Limits())
    check_table(dates, domain, Limits())


@pytest.mark.parametrize("other", [PrivacyUnit(columns=("day",), rows=1), PrivacyUnit()], ids=["unit", "counts"])
def test_the_column_is_neither_unit_nor_count(forms, other):
    source = replace(forms[0], count_column=None if other.columns else "day")
    with pytest.raises(UsageFault, match="'day' is the unit or count column too"):
        counted(source, unit=other)


def test_a_column_that_holds_no_dates_or_is_not_there_is_refused_before_any_row(forms):
    for column, words in (("who", "dates, timestamps or ISO text"), ("when", "'when'")):
        with pytest.raises(DataError, match=words):
            counted(forms[1], PeriodRows(column=column, period=MARCH.period))


AWKWARD = [
    *("2026-02-28", "2026-03-01", "2026-03-31", "2026-04-01", "2024-02-29", "1969-12-31", "0001-01-01", "9998-12-31"),
    *("2026-03-01T00:00:00", "2026-03-31T23:59:59.999999", "2026-03-31T24:00:00", "2026-02-28T23:59:59"),
    *("2026-03-01T01:30:00+02:00", "2026-04-01T01:30:00+02:00", "2026-02-28T23:30:00-01:00", "2026-03-01T00:00:00Z"),
    *("2026-02-30", "2026-13-01", "2026-3-1", "01.03.2026", "2026-03", "20260301", "March", "0", "NaT", "null", "-"),
    *("2026-03-05 ", " 2026-03-05", "2026-03-05T", "2026-03-05 12:00", "+2026-03-05", "2026-03-05Z"),
]
"""Dates at the ends of a month, moments with and without a zone, and what is none."""
AROUND = [PeriodRows(column="day", period=Period.parse(f"2026-0{month}")) for month in (2, 3, 4)]


def texts_in_all_forms(folder, cells):
    """A row for each cell, as text, in every form of table that holds texts."""
    frame = pd.DataFrame({"ward": ["A"] * len(cells), "day": cells})
    table = pa.table(frame)
    frame.to_csv(folder / "texts.csv", index=False)
    frame.to_csv(folder / "texts.csv.gz", index=False)
    parquet.write_table(table, folder / "texts.parquet", row_group_size=7)
    paths = [TableSource(paths=(str(folder / name),)) for name in ("texts.csv", "texts.csv.gz", "texts.parquet")]
    labelled = frame.assign(day=frame["day"].astype("category"))
    return [*paths, *(TableSource(frame=in_memory(each)) for each in (frame, labelled, table))]


def test_awkward_texts_are_in_the_same_period_in_every_form(tmp_path):
    for period in AROUND:
        first, *others = [counted(source, period) for source in texts_in_all_forms(tmp_path, AWKWARD)]
        assert first[0][0] > 0
        assert others == [first] * len(others)
    for cell in AWKWARD:  # one by one: in one period at most
        assert sum(len(kept(pa.array([cell]), period)) for period in AROUND) <= 1, cell


@pytest.mark.slow
def test_moments_are_in_the_same_period_as_their_texts(tmp_path):
    """An instant is in the period of its day in UTC, whichever zone a column of moments is shown in."""
    instants = [datetime(2026, month, day, hour, 30, tzinfo=EAST) for month, day in ((3, 1), (4, 1)) for hour in (1, 2)]
    written = texts_in_all_forms(tmp_path, [each.isoformat() for each in instants])
    for zone in ("UTC", "Europe/Berlin", "America/New_York"):
        for unit in ("s", "ms", "us", "ns"):
            cells = pa.array(instants, pa.timestamp(unit, tz=zone))
            table = pa.table({"ward": ["A"] * len(instants), "day": cells})
            parquet.write_table(table, tmp_path / "moments.parquet")
            for period in AROUND:
                frames = [TableSource(frame=in_memory(each)) for each in (table, table.to_pandas())]
                for source in (TableSource(paths=(str(tmp_path / "moments.parquet"),)), *frames):
                    assert counted(source, period) == counted(written[0], period)
