import numpy as np
import pytest
from support.small_universes import dense, marginal

from dpqr.models.hypothesis import GroupEstimate, LinearEstimate, Sampleable, Unbiased
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity, Prefix
from dpqr.workload.strategy_matrices import strategy_block
from dpqr.workload.trees import Tree

SHAPE = (2, 3, 2)
CELLS = np.array([[1.0, -2.0, 4.0], [0.5, 3.0, -1.0]])
STRATEGY = strategy_block("s", (0, 1), (Identity(2), Tree(3, (4, 1), (1, 2))))
JOINT = GroupEstimate(axes=(0, 1), cells=CELLS, strategy=STRATEGY, deviation=2.0)
LAST = GroupEstimate(axes=(2,), cells=np.array([3.0, 2.0]))
ESTIMATE = LinearEstimate(groups=(JOINT, LAST))


def cdf(*more) -> QueryBlock:
    return QueryBlock(name="cdf", factors=(Factor(axes=(1,), sizes=(3,), matrix=Prefix(3)), *more))


def test_answers_come_from_the_group_that_holds_the_block() -> None:
    np.testing.assert_allclose(ESTIMATE.answer(marginal((1, 0), SHAPE)), CELLS.T.reshape(-1))
    np.testing.assert_allclose(ESTIMATE.answer(cdf()), [1.5, 2.5, 5.5])
    np.testing.assert_allclose(ESTIMATE.answer(marginal((2,), SHAPE)), [3.0, 2.0])
    np.testing.assert_allclose(ESTIMATE.answer(QueryBlock(name="total")), [5.0])
    assert ESTIMATE.total == 5.5


def test_a_block_across_groups_has_no_answer() -> None:
    across = marginal((1, 2), SHAPE)
    assert np.isnan(ESTIMATE.answer(across)).all()
    assert ESTIMATE.answer(across).shape == (6,)
    assert ESTIMATE.deviations(across) is None


@pytest.mark.parametrize("block", [cdf(), cdf(Factor.identity(0, 2)), marginal((0,), SHAPE)])
def test_deviations_are_those_of_the_strategy(block) -> None:
    written = np.stack(list(STRATEGY.coefficients())).astype(float)
    inverse = np.linalg.inv(written.T @ written)
    order = sorted(block.axes)
    rows = []
    for unit in np.eye(block.rows):
        tensor = block.adjoint(unit).transpose([block.axes.index(axis) for axis in order])
        missing = tuple(axis for axis in (0, 1) if axis not in order)
        rows.append(np.broadcast_to(np.expand_dims(tensor, missing), (2, 3)).reshape(-1))
    expected = 2.0 * np.sqrt(((np.stack(rows) @ inverse) * np.stack(rows)).sum(axis=1))
    np.testing.assert_allclose(ESTIMATE.deviations(block), expected)


def test_no_deviation_where_no_closed_form_is_known() -> None:
    assert ESTIMATE.deviations(marginal((2,), SHAPE)) is None
    assert ESTIMATE.deviations(dense([[1, 0, 0, 1, 1, 0]], SHAPE, (0, 1))) is None


def test_it_is_unbiased_and_no_distribution() -> None:
    assert isinstance(ESTIMATE, Unbiased)
    assert not isinstance(ESTIMATE, Sampleable)
