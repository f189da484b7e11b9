"""Tables in memory are read as the same rows in a file are, and stay as they were."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.cases import in_one_test

from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import read_domain
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import PrivacyUnit
from dpqr.releases.journal import table_mark
from dpqr.tables.frames import PandasFrame, column_reader, in_memory, without_values
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.tables.structure import check_table, column_types

CELLS = {"otherwise": "cell"}
DOMAIN = read_domain(
    {
        "fields": [
            {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}, "dpqr": CELLS},
            {"name": "grade", "type": "string", "constraints": {"enum": ["1", "2"]}, "dpqr": CELLS},
            {"name": "married", "type": "boolean", "dpqr": CELLS},
            {"name": "income", "type": "number", "dpqr": {"edges": [0, 10, 20.5], **CELLS}},
            {"name": "born", "type": "date", "dpqr": {"edges": ["1990-01-01", "2000-01-01", "2010-01-01"], **CELLS}},
        ]
    }
)
CSV = """\
sex,grade,married,income,born
f,1,true,3,1991-05-05
m,2,false,20.5,2005-01-01
,,,,
x,3,true,99,1890-01-01
f,2,,0,2009-12-31
"""
DAYS = [
    datetime.date(1991, 5, 5),
    datetime.date(2005, 1, 1),
    None,
    datetime.date(1890, 1, 1),
    datetime.date(2009, 12, 31),
]
OBJECTS = pd.DataFrame(
    {
        "sex": ["f", "m", None, "x", "f"],
        "grade": [1, 2, None, 3, 2.0],
        "married": [True, False, float("nan"), True, pd.NA],
        "income": [3, 20.5, None, Decimal("99"), "0"],
        "born": ["1991-05-05", datetime.datetime(2005, 1, 1), pd.NaT, *DAYS[3:]],
    },
    dtype=object,
)
TYPED = pd.DataFrame(
    {
        "sex": pd.Categorical(OBJECTS["sex"], categories=["m", "z", "x", "f"]),
        "grade": [1, 2, np.nan, 3, 2],
        "married": pd.array(OBJECTS["married"], dtype="boolean"),
        "income": [3, 20.5, np.nan, 99, 0],
        "born": pd.to_datetime(pd.Series(DAYS)),
    }
)
NULLABLE = TYPED.assign(
    sex=OBJECTS["sex"].astype("string"),
    grade=pd.Categorical(TYPED["grade"]),
    married=OBJECTS["married"].astype(object).map({True: "true", False: "false"}),
    income=TYPED["income"].astype("Float32"),
    born=TYPED["born"].dt.tz_localize("UTC"),
)


@dataclass
class Stream:
    """Anything with Arrow's interface."""

    table: Any

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


def counted(table: object, domain: Domain = DOMAIN, **more: Any) -> Any:
    limits = Limits(**more.pop("limits", {}))
    source = TableSource(frame=in_memory(table), **more)
    check_table(source, domain, limits)
    return cells(load_table(source, domain, limits).counts, domain)


def cells(sealed: Any, domain: Domain) -> Any:
    return sealed._unseal(SealKey()).marginal(tuple(range(len(domain.shape))))


@pytest.fixture
def expected(tmp_path) -> Any:
    (tmp_path / "t.csv").write_text(CSV)
    return cells(load_table(TableSource(paths=(str(tmp_path / "t.csv"),)), DOMAIN, Limits()).counts, DOMAIN)


@pytest.mark.parametrize("frame", [OBJECTS, TYPED, NULLABLE], ids=["objects", "typed", "nullable"])
@pytest.mark.parametrize("rows", [2, 2**17])
def test_a_frame_is_the_csv_that_it_would_be_written_to(frame, rows, expected) -> None:
    assert (counted(frame, limits={"batch_rows": rows}) == expected).all()


