import numpy as np
import pytest
from hypotheses.factored.trees import calibrated, shaped, summed
from support.small_universes import dense, marginal

from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.factored.distribution import FactoredDistribution
from dpqr.hypotheses.hypothesis import Sampleable
from dpqr.workload.block import QueryBlock


@pytest.fixture(params=range(5))
def case(request):
    tree = shaped(request.param)
    cells, beliefs = calibrated(tree, request.param)
    return FactoredDistribution(tree=tree, beliefs=beliefs, total=250.0), cells


def test_answers_are_those_of_the_cells(case):
    found, cells = case
    shape = cells.shape
    rng = np.random.default_rng(0)
    wide = dense(rng.integers(-3, 4, (4, shape[5] * shape[0] * shape[2])), shape, (5, 0, 2))
    for block in (marginal((3, 1), shape), marginal((4,), shape), wide):
        assert np.allclose(found.answer(block), 250 * block.apply(summed(cells, block.axes)))
    assert found.answer(QueryBlock(name="total")) == pytest.approx(250)


def test_weights_and_marginals(case):
    found, cells = case
    assert np.allclose(found.weights(), 250 * cells)
    table = found.marginal((2, 0))
    assert np.allclose(table, 250 * summed(cells, (2, 0)))
    assert table is found.marginal((2, 0))
    assert not table.flags.writeable


def test_uniform_on_a_domain_that_fits_nowhere():
    flat = FactoredDistribution.uniform((10,) * 100, 1000.0)
    assert isinstance(flat, Sampleable)
    assert flat.marginal((3, 99)).shape == (10, 10)
    assert np.allclose(flat.marginal((3, 99)), 10)
    assert flat.rows(50, 0).shape == (50, 100)
    with pytest.raises(InfeasiblePlan, match="synthetic rows"):
        flat.weights()
