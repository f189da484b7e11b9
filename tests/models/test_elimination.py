import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from models.trees import calibrated, shaped, summed
from support import rounding_error as rounding

from dpqr.models.factored import Elimination, RecentTables, Separation, Separations, contract_tables
from dpqr.models.junction_tree import JunctionTree

ROUNDING = rounding.summed(8)
"""Each term passes a few roundings: sums, products and a division."""


@pytest.mark.parametrize(("seed", "largest"), [(seed, largest) for seed in range(8) for largest in (2**24, 4)])
def test_marginals_of_any_attributes_in_any_order(seed, largest):
    """Against the sum over all cells; with tables cut to slices as well."""
    tree = shaped(seed)
    cells, beliefs = calibrated(tree, seed)
    elimination = Elimination(tree=tree, beliefs=beliefs, room=largest)
    order = np.random.default_rng(seed).permutation(6).tolist()
    for count in range(7):
        for axes in combinations(order, count):
            found = elimination.joint(axes)
            assert found.shape == tuple(tree.shape[axis] for axis in axes)
            assert np.abs(found - summed(cells, axes)).max() < ROUNDING * cells.size


def chain(length, size):
    """Each attribute equals the last one plus a little noise."""
    tree = JunctionTree.over((size,) * length, [(a, a + 1) for a in range(length - 1)])
    step = 0.9 * np.eye(size) + 0.1 * np.roll(np.eye(size), 1, axis=1)
    return tree, tuple(step / size for _ in tree.cliques), step


def test_the_ends_of_a_long_chain():
    tree, beliefs, step = chain(60, 50)
    found = Elimination(tree=tree, beliefs=beliefs).joint((0, 59))
    steps = np.linalg.matrix_power(step, 59) / 50
    rounding = ROUNDING * 59 * 50 * steps.max()  # 59 products of sums of 50 terms, none below 0
    assert min(np.abs(found - steps).max(), np.abs(found - steps.T).max()) < rounding
    assert not np.allclose(steps, 1 / 2500, rtol=0.1)


def test_a_chain_longer_than_the_stack_is_deep():
    tree, beliefs, step = chain(700, 3)
    found = Elimination(tree=tree, beliefs=beliefs).joint((0, 699))
    steps = np.linalg.matrix_power(step, 699) / 3
    assert np.abs(found - steps).max() < ROUNDING * 699 * 3 * steps.max()


def test_tables_on_the_way_are_shared():
    tree, beliefs, _ = chain(30, 50)
    elimination = Elimination(tree=tree, beliefs=beliefs)
    elimination.joint((0, 29))
    before = dict(elimination._cache._tables)
    elimination.joint((0, 29))
    assert elimination._cache._tables.keys() == before.keys()
    assert all(elimination._cache._tables[axes] is table for axes, table in before.items())
    assert len(before) >= 25


def test_what_is_wanted_does_not_pass_through_wide_places():
    """One attribute hangs on a column of two values, the other on one side of a wide table: nothing on the way needs
    the wide table times the many values."""
    rng = np.random.default_rng(0)
    tree = JunctionTree.over((2, 60, 60, 3, 200), [(0, 1, 2), (1, 2, 3), (0, 4)])
    cells = rng.random((2, 60, 60, 3))
    cells /= cells.sum()
    told = rng.dirichlet(np.ones(200), 2)
    known = {(0, 1, 2): cells.sum(axis=3), (1, 2, 3): cells.sum(axis=0), (0, 4): told * cells.sum((1, 2, 3))[:, None]}
    beliefs = tuple(
        known[tuple(sorted(clique.axes))].transpose(np.argsort(np.argsort(clique.axes))) for clique in tree.cliques
    )
    elimination = Elimination(tree=tree, beliefs=beliefs)
    tracemalloc.start()
    found = elimination.joint((3, 4))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    apart = np.einsum("xab,abc->xc", known[0, 1, 2] / known[0, 1, 2].sum(axis=0), known[1, 2, 3])
    assert np.allclose(found, np.einsum("xc,xz->cz", apart, told))
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


def test_the_last_ones_are_kept_up_to_the_room():
    made = []

    def maker(axes, size):
        def make():
            made.append(axes)
            return np.zeros(size)

        return make

    tables = RecentTables(room=10)
    tables.get((0,), maker((0,), 4))
    tables.get((1,), maker((1,), 4))
    assert tables.get((0,), maker((0,), 4)).size == 4
    assert made == [(0,), (1,)]
    tables.get((2,), maker((2,), 4))
    tables.get((0,), maker((0,), 4))
    tables.get((1,), maker((1,), 4))
    assert made == [(0,), (1,), (2,), (1,)]


def test_what_has_no_room_is_told_and_not_kept():
    tables = RecentTables(room=10)
    assert tables.get((0,), lambda: np.zeros(11)).size == 11
    assert tables.get((0,), lambda: np.ones(11)).all()
