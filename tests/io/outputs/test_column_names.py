from itertools import product

import pytest

from dpqr.io.outputs.column_names import beside

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
    assert beside(RESERVED, name) == column


def test_no_two_attributes_meet_each_other_or_a_reserved_column():
    names = [
        "".join(parts) for parts in product(("", "column_", "column_column_"), ("query", "detail", "age", "QUERY"))
    ]
    columns = [beside(RESERVED, name) for name in names]
    assert len(set(columns)) == len(names)
    assert not {column.casefold() for column in columns} & set(RESERVED)
