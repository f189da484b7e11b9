"""Columns of pandas keep their meaning in Arrow, and their type whatever their cells hold."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpqr.kernel.errors import DataError
from dpqr.tables.frames import PandasFrame, column_reader, without_values

EVERYTHING = slice(None)


def read(values, dtype=object, part=EVERYTHING):
    return column_reader(pd.Series(values, dtype=dtype))(part)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("x", "x"),
        (b"x", "x"),
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
    ids=map(str, range(20)),
)
def test_an_object_is_the_text_of_a_csv_cell(cell, text) -> None:
    column = np.empty(2, dtype=object)
    column[:] = [cell, 1]
    assert read(column).to_pylist() == [text, "1"]
    assert str(read(column, part=slice(0)).type) == "large_string"


class Loud:
    """An object that cannot be looked at."""

    def __hash__(self) -> int:
        raise ValueError

    def __eq__(self, other: object) -> bool:
        raise ValueError


def test_an_object_whose_hash_fails_is_one_without_a_text() -> None:
    column = np.array([*["a"] * 3000, Loud()], dtype=object)
    assert read(column).to_pylist()[-1] == "<Loud>"
    assert str(read(column[:3000]).type).startswith("dictionary")


def test_equal_texts_that_are_their_own_objects_become_a_dictionary() -> None:
    column = np.array(["".join(("ab", str(place % 3))) for place in range(90)], dtype=object)
    assert str(read(column).type).startswith("dictionary")


def test_few_texts_in_many_cells_become_a_dictionary() -> None:
    shared = read(["a", "b", None, "a"] * 10)
    assert str(shared.type).startswith("dictionary")
    assert shared.to_pylist() == ["a", "b", None, "a"] * 10
    for others in (True, 1.0, [1], "\ud800"):
        column = np.array([*["1"] * 20, *[1] * 20, others], dtype=object)
        assert read(column).view("large_binary").to_pylist()[:40] == [b"1"] * 40


def test_texts_that_no_utf8_can_hold_are_none_in_arrow_either() -> None:
    for kind in (object, "string[python]"):
        with pytest.raises(UnicodeDecodeError):
            read(["a", "\ud800"], kind).to_pylist()


def test_categories_are_a_dictionary_made_once() -> None:
    reader = column_reader(pd.Series(pd.Categorical(["b", None, "a", "b"], categories=["b", "z", "a"])))
    assert reader(slice(1, 4)).to_pylist() == [None, "a", "b"]
    assert reader(slice(0, 2)).dictionary.equals(reader(slice(2, 4)).dictionary)
    assert read([1, 2, None], "category").to_pylist() == [1, 2, None]
    cut = pd.cut(pd.Series([1, 11, 99]), [0, 10, 20])
    assert column_reader(cut)(EVERYTHING).to_pylist() == ["(0, 10]", "(10, 20]", None]


@pytest.mark.parametrize("kind", ["float64", "Float64", "Int64", "Sparse[float]"])
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


@pytest.mark.parametrize("name", PARTS)
def test_a_column_that_was_put_together_of_several_is_read_as_one(name):
    """Every slice, across the joints and beside them: from pandas 3 on Arrow's cells come in chunks."""
    series, cells = joined(name)
    frame = PandasFrame(pd.DataFrame({"a": series}))
    for rows in range(1, len(cells) + 1):
        batches = list(frame.batches(("a",), rows))
        assert [len(batch) for batch in batches] == [min(rows, len(cells) - at) for at in range(0, len(cells), rows)]
        read_back = [cell for batch in batches for cell in batch.column(0).to_pylist()]
        assert read_back == (["f", None, "1", "2", "true"] if name == "objects" else cells)


@pytest.mark.parametrize("name", PARTS)
def test_what_is_checked_before_payment_is_the_type_that_is_read_after_it(name):
    """But for how long a text may be and whether it stands in a dictionary. No cell of the column was looked at."""
    series, cells = joined(name)

    def plain(kind):
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}.get(kind, kind)

    checked = PandasFrame(pd.DataFrame({"a": series})).kind("a")
    assert {plain(column_reader(series)(slice(at, at + 2)).type) for at in range(len(cells))} == {plain(checked)}
    looked_at = without_values(series)
    assert looked_at.dtype == series.dtype
    assert looked_at.isna().all()


class Unread(pd.Series):
    """A column whose cells nobody may look at."""

    @property
    def iloc(self):
        raise AssertionError("a cell was looked at")

    @property
    def array(self):
        raise AssertionError("a cell was looked at")


@pytest.mark.parametrize("name", [name for name in PARTS if name != "plain whole numbers"])
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