ARROW = pa.table(
    {
        "sex": pa.array(["f", "m", None, "x", "f"]).cast(pa.string_view()),
        "grade": pa.array([1, 2, None, 3, 2], pa.uint8()).dictionary_encode(),
        "married": [True, False, None, True, None],
        "income": pa.array(["3", "20.5", None, "99", "0"]).cast(pa.decimal128(5, 1)),
        "born": pa.array(DAYS),
        "nested": [[1]] * 5,
    }
)


@pytest.mark.parametrize("table", [ARROW, Stream(ARROW), ARROW.to_reader(2), ARROW.combine_chunks().to_batches()[0]])
def test_an_arrow_stream_is_read_likewise(table, expected) -> None:
    assert (counted(table) == expected).all()


def test_duckdb_and_pandas_with_arrow_types_are_read_likewise(expected) -> None:
    arrow = ARROW.drop_columns("nested").set_column(0, "sex", ARROW["sex"].cast(pa.string()))
    with duckdb.connect() as engine:
        engine.register("held", arrow)
        assert (counted(engine.sql("select * from held")) == expected).all()
    assert (counted(arrow.to_pandas(types_mapper=pd.ArrowDtype)) == expected).all()


def test_the_frame_and_its_parquet_file_are_the_same_table(tmp_path) -> None:
    typed = TYPED.astype({"grade": "Int64"})
    parquet.write_table(pa.Table.from_pandas(typed), tmp_path / "t.parquet")
    loaded = load_table(TableSource(paths=(str(tmp_path / "t.parquet"),)), DOMAIN, Limits())
    assert (counted(typed) == cells(loaded.counts, DOMAIN)).all()


@in_one_test("frame", [OBJECTS, TYPED, NULLABLE])
def test_the_frame_stays_as_it_was(frame) -> None:
    shown = frame[["born", "income", "sex", "grade", "married"]].set_index(pd.Index(list("aabbc"), name="kept"))
    before = shown.copy(deep=True)
    counted(shown)
    pd.testing.assert_frame_equal(shown, before)
    assert [repr(each) for each in shown.to_numpy().ravel()] == [repr(each) for each in before.to_numpy().ravel()]


CODES = read_domain({"a": 3})


class Loud(str):
    """A text that cannot be written."""

    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        raise RuntimeError


class LoudNumber:
    """A whole number, by its own word, that is none."""

    @property
    def __class__(self) -> type:
        return int

    def __int__(self) -> int:
        raise RuntimeError


LOUD = [(Loud("2"), 1), (LoudNumber(), 0), (Decimal("sNaN"), 0), (np.timedelta64("NaT"), 0), (np.timedelta64(1), 0)]


@in_one_test(
    ("cell", "kept"),
    [
        *LOUD,
        (1, 1),
        ("2", 1),
        (2.0, 1),
        (True, 0),
        ([1], 0),
        (10**5000, 0),
        ("\ud800", 0),
        (b"1", 1),
        (b"\xff", 0),
        (1j, 0),
    ],
)
def test_no_object_ends_a_run(cell, kept) -> None:
    column = np.empty(2, dtype=object)
    column[:] = ["0", cell]
    assert counted(pd.DataFrame({"a": column}, dtype=object), CODES).sum() == 1 + kept
    texts = pd.Series(["0", "\ud800"], dtype="string[python]")
    assert counted(pd.DataFrame({"a": texts}), CODES).sum() == 1


def test_texts_that_no_utf8_can_hold_are_malformed_rows() -> None:
    frame = in_memory(pd.DataFrame({"a": ["0", "\ud800"]}, dtype=object))
    sealed = load_table(TableSource(frame=frame), CODES, Limits())
    assert int(sealed.dropped._unseal(SealKey()).marginal(())) == 1


LABELS = read_domain(
    {"fields": [{"name": "a", "type": "string", "constraints": {"enum": ["7", "12345678901234567", "0.5"]}}]}
)


@in_one_test("kind", ["float64", "Float64", "object", "category", "Sparse[float]"])
def test_whole_numbers_that_pandas_holds_as_floats_are_labels(kind) -> None:
    column = pd.Series([7.0, None, 2.0**53, 0.5, -0.0]).astype(kind)
    assert counted(pd.DataFrame({"a": column}), LABELS).tolist() == [1, 0, 1]


