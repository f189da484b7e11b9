import math

import numpy as np
import pytest

from dpqr.hypotheses.factored.junction_tree import Clique, JunctionTree, by_size


def random_tree(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 12))
    shape = tuple(int(number) for number in rng.integers(1, 90, count))
    groups = [tuple(int(a) for a in rng.permutation(count)[: rng.integers(1, 4)]) for _ in range(rng.integers(0, 12))]
    return shape, groups, JunctionTree.over(shape, groups)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_two_cliques_share_lies_on_the_path_between(seed):
    """Equivalent: of every attribute, exactly one clique has it without its parent having it."""
    shape, _, tree = random_tree(seed)
    for axis in range(len(shape)):
        entering = [i for i, c in enumerate(tree.cliques) if axis in c.axes and axis not in c.separator]
        assert entering == [tree.entrances[axis]]
    for index, clique in enumerate(tree.cliques):
        if clique.parent is None:
            assert clique.separator == ()
        else:
            assert clique.parent < index
            assert set(clique.separator) == set(clique.axes) & set(tree.cliques[clique.parent].axes) != set()
        assert clique.axes == by_size(shape, clique.axes)
        assert [clique.axes[place] for place in clique.dropped] == [a for a in clique.axes if a not in clique.separator]


@pytest.mark.parametrize("seed", range(40))
def test_every_group_has_a_home_and_it_is_the_smallest(seed):
    _, groups, tree = random_tree(seed)
    for group in groups:
        home = tree.cliques[tree.home(group)]
        holding = [clique for clique in tree.cliques if set(group) <= set(clique.axes)]
        assert home in holding
        assert math.prod(tree.sizes(home)) == min(math.prod(tree.sizes(clique)) for clique in holding)


def test_a_group_that_no_clique_holds_has_no_home():
    tree = JunctionTree.over((99, 99, 99), [(0, 1), (1, 2)])
    assert tree.home((0, 2)) is None


def test_components_fall_apart():
    tree = JunctionTree.over((70, 80, 90, 60), [(0, 1), (2, 3)])
    assert {clique.axes: clique.parent for clique in tree.cliques} == {(0, 1): None, (3, 2): None}
    assert tree.cliques[0] == Clique(axes=(0, 1), parent=None, separator=())
