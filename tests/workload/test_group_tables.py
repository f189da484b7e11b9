"""Marginals that are gathered at once against marginals that are summed one by one."""

import itertools

import numpy as np
from support.cases import in_one_test

from dpqr.domain.histogram import dense_marginal
from dpqr.workload.ranges import group_tables, with_totals

SHAPE = (3, 1, 4, 3)
TABLE = np.random.default_rng(0).integers(-(2**50), 2**50, SHAPE)


def test_a_first_cell_holds_the_sum_of_its_line() -> None:
    before = TABLE.copy()
    totals = with_totals(TABLE)
    for cell in np.ndindex(*SHAPE):
        line = tuple(slice(None) if place == 0 else place for place in cell)
        assert totals[cell] == TABLE[line].sum()
    np.testing.assert_array_equal(TABLE, before)


@in_one_test("axes", [(), (0,), (2,), (1, 0), (3, 2), (0, 3), (2, 3, 0), (0, 1, 2, 3)])
def test_a_groups_table_is_its_marginal(axes) -> None:
    strides = [int(np.prod(SHAPE[place + 1 :])) for place in range(len(SHAPE))]
    sizes = tuple(SHAPE[axis] for axis in axes)
    cells = itertools.product(*(range(size) for size in sizes))
    places = np.array([[sum(strides[axis] * c for axis, c in zip(axes, cell, strict=True)) for cell in cells]])
    found = group_tables(with_totals(TABLE), np.concatenate([places, places]), sizes)
    expected = dense_marginal(TABLE, axes).reshape(-1)
    np.testing.assert_array_equal(found, [expected, expected])
