import itertools
import math

import numpy as np
from support.cases import in_one_test
from support.rounding_error import summed

from dpqr.domain.histogram import LARGEST_JOINT, dense_marginal, marginals, passes

SHAPE = (3, 2, 4, 2)
TENSOR = (np.arange(48).reshape(SHAPE) % 7) ** 3


def every_axes() -> list[tuple[int, ...]]:
    return [axes for size in range(5) for axes in itertools.permutations(range(4), size)]


@in_one_test("groups", [every_axes(), [], [()], [(2,)], [(0, 1, 2, 3)], [(3, 0), (0, 3), (1, 2)], [(1,), (1,), (2, 1)]])
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


PAIRS = list(itertools.combinations(range(20), 2))


@in_one_test(
    ("shape", "groups"),
    [
        ((10,) * 20, PAIRS),
        ((2, 3, 4), [(0, 1), (1, 0), (), (2,), (0, 1)]),
        ((2**16, 2**16, 2), [(0, 1), (0, 2), (1,), (2,)]),
        ((7, 300, 2, 40, 1, 9), list(itertools.combinations(range(6), 3))),
        ((5,), []),
    ],
)
def test_every_group_is_a_sum_of_one_joint_marginal(shape, groups) -> None:
    found = list(passes(shape, groups))
    members = [axes for _, inside in found for axes in inside]
    assert sorted(members) == sorted(set(groups))
    for joint, inside in found:
        assert len(set(joint)) == len(joint)
        assert all(set(axes) <= set(joint) for axes in inside)
        cells = math.prod(shape[axis] for axis in joint)
        assert cells <= LARGEST_JOINT or joint in inside


def test_pairs_share_walks() -> None:
    walks = list(passes((10,) * 20, PAIRS))
    assert len(PAIRS) == 190
    assert len(walks) <= 40


def test_a_joint_marginal_is_no_larger_than_its_members_need() -> None:
    for joint, inside in passes((10,) * 8, [(0, 1), (2, 3, 4, 5), (6, 7)]):
        assert set(joint) == set().union(*inside)