def test_persons_and_counts_may_be_floats_and_texts() -> None:
    unit = PrivacyUnit(columns=("who",), rows=1)
    frame = pd.DataFrame({"a": [0, 0, 1, 2, 2], "who": [1.0, 1.0, 2.0, None, -0.0], "n": ["2", "1", "x", "0", 3]})
    source = TableSource(frame=in_memory(frame))
    check_table(source, CODES, Limits(), unit)
    assert cells(load_table(source, CODES, Limits(), unit=unit).counts, CODES).tolist() == [1, 1, 1]
    assert counted(frame, CODES, count_column="n").tolist() == [3, 0, 3]


@in_one_test(
    ("frame", "said"),
    [
        (pd.DataFrame({"b": [1]}), "the table has no column 'a'"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the table has the column 'a' twice"),
        (pd.DataFrame({"a": [True]}), "column 'a' has the type bool\n"),
        (pd.DataFrame({"a": [1j]}), "column 'a' has the type complex128, which Arrow lacks"),
        (pd.DataFrame({"a": pd.period_range("2020", periods=1)}), "column 'a' has the type extension<pandas.period"),
        (pa.table({"a": [[1]]}), "column 'a' has the type list<"),
        (pa.chunked_array([[1]]), "its Arrow stream is none of a table"),
    ],
)
def test_structural_faults(frame, said) -> None:
    with pytest.raises(DataError) as refused:
        check_table(TableSource(frame=in_memory(frame)), CODES, Limits())
    assert said in str(refused.value)


def test_a_wide_frame_is_refused_by_its_names() -> None:
    with pytest.raises(DataError, match="more columns than the declared limit of 1"):
        counted(pd.DataFrame({"a": [1], "b": [1]}), CODES, limits={"columns": 1})


def test_what_is_no_table() -> None:
    with pytest.raises(UsageFault, match="dict is no table; give a pandas DataFrame"):
        in_memory({"a": [1]})


def test_a_stream_is_read_once() -> None:
    reader = ARROW.select(["grade"]).rename_columns(["a"]).to_reader()
    source = TableSource(frame=in_memory(Stream(reader)))
    check_table(source, CODES, Limits())
    assert not source.repeatable
    assert table_mark(source, b"key") is None
    assert cells(load_table(source, CODES, Limits()).counts, CODES).tolist() == [0, 1, 2]


def test_the_mark_of_a_frame_is_of_its_content() -> None:
    def mark(frame: pd.DataFrame) -> str | None:
        return table_mark(TableSource(frame=in_memory(frame)), b"key")

    held = TYPED.assign(nested=[[1]] * 5)
    assert mark(held) == mark(held.copy(deep=True)) == mark(held.set_index(pd.Index(list("abcde"))))
    others = [held.iloc[::-1], held.iloc[:4], held.rename(columns={"sex": "SEX"}), held.assign(income=0.0)]
    assert len({mark(frame) for frame in [held, *others]}) == 5


def test_column_types_are_those_of_the_columns() -> None:
    types = dict(column_types(TableSource(frame=in_memory(TYPED))))
    assert types == {"sex": "string", "grade": "number", "married": "boolean", "income": "number", "born": "datetime"}
    assert dict(column_types(TableSource(frame=in_memory(OBJECTS))))["born"] == "string"


# Columns of pandas keep their meaning in Arrow, and their type whatever their cells hold.

EVERYTHING = slice(None)


def read(values, dtype=object, part=EVERYTHING):
    return column_reader(pd.Series(values, dtype=dtype))(part)


@in_one_test(
    ("cell", "text"),
    [
        ("x", "x"),
        (b"x", "x"),
        (bytearray(b"x"), "x"),
        (memoryview(b"x"), "x"),
        (7, "7"),
        (np.int8(7), "7"),
        (7.0, "7"),
        (np.float32(0.5), "0.5"),
        (True, "true"),
        (np.bool_(False), "false"),
        (Decimal("1.50"), "1.50"),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        (pd.Timestamp("2020-01-02 03:04"), "2020-01-02T03:04:00"),
        (np.datetime64("2020-01-02"), "2020-01-02"),
        (float("inf"), "inf"),
        ([1], "<list>"),
        (10**5000, "<int>"),
        (1j, "<complex>"),
        (None, None),
        (float("nan"), None),
        (pd.NaT, None),
        (pd.NA, None),
    ],
)
def test_an_object_is_the_text_of_a_csv_cell(cell, text) -> None:
    column = np.empty(2, dtype=object)
    column[:] = [cell, 1]
    assert read(column).to_pylist() == [text, "1"]
    assert str(read(column, part=slice(0)).type) == "large_string"


def test_no_text_depends_on_the_texts_before_it(monkeypatch) -> None:
    """Up to pandas 3.0 its hash tables end a text at its first NUL, as here: "f\\0" changed every "f" after it."""
    monkeypatch.setattr(pd, "factorize", lambda cells: (np.zeros(len(cells), dtype=np.int64), cells[:1]))
    assert read(["f\0", "f", "f\0m", "f"] * 10).to_pylist() == ["f\0", "f", "f\0m", "f"] * 10


def test_an_object_that_cannot_be_looked_at_changes_no_other_cell() -> None:
    class Loud:
        """It has no hash."""

        def __hash__(self) -> int:
            raise ValueError

    for others in (True, 1.0, [1], "\ud800", Loud()):
        column = np.array([*["1"] * 20, *[1] * 20, others], dtype=object)
        assert read(column).view("large_binary").to_pylist()[:40] == [b"1"] * 40
    assert read(np.array(["a", Loud()], dtype=object)).to_pylist()[-1] == "<Loud>"


def test_categories_are_a_dictionary_made_once() -> None:
    reader = column_reader(pd.Series(pd.Categorical(["b", None, "a", "b"], categories=["b", "z", "a"])))
    assert reader(slice(1, 4)).to_pylist() == [None, "a", "b"]
    assert reader(slice(0, 2)).dictionary.equals(reader(slice(2, 4)).dictionary)
    assert read([1, 2, None], "category").to_pylist() == [1, 2, None]
    cut = pd.cut(pd.Series([1, 11, 99]), [0, 10, 20])
    assert column_reader(cut)(EVERYTHING).to_pylist() == ["(0, 10]", "(10, 20]", None]


@in_one_test("kind", ["float64", "Float64", "Int64", "Sparse[float]"])
def test_missing_numbers_are_null(kind) -> None:
    assert read([1, None, 3], kind, slice(1, 3)).to_pylist() == [None, 3]


def test_numbers_are_shared_and_not_copied() -> None:
    column = pd.Series(np.arange(10))
    held = read(column, "int64", slice(3, 9))
    assert held.buffers()[1].address == column.to_numpy()[3:].ctypes.data


PARTS = {
    "texts": (pd.StringDtype(), ["f", None], ["m", "f", "x"]),
    "texts of Python": (pd.StringDtype("python"), ["f", None], ["m", "f", "x"]),
    "texts of Arrow": (pd.StringDtype("pyarrow"), ["f", None], ["m", "f", "x"]),
    "Arrow's texts": (pd.ArrowDtype(pa.string()), ["f", None], ["m", "f", "x"]),
    "Arrow's views": (pd.ArrowDtype(pa.string_view()), ["f", None], ["m", "f", "x"]),
    "Arrow's bytes": (pd.ArrowDtype(pa.binary()), [b"f", None], [b"m", b"f", b"x"]),
    "Arrow's dictionaries": (pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())), ["f", None], ["m", "f", "x"]),
    "Arrow's whole numbers": (pd.ArrowDtype(pa.int64()), [1, None], [3, 2, 7]),
    "Arrow's dates": (pd.ArrowDtype(pa.date32()), [datetime.date(2000, 1, 1), None], [datetime.date(1999, 1, 1)] * 3),
    "whole numbers": (pd.Int64Dtype(), [1, None], [3, 2, 7]),
    "decimals": (np.dtype("float64"), [1.5, None], [3.0, 2.0, 7.0]),
    "plain whole numbers": (np.dtype("int64"), [1, 2], [3, 2, 7]),
    "categories": (pd.CategoricalDtype(["f", "m", "x"]), ["f", None], ["m", "f", "x"]),
    "objects": (np.dtype(object), ["f", None], [1, 2.0, True]),
}


