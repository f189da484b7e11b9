from itertools import combinations

import pytest
from hypotheses.factored.trees import shaped

from dpqr.hypotheses.factored.junction_tree import JunctionTree
from dpqr.hypotheses.factored.separation import Separation, Separations


def between(tree, *wanted):
    return Separations(tree).between(wanted)


def test_the_narrowest_place_comes_first():
    tree = JunctionTree.over((90, 80, 2, 70, 60), [(0, 1), (1, 2), (2, 3), (3, 4)])
    parted = between(tree, 0, 4)
    assert parted.shared == (2,)
    assert {parted.below, parted.above} == {(0,), (4,)}


def test_a_chain_is_halved():
    tree = JunctionTree.over((50,) * 9, [(axis, axis + 1) for axis in range(8)])
    assert between(tree, 0, 8).shared in {(4,), (3,), (5,)}


def test_components_part_by_nothing():
    tree = JunctionTree.over((50, 60, 70, 80), [(0, 1), (2, 3)])
    parted = between(tree, 0, 1, 3)
    assert parted.shared == ()
    assert {parted.below, parted.above} == {(0, 1), (3,)}


@pytest.mark.parametrize("seed", range(8))
def test_both_sides_and_the_separator_hold_all_that_is_wanted(seed):
    tree = shaped(seed)
    for count in range(2, 7):
        for wanted in combinations(range(6), count):
            if tree.home(wanted) is None:
                parted = between(tree, *wanted)
                assert parted.below
                assert parted.above
                assert not set(parted.below) & {*parted.above, *parted.shared}
                assert {*wanted} <= {*parted.below, *parted.above, *parted.shared}
                assert isinstance(parted, Separation)
