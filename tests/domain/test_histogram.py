import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import in_one_test

from dpqr.domain.histogram import DenseHistogram, Packing, PersonTable, PersonTotal, SeparateTables, SparseHistogram
from dpqr.kernel.errors import InfeasiblePlan

SHAPE = (3, 2, 4)
TENSOR = (np.arange(24).reshape(SHAPE) % 5) ** 3


def dense(tensor: np.ndarray) -> DenseHistogram:
    return DenseHistogram(tensor)


def sparse(tensor: np.ndarray) -> SparseHistogram:
    codes = np.argwhere(tensor > 0)
    return SparseHistogram(tensor.shape, codes.astype(np.uint8), tensor[tuple(codes.T)])


def every_axes() -> list[tuple[int, ...]]:
    return [axes for size in range(4) for axes in itertools.permutations(range(3), size)]


def by_hand(tensor: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    sums = np.zeros([tensor.shape[axis] for axis in axes], dtype=object)
    for cell in itertools.product(*map(range, tensor.shape)):
        sums[tuple(cell[axis] for axis in axes)] += int(tensor[cell])
    return sums


@in_one_test("make", [dense, sparse])
@pytest.mark.parametrize("axes", every_axes())
def test_marginals_are_sums_in_the_order_that_was_asked_for(make, axes) -> None:
    found = make(TENSOR).marginal(axes)
    assert found.dtype == np.int64
    assert found.shape == tuple(SHAPE[axis] for axis in axes)
    assert (found == by_hand(TENSOR, axes)).all()


@in_one_test("make", [dense, sparse])
def test_counts_beyond_floating_point_stay_exact(make) -> None:
    tensor = np.array([[2**60 + 1, 1], [2**53 + 1, 0]])
    assert make(tensor).marginal((0,)).tolist() == [2**60 + 2, 2**53 + 1]
    assert int(make(tensor).marginal(())) == 2**60 + 2**53 + 3


@in_one_test("make", [dense, sparse])
def test_prefetch_changes_no_answer_and_leaves_nothing_to_sum(make) -> None:
    histogram = make(TENSOR)
    histogram.prefetch(every_axes())
    fetched = {axes: histogram.marginal(axes) for axes in every_axes()}
    assert all((fetched[axes] == by_hand(TENSOR, axes)).all() for axes in every_axes())
    histogram.prefetch(every_axes())
    assert all(histogram.marginal(axes) is fetched[axes] for axes in every_axes())


@in_one_test("make", [dense, sparse])
def test_nothing_that_is_given_out_can_be_written(make) -> None:
    histogram = make(TENSOR)
    histogram.prefetch([(0, 1)])
    for array in (
        histogram.counts,
        histogram.marginal((0, 1)),
        histogram.marginal((2,)),
        histogram.marginal((0, 1, 2)),
    ):
        with pytest.raises(ValueError, match="read-only"):
            array.flat[0] = 7


def test_the_arrays_of_a_sparse_histogram_do_not_show_in_its_text() -> None:
    assert repr(sparse(TENSOR)) == "SparseHistogram(shape=(3, 2, 4))"


def test_floating_point_counts_are_refused() -> None:
    with pytest.raises(TypeError):
        DenseHistogram(np.ones(3))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_domain_beyond_memory_has_marginals() -> None:
    codes = np.array([[9] * 100, [0] * 100], dtype=np.uint8)
    histogram = SparseHistogram((10,) * 100, codes, np.array([5, 7]))
    histogram.prefetch(list(itertools.combinations(range(100), 2)))
    assert histogram.marginal((99, 3))[9, 9] == 5
    assert histogram.marginal((99, 3)).sum() == 12


def test_tables_counted_apart_are_given_as_named_and_never_summed() -> None:
    whole = DenseHistogram(TENSOR)
    tables = SeparateTables(SHAPE, {axes: whole.marginal(axes) - 1 for axes in [(), (0, 2), (0, 1, 2)]})
    for axes in [(), (0, 2), (2, 0), (2, 0, 1)]:
        assert (tables.marginal(axes) == by_hand(TENSOR, axes) - 1).all()
    for axes in [(0,), (0, 1)]:
        with pytest.raises(InfeasiblePlan, match="plan does not name"):
            tables.marginal(axes)
        with pytest.raises(InfeasiblePlan, match="plan does not name"):
            tables.prefetch([(0, 2), axes])


SHAPES = st.lists(st.sampled_from([1, 2, 3, 10, 2**16, 2**31, 2**32]), min_size=1, max_size=30)


@st.composite
def rows(draw: st.DrawFn) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    shape = tuple(draw(SHAPES))
    row = st.tuples(*(st.sampled_from(sorted({0, size // 2, size - 1})) for size in shape))
    return shape, draw(st.lists(row, min_size=1, max_size=6))


@pytest.mark.slow
@given(rows())
def test_words_hold_the_rows_and_compare_as_they_do(case) -> None:
    shape, table = case
    packing = Packing(shape)
    columns = list(np.array(table, dtype=np.int64).T)
    words = packing.pack(columns, len(table))
    assert packing.unpack(words).tolist() == [list(row) for row in table]
    packed = [tuple(words[:, place].tolist()) for place in range(len(table))]
    assert sorted(range(len(table)), key=packed.__getitem__) == sorted(range(len(table)), key=table.__getitem__)


@in_one_test(("shape", "words"), [((2,) * 64, 1), ((2,) * 65, 2), ((10,) * 100, 6), ((2**32, 2**32), 1)])
def test_words_are_filled(shape, words) -> None:
    assert len(Packing(shape).groups) == words


@in_one_test(("size", "kind"), [(1, np.uint8), (256, np.uint8), (257, np.uint16), (2**32, np.uint32)])
def test_codes_take_the_smallest_type(size, kind) -> None:
    assert Packing((2, size)).code_type == kind


def test_a_total_of_a_person_is_clipped_before_it_is_added() -> None:
    table = PersonTable((0,), 1, PersonTotal(axis=1, values=(0, 5), edges=(-1, 8)))
    counts = table.empty((2, 2))
    table.add(counts, np.array([0, 1, 1]), np.array([-7, 5, 15]))
    assert counts.tolist() == [[9, 0], [3, 15]]


def test_a_person_counts_in_the_bin_of_their_total_which_holds_its_lower_edge() -> None:
    table = PersonTable((0,), 1, PersonTotal(axis=1, values=(0, 5), edges=(-1, 0, 5, 8)))
    counts = table.empty((2, 2))
    table.add(counts, np.array([0, 0, 0, 1, 1, 1, 1]), np.array([-7, -1, 0, 4, 5, 8, 15]))
    assert counts.tolist() == [[2, 1, 0], [0, 1, 3]]
