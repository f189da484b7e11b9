"""Marginals through separators, one by one and all pairs at once, against sums over all cells."""

import tracemalloc
from itertools import combinations, permutations

import numpy as np
from models.trees import calibrated, shaped, summed
from support import rounding_error as rounding
from support.cases import in_one_test

from dpqr.models.factored import (
    LARGEST_SEPARATOR,
    MOST_VALUES,
    Elimination,
    RecentTables,
    Separations,
    contract_tables,
    fits,
    pair_tables,
)
from dpqr.models.junction_tree import Clique, JunctionTree

ROUNDING = rounding.summed(8)
"""Each term passes a few roundings: sums, products and a division."""


@in_one_test("seed", range(8))
def test_marginals_of_any_attributes_in_any_order(seed):
    """One by one, with tables cut to slices as well; and all pairs that no clique holds."""
    tree = shaped(seed)
    cells, beliefs = calibrated(tree, seed)
    order = np.random.default_rng(seed).permutation(6).tolist()
    for room in (2**24, 4):
        elimination = Elimination(tree=tree, beliefs=beliefs, room=room)
        for axes in (axes for count in range(7) for axes in combinations(order, count)):
            found = elimination.joint(axes)
            assert found.shape == tuple(tree.shape[axis] for axis in axes)
            assert np.abs(found - summed(cells, axes)).max() < ROUNDING * cells.size
    wanted = [pair for pair in permutations(range(6), 2) if tree.home(pair) is None]
    pairs = list(pair_tables(tree, beliefs, wanted))
    assert sorted(axes for axes, _ in pairs) == sorted(wanted)
    assert all(np.abs(table - summed(cells, axes)).max() < ROUNDING * cells.size for axes, table in pairs)


@in_one_test(
    ("shape", "groups", "small"),
    [
        ((MOST_VALUES // 2,) * 2, [], True),
        ((MOST_VALUES,) * 2, [], False),
        ((200, 2, 40, 40, 200), [(0, 1), (1, 4)], True),
        ((200, 40, 40, 200), [(0, 1, 2), (1, 2, 3)], LARGEST_SEPARATOR >= 1600),
    ],
)
def test_pairs_are_computed_together_where_tables_on_the_way_are_small(shape, groups, small):
    assert fits(JunctionTree.over(shape, groups)) is small


@in_one_test(("length", "size"), [(60, 50), (400, 3)])
def test_the_ends_of_a_long_chain(length, size):
    """Each attribute equals the last one plus a little noise; one chain is longer than the stack is deep."""
    cliques = [Clique(axes=(0, 1), parent=None, separator=())]
    cliques += [Clique(axes=(a, a + 1), parent=a - 1, separator=(a,)) for a in range(1, length - 1)]
    tree = JunctionTree(shape=(size,) * length, cliques=tuple(cliques))
    step = 0.9 * np.eye(size) + 0.1 * np.roll(np.eye(size), 1, axis=1)
    elimination = Elimination(tree=tree, beliefs=(step / size,) * (length - 1))
    ends = np.linalg.matrix_power(step, length - 1) / size
    # Products of sums of `size` terms, and none below 0.
    assert np.abs(elimination.joint((0, length - 1)) - ends).max() < ROUNDING * length * size * ends.max()
    shared = dict(elimination._cache._tables)
    elimination.joint((0, length - 1))
    assert len(shared) >= 25
    assert all(elimination._cache._tables[axes] is table for axes, table in shared.items())


def test_what_is_wanted_does_not_pass_through_wide_places():
    """One attribute hangs on a column of two values, the other on one side of a wide table: nothing on the way needs
    the wide table times the many values."""
    rng = np.random.default_rng(0)
    tree = JunctionTree.over((2, 60, 60, 3, 200), [(0, 1, 2), (1, 2, 3), (0, 4)])
    cells = rng.random((2, 60, 60, 3))
    cells /= cells.sum()
    given = rng.dirichlet(np.ones(200), 2)
    tables = {(0, 1, 2): cells.sum(axis=3), (1, 2, 3): cells.sum(axis=0), (0, 4): given * cells.sum((1, 2, 3))[:, None]}
    beliefs = tuple(
        tables[tuple(sorted(clique.axes))].transpose(np.argsort(np.argsort(clique.axes))) for clique in tree.cliques
    )
    elimination = Elimination(tree=tree, beliefs=beliefs)
    tracemalloc.start()
    found = elimination.joint((3, 4))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    apart = np.einsum("xab,abc->xc", tables[0, 1, 2] / tables[0, 1, 2].sum(axis=0), tables[1, 2, 3])
    assert np.allclose(found, np.einsum("xc,xz->cz", apart, given))
    assert peak < 60 * 60 * 200 * 8 / 10


def test_a_table_on_the_way_is_made_in_parts_where_there_is_no_room():
    rng = np.random.default_rng(1)
    tree = JunctionTree.over((30, 30, 40, 50), [(0, 1, 2), (0, 1, 3)])
    cells = rng.random((30, 30, 40))
    beliefs = {2: cells, 3: rng.dirichlet(np.ones(50), (30, 30)) * cells.sum(axis=2)[:, :, None]}
    placed = tuple(beliefs[3 if 3 in clique.axes else 2] / cells.sum() for clique in tree.cliques)
    whole = Elimination(tree=tree, beliefs=placed).joint((2, 3))
    parts = Elimination(tree=tree, beliefs=placed, room=4_000).joint((2, 3))
    assert np.allclose(parts, whole, rtol=ROUNDING * 30 * 30, atol=0)  # sums of 900 terms, none below 0
    assert np.allclose(whole.sum(), 1.0)


def test_a_state_that_cannot_occur_divides_by_nothing():
    tree = JunctionTree.over((60, 60, 60), [(0, 1), (1, 2)])
    cells = np.zeros((60, 60))
    cells[0, 0] = 1.0
    found = Elimination(tree=tree, beliefs=(cells, cells)).joint((0, 2))
    assert found[0, 0] == 1.0 == found.sum()


def test_a_contraction_is_the_sum_of_products():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 5, 2))
    found, axes = contract_tables(left, (0, 1, 2), right, (2, 3, 0), {0, 1, 3})
    assert axes == (0, 1, 3)
    assert np.allclose(found, np.einsum("abc,cda->abd", left, right))


