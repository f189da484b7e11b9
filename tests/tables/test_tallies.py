import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import in_one_test

from dpqr.domain.histogram import DenseHistogram, GroupedHistogram, SparseHistogram
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.tables import tallies as module
from dpqr.tables.tallies import JointTally, SeparateTally, SparseTally, bounded_table, tally

SHAPE = (3, 2, 4)
ROWS = st.lists(st.tuples(*(st.integers(0, size - 1) for size in SHAPE), st.integers(0, 5)), max_size=40)


def add(into, rows, *, weighted) -> None:
    table = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    codes = [table[0].astype(np.uint8), table[1].astype(np.uint64), table[2]]
    into.add(codes, len(rows), table[3] if weighted else None)


@pytest.mark.slow
@given(ROWS, st.booleans(), st.integers(1, 7), st.integers(1, 5))
def test_rows_count_the_same_in_any_batches(rows, weighted, size, pending) -> None:
    expected = np.zeros(SHAPE, dtype=np.int64)
    for *cell, count in rows:
        expected[tuple(cell)] += count if weighted else 1
    groups = [(0, 2), (1,)]
    tallies = (
        JointTally(SHAPE, [((0, 1, 2), [(0, 1, 2)])]),
        JointTally(SHAPE, [(axes, [axes]) for axes in groups]),
        JointTally(SHAPE, [((0, 1, 2), groups)]),
        SparseTally(SHAPE),
    )
    for into in tallies:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_LEAST_PENDING", pending)
            patch.setattr(module, "_WAITING", pending)
            patch.setattr(module, "_PIECE", 2)
            for start in range(0, len(rows), size):
                add(into, rows[start : start + size], weighted=weighted)
            found = into.histogram()
        for axes in [(2, 0), (1,), ()] if isinstance(found, GroupedHistogram) else [(0, 1, 2)]:
            summed = expected.sum(axis=tuple({0, 1, 2} - set(axes)))
            assert (found.marginal(axes) == (summed.T if axes == (2, 0) else summed)).all()


@in_one_test("shape", [(3, 21_845), (2**16 - 1, 1), (1, 2**16), (2, 2**15), (2**16, 2), (255, 257, 3)])
def test_the_last_cell_of_any_width_counts(shape) -> None:
    axes = tuple(range(len(shape)))
    into = JointTally(shape, [(axes, [axes])])
    into.add([np.array([0, size - 1, size - 1]) for size in shape], 3, None)
    found = into.histogram().marginal(axes).reshape(-1)
    assert (found[0], found[-1], found.sum()) == (1, 2, 3)


def test_sparse_cells_are_sorted_distinct_and_occupied() -> None:
    into = SparseTally((10,) * 40)
    row = [np.array([each, 0, each], dtype=np.uint8) for each in range(10)] * 4
    into.add(row, 3, None)
    into.add(row, 3, np.array([4, 0, 0]))
    found = into.histogram()
    assert found.codes.tolist() == [[0] * 40, [*range(10)] * 4]
    assert found.counts.tolist() == [1, 6]
    into = SparseTally((2, 2))
    into.add([np.array([0, 1]), np.array([1, 1])], 2, np.array([0, 3]))
    assert into.histogram().codes.tolist() == [[1, 1]]


@in_one_test(
    ("asked", "largest", "kind"),
    [
        ([(0, 1), (1, 2)], 2**20, GroupedHistogram),
        ([(0, 1), (1, 2)], 2**12, SparseHistogram),
        ([(2, 0, 1)], 2**30, DenseHistogram),
        (None, 2**30, DenseHistogram),
        (None, 2**20, SparseHistogram),
    ],
)
def test_what_is_asked_decides_what_is_kept(asked, largest, kind) -> None:
    shape = (2**6, 2**9, 2**8)
    into = tally(shape, largest, asked) if kind is not DenseHistogram else tally((2**6, 2**9, 8), largest, asked)
    assert isinstance(into.histogram(), kind)


def test_sums_of_joint_arrays_are_kept_where_these_have_no_room() -> None:
    shape, asked = (2**8,) * 6, [(1, 0), (2, 3), (4, 5), (5,)]
    joints = tally(shape, 3 * 2**16 + 2**8, asked).histogram().joints
    assert [*joints] == [(0, 1), (2, 3), (4, 5)]
    wide = [*asked, *((axis, axis + 2) for axis in range(4))]
    into = tally((2**4,) * 6, 8 * 2**8, [axes for axes in wide if len(axes) == 2])
    assert {*into.histogram().joints} == {tuple(sorted(axes)) for axes in wide if len(axes) == 2}
    into.include(tally((2**4,) * 6, 2**30, None).histogram())
    assert into.histogram().marginal((0, 1)).sum() == 0
    with pytest.raises(InfeasiblePlan, match="does not name"):
        into.histogram().marginal((0, 5))


def test_the_limit_decides_and_nothing_counted_is_zeros() -> None:
    assert isinstance(tally((2, 3), 6).histogram(), DenseHistogram)
    assert isinstance(tally((2, 3), 5).histogram(), SparseHistogram)
    assert SparseTally((10,) * 30).histogram().marginal((4,)).tolist() == [0] * 10
    assert tally((2, 2), 4).histogram().counts.tolist() == [[0, 0], [0, 0]]


def test_codes_of_every_width_count_the_same() -> None:
    shape, rows = (2**17, 3, 2**9), 1000
    codes = [np.arange(rows, dtype=np.int64) * 7919 % size for size in shape]
    into = tally(shape, 2**28, [(0, 1), (1, 2)])
    into.add(codes, rows, None)
    for axes in [(0, 1), (1, 2)]:
        expected = np.zeros([shape[axis] for axis in axes], dtype=np.int64)
        np.add.at(expected, tuple(codes[axis] for axis in axes), 1)
        assert (into.histogram().marginal(axes) == expected).all()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=30), st.integers(1, 4))
def test_a_bounded_table_counts_at_most_so_many_rows_of_an_owner_in_a_cell(rows, most) -> None:
    expected = [sum(min(most, rows.count((owner, cell))) for owner in range(5)) for cell in range(4)]
    owners, cells = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    assert bounded_table(owners, cells, 4, most).tolist() == expected


def test_each_table_is_bounded_by_itself_and_adds_up_over_owners() -> None:
    into = SeparateTally((2, 3), [(1,), (1, 0)], 1)
    into.add([np.array([0, 0, 1, 1]), np.array([2, 2, 2, 0])], np.array([0, 0, 0, 1]))
    into.add([np.array([0]), np.array([2])], np.array([0]))
    found = into.histogram()
    assert (int(found.marginal(())), found.marginal((1,)).tolist()) == (5, [1, 0, 2])
    assert found.marginal((0, 1)).tolist() == [[0, 0, 2], [1, 0, 1]]
    into.include(found)
    assert into.histogram().marginal((1,)).tolist() == [2, 0, 4]
