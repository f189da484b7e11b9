import itertools

import numpy as np
import pytest
from support.rounding_error import summed

from dpqr.data.marginals import dense_marginal, marginals

SHAPE = (3, 2, 4, 2)
TENSOR = (np.arange(48).reshape(SHAPE) % 7) ** 3


def every_axes() -> list[tuple[int, ...]]:
    return [axes for size in range(5) for axes in itertools.permutations(range(4), size)]


@pytest.mark.parametrize(
    "groups",
    [every_axes(), [], [()], [(2,)], [(0, 1, 2, 3)], [(3, 0), (0, 3), (1, 2)], [(1,), (1,), (2, 1)]],
)
def test_all_groups_together_are_each_by_itself(groups) -> None:
    found = list(marginals(TENSOR, groups))
    assert sorted(axes for axes, _ in found) == sorted(set(groups))
    for axes, marginal in found:
        np.testing.assert_array_equal(marginal, dense_marginal(TENSOR, axes))
        assert marginal.shape == tuple(SHAPE[axis] for axis in axes)
        assert marginal.dtype == TENSOR.dtype


def test_counts_beyond_floating_point_stay_exact() -> None:
    tensor = np.array([[2**60 + 1, 1], [2**53 + 1, 0]])
    found = dict(marginals(tensor, [(0,), (), (1,)]))
    assert found[0,].tolist() == [2**60 + 2, 2**53 + 1]
    assert found[1,].tolist() == [2**60 + 2**53 + 2, 1]
    assert int(found[()]) == 2**60 + 2**53 + 3


def test_fractions_are_summed_too() -> None:
    """Sums of at most 256 numbers above 0."""
    tensor = np.random.default_rng(1).random((2,) * 8)
    groups = list(itertools.combinations(range(8), 3))
    for axes, marginal in marginals(tensor, groups):
        np.testing.assert_allclose(marginal, dense_marginal(tensor, axes), rtol=summed(2**8))
        assert marginal.dtype == np.float64


def test_a_tensor_of_no_attributes_is_its_own_total() -> None:
    ((axes, total),) = marginals(np.array(5), [()])
    assert axes == ()
    assert int(total) == 5
