"""Columns of pandas keep their meaning in Arrow, and their type whatever their cells hold."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from dpqr.io.tables.pandas_columns import column_reader

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
