from itertools import permutations

import numpy as np
import pytest
from models.trees import calibrated, shaped, summed
from support import rounding_error as rounding

from dpqr.models.factored import LARGEST_SEPARATOR, MOST_VALUES, fits, pair_tables
from dpqr.models.junction_tree import JunctionTree

ROUNDING = rounding.summed(8)


@pytest.mark.parametrize("seed", range(8))
def test_all_pairs_that_no_clique_holds(seed):
    """Against the sum over all cells."""
    tree = shaped(seed)
    cells, beliefs = calibrated(tree, seed)
    wanted = [pair for pair in permutations(range(6), 2) if tree.home(pair) is None]
    found = list(pair_tables(tree, beliefs, wanted))
    assert sorted(axes for axes, _ in found) == sorted(wanted)
    for axes, table in found:
        assert np.abs(table - summed(cells, axes)).max() < ROUNDING * cells.size


def test_only_wanted_pairs_come():
    tree = JunctionTree.over((2, 3, 2, 4), [(0, 1)])
    beliefs = [np.full(tree.sizes(clique), 1 / np.prod(tree.sizes(clique))) for clique in tree.cliques]
    ((axes, table),) = pair_tables(tree, beliefs, [(3, 1)])
    assert axes == (3, 1)
    assert table.shape == (4, 3)
    assert table.sum() == pytest.approx(1, abs=ROUNDING)


@pytest.mark.parametrize(
    ("shape", "groups", "small"),
    [
        ((MOST_VALUES // 2,) * 2, [], True),
        ((MOST_VALUES,) * 2, [], False),
        ((200, 2, 40, 40, 200), [(0, 1), (1, 4)], True),
        ((200, 40, 40, 200), [(0, 1, 2), (1, 2, 3)], LARGEST_SEPARATOR >= 1600),
    ],
)
def test_small_tables_on_the_way(shape, groups, small):
    assert fits(JunctionTree.over(shape, groups)) is small
