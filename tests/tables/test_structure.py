import gzip
from datetime import date
from decimal import Decimal
from fractions import Fraction
from io import BytesIO
from types import SimpleNamespace

import openpyxl
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Bins, Codes, Labels
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError, DocumentError, InfeasiblePlan, UsageFault
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.tables.structure import check_table, column_types
from dpqr.tables.wanted import columns_to_read, refuse_published_unit

DOMAIN = Domain((Attribute(name="a", axis=Codes(3)), Attribute(name="b", axis=Labels(("x",)))))


def check(*paths, domain=DOMAIN, limits=None, **fields) -> None:
    check_table(TableSource(paths=tuple(map(str, paths)), **fields), domain, limits or Limits())


def test_sound_tables_whose_cells_are_not_looked_at(tmp_path) -> None:
    (tmp_path / "one.csv").write_text("a,b,c\n1,x,\n")
    (tmp_path / "two.csv").write_text("b,a\n")
    check(tmp_path)
    for table in ({"b": pa.array(["x"]).dictionary_encode(), "a": [1.0]}, {"b": pa.nulls(1), "a": [1]}):
        parquet.write_table(pa.table(table), tmp_path / "t.parquet")
        check(tmp_path / "t.parquet")
    (tmp_path / "one.csv").write_bytes(b"a,b\n\xff,no label,,,\n")
    check(tmp_path / "one.csv")


def test_the_header_on_standard_input_is_checked_and_stays_there(monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(b"a,b\n1,x\n1,x\n")))
    source = TableSource(paths=("-",))
    check_table(source, DOMAIN, Limits())
    with pytest.raises(DataError, match="no column 'n' in its first line"):
        check_table(replace(source, count_column="n"), DOMAIN, Limits())
    assert int(load_table(source, DOMAIN, Limits()).counts._unseal(SealKey()).marginal(())) == 2
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(b"")))
    with pytest.raises(DataError, match="empty: it has no header"):
        check("-")


def test_each_file_of_a_table_is_checked(tmp_path) -> None:
    (tmp_path / "one.csv").write_text("a,b\n")
    (tmp_path / "two.csv").write_text("a,B\n")
    with pytest.raises(DataError, match=r"two\.csv has no column 'b'"):
        check(tmp_path)


def test_types_of_columns(tmp_path) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"b": ["x"], "a": ["1"]}), path)
    with pytest.raises(DataError, match=r"column 'a' has the Parquet type string\n.*whole numbers \(codes\)"):
        check(path)
    parquet.write_table(pa.table({"b": ["x"], "a": pa.array(["1"]).dictionary_encode()}), path)
    with pytest.raises(DataError, match="column 'a' has the Parquet type dictionary"):
        check(path)


