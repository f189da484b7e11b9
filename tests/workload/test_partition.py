"""Boxes of a bisection: nested halves that hold every cell once.

Matrices over buckets against their written-out coefficients over cells.
"""

import numpy as np
import pytest
from support.cases import in_one_test
from support.written_out import require_products

from dpqr.workload.matrix import Dense, Identity
from dpqr.workload.partition import Bisection, Boxes, BucketMatrix
from dpqr.workload.strategy_matrices import PIdentity
from dpqr.workload.trees import Tree

SHAPES = [(1,), (2,), (7,), (8,), (4, 4), (5, 3), (2, 9), (3, 2, 4), (1, 1)]
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


@in_one_test()
@every_shape
def test_every_cell_is_in_the_box_that_its_place_names(shape) -> None:
    bisection = Bisection(shape)
    cells = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
    for level in range(bisection.depth + 1):
        places = bisection.places(level)
        boxes = bisection.boxes(level, places)
        assert ((boxes.starts <= cells) & (cells < boxes.stops)).all()
        every = bisection.boxes(level, np.arange(2**level))
        np.testing.assert_array_equal(every.cells, np.bincount(places, minlength=2**level))


@in_one_test()
@every_shape
def test_places_of_the_next_level_are_halves(shape) -> None:
    bisection = Bisection(shape)
    for level in range(bisection.depth):
        np.testing.assert_array_equal(bisection.places(level + 1) // 2, bisection.places(level))
    assert len(np.unique(bisection.places(bisection.depth))) == np.prod(shape)


def test_one_axis_is_cut_into_aligned_dyadic_intervals() -> None:
    bisection = Bisection((8,))
    np.testing.assert_array_equal(bisection.places(3), np.arange(8))
    np.testing.assert_array_equal(bisection.boxes(1, np.arange(2)).starts, [[0], [4]])


def test_the_longest_axis_is_halved_first() -> None:
    assert Bisection((2, 8)).axes == (1, 1, 0, 1)
    assert Bisection((4, 4)).axes == (0, 1, 0, 1)


def test_boxes_count_their_cells() -> None:
    boxes = Boxes(starts=np.array([[0, 1], [2, 2]]), stops=np.array([[2, 4], [2, 5]]))
    assert len(boxes) == 2
    assert boxes.cells.tolist() == [6, 0]


def test_ends_cannot_be_written_through_the_boxes() -> None:
    boxes = Boxes(starts=np.array([[0]], dtype=np.int32), stops=np.array([[2]]))
    assert boxes.starts.dtype == boxes.stops.dtype == np.int64
    for ends in (boxes.starts, boxes.stops):
        with pytest.raises(ValueError, match="read-only"):
            ends[0] = 1


BUCKETS = np.array([2, 0, 0, 1, 2])
INNER = {
    "identity": Identity(3),
    "tree": Tree(3, (4, 2, 1), (1, 2, 3)),
    "tuned": PIdentity(np.array([2, 1]), np.array([3, 2]), np.array([[1, 2], [4, 0]])),
}
every_inner = pytest.mark.parametrize("inner", INNER.values(), ids=INNER.keys())


@every_inner
def test_products_are_those_of_the_coefficients(inner) -> None:
    require_products(BucketMatrix(inner, BUCKETS), inner.table(0, inner.rows)[:, BUCKETS])


@in_one_test("power", [0, 1, 2])
@every_inner
def test_no_column_is_larger_than_the_stated_norm(inner, power) -> None:
    matrix = BucketMatrix(inner, BUCKETS)
    dense = Dense(matrix.table(0, matrix.rows))
    assert matrix.column_norm(power) == dense.column_norm(power)
    assert matrix.column_distance(power) >= dense.column_distance(power)
    assert matrix.smallest <= dense.smallest


def test_a_bucket_without_cells_makes_the_figures_upper_bounds() -> None:
    matrix = BucketMatrix(Dense(np.array([[1, 9]])), np.array([0, 0]))
    assert matrix.column_norm(1) == 9
    assert matrix.merge(np.array([[2], [3]])).tolist() == [[5], [0]]


@in_one_test("buckets", [[], [0, 3], [-1, 0]])
def test_every_cell_needs_a_bucket(buckets) -> None:
    with pytest.raises(ValueError, match="bucket"):
        BucketMatrix(Identity(3), np.array(buckets, dtype=np.int64))


def test_buckets_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        BucketMatrix(Identity(3), BUCKETS.copy()).buckets[0] = 1


def test_buckets_are_told_in_runs() -> None:
    assert BucketMatrix(Identity(3), BUCKETS).runs == [(2, 1), (0, 2), (1, 1), (2, 1)]
    assert BucketMatrix(Identity(1), np.zeros(4, dtype=int)).runs == [(0, 4)]
