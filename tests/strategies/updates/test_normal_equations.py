"""The solver against the weighted pseudo-inverse."""

from fractions import Fraction

import numpy as np
import pytest
from support.small_universes import dense, marginal

from dpqr.strategies.updates.normal_equations import Weighed, least_norm
from dpqr.workload.block import QueryBlock

SHAPE = (2, 3, 2)
BLOCKS = [
    marginal((2, 0), SHAPE),
    marginal((1,), SHAPE),
    dense([[1, 0, 2], [0, -1, 1]], SHAPE, (1,), scale=Fraction(1, 2)),
    QueryBlock(name="total"),
]


def weighed(block: QueryBlock, seed: int, deviation: float) -> Weighed:
    return Weighed(block=block, values=10.0 * np.cos(seed + np.arange(block.rows)), deviation=deviation)


def rows(block: QueryBlock) -> np.ndarray:
    """The block's coefficients on all cells, in records."""
    whole = []
    for unit in np.eye(block.rows):
        order = sorted(block.axes)
        tensor = block.adjoint(unit).transpose([block.axes.index(axis) for axis in order])
        missing = tuple(axis for axis in range(3) if axis not in order)
        whole.append(np.broadcast_to(np.expand_dims(tensor, missing), SHAPE).reshape(-1) * float(block.scale))
    return np.stack(whole)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_shortest_of_the_best(count) -> None:
    told = [weighed(block, index, 1.0 + index) for index, block in enumerate(BLOCKS[:count])]
    matrix = np.concatenate([rows(one.block) / one.deviation for one in told])
    targets = np.concatenate([one.values / one.deviation for one in told])
    expected = (np.linalg.pinv(matrix) @ targets).reshape(SHAPE)
    np.testing.assert_allclose(least_norm(told, (0, 1, 2), SHAPE), expected, atol=1e-6)


def test_nothing_measured_is_nothing_known() -> None:
    np.testing.assert_array_equal(least_norm([], (0, 1), (2, 3)), np.zeros((2, 3)))
