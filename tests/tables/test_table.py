"""Rows of Parquet that cannot be read: text that is no UTF-8, and texts of the unit column that are too long."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Bins, Labels, Rule, Spelling
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.parquet import drop_malformed_rows, parquet_batches, parquet_schema
from dpqr.tables.source import TableSource


def anything(_) -> None:
    return None


def only_integers(kind) -> str | None:
    return None if pa.types.is_integer(kind) else "whole numbers"


def file_of(path):
    return TableSource(paths=(str(path),)).files()[0]


def written(tmp_path, table, **options):
    path = tmp_path / "t.parquet"
    parquet.write_table(table if isinstance(table, pa.Table) else pa.table(table), path, **options)
    return path


def rows(path, columns, told=None, **limits) -> list[tuple]:
    wanted = dict.fromkeys(columns, anything)
    batches = parquet_batches(file_of(path), wanted, Limits(**limits), (told if told is not None else []).append)
    found = [[column.to_pylist() for column in batch.rows.columns] for batch in batches]
    return [row for columns in found for row in zip(*columns, strict=True)]


@in_one_test("batch_rows", [1, 3, 2**17])
@pytest.mark.parametrize("group", [1, 4, 100])
def test_wanted_columns_in_the_order_of_the_domain(tmp_path, batch_rows, group) -> None:
    table = {"a": range(10), "b.c": [f"t{each % 3}" for each in range(10)], "s": [{"c": 1}] * 10, "d": [None] * 10}
    path = written(tmp_path, table, row_group_size=group)
    expected = [(f"t{each % 3}", None, each) for each in range(10)]
    assert rows(path, ("b.c", "d", "a"), batch_rows=batch_rows) == expected


def test_text_columns_keep_their_dictionary_form(tmp_path) -> None:
    path = written(tmp_path, {"a": ["x", "y", "x"]})
    (batch,) = parquet_batches(file_of(path), {"a": anything}, Limits(), lambda count: None)
    assert pa.types.is_dictionary(batch.rows.schema.field("a").type)


def test_no_rows(tmp_path) -> None:
    assert rows(written(tmp_path, pa.schema({"a": pa.int8()}).empty_table()), ("a",)) == []


def test_the_bytes_that_are_told_add_up_to_the_file(tmp_path) -> None:
    path = written(tmp_path, {"a": np.arange(10_000), "b": np.arange(10_000)}, row_group_size=1000)
    told: list[int] = []
    rows(path, ("a",), told)
    assert sum(told) == path.stat().st_size
    assert len(told) == 11


def test_old_timestamps_of_96_bits(tmp_path) -> None:
    when = pa.array([-(10**15), 10**17], pa.timestamp("us"))
    path = written(tmp_path, {"a": when}, use_deprecated_int96_timestamps=True)
    (batch,) = parquet_batches(file_of(path), {"a": anything}, Limits(), lambda count: None)
    assert batch.rows.column(0).cast(pa.int64()).to_pylist() == [-(10**15), 10**17]


def test_faults_of_the_schema(tmp_path) -> None:
    path = written(tmp_path, {"a": [1], "b": ["4711secret"]})
    with pytest.raises(DataError, match="has no column 'c'"):
        parquet_schema(file_of(path), {"c": anything}, Limits())
    with pytest.raises(DataError, match=r"column 'b' has the Parquet type string\n.*whole numbers"):
        parquet_schema(file_of(path), {"b": only_integers}, Limits())
    twice = written(tmp_path, pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(DataError, match="the column 'a' twice"):
        parquet_schema(file_of(twice), {"a": anything}, Limits())
    nested = written(tmp_path, {"a": [{"x" * 300: 1}]})
    with pytest.raises(DataError, match="has the Parquet type struct") as caught:
        parquet_schema(file_of(nested), {"a": only_integers}, Limits())
    assert len(str(caught.value).splitlines()[0]) < 200
    with pytest.raises(DataError, match=r"has no column 'a\.x'"):
        parquet_schema(file_of(written(tmp_path, {"a": [{"x": 1}]})), {"a.x": anything}, Limits())


def test_a_name_that_is_also_a_nested_field(tmp_path) -> None:
    path = written(tmp_path, {"a": [{"x": 1}], "a.x": [2], "b": [3]})
    with pytest.raises(DataError, match="share one name"):
        rows(path, ("a.x", "b"))
    assert rows(path, ("b",)) == [(3,)]


def test_declared_sizes_are_checked_before_anything_is_decoded_and_not_with_the_schema(tmp_path) -> None:
    """Rows decide sizes, so looking at these is paid for; the schema's number of columns is free."""
    path = written(tmp_path, {"a": np.zeros(1000, dtype=np.int64), "b": np.arange(1000)}, row_group_size=100)
    for message, limits in {"records": {"records": 999}, "columns": {"columns": 1}, "bytes": {"bytes": 500}}.items():
        with pytest.raises(DataError, match=f"more {message} than the declared limit"):
            list(parquet_batches(file_of(path), {"a": anything}, Limits(**limits), lambda count: None))
    assert len(rows(path, ("a",), records=1000, bytes=2000)) == 1000
    assert parquet_schema(file_of(path), {"a": anything}, Limits(records=1, bytes=1)).names == ["a", "b"]
    with pytest.raises(DataError, match="more columns than the declared limit"):
        parquet_schema(file_of(path), {"a": anything}, Limits(columns=1))


