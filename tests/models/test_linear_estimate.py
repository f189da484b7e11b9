import numpy as np
from support.cases import in_one_test
from support.small_universes import dense, marginal

from dpqr.models.hypothesis import GroupEstimate, LinearEstimate
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity, Prefix
from dpqr.workload.strategy_matrices import strategy_block
from dpqr.workload.trees import Tree

SHAPE = (2, 3, 2)
CELLS = np.array([[1.0, -2.0, 4.0], [0.5, 3.0, -1.0]])
STRATEGY = strategy_block("s", (0, 1), (Identity(2), Tree(3, (4, 1), (1, 2))))
JOINT = GroupEstimate(axes=(0, 1), cells=CELLS, strategy=STRATEGY, deviation=2.0)
ESTIMATE = LinearEstimate(groups=(JOINT, GroupEstimate(axes=(2,), cells=np.array([3.0, 2.0]))))
CDF = Factor(axes=(1,), sizes=(3,), matrix=Prefix(3))


def test_answers_come_from_the_group_that_holds_the_block() -> None:
    np.testing.assert_allclose(ESTIMATE.answer(marginal((1, 0), SHAPE)), CELLS.T.reshape(-1))
    np.testing.assert_allclose(ESTIMATE.answer(QueryBlock(name="cdf", factors=(CDF,))), [1.5, 2.5, 5.5])
    np.testing.assert_allclose(ESTIMATE.answer(marginal((2,), SHAPE)), [3.0, 2.0])
    np.testing.assert_allclose(ESTIMATE.answer(QueryBlock(name="total")), [5.0])
    assert ESTIMATE.total == 5.5


def test_no_answer_across_groups_and_no_deviation_without_a_closed_form() -> None:
    across = marginal((1, 2), SHAPE)
    assert np.isnan(ESTIMATE.answer(across)).tolist() == [True] * 6
    for block in (across, marginal((2,), SHAPE), dense([[1, 0, 0, 1, 1, 0]], SHAPE, (0, 1))):
        assert ESTIMATE.deviations(block) is None


@in_one_test("factors", [(CDF,), (CDF, Factor.identity(0, 2)), (Factor.identity(0, 2),)])
def test_deviations_are_those_of_the_strategy(factors) -> None:
    block = QueryBlock(name="block", factors=factors)
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
