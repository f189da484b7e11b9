import numpy as np
import pytest

from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.schedules.marginals.candidate_blocks import coarsen
from dpqr.strategies.schedules.marginals.errors import ExpectedError
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity

SIZES = (40, 6, 2)
COUNTS = {
    0: np.array([6000.0, *np.full(38, 100.0), 200.0]),
    1: np.full(6, 10_000 / 6),
    2: np.array([10_000.0, -30.0]),
}
RECORDS = 10_000.0


def pair(*axes):
    return QueryBlock(name=f"{axes}", factors=tuple(Factor.identity(axis, SIZES[axis]) for axis in axes))


def found(blocks, deviation, counts=COUNTS):
    return coarsen(blocks, counts, ExpectedError.of(blocks, counts), RECORDS, deviation)


def test_each_record_is_counted_in_one_coarse_cell():
    (block,) = found([pair(0, 1)], 100.0)
    assert block.cells == 240
    assert 4 <= block.rows <= 80
    for row in block.adjoint(np.eye(block.rows, dtype=np.int64)[0]), block.adjoint(np.ones(block.rows, dtype=np.int64)):
        assert set(np.unique(row)) <= {0, 1}
    assert (block.adjoint(np.ones(block.rows, dtype=np.int64)) == 1).all()


@pytest.mark.parametrize(("neighbours", "moved"), [(Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE, 2)])
@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2_SQUARED])
def test_neighbours_move_it_as_they_move_a_marginal(neighbours, moved, norm):
    (block,) = found([pair(0, 1)], 300.0)
    assert sensitivity((block,), norm, PrivacyUnit(neighbours=neighbours)) == moved


def test_large_cells_stand_alone_and_runs_hold_about_equal_counts():
    (block,) = found([pair(0, 1)], 100.0)
    rows = block.factors[0].matrix.table(0, block.factors[0].matrix.rows)
    assert rows[0].tolist() == [1, *[0] * 39]
    assert (rows @ COUNTS[0])[1:-1].max() <= 2 * RECORDS / 7
    assert all((np.diff(np.flatnonzero(row)) == 1).all() for row in rows)


def test_no_coarser_block_where_noise_leaves_little_or_cells_are_few():
    assert found([pair(0, 1)], 1.0) == ()
    assert found([pair(1, 2)], 1e6) != ()
    assert found([pair(2)], 1e6) == ()


def test_an_attribute_keeps_two_cells_whatever_was_released():
    for counts in ({**COUNTS, 0: np.zeros(40)}, {**COUNTS, 0: np.array([*np.zeros(39), 1e4])}):
        (block,) = found([pair(0, 1)], 1e5, counts)
        assert all(factor.matrix.rows >= 2 for factor in block.factors)