def joined(name):
    """A column that was put together of three; the middle one has no rows."""
    dtype, one, two = PARTS[name]
    series = [pd.Series(cells, dtype=dtype) for cells in (one, [], two)]
    return pd.concat(series, ignore_index=True), [*one, *two]


@in_one_test("name", PARTS)
def test_a_column_that_was_put_together_of_several_is_read_as_one(name):
    """Every slice, across the joints and beside them: from pandas 3 on Arrow's cells come in chunks."""
    series, cells = joined(name)
    frame = PandasFrame(pd.DataFrame({"a": series}))
    for rows in range(1, len(cells) + 1):
        batches = list(frame.batches(("a",), rows))
        assert [len(batch) for batch in batches] == [min(rows, len(cells) - at) for at in range(0, len(cells), rows)]
        read_back = [cell for batch in batches for cell in batch.column(0).to_pylist()]
        assert read_back == (["f", None, "1", "2", "true"] if name == "objects" else cells)


@in_one_test("name", PARTS)
def test_what_is_checked_before_payment_is_the_type_that_is_read_after_it(name):
    """But for how long a text may be and whether it stands in a dictionary. No cell of the column was looked at."""
    series, cells = joined(name)

    def plain(kind):
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}.get(kind, kind)

    checked = PandasFrame(pd.DataFrame({"a": series})).kind("a")
    assert {plain(column_reader(series)(slice(at, at + 2)).type) for at in range(len(cells))} == {plain(checked)}


