import itertools
import math

import pytest

from dpqr.data.passes import LARGEST_JOINT, passes

PAIRS = list(itertools.combinations(range(20), 2))


@pytest.mark.parametrize(
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
    assert len(walks) <= 30


def test_a_joint_marginal_is_no_larger_than_its_members_need() -> None:
    for joint, inside in passes((10,) * 8, [(0, 1), (2, 3, 4, 5), (6, 7)]):
        assert set(joint) == set().union(*inside)
