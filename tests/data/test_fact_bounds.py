import numpy as np
import pytest

from dpqr.data.fact_bounds import record_bounds, tied
from dpqr.data.facts import KnownTotal, Region

SHAPE = (3, 2, 2)
EVERYBODY = Region(text="all", axes=(), cells=np.ones((), dtype=bool))


def on(axis, *codes):
    cells = np.zeros(SHAPE[axis], dtype=bool)
    cells[list(codes)] = True
    return Region(text="r", axes=(axis,), cells=cells)


def both(*axes):
    cells = np.zeros([SHAPE[axis] for axis in axes], dtype=bool)
    cells[0, 0] = True
    return Region(text="b", axes=axes, cells=cells)


def known(count, region):
    return KnownTotal(region=region, count=count)


@pytest.mark.parametrize(
    ("totals", "bounds"),
    [
        ([], (0, None)),
        ([known(4, on(0, 0))], (4, None)),
        ([known(4, on(0, 0)), known(5, on(0, 1, 2))], (9, 9)),
        ([known(4, on(0, 0, 1)), known(5, on(0, 1, 2))], (5, 9)),
        ([known(4, on(0, 0)), known(6, on(1, 0))], (6, None)),
        ([known(4, on(0, 0)), known(9, EVERYBODY)], (9, 9)),
        ([known(4, on(0, 0, 1, 2)), known(4, EVERYBODY)], (4, 4)),
        ([known(4, on(0, 0)), known(3, both(0, 1))], (4, None)),
        ([known(4, on(0, 0)), known(5, both(0, 1))], None),
        ([known(4, on(0, 0)), known(3, EVERYBODY)], None),
        ([known(4, EVERYBODY), known(5, EVERYBODY)], None),
        ([known(4, on(0, 0)), known(4, on(0, 1, 2)), known(9, on(1, 0))], None),
        ([known(2**36, on(0, 0)), known(2**36 - 1, both(0, 1))], (2**36, None)),
    ],
)
def test_what_totals_leave_for_the_number_of_records(totals, bounds):
    assert record_bounds([], totals, SHAPE) == bounds


def test_impossible_cells_hold_nobody():
    assert record_bounds([both(0, 1)], [known(1, both(0, 1))], SHAPE) is None
    assert record_bounds([on(0, 0)], [known(0, on(0, 0)), known(2, on(0, 1, 2))], SHAPE) == (2, 2)
    assert record_bounds([on(0, 1, 2)], [known(2, on(0, 0))], SHAPE) == (2, 2)


def test_only_totals_that_share_attributes_are_tied():
    parts = tied([known(1, on(0, 0)), known(2, on(2, 0)), known(3, both(0, 1)), known(4, EVERYBODY)])
    assert {axes: len(totals) for axes, totals in parts.items()} == {(0, 1): 2, (2,): 1, (): 1}