@in_one_test(
    ("shape", "groups", "wanted", "shared", "sides"),
    [
        ((90, 80, 2, 70, 60), [(0, 1), (1, 2), (2, 3), (3, 4)], (0, 4), {(2,)}, {(0,), (4,)}),
        ((50,) * 9, [(axis, axis + 1) for axis in range(8)], (0, 8), {(3,), (4,), (5,)}, {(0,), (8,)}),
        ((50, 60, 70, 80), [(0, 1), (2, 3)], (0, 1, 3), {()}, {(0, 1), (3,)}),
    ],
)
def test_where_the_wanted_attributes_part(shape, groups, wanted, shared, sides):
    parted = Separations(JunctionTree.over(shape, groups)).between(wanted)
    assert parted.shared in shared
    assert {parted.below, parted.above} == sides


@in_one_test("seed", range(8))
def test_both_sides_and_the_separator_hold_all_that_is_wanted(seed):
    tree = shaped(seed)
    for wanted in (wanted for count in range(2, 7) for wanted in combinations(range(6), count)):
        if tree.home(wanted) is None:
            parted = Separations(tree).between(wanted)
            assert parted.below
            assert parted.above
            assert not set(parted.below) & {*parted.above, *parted.shared}
            assert {*wanted} <= {*parted.below, *parted.above, *parted.shared}


def test_the_last_tables_are_cached_up_to_the_room():
    computed, tables = [], RecentTables(room=10)

    def get(axis, size=4):
        return tables.get((axis,), lambda: computed.append(axis) or np.zeros(size))

    for axis in (0, 1, 0, 2, 0, 1):
        assert get(axis).size == 4
    assert computed == [0, 1, 2, 1]
    assert [get(3, 11).size, get(3, 11).size] == [11, 11]
    assert computed[-2:] == [3, 3]
