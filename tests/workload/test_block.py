"""Blocks against their queries' coefficients written out over all cells."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.cases import in_one_test, thinned

from dpqr.domain.histogram import DenseHistogram, SparseHistogram, dense_marginal
from dpqr.kernel.values import replace
from dpqr.workload import block as block_module
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix, Sparse

SHAPE = (3, 2, 4)


def factor(axes, matrix) -> Factor:
    return Factor(axes=axes, sizes=tuple(SHAPE[axis] for axis in axes), matrix=matrix)


def table(rows: int, cells: int, low: int = -2) -> np.ndarray:
    return np.random.default_rng(rows * 100 + cells).integers(low, 4, (rows, cells))


BLOCKS = {
    "total": QueryBlock(name="total"),
    "marginal": QueryBlock(name="m", factors=(Factor.identity(2, 4), Factor.identity(0, 3))),
    "prefix by": QueryBlock(name="p", factors=(factor((2,), Prefix(4)), Factor.identity(1, 2))),
    "predicate": QueryBlock(name="q", factors=(factor((1,), Dense(table(1, 2))), factor((0,), Dense(table(1, 3))))),
    "group": QueryBlock(name="g", factors=(factor((2, 0), Dense(table(5, 12))), Factor.identity(1, 2))),
    "sparse": QueryBlock(name="s", factors=(Factor.identity(1, 2), factor((2,), Sparse(csr_array(table(3, 4)))))),
    "explicit": QueryBlock(name="e", factors=(factor((0, 1, 2), Dense(table(7, 24))),)),
    "rowwise one": QueryBlock(name="r1", rowwise=True, factors=(factor((0,), Dense(table(4, 3))),)),
    "rowwise": QueryBlock(
        name="r",
        rowwise=True,
        factors=(
            factor((2,), Sparse(csr_array(table(6, 4)))),
            factor((0,), Dense(table(6, 3))),
            factor((1,), Dense(table(6, 2))),
        ),
    ),
    "rowwise of identities": QueryBlock(
        name="ri", rowwise=True, factors=(factor((0,), Identity(3)), factor((2,), Dense(table(3, 4))))
    ),
    "rowwise prefix": QueryBlock(
        name="rp", rowwise=True, factors=(factor((2,), Prefix(4)), factor((1, 0), Dense(table(4, 6))))
    ),
}
every_block = pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS.keys())
COUNTS = np.random.default_rng(1).integers(0, 50, SHAPE)


def over_all_cells(block: QueryBlock) -> np.ndarray:
    """Each query's coefficients on the whole domain, built from single factor rows and nothing else."""
    rows = []
    for index in range(block.rows):
        shape = tuple(factor.matrix.rows for factor in block.factors)
        picks = (index,) * len(shape) if block.rowwise else np.unravel_index(index, shape) if shape else ()
        full = np.ones(SHAPE, dtype=np.int64)
        for part, pick in zip(block.factors, picks, strict=True):
            tensor = part.matrix.row(int(pick)).reshape(part.sizes)
            order = np.argsort(part.axes)
            spread = [SHAPE[axis] if axis in part.axes else 1 for axis in range(len(SHAPE))]
            full = full * tensor.transpose(order).reshape(spread)
        rows.append(full.reshape(-1))
    return np.stack(rows)


@every_block
def test_answers_are_products_with_the_coefficients(block) -> None:
    expected = over_all_cells(block) @ COUNTS.reshape(-1)
    answers = block.answer(DenseHistogram(COUNTS))
    assert answers.dtype == np.int64
    np.testing.assert_array_equal(answers, expected)
    assert answers.shape == (block.rows,)


@in_one_test()
@every_block
def test_sparse_counts_and_float_marginals_get_the_same_answers(block) -> None:
    expected = block.answer(DenseHistogram(COUNTS))
    codes = np.argwhere(COUNTS)
    sparse = SparseHistogram(shape=SHAPE, codes=codes, counts=COUNTS[tuple(codes.T)])
    np.testing.assert_array_equal(block.answer(sparse), expected)
    floats = block.apply(dense_marginal(COUNTS.astype(np.float64), block.axes))
    assert floats.dtype == np.float64
    np.testing.assert_array_equal(floats, expected)  # whole numbers below 2^53


