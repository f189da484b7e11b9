import math
from itertools import combinations

import numpy as np
import pytest
from models.trees import calibrated, shaped, summed
from support.cases import in_one_test
from support.small_universes import dense, marginal

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.models.factored import FactoredDistribution, sample_records
from dpqr.models.hypothesis import Sampleable, prepare
from dpqr.models.junction_tree import JunctionTree
from dpqr.workload.block import QueryBlock


@in_one_test("seed", range(5))
def test_answers_marginals_and_weights_are_those_of_the_cells(seed):
    tree = shaped(seed)
    cells, beliefs = calibrated(tree, seed)
    found, shape = FactoredDistribution(tree=tree, beliefs=beliefs, total=250.0), cells.shape
    coefficients = np.random.default_rng(0).integers(-3, 4, (4, shape[5] * shape[0] * shape[2]))
    for block in (marginal((3, 1), shape), marginal((4,), shape), dense(coefficients, shape, (5, 0, 2))):
        assert np.allclose(found.answer(block), 250 * block.apply(summed(cells, block.axes)))
    assert found.answer(QueryBlock(name="total")) == pytest.approx(250)
    assert np.allclose(found.weights(), 250 * cells)
    table = found.marginal((2, 0))
    assert np.allclose(table, 250 * summed(cells, (2, 0)))
    assert table is found.marginal((2, 0))
    assert not table.flags.writeable


def test_uniform_on_a_domain_that_fits_nowhere():
    flat = FactoredDistribution.uniform((10,) * 100, 1000.0)
    assert isinstance(flat, Sampleable)
    assert flat.marginal((3, 99)) == pytest.approx(np.full((10, 10), 10.0))
    assert flat.rows(50, 0).shape == (50, 100)
    with pytest.raises(InfeasiblePlan, match="synthetic rows"):
        flat.weights()


def tally(codes, shape):
    counts = np.zeros(shape)
    np.add.at(counts, tuple(codes.T), 1)
    return counts


@in_one_test("seed", range(8))
def test_cells_come_in_their_proportion(seed):
    """No cell off by more than 7 deviations of independent draws (chance below 1e-9 in all); systematic ones do better.

    A tree whose cliques were drawn apart from each other, or with rows out of step, fails this by far.
    """
    tree = shaped(seed)
    cells, beliefs = calibrated(tree, seed)
    expected = 40_000 * cells
    found = tally(sample_records(tree, beliefs, 40_000, seed), tree.shape)
    assert (np.abs(found - expected) <= 7 * np.sqrt(expected + 1)).all()


def test_given_the_separator_every_count_is_rounded_up_or_down():
    tree = JunctionTree.over((60, 70, 80), [(0, 1), (1, 2)])
    rng = np.random.default_rng(1)
    middle = rng.dirichlet(np.ones(70))
    first = (rng.dirichlet(np.ones(60), 70) * middle[:, None]).T
    tables = {(0, 1): first, (1, 2): rng.dirichlet(np.ones(80), 70) * middle[:, None]}
    codes = sample_records(tree, tuple(tables[clique.axes] for clique in tree.cliques), 30_000, 5)
    assert tree.cliques[1].axes == (0, 1)
    expected = first / middle * np.bincount(codes[:, 1], minlength=70)
    assert (np.abs(tally(codes[:, :2], (60, 70)) - expected) < 1 + 1e-9).all()


@pytest.mark.slow
def test_unbiased_over_seeds():
    """The mean of 7 records a seed: 6 standard errors of a count that is rounded up or down."""
    tree = JunctionTree.over((2, 3), [(0, 1)])
    cells = np.array([[0.5, 0.02, 0.03], [0.25, 0.15, 0.05]])
    total = sum(tally(sample_records(tree, (cells,), 7, seed), (2, 3)) for seed in range(1000))
    assert np.abs(total / 7_000 - cells).max() < 6 * 0.5 / 7 / 1000**0.5


def test_attributes_of_one_clique_do_not_fall_in_step():
    """Uniform cells far more than records: a marginal of the fast attribute stays spread out."""
    tree = JunctionTree.over((200, 64), [(0, 1)])
    codes = sample_records(tree, (np.full((64, 200), 1 / 12800),), 200, 3)
    assert len(np.unique(codes[:, 0])) > 90
    assert len(np.unique(codes[:, 1])) > 40


def test_the_seed_decides_and_order_is_random():
    tree = JunctionTree.over((4, 5), [(0, 1)])
    one, again, other = (sample_records(tree, (np.full((4, 5), 1 / 20),), 500, seed) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert np.abs(np.corrcoef(np.arange(500), one[:, 0])[0, 1]) < 0.3
    assert one.dtype == np.uint8, "a byte a value: of 262,144 rows of 100 columns 26 MB in place of 210"


def test_no_records_single_values_and_a_separator_value_without_mass():
    """Rounding may send a record where the child's table has nothing: codes stay within range."""
    flat = JunctionTree.over((1, 1), [])
    assert sample_records(flat, (np.ones(1), np.ones(1)), 3, 0).tolist() == [[0, 0]] * 3
    assert sample_records(flat, (np.ones(1), np.ones(1)), 0, 0).shape == (0, 2)
    tree = JunctionTree.over((60, 60, 60), [(0, 1), (1, 2)])
    above, below = np.full((60, 60), 1 / 3600), np.zeros((60, 60))
    below[0] = 1 / 60
    codes = sample_records(tree, (above, below), 100, 0)
    assert 0 <= codes.min() <= codes.max() <= 59


@in_one_test("cached", [(), ((0, 5),)])
def test_many_pairs_that_are_announced_are_computed_together(cached):
    shape = (130, 130) + (2,) * 20
    tree = JunctionTree.over(shape, [(0, 1)])
    beliefs = tuple(np.full(tree.sizes(one), 1 / math.prod(tree.sizes(one))) for one in tree.cliques)
    model = FactoredDistribution(tree=tree, beliefs=beliefs, total=8)
    pairs = [pair for pair in combinations(range(22), 2) if pair != (0, 1)]
    for axes in cached:
        model.marginal(axes)
    prepare(model, [marginal(axes, shape) for axes in (*pairs, (0,), (1, 2, 3))])
    assert sorted(model._cache) == pairs
    for axes in pairs:
        assert model.marginal(axes) == pytest.approx(model._elimination.joint(axes) * 8)
        assert model.joint(axes) is model.marginal(axes)