def test_the_count_column(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("a,b,count\n")
    check(tmp_path / "t.csv", count_column="count")
    with pytest.raises(DataError, match="no column 'n'"):
        check(tmp_path / "t.csv", count_column="n")
    with pytest.raises(UsageFault, match="'a' is a column of the domain too"):
        check(tmp_path / "t.csv", count_column="a")
    parquet.write_table(pa.table({"a": [1], "b": ["x"], "count": ["1"]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="record counts"):
        check(tmp_path / "t.parquet", count_column="count")


@in_one_test("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_no_limit_that_rows_could_break_is_looked_at(tmp_path, name) -> None:
    """One row more or less changes nothing here: what is refused is free."""
    for rows in (0, 1, 40):
        table = pa.table({"a": [1] * rows, "b": ["x"] * rows})
        if name == "t.parquet":
            parquet.write_table(table, tmp_path / name)
        else:
            text = ("a,b\n" + "1,x\n" * rows).encode()
            (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        check(tmp_path / name, limits=Limits(records=1, bytes=1))


def test_column_types_of_parquet(tmp_path) -> None:
    table = {
        "flag": [True],
        "whole": [1],
        "real": [1.5],
        "money": [Decimal("1.50")],
        "day": [date(2024, 1, 1)],
        "when": pa.array([0], pa.timestamp("ns", "UTC")),
        "text": ["x"],
        "kind": pa.array(["x"]).dictionary_encode(),
        "list": [[1]],
    }
    parquet.write_table(pa.table(table), tmp_path / "t.parquet")
    kinds = ["boolean", "integer", "number", "number", "date", "datetime", "string", "string", "any"]
    assert column_types(TableSource(paths=(str(tmp_path / "t.parquet"),))) == tuple(zip(table, kinds, strict=True))


def test_column_types_of_csv_are_unknown(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n1;x\n")
    source = TableSource(paths=(str(tmp_path / "t.csv"),), delimiter=";")
    assert column_types(source) == (("a", "any"), ("b", "any"))
    with pytest.raises(UsageFault):
        column_types(TableSource(paths=("-",)))


def test_a_first_line_that_looks_like_a_row_is_not_shown(tmp_path) -> None:
    path = tmp_path / "t.csv"
    for line in ("secret;secret", "secret;31", "-1.5e3;secret", " 7 ;secret", "secret;", "secret;2024-02-29",
                 "2024-02-29T12:30;secret"):  # fmt: skip
        path.write_text(f"{line}\nsecret;1\n")
        with pytest.raises(DataError, match=r"t\.csv: its first line .* may be a row") as raised:
            column_types(TableSource(paths=(str(path),), delimiter=";"))
        said = str(raised.value).removeprefix(str(path))  # which holds the number of the run
        assert "secret" not in said
        assert "31" not in said
    for line in (";age", "income 2020;age", "0-14;15-64", "q1;1st"):  # names with digits are names
        path.write_text(f"{line}\n1;2\n")
        found = column_types(TableSource(paths=(str(path),), delimiter=";"))
        assert [name for name, _ in found] == line.split(";")


@pytest.mark.parametrize(
    "line", [["secret", 31], ["secret", "31"], ["secret", "secret"], ["secret", date(2024, 2, 29)]]
)
def test_a_first_line_of_a_workbook_that_looks_like_a_row_is_not_shown(tmp_path, line) -> None:
    book = openpyxl.Workbook()
    book.active.append(line)
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match=r"t\.xlsx: its first line .* may be a row") as raised:
        column_types(TableSource(paths=(str(tmp_path / "t.xlsx"),)))
    assert "secret" not in str(raised.value).removeprefix(str(tmp_path))


def test_a_column_that_parquet_names_twice_is_named(tmp_path) -> None:
    parquet.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="the column 'a' twice"):
        column_types(TableSource(paths=(str(tmp_path / "t.parquet"),)))


def test_bins_say_what_they_need(tmp_path) -> None:
    parquet.write_table(pa.table({"a": [[1]]}), tmp_path / "t.parquet")
    for kind, words in {
        "number": r"numbers \(bins\)",
        "date": r"\(date bins\)",
        "datetime": r"\(datetime bins\)",
    }.items():
        bins = Bins((Fraction(0), Fraction(1)), kind=kind)  # type: ignore[arg-type]
        with pytest.raises(DataError, match=words):
            check(tmp_path / "t.parquet", domain=Domain((Attribute(name="a", axis=bins),)))


# Which columns are read, and what is refused of documents alone.

SEX = Domain((Attribute(name="sex", axis=Codes(2)),))
ROW = PrivacyUnit()


def test_the_domains_columns_come_first():
    assert list(columns_to_read(SEX, ROW, None)) == ["sex"]
    assert list(columns_to_read(SEX, ROW, "n")) == ["sex", "n"]
    assert list(columns_to_read(SEX, PrivacyUnit(columns=("who",), rows=2), None)) == ["sex", "who"]


@in_one_test(
    ("domain", "unit", "counts", "error", "words"),
    [
        (Domain(()), ROW, None, DocumentError, "no columns"),
        (Domain((Attribute(name="a", axis=Codes(2**32 + 1)),)), ROW, None, InfeasiblePlan, r"more than 2\^32 cells"),
        (SEX, ROW, "sex", UsageFault, "name another one"),
        (SEX, PrivacyUnit(columns=("who",), rows=2), "n", UsageFault, "cannot go with --counts"),
    ],
)
def test_what_documents_alone_refuse(domain, unit, counts, error, words):
    with pytest.raises(error, match=words):
        columns_to_read(domain, unit, counts)


def test_answers_by_person_are_refused():
    with pytest.raises(UsageFault, match="cannot be given by person"):
        refuse_published_unit(SEX, PrivacyUnit(columns=("sex",), rows=1))


def test_periods_of_a_column_without_dates_are_refused():
    """No row would be anybody's, and the budget would be spent on nothing."""
    with pytest.raises(UsageFault, match="states column 'sex' without dates"):
        refuse_published_unit(SEX, PrivacyUnit(columns=("who", "sex"), per="month", rows=1))
    refuse_published_unit(SEX, PrivacyUnit(columns=("who", "sex"), rows=1))
    refuse_published_unit(SEX, PrivacyUnit(columns=("who", "day"), per="month", rows=1))