@every_block
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_the_adjoint_is_the_transpose(block, dtype) -> None:
    values = (np.arange(block.rows) * 3 - 4).astype(dtype)
    gathered = block.adjoint(values)
    assert gathered.dtype == dtype
    assert gathered.shape == tuple(size for part in block.factors for size in part.sizes)
    own = np.stack(list(block.coefficients()))
    np.testing.assert_array_equal(gathered.reshape(-1), own.T @ values.astype(np.int64))


@in_one_test()
@every_block
def test_coefficients_are_over_the_blocks_own_cells(block) -> None:
    marginal = DenseHistogram(COUNTS).marginal(block.axes).reshape(-1)
    own = np.stack(list(block.coefficients()))
    assert own.shape == (block.rows, block.cells)
    np.testing.assert_array_equal(own @ marginal, over_all_cells(block) @ COUNTS.reshape(-1))
    assert block.largest_coefficient >= np.abs(own).max()


@in_one_test()
@every_block
def test_one_row_alone_asks_the_same(block) -> None:
    block = replace(block, scale=Fraction(3, 4), weight=Fraction(2, 5))
    answers = block.answer(DenseHistogram(COUNTS))
    for index in range(block.rows):
        alone = block.row(index)
        assert alone.rows == 1
        assert (alone.scale, alone.weight) == (block.scale, block.weight)
        assert alone.answer(DenseHistogram(COUNTS)).tolist() == [answers[index]]


@in_one_test("entries", [1, 7, 30])
def test_slices_do_not_change_rowwise_products(entries, monkeypatch) -> None:
    monkeypatch.setattr(block_module, "ROWWISE_ENTRIES", entries)
    for block in BLOCKS.values():
        if block.rowwise:
            test_answers_are_products_with_the_coefficients(block)
            test_the_adjoint_is_the_transpose(block, np.int64)


@pytest.mark.parametrize("dtype", thinned([np.int64, np.float64], 2))
def test_ten_thousand_boxes_need_neither_a_loop_over_rows_nor_much_memory(dtype, monkeypatch) -> None:
    """Unsliced, the intermediates would be 72 MB and 24 MB."""
    monkeypatch.setattr(block_module, "ROWWISE_ENTRIES", 2**18)
    rows, sides = 10_000, (10, 30, 30)
    edges = np.random.default_rng(2).integers(0, sides, (2, rows, 3))
    low, high = edges.min(axis=0), edges.max(axis=0)
    tables = [
        ((low[:, [axis]] <= np.arange(side)) & (np.arange(side) <= high[:, [axis]])).astype(np.int64)
        for axis, side in enumerate(sides)
    ]
    factors = tuple(Factor(axes=(axis,), sizes=(sides[axis],), matrix=Dense(tables[axis])) for axis in range(3))
    boxes = QueryBlock(name="boxes", rowwise=True, factors=factors)
    counts = np.random.default_rng(3).integers(0, 9, sides)
    monkeypatch.delattr(Dense, "row")
    tracemalloc.start()
    answers = boxes.apply(counts.astype(dtype))
    gathered = boxes.adjoint(np.ones(rows, dtype=dtype))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 2**20
    for row in range(0, rows, 97):
        inside = tuple(slice(a, b + 1) for a, b in zip(low[row], high[row], strict=True))
        assert answers[row] == counts[inside].sum()
    assert gathered.sum() == (high - low + 1).prod(axis=1).sum()
    assert gathered[3, 7, 11] == (tables[0][:, 3] * tables[1][:, 7] * tables[2][:, 11]).sum()


def test_a_block_counts_records_and_weighs_one_unless_it_says_otherwise() -> None:
    total = BLOCKS["total"]
    assert (total.scale, total.weight) == (1, 1)
    assert total.answer(DenseHistogram(COUNTS)).tolist() == [COUNTS.sum()]
