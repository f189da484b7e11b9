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

from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import read_domain
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import PrivacyUnit
from dpqr.releases.journal import table_mark
from dpqr.tables.frames import in_memory
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


@pytest.mark.parametrize("frame", [OBJECTS, TYPED, NULLABLE], ids=["objects", "typed", "nullable"])
@pytest.mark.parametrize("arrow", [False, True], ids=["as it is", "of Arrow"])
@pytest.mark.parametrize("rows", [2, 2**17])
def test_a_frame_that_was_put_together_of_several_is_read_as_one(frame, arrow, rows, expected) -> None:
    parts = [frame.iloc[:2], frame.iloc[2:2], frame.iloc[2:]]
    if arrow:
        parts = [pa.Table.from_pandas(part.astype(str)).to_pandas(types_mapper=pd.ArrowDtype) for part in parts]
        whole = [pa.Table.from_pandas(frame.astype(str)).to_pandas(types_mapper=pd.ArrowDtype)]
        expected = counted(pd.concat(whole, ignore_index=True))
    assert (counted(pd.concat(parts, ignore_index=True), limits={"batch_rows": rows}) == expected).all()


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


@pytest.mark.parametrize("frame", [OBJECTS, TYPED, NULLABLE], ids=["objects", "typed", "nullable"])
def test_the_frame_stays_as_it_was(frame) -> None:
    shown = frame[["born", "income", "sex", "grade", "married"]].set_index(pd.Index(list("aabbc"), name="kept"))
    before = shown.copy(deep=True)
    counted(shown)
    pd.testing.assert_frame_equal(shown, before)
    assert [repr(each) for each in shown.to_numpy().ravel()] == [repr(each) for each in before.to_numpy().ravel()]


CODES = read_domain({"a": 3})


@pytest.mark.parametrize(
    ("cell", "kept"),
    [(1, 1), ("2", 1), (2.0, 1), (True, 0), ([1], 0), (10**5000, 0), ("\ud800", 0), (b"1", 1), (b"\xff", 0), (1j, 0)],
    ids=map(str, range(10)),
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


@pytest.mark.parametrize("kind", ["float64", "Float64", "object", "category", "Sparse[float]"])
def test_whole_numbers_that_pandas_holds_as_floats_are_labels(kind) -> None:
    column = pd.Series([7.0, None, 2.0**53, 0.5, -0.0]).astype(kind)
    assert counted(pd.DataFrame({"a": column}), LABELS).tolist() == [1, 0, 1]


def test_persons_and_counts_may_be_floats_and_texts() -> None:
    unit = PrivacyUnit(column="who", rows=1)
    frame = pd.DataFrame({"a": [0, 0, 1, 2, 2], "who": [1.0, 1.0, 2.0, None, -0.0], "n": ["2", "1", "x", "0", 3]})
    source = TableSource(frame=in_memory(frame))
    check_table(source, CODES, Limits(), unit)
    assert cells(load_table(source, CODES, Limits(), unit=unit).counts, CODES).tolist() == [1, 1, 1]
    assert counted(frame, CODES, count_column="n").tolist() == [3, 0, 3]


@pytest.mark.parametrize(
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
