import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpqr.domain.histogram import Packing

SHAPES = st.lists(st.sampled_from([1, 2, 3, 10, 2**16, 2**31, 2**32]), min_size=1, max_size=30)


@st.composite
def rows(draw: st.DrawFn) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    shape = tuple(draw(SHAPES))
    row = st.tuples(*(st.sampled_from(sorted({0, size // 2, size - 1})) for size in shape))
    return shape, draw(st.lists(row, min_size=1, max_size=6))


@given(rows())
def test_words_hold_the_rows_and_compare_as_they_do(case) -> None:
    shape, table = case
    packing = Packing(shape)
    columns = list(np.array(table, dtype=np.int64).T)
    words = packing.pack(columns, len(table))
    assert packing.unpack(words).tolist() == [list(row) for row in table]
    packed = [tuple(words[:, place].tolist()) for place in range(len(table))]
    assert sorted(range(len(table)), key=packed.__getitem__) == sorted(range(len(table)), key=table.__getitem__)


@pytest.mark.parametrize(("shape", "words"), [((2,) * 64, 1), ((2,) * 65, 2), ((10,) * 100, 6), ((2**32, 2**32), 1)])
def test_words_are_filled(shape, words) -> None:
    assert len(Packing(shape).groups) == words


@pytest.mark.parametrize(("size", "kind"), [(1, np.uint8), (256, np.uint8), (257, np.uint16), (2**32, np.uint32)])
def test_codes_take_the_smallest_type(size, kind) -> None:
    assert Packing((2, size)).code_type == kind
