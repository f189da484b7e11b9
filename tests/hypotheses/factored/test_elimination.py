from itertools import combinations

import numpy as np
import pytest
from hypotheses.factored.trees import calibrated, shaped, summed

from dpqr.hypotheses.factored.elimination import Elimination, Route, contracted
from dpqr.hypotheses.factored.junction_tree import JunctionTree


@pytest.mark.parametrize(("seed", "largest"), [(seed, largest) for seed in range(8) for largest in (2**24, 4)])
def test_marginals_of_any_attributes_in_any_order(seed, largest):
    """Against the sum over all cells; with tables cut to slices as well."""
    tree = shaped(seed)
    cells, beliefs = calibrated(tree, seed)
    elimination = Elimination(tree=tree, beliefs=beliefs, largest=largest)
    order = np.random.default_rng(seed).permutation(6).tolist()
    for count in range(7):
        for axes in combinations(order, count):
            found = elimination.joint(axes)
            assert found.shape == tuple(tree.shape[axis] for axis in axes)
            assert np.abs(found - summed(cells, axes)).max() < 1e-12


def chain(length, size):
    """Each attribute equals the last one plus a little noise."""
    tree = JunctionTree.over((size,) * length, [(a, a + 1) for a in range(length - 1)])
    step = 0.9 * np.eye(size) + 0.1 * np.roll(np.eye(size), 1, axis=1)
    return tree, tuple(step / size for _ in tree.cliques), step


def test_the_ends_of_a_long_chain():
    tree, beliefs, step = chain(60, 50)
    found = Elimination(tree=tree, beliefs=beliefs).joint((0, 59))
    steps = np.linalg.matrix_power(step, 59) / 50
    assert min(np.abs(found - steps).max(), np.abs(found - steps.T).max()) < 1e-12
    assert not np.allclose(steps, 1 / 2500, rtol=0.1)


def test_messages_are_shared():
    tree, beliefs, _ = chain(30, 50)
    elimination = Elimination(tree=tree, beliefs=beliefs)
    elimination.joint((0, 29))
    before = dict(elimination._kept)
    elimination.joint((0, 29))
    assert elimination._kept == before
    assert len(before) >= 25


def test_a_state_that_cannot_occur_divides_by_nothing():
    tree = JunctionTree.over((60, 60, 60), [(0, 1), (1, 2)])
    cells = np.zeros((60, 60))
    cells[0, 0] = 1.0
    found = Elimination(tree=tree, beliefs=(cells, cells)).joint((0, 2))
    assert found[0, 0] == 1.0 == found.sum()


def test_a_route_ends_where_everything_wanted_is_at_hand():
    tree = JunctionTree.over((50, 60, 70, 80), [(0, 1), (1, 2), (2, 3)])
    assert [clique.axes for clique in tree.cliques] == [(2, 3), (1, 2), (0, 1)]
    assert Route.through(tree, (0, 1), {}).heads(tree) == [1]
    assert Route.through(tree, (0, 3), {}).heads(tree) == [0]


def test_a_contraction_is_the_sum_of_products():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 5, 2))
    found, axes = contracted(left, (0, 1, 2), right, (2, 3, 0), {0, 1, 3})
    assert axes == (0, 1, 3)
    assert np.allclose(found, np.einsum("abc,cda->abd", left, right))
