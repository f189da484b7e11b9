"""The number of records, estimated from measurements."""

import numpy as np
import pytest
from support.cases import in_one_test
from support.small_universes import dense, marginal, measured, problem

from dpqr.kernel.unit import Neighbours
from dpqr.models.hypothesis import DenseDistribution
from dpqr.strategies.updates.record_count import matched_total, measured_total, records_total
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

SHAPE = (3, 4)


def prefix(axis=1):
    return QueryBlock(name="cdf", factors=(Factor(axes=(axis,), sizes=(SHAPE[axis],), matrix=Prefix(SHAPE[axis])),))


def test_more_cells_mean_more_noise_in_the_sum_and_less_noise_counts_for_more():
    """Variances 3, 12 and 1 (three cells, twelve cells, the bare total) for answers 30, 60 and 45."""
    blocks = [marginal((0,), SHAPE), marginal((0, 1), SHAPE), QueryBlock(name="total")]
    history = [measured(blocks, [[10, 10, 10], [5] * 12, [45]])]
    assert measured_total(history) == pytest.approx((30 / 3 + 60 / 12 + 45) / (1 / 3 + 1 / 12 + 1))
    total = QueryBlock(name="total")
    assert measured_total([measured([total], [[100]], 1.0), measured([total], [[200]], 3.0)]) == pytest.approx(110)


def test_other_blocks_that_count_every_record_once():
    assert measured_total([measured([prefix()], [[1, 2, 3, 40]])]) == pytest.approx(40)
    tree = dense([[1, 1, 1], [1, 0, 0], [0, 1, 1]], (3,))
    assert measured_total([measured([tree], [[12, 3, 4]])]) == pytest.approx((12 + 3 + 4) / 2)
    flat = dense([[2, 0, 1], [0, 2, 1]], (3,))
    assert measured_total([measured([flat], [[10, 30]])]) == pytest.approx(20)
    by = QueryBlock(name="cdf by a0", factors=(Factor.identity(0, 3), *prefix().factors))
    assert measured_total([measured([by], [[0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7]])]) == pytest.approx(18)


def test_blocks_that_estimate_no_total():
    rows = Factor(axes=(0,), sizes=(3,), matrix=Dense(np.array([[1, 1, 1], [0, 1, 0]])))
    rectangles = QueryBlock(name="r", factors=(rows, Factor.identity(1, 4)), rowwise=True)
    for block in (dense([1, 1, 0], (3,)), dense([[3, -1, 2]], (3,)), dense([[0, 0, 0]], (3,))):
        assert measured_total([measured([block], [[5]])]) is None
    assert measured_total([measured([rectangles], [[5, 5]])]) is None


def test_the_least_squares_match():
    """One predicate on half of the cells, answered 100: a uniform hypothesis has 200 records."""
    uniform = DenseDistribution.uniform((4,), 1.0)
    history = [measured([dense([1, 1, 0, 0], (4,))], [[100]])]
    assert matched_total(history, uniform.answer) == pytest.approx(200)
    assert matched_total([measured([dense([0, 0, 0, 0], (4,))], [[9]])], uniform.answer) == 0


PREDICATE, ALL_CELLS = measured([dense([1, 1, 0, 0], (4,))], [[100]]), measured([marginal((0,), (4,))], [[1, 2, 3, 4]])


@in_one_test(
    ("public", "history", "expected"),
    [
        (problem((4,), n=99, neighbours=Neighbours.REPLACE), ALL_CELLS, 99),
        (problem((4,), n=99), PREDICATE, 99),
        (problem((4,)), PREDICATE, 200),
        (problem((4,), n=99), ALL_CELLS, 10),
    ],
)
def test_a_public_number_is_never_replaced_and_a_declared_one_serves_until_one_is_measured(public, history, expected):
    answer = DenseDistribution.uniform((4,), 1.0).answer
    assert records_total(public, [history], answer) == pytest.approx(expected)
