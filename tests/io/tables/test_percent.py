"""What is told of reading a table: always the same numbers, for a file's size is private."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpqr.io.tables.percent import Percent

ALL = list(range(0, 101, 10))


@given(total=st.integers(0, 1000), pieces=st.lists(st.integers(0, 300)))
def test_every_table_is_told_alike(total, pieces) -> None:
    told: list[int] = []
    watch = Percent(total=total, tell=told.append)
    watch.begin()
    for piece in pieces:
        watch.read(piece)
    assert 100 not in told
    watch.end()
    assert told == ALL


def test_what_is_read_shows_on_the_way() -> None:
    told: list[int] = []
    watch = Percent(total=1000, tell=told.append)
    watch.begin()
    watch.read(251)
    assert told == [0, 10, 20]


@pytest.mark.parametrize("pieces", [[], [5, 10**9]])
def test_of_standard_input_only_beginning_and_end_are_told(pieces) -> None:
    told: list[int] = []
    watch = Percent(total=None, tell=told.append)
    watch.begin()
    for piece in pieces:
        watch.read(piece)
    watch.end()
    assert told == [0, 100]
