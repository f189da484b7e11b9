import math
from itertools import combinations, permutations

import numpy as np
from support.cases import in_one_test

from dpqr.models import junction_tree
from dpqr.models.junction_tree import SMALL, Clique, JunctionTree, by_size, cells, maximal_cliques, within


def random_tree(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 12))
    shape = tuple(int(number) for number in rng.integers(1, 90, count))
    groups = [tuple(int(a) for a in rng.permutation(count)[: rng.integers(1, 4)]) for _ in range(rng.integers(0, 12))]
    return shape, groups, JunctionTree.over(shape, groups)


@in_one_test("seed", range(20))
def test_whatever_two_cliques_share_lies_on_the_path_between_and_groups_have_the_smallest_home(seed):
    """Equivalent: of every attribute, exactly one clique has it without its parent having it."""
    shape, groups, tree = random_tree(seed)
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
    for group in groups:
        home = tree.cliques[tree.home(group)]
        holding = [clique for clique in tree.cliques if set(group) <= set(clique.axes)]
        assert home in holding
        assert math.prod(tree.sizes(home)) == min(math.prod(tree.sizes(clique)) for clique in holding)


def test_components_fall_apart_and_a_group_across_has_no_home():
    tree = JunctionTree.over((70, 80, 90, 60), [(0, 1), (2, 3)])
    assert {clique.axes: clique.parent for clique in tree.cliques} == {(0, 1): None, (3, 2): None}
    assert tree.cliques[0] == Clique(axes=(0, 1), parent=None, separator=())
    assert tree.home((0, 2)) is None


def random_case(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 8))
    shape = tuple(int(number) for number in rng.integers(9, 60, count))
    pairs = list(combinations(range(count), 2))
    groups = [pairs[i] for i in rng.permutation(len(pairs))[: int(rng.integers(0, len(pairs) + 1))]]
    return shape, frozenset(groups)


def best(shape, groups):
    """The smallest size over all elimination orders, or one clique for all."""
    sizes = []
    for order in permutations(range(len(shape))):
        near = {a: {b for g in groups if a in g for b in g} - {a} for a in range(len(shape))}
        cliques = set()
        for axis in order:
            clique = frozenset(near[axis] | {axis})
            if not any(clique <= other for other in cliques):
                cliques.add(clique)
            for other in near[axis]:
                near[other] = (near[other] | near[axis]) - {axis, other}
        sizes.append(cells(shape, cliques))
    return min(sizes)


@in_one_test("seed", range(12))
def test_cliques_hold_every_group_and_attribute_and_none_lies_in_another(seed):
    shape, groups = random_case(seed)
    cliques = maximal_cliques(shape, groups)
    for group in [*groups, *((axis,) for axis in range(len(shape)))]:
        assert any(set(group) <= set(clique) for clique in cliques)
    for one, other in permutations(cliques, 2):
        assert not set(one) <= set(other)


@in_one_test("seed", range(12))
def test_small_cases_come_close_to_the_best_elimination(seed):
    shape, groups = random_case(100 + seed)
    if len(shape) > 6:
        shape, groups = shape[:6], frozenset(g for g in groups if max(g) < 6)
    assert cells(shape, maximal_cliques(shape, groups)) <= 1.6 * best(shape, groups)


def test_a_chain_stays_a_chain_and_a_ring_is_cut():
    shape = (50,) * 6
    chain = frozenset((a, a + 1) for a in range(5))
    assert set(maximal_cliques(shape, chain)) == set(chain)
    ring = maximal_cliques(shape, chain | {(0, 5)})
    assert sorted(map(len, ring)) == [3, 3, 3, 3]


def test_small_domains_are_one_clique():
    assert maximal_cliques((2, 3, 4, 5), frozenset({(0, 1), (1, 2), (2, 3)})) == ((0, 1, 2, 3),)
    assert maximal_cliques((2, 3, 4), frozenset({(0, 1)})) == ((0, 1), (2,))
    assert maximal_cliques((2, 3), ()) == ((0,), (1,))


@in_one_test("seed", range(12))
def test_within_is_the_size_compared_whether_groups_come_in_one_part_or_two(seed):
    shape, groups = random_case(200 + seed)
    reached, some = cells(shape, maximal_cliques(shape, groups)), frozenset(sorted(groups)[::2])
    assert within(shape, groups, reached)
    assert within(shape, groups, reached - 1) == (reached <= SMALL)
    for limit in (reached, reached - 1):
        assert within(shape, some, limit, groups - some) == within(shape, groups, limit)


def test_the_complete_graph_of_many_attributes_is_refused_quickly():
    assert not within((10,) * 60, frozenset(combinations(range(60), 2)), 2**30)
    assert cells((10, 3), [(0, 1), (1,)]) == 33


@in_one_test("seed", range(8))
def test_a_tree_grows_by_what_is_foretold_or_more(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(map(int, rng.integers(6, 12, 9)))
    chain = [(axis, axis + 1) for axis in range(8)]
    drawn = [tuple(sorted(map(int, rng.choice(9, 2, replace=False)))) for _ in range(4)]
    tree = frozenset(maximal_cliques(shape, [*chain, *drawn]))
    part, foretold = junction_tree._component(shape, tree, 2**40), []
    for pair in combinations(range(9), 2):
        grown = cells(shape, maximal_cliques(shape, [*tree, pair])) - cells(shape, tree)
        foretold.append(junction_tree._growth(shape, part, frozenset([pair])))
        assert grown >= foretold[-1]
    assert 0 in foretold
    assert max(foretold) > 0


def test_a_pair_that_joins_two_trees_adds_its_own_clique_or_is_refused_without_a_search(monkeypatch):
    shape = (30,) * 60
    chains = frozenset((axis, axis + 1) for axis in range(59) if axis != 29)
    full, pair = cells(shape, maximal_cliques(shape, chains)), frozenset([(0, 59)])
    assert cells(shape, maximal_cliques(shape, chains | pair)) == full + 900
    assert within(shape, chains, full + 900, pair)
    assert not within(shape, chains, full + 899, pair)
    monkeypatch.setattr(junction_tree, "_eliminated", None)
    assert not within(shape, chains, full + 899, frozenset([(1, 58)]))


def test_a_full_tree_is_left_as_it_is_without_a_search(monkeypatch):
    shape, chain = (30,) * 60, frozenset((axis, axis + 1) for axis in range(59))
    full = cells(shape, maximal_cliques(shape, chain))
    assert not within(shape, chain, full + 30 * 839, frozenset([(0, 59)]))
    monkeypatch.setattr(junction_tree, "_eliminated", None)
    assert not within(shape, chain, full + 30 * 839, frozenset([(0, 58)]))
