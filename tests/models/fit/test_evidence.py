"""Evidence: gathered, merged and summed, against the blocks themselves."""

import numpy as np
import pytest
from support.cases import in_one_test
from support.small_universes import dense, marginal, measured

from dpqr.kernel.values import replace
from dpqr.models.fit.evidence import UNDERFLOW, EarlierTables, LinearMeasurement, gather, lower_order
from dpqr.workload.block import QueryBlock

SHAPE = (4, 2, 3)


def test_axes_are_ordered_by_size_whatever_the_block_says():
    table = np.arange(12).reshape(4, 3)
    (seen,) = gather([measured([marginal((0, 2), SHAPE)], [table.reshape(-1)])], SHAPE)
    assert seen.axes == (2, 0)
    assert np.array_equal(seen.values, table.T)


@in_one_test("axes", [(0, 1, 2), (2, 0), (1,)])
def test_adjoint_is_the_transpose_of_apply(axes):
    rng = np.random.default_rng(4)
    cells = int(np.prod([SHAPE[a] for a in axes]))
    for block in (marginal(axes, SHAPE), dense(rng.integers(-3, 4, (5, cells)), SHAPE, axes)):
        (seen,) = gather([measured([block], [np.zeros(block.rows)])], SHAPE)
        tensor = rng.integers(0, 9, [SHAPE[a] for a in seen.axes]).astype(float)
        values = rng.integers(0, 9, block.rows).astype(float)
        assert seen.apply(tensor) @ values == (tensor * seen.adjoint(values)).sum()
        placed = tensor.transpose([seen.axes.index(a) for a in block.axes])
        if block.is_marginal:
            assert np.array_equal(seen.adjoint(seen.apply(tensor)), tensor)
        else:
            assert np.array_equal(seen.apply(tensor), block.apply(placed))


def test_repeated_marginals_become_their_inverse_variance_mean():
    block, other = marginal((0, 1), SHAPE), marginal((1, 0), SHAPE)
    table = np.arange(8).reshape(4, 2)
    history = [measured([block], [table.reshape(-1)], 3.0), measured([other], [(table + 10).T.reshape(-1)], 4.0)]
    (seen,) = gather(history, SHAPE)
    assert np.allclose(seen.values.T, table + 10 * 9 / 25)
    assert seen.deviation == pytest.approx(12 / 5)


def test_the_bare_total_is_no_evidence_of_shape_and_no_answer_is_taken_for_exact():
    assert gather([measured([QueryBlock(name="all")], [[7]])], SHAPE) == ()
    (seen,) = gather([measured([marginal((0,), SHAPE)], [[1, 2, 3, 4]], 0.0)], SHAPE)
    assert seen.deviation == UNDERFLOW


def test_lower_orders_sum_cells_and_their_noise():
    """(a0, a1) tells a0 by sums of 2 cells, (a0, a2) by sums of 3; a predicate tells nothing of it."""
    first, second = np.arange(8).reshape(4, 2), np.arange(12).reshape(4, 3)
    blocks = [marginal((0, 1), SHAPE), marginal((0, 2), SHAPE), dense([1, 0, 0, 0], SHAPE, (0,))]
    evidence = gather([measured(blocks, [first.reshape(-1), second.reshape(-1), [5]], 2.0)], SHAPE)
    singles = {seen.axes: seen for seen in lower_order(evidence, 1)}
    assert set(singles) == {(0,), (1,), (2,)}
    assert np.allclose(singles[(0,)].values, (first.sum(axis=1) * 3 + second.sum(axis=1) * 2) / 5)
    assert singles[(0,)].deviation == pytest.approx(2 * (6 / 5) ** 0.5)
    assert singles[(1,)].deviation == pytest.approx(2 * 4**0.5)
    assert {seen.axes for seen in lower_order(evidence, 2)} == {(1, 0), (2, 0)}
    assert lower_order(evidence, 3) == ()
    # Of all pairs of many columns, as many numbers again.
    assert np.shares_memory(lower_order(evidence, 2)[0].values, evidence[0].values)


# Earlier tables: at today's size, and believed as far as today's measurements agree.


def table(axes, values, deviation=1.0):
    return LinearMeasurement(key=axes, axes=axes, values=np.asarray(values, dtype=float), deviation=deviation)


PAIR = table((0, 1), [[400.0, 100.0], [100.0, 400.0]])
EARLIER = EarlierTables(sha256="", records=1000.0, tables=(PAIR,))
COLUMNS = [table((0,), [500.0, 500.0]), table((1,), [500.0, 500.0])]


def aged(today, records=1000.0, earlier=EARLIER):
    (found,) = earlier.aged(today, records)
    return found


def test_values_and_noise_grow_with_the_records():
    found = aged([replace(each, values=2 * each.values) for each in COLUMNS], 2000.0)
    assert found.values.tolist() == (2 * PAIR.values).tolist()
    assert found.deviation >= 2.0


def test_unchanged_columns_leave_what_two_samples_differ_by():
    """A cell of 250 records on average, counted in two samples: a variance of 500, beside the noise."""
    assert aged(COLUMNS).deviation == pytest.approx((1.0 + 2 * 1000.0 / 4) ** 0.5)


def test_changed_columns_make_the_table_of_their_pair_weak():
    found = aged([table((0,), [900.0, 100.0]), COLUMNS[1]])
    relative = 2 * 400.0**2 / (900.0**2 + 100.0**2)
    assert found.deviation > (0.99 * relative * (PAIR.values**2).mean()) ** 0.5


def test_a_table_that_is_measured_again_is_as_weak_as_it_is_wrong():
    swapped = aged([*COLUMNS, replace(PAIR, values=PAIR.values[:, ::-1])])
    assert swapped.deviation == pytest.approx(300.0, rel=0.01)
    assert aged([*COLUMNS, PAIR]).deviation < 30.0


def test_a_table_of_columns_that_nobody_measured_is_left_out():
    assert EARLIER.aged(COLUMNS[:1], 1000.0) == ()
