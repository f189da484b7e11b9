"""Boxes of a bisection: nested halves that hold every cell once."""

import numpy as np
import pytest

from dpqr.workload.bisection import Bisection, Boxes

SHAPES = [(1,), (2,), (7,), (8,), (4, 4), (5, 3), (2, 9), (3, 2, 4), (1, 1)]
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


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
