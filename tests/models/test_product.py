"""A product: what it answers, lists and draws follows from its model and its histograms."""

import numpy as np
import pytest

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.models.compound import ProductDistribution
from dpqr.models.factored import FactoredDistribution
from dpqr.models.hypothesis import DenseDistribution
from dpqr.workload.block import Factor, QueryBlock

CELLS = np.arange(1.0, 25.0).reshape(2, 4, 3)
COLUMN = np.array([0.5, 0.125, 0.25, 0.125])


def product(total=64.0):
    model = DenseDistribution(probabilities=CELLS / CELLS.sum(), total=total)
    return ProductDistribution(model=model, apart={1: COLUMN})


def test_marginals_multiply():
    made = product()
    joint = CELLS.sum(axis=1) / CELLS.sum()
    whole = 64.0 * joint[:, None, :] * COLUMN[None, :, None]
    np.testing.assert_allclose(made.weights(), whole)
    np.testing.assert_allclose(made.marginal((2, 1)), whole.sum(axis=0).T)
    np.testing.assert_allclose(made.marginal((1,)), 64.0 * COLUMN)
    assert made.marginal(()) == made.total == 64.0
    both = QueryBlock(name="both", factors=(Factor.identity(1, 4), Factor.identity(0, 2)))
    np.testing.assert_allclose(made.answer(both), whole.sum(axis=2).T.reshape(-1))


def test_rows_hold_every_cell_of_a_column_apart_as_often_as_expected():
    codes = product().rows(64, seed=7)
    assert np.bincount(codes[:, 1], minlength=4).tolist() == [32, 8, 16, 8]
    assert codes.shape == (64, 3)


def test_a_domain_that_is_too_large_is_not_listed():
    model = FactoredDistribution.uniform((2**13, 2**13), 8.0)
    made = ProductDistribution(model=model, apart={0: np.full(2**13, 2.0**-13)})
    made.prefetch([(0, 1)])
    with pytest.raises(InfeasiblePlan, match="too many to list"):
        made.weights()
