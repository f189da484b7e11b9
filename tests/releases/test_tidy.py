from itertools import product

import numpy as np
import pytest

from dpqr.releases.tidy import NO_TEXT, Texts, Tidy, free_column_name, plain_values

TEXTS = Texts(np.array([1, NO_TEXT, 0, 1], dtype=np.int8), ["a", "b"])


def test_texts_are_looked_up_and_nothing_is_none() -> None:
    assert plain_values(TEXTS) == ["b", None, "a", "b"]
    assert plain_values(Texts(np.array([NO_TEXT]), [])) == [None]


def test_each_title_is_shown_once() -> None:
    shown: list[str] = []
    column = TEXTS.shown(lambda title: shown.append(title) or title.upper(), "-")
    assert column.rows() == ["B", "-", "A", "B"]
    assert column.rows(slice(2, 9)) == ["A", "B"]
    assert shown == ["a", "b"]


def test_figures_without_a_value_are_none() -> None:
    assert plain_values(np.array([1.5, np.nan])) == [1.5, None]
    assert plain_values(np.array([3, 4])) == [3, 4]


def test_records_are_plain() -> None:
    table = Tidy(4, {"t": TEXTS, "n": np.arange(4)})
    assert table.records()[:2] == [{"t": "b", "n": 0}, {"t": None, "n": 1}]


RESERVED = ("query", "detail")


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("age", "age"),
        ("column_age", "column_age"),
        ("query", "column_query"),
        ("Query", "column_Query"),
        ("column_query", "column_column_query"),
        ("queries", "queries"),
    ],
)
def test_only_clashing_names_move(name, column):
    assert free_column_name(RESERVED, name) == column


def test_no_two_attributes_meet_each_other_or_a_reserved_column():
    names = [
        "".join(parts) for parts in product(("", "column_", "column_column_"), ("query", "detail", "age", "QUERY"))
    ]
    columns = [free_column_name(RESERVED, name) for name in names]
    assert len(set(columns)) == len(names)
    assert not {column.casefold() for column in columns} & set(RESERVED)
