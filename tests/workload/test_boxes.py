"""Boxes from running sums against the sums of their cells written out."""

import numpy as np
from support.cases import in_one_test

from dpqr.workload import ranges as boxes
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity, Prefix
from dpqr.workload.ranges import Ranges, box_adjoint, box_sums, running_sums

SHAPE = (3, 4, 2)
ENDS = (
    (np.array([0, 1, 2, 0]), np.array([3, 2, 2, 1])),
    (np.array([0, 0, 1, 3]), np.array([4, 1, 3, 4])),
    (np.array([0, 1, 0, 0]), np.array([1, 2, 2, 2])),
)


def written_out(dtype):
    pairs = [(np.arange(size), *ends) for size, ends in zip(SHAPE, ENDS, strict=True)]
    masks = [(cells >= starts[:, None]) & (cells < stops[:, None]) for cells, starts, stops in pairs]
    return np.einsum("ra,rb,rc->rabc", *masks).astype(dtype)


@in_one_test("dtype", [np.int64, np.float64])
def test_both_products_are_those_of_the_coefficients(dtype, monkeypatch) -> None:
    monkeypatch.setattr(boxes, "SLICE", 3)
    tensor = (np.arange(24).reshape(SHAPE) % 7).astype(dtype)
    values = np.array([3, -1, 5, 2], dtype=dtype)
    table = written_out(dtype)
    answers = box_sums(ENDS, tensor)
    assert answers.dtype == dtype
    np.testing.assert_array_equal(answers, np.einsum("rabc,abc->r", table, tensor))
    np.testing.assert_array_equal(box_adjoint(ENDS, values, SHAPE), np.einsum("rabc,r->abc", table, values))


def test_running_sums_are_exact_where_floats_are_not() -> None:
    large = np.array([2**60, 1, 1], dtype=np.int64)
    assert running_sums(large).tolist() == [0, 2**60, 2**60 + 1, 2**60 + 2]


def test_a_block_of_intervals_is_answered_like_its_rows() -> None:
    matrices = (Ranges(np.array([0, 1, 1, 0]), np.array([3, 2, 3, 0]), 3), Prefix(4), Ranges(*ENDS[2], 2))
    factors = tuple(Factor(axes=(axis,), sizes=(matrix.cells,), matrix=matrix) for axis, matrix in enumerate(matrices))
    block = QueryBlock(name="boxes", factors=factors, rowwise=True)
    tensor = np.arange(24).reshape(SHAPE)
    one_by_one = [int((row.reshape(SHAPE) * tensor).sum()) for row in block.coefficients()]
    assert block.apply(tensor).tolist() == one_by_one
    assert [int(block.row(index).apply(tensor)[0]) for index in range(4)] == one_by_one
    values = np.array([1, 2, 3, 4])
    expected = sum(value * row.reshape(SHAPE) for value, row in zip(values, block.coefficients(), strict=True))
    np.testing.assert_array_equal(block.adjoint(values), expected)


def test_a_factor_of_other_form_leaves_no_boxes() -> None:
    from support.small_universes import dense

    assert dense([[1, 0, 1]], (3,)).ends is None
    assert QueryBlock(name="i", factors=(Factor(axes=(0,), sizes=(3,), matrix=Identity(3)),)).ends is not None