def test_damaged_files_are_told_in_constant_words(tmp_path) -> None:
    path = written(tmp_path, {"a": [f"4711secret{each}" for each in range(1000)]})
    whole = path.read_bytes()
    noise = np.random.default_rng(1).integers(0, 256, 2000, dtype=np.uint8).tobytes()
    told = set()
    for damaged in (whole[:-1], whole[: len(whole) // 2], b"PAR1", b"a,b\n1,2\n", b"PAR1" + noise + b"PAR1"):
        path.write_bytes(damaged)
        with pytest.raises(DataError) as caught:
            rows(path, ("a",))
        told.add(str(caught.value))
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    path.write_bytes(whole[:50] + noise[:1000] + whole[1050:])
    with pytest.raises(DataError) as caught:
        rows(path, ("a",))
    assert told == {str(caught.value)}


DOMAIN = Domain((Attribute(name="a", axis=Labels(("x", "y"))),))


def texts(*values, kind=None):
    """An Arrow array of any bytes, which it takes for text."""
    kind = kind or pa.string()
    offsets = np.cumsum([0, *map(len, values)]).astype(np.int32 if kind == pa.string() else np.int64)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))])


BAD = texts(b"x", b"\xff", b"y", b"\xed\xa0\x80", "é".encode())


@in_one_test(
    ("cells", "malformed"),
    [
        (pa.array(["x", None, "é"]), []),
        (pa.array([1, 2, None]), []),
        (BAD, [1, 3]),
        (texts(b"\xff", b"x", kind=pa.large_string()), [0]),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), BAD), [1]),
        (pa.DictionaryArray.from_arrays(pa.array([0, 2, 2]), BAD), []),
    ],
)
def test_rows_with_other_text_than_utf8(cells, malformed) -> None:
    batch = pa.record_batch({"n": pa.array(range(len(cells))), "a": cells})
    found = drop_malformed_rows(batch, (), 2**20)
    assert found.malformed.tolist() == malformed
    assert found.rows.column(0).to_pylist() == [row for row in range(len(cells)) if row not in malformed]
    assert found.count == len(cells)


@pytest.mark.parametrize("cells", [BAD, BAD.dictionary_encode()], ids=["plain", "dictionary"])
@pytest.mark.parametrize(
    "read",
    [
        {"axis": Labels(("x",)), "spelling": Spelling(trim=True)},
        {"axis": Labels(("x",), True)},
        {"axis": Bins((Fraction(0), Fraction(1))), "spelling": Spelling(decimal=",")},
        {"axis": Bins((Fraction(0), Fraction(1)), kind="date"), "spelling": Spelling(pattern="%d.%m.%Y")},
    ],
    ids=["trimmed", "folded", "numbers", "dates"],
)
def test_other_text_than_utf8_makes_its_row_malformed_however_texts_are_read(tmp_path, cells, read) -> None:
    """In a dictionary such a text ended the run, also where its row was left out already."""
    attribute = Attribute(name="a", rules={"unparsable": Rule.CELL, "outside": Rule.CELL}, **read)
    parquet.write_table(pa.table({"a": cells}), tmp_path / "t.parquet")
    source = TableSource(paths=(str(tmp_path / "t.parquet"),))
    table = load_table(source, Domain((attribute,)), Limits())
    found = [int(each._unseal(SealKey()).marginal(())) for each in (table.counts, table.dropped)]
    assert found == [3, 2]


@in_one_test("coded", [False, True])
def test_long_texts_are_malformed_in_the_unit_column_alone(coded) -> None:
    cells = pa.array(["xxxx", "xxxxx", None, "x"])
    batch = pa.record_batch({"a": cells.dictionary_encode() if coded else cells})
    assert drop_malformed_rows(batch, ("a",), 4).malformed.tolist() == [1]
    assert drop_malformed_rows(batch, (), 4).malformed.tolist() == []


def counted(path, rule=None, **more):
    table = load_table(TableSource(paths=(str(path),)), Domain(DOMAIN.attributes, malformed=rule), Limits(), **more)
    return [int(each._unseal(SealKey()).marginal(())) for each in (table.counts, table.dropped)]


@in_one_test(
    "options",
    [{}, {"use_dictionary": False}, {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}}],
)
def test_the_rule_of_the_table(tmp_path, options) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": BAD}), path, **options)
    assert counted(path) == counted(path, Rule.DROP) == [2, 3]
    with pytest.raises(DataError, match="the rule is 'fail' for: malformed"):
        counted(path, Rule.FAIL)


@in_one_test("length", [2**20, 2**20 + 1])
@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}])
def test_a_long_name_of_a_person_ends_no_run(tmp_path, length, options) -> None:
    path, unit = tmp_path / "t.parquet", PrivacyUnit(columns=("who",))
    parquet.write_table(pa.table({"a": ["x", "y", "x"], "who": ["p", "q" * length, "r"]}), path, **options)
    assert counted(path, unit=unit) == [3 if length == 2**20 else 2, 0]
