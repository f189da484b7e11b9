from itertools import combinations

import numpy as np
import pytest

from dpqr.strategies.updates.marginal_tree import Branch, MarginalTree

GROUPS = [
    [(0, 1, 2, 3)],
    [(0,), (1,), (2,), (3,)],
    list(combinations(range(4), 2)),
    list(combinations(range(4), 3)),
    [(1, 3), (0, 1, 2), (3,), (1, 3), (0, 1, 2, 3)],
    [(2,)],
]


@pytest.mark.parametrize("groups", GROUPS)
def test_marginals_and_their_transpose(groups):
    shape = (2, 3, 4, 5)
    rng = np.random.default_rng(0)
    tensor = rng.integers(0, 9, shape).astype(float)
    tables = [rng.integers(0, 9, [shape[a] for a in group]).astype(float) for group in groups]
    tree = MarginalTree.over(shape, groups)
    marginals = tree.marginals(tensor)
    for group, found in zip(groups, marginals, strict=True):
        others = tuple(a for a in range(4) if a not in group)
        assert np.array_equal(found, tensor.sum(axis=others))
    onto = np.ones(shape)
    spread = tree.spread(tables, onto)
    assert spread is onto
    inner = sum(float((a * b).sum()) for a, b in zip(marginals, tables, strict=True))
    assert float((tensor * (spread - 1)).sum()) == inner


def test_tables_are_left_alone():
    tree = MarginalTree.over((2, 2), [(0,), (0,)])
    table = np.ones(2)
    tree.spread([table, table], np.zeros((2, 2)))
    assert table.tolist() == [1, 1]


def test_partial_sums_are_shared():
    """All three-way marginals of six axes: four passes over the whole tensor instead of twenty."""
    tree = MarginalTree.over((2,) * 6, list(combinations(range(6), 3)))
    assert len(tree.root.branches) == 4
    assert sum(1 for _ in _walk(tree.root)) < 20 + 20


def _walk(branch: Branch):
    yield branch
    for below in branch.branches:
        yield from _walk(below)