class Unread(pd.Series):
    """A column whose cells nobody may look at."""

    @property
    def iloc(self):
        raise AssertionError("a cell was looked at")

    @property
    def array(self):
        raise AssertionError("a cell was looked at")


@in_one_test("name", [name for name in PARTS if name != "plain whole numbers"])
def test_the_type_of_a_column_is_found_without_its_cells(name):
    series, _ = joined(name)
    looked_at = without_values(Unread(series))
    assert looked_at.dtype == series.dtype
    assert len(looked_at) == 2
    assert column_reader(looked_at)(slice(None)).null_count == 2


def test_a_column_of_whole_numbers_has_no_missing_cell_and_is_looked_at_without_rows():
    series, _ = joined("plain whole numbers")
    assert without_values(series).tolist() == []
    assert PandasFrame(pd.DataFrame({"a": series})).kind("a") == pa.int64()


def test_chunks_of_texts_are_joined_with_64_bit_offsets():
    """32-bit ones overflow where the texts of a batch have more than 2^31 bytes."""
    series, _ = joined("Arrow's texts")
    assert column_reader(series)(slice(None)).type in (pa.large_string(), pa.string())
    chunked = pa.chunked_array([["f"], ["m"]], type=pa.string())
    assert column_reader(pd.Series(pd.arrays.ArrowExtensionArray(chunked)))(slice(None)).type == pa.large_string()


def test_what_arrow_cannot_take_is_found_before_any_cell_is_read(monkeypatch):
    """As pandas 3 hands out chunks: without joining them the check fails, not the read after payment."""
    series, _ = joined("Arrow's whole numbers")
    monkeypatch.setattr("dpqr.tables.frames._array", lambda cells: pa.chunked_array([pa.array(list(cells)[:1])] * 2))
    with pytest.raises(DataError, match="has the type int64"):
        PandasFrame(pd.DataFrame({"a": series})).kind("a")
