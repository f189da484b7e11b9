"""Belief propagation and marginals by shared sums, against sums written out."""

from itertools import combinations

import numpy as np
import pytest
from models.trees import shaped, summed
from support import rounding_error as rounding
from support.cases import in_one_test

from dpqr.models.fit.log_linear import Branch, MarginalTree, Propagation

ROUNDING = rounding.summed(16)
"""Each cell passes a few roundings: an exponential of up to ten summands, sums, products and two divisions."""


def case(seed):
    """A tree, groups inside its cliques, and for each group a table; two more tables as the base."""
    rng = np.random.default_rng(seed)
    tree = shaped(seed)
    groups = []
    for _ in range(6):
        axes = tree.cliques[int(rng.integers(len(tree.cliques)))].axes
        groups.append(tuple(axis for axis in axes if rng.random() < 0.7) or axes[:1])
    tables = [3 * rng.normal(size=[tree.shape[axis] for axis in group]) for group in groups]
    return tree, groups[:4], tables[:4], [(g[::-1], t.transpose()) for g, t in zip(groups[4:], tables[4:], strict=True)]


def listed(tree, tables):
    logs = np.zeros(tree.shape)
    for axes, table in tables:
        order = sorted(axes)
        sizes = [size if axis in axes else 1 for axis, size in enumerate(tree.shape)]
        logs = logs + table.transpose([axes.index(axis) for axis in order]).reshape(sizes)
    return logs


@in_one_test("seed", range(12))
def test_sum_marginals_and_beliefs_are_those_of_all_cells(seed):
    tree, groups, tables, base = case(seed)
    logs = listed(tree, [*zip(groups, tables, strict=True), *base])
    cells = np.exp(logs)
    mass, marginals = Propagation.of(tree, groups, base).run(tables)
    assert mass == pytest.approx(np.log(cells.sum()))
    cells /= cells.sum()
    for group, found in zip(groups, marginals, strict=True):
        assert np.abs(found - summed(cells, group)).max() < ROUNDING * cells.size
    for clique, found in zip(tree.cliques, Propagation.of(tree, groups, base).beliefs(tables), strict=True):
        assert np.abs(found - summed(cells, clique.axes)).max() < ROUNDING * cells.size
        assert not found.flags.writeable


def test_tables_and_base_are_left_alone_and_runs_repeat():
    tree, groups, tables, base = case(3)
    before = [table.copy() for table in (*tables, *(table for _, table in base))]
    work = Propagation.of(tree, groups, base)
    first = [work.run(tables)[0] for _ in range(3)]
    assert len(set(first)) == 1
    assert all(np.array_equal(a, b) for a, b in zip(before, [*tables, *(t for _, t in base)], strict=True))


@in_one_test("scale", [1e3, 1e30])
def test_huge_potentials_give_numbers(scale):
    """The way up keeps conditional distributions: the rarest separator value has one that sums to 1."""
    tree, groups, tables, base = case(5)
    mass, marginals = Propagation.of(tree, groups, base).run([scale * table for table in tables])
    assert np.isfinite(mass)
    for found in marginals:
        assert np.isfinite(found).all()
        assert found.sum() == pytest.approx(1)


GROUPS = [
    [(0, 1, 2, 3)],
    [(0,), (1,), (2,), (3,)],
    list(combinations(range(4), 2)),
    list(combinations(range(4), 3)),
    [(1, 3), (0, 1, 2), (3,), (1, 3), (0, 1, 2, 3)],
    [(2,)],
]


@in_one_test("groups", GROUPS)
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


def test_partial_sums_are_shared_and_tables_left_alone():
    """All three-way marginals of six axes: four passes over the whole tensor instead of twenty."""
    table = np.ones(2)
    MarginalTree.over((2, 2), [(0,), (0,)]).spread([table, table], np.zeros((2, 2)))
    assert table.tolist() == [1, 1]
    tree = MarginalTree.over((2,) * 6, list(combinations(range(6), 3)))
    assert len(tree.root.branches) == 4
    assert sum(1 for _ in _walk(tree.root)) < 20 + 20


def _walk(branch: Branch):
    yield branch
    for below in branch.branches:
        yield from _walk(below)
