"""Which hypotheses have buckets, and that only their cells are drawn anew."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.models.compound import ProductDistribution
from dpqr.models.hypothesis import DenseDistribution, GroupEstimate, LinearEstimate
from dpqr.releases.answers.refits import merged_groups, spread_unevenly
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.trees import Tree, dyadic
from dpqr.workload.workload import Measurement

CELLS = 16
BUCKETS = np.repeat([0, 1], 8)


def measured(matrix: Identity | BucketMatrix, values: list[int]) -> Measurement:
    block = QueryBlock(name="measured", factors=(Factor(axes=(1,), sizes=(CELLS,), matrix=matrix),))
    return Measurement(blocks=(block,), values=(np.array(values),), law=DiscreteLaplace(Fraction(2)))


BOXES = measured(BucketMatrix(Tree(2, dyadic(2), (1, 1)), BUCKETS), [800, 400, 400])
CHOSEN = measured(BucketMatrix(Identity(2), BUCKETS), [400, 400])
CELL_BY_CELL = measured(Identity(CELLS), [50] * CELLS)
ESTIMATE = LinearEstimate(groups=(GroupEstimate(axes=(1,), cells=np.full(CELLS, 50.0)),))
MODEL = DenseDistribution.uniform((2, CELLS), 800.0)
PRODUCT = ProductDistribution(model=MODEL, apart={1: np.full(CELLS, 1 / CELLS)})


def test_only_what_was_left_in_buckets_is_bucketed() -> None:
    assert list(merged_groups(ESTIMATE, [BOXES, CHOSEN])) == [(1,)]
    assert list(merged_groups(PRODUCT, [BOXES, CHOSEN])) == [(1,)]
    assert not merged_groups(ESTIMATE, [BOXES, CELL_BY_CELL])
    assert not merged_groups(MODEL, [BOXES, CHOSEN])


def test_buckets_that_are_no_boxes_are_not_taken_for_some() -> None:
    """Few records are measured once: a tree over three buckets, or over two that are no halves."""
    for ends, tree in (((0, 2, 9, 16), Tree(3, (2, 1), (1, 1))), ((0, 2, 16), Tree(2, dyadic(2), (1, 1)))):
        buckets = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        chosen = measured(BucketMatrix(tree, buckets), [50] * tree.rows)
        merged = merged_groups(ESTIMATE, [chosen])
        assert merged[(1,)][2] is None
        assert isinstance(spread_unevenly(ESTIMATE, merged, 3), LinearEstimate)
    assert merged_groups(ESTIMATE, [BOXES, CHOSEN])[(1,)][2] is not None


def test_cells_of_buckets_are_drawn_and_add_up_to_the_counts() -> None:
    drawn = (spread_unevenly(each, merged_groups(each, [BOXES, CHOSEN]), 3) for each in (ESTIMATE, PRODUCT))
    linear, product = drawn
    assert isinstance(linear, LinearEstimate)
    assert isinstance(product, ProductDistribution)
    for cells in (linear.groups[0].cells, product.marginal((1,))):
        assert cells.std() > 3.0
        np.testing.assert_allclose(np.bincount(BUCKETS, weights=cells), [400, 400], atol=10)


def test_without_buckets_nothing_is_drawn() -> None:
    assert spread_unevenly(MODEL, merged_groups(MODEL, [BOXES, CHOSEN]), 3) is MODEL
