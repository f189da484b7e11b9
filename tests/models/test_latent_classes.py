"""Latent classes: what they answer and draw follows from their laws; the fit finds the classes of a table."""

from itertools import combinations

import numpy as np
import pytest

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.models.fit.evidence import LinearMeasurement
from dpqr.models.latent_classes import LatentClasses, LatentClassFit
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.ranges import Ranges

SHAPE = (2, 3, 4)
GENERATOR = np.random.default_rng(5)


def classes(shape=SHAPE, count=2, total=600.0):
    laws = tuple(GENERATOR.dirichlet(np.ones(size), count).T for size in shape)
    return LatentClasses(shares=GENERATOR.dirichlet(np.ones(count)), laws=laws, total=total)


def whole(model):
    first, second, third = model.laws
    return np.einsum("k,ak,bk,ck->abc", model.shares * model.total, first, second, third)


def table(axes, values, deviation=1.0):
    return LinearMeasurement(key=axes, axes=axes, values=np.asarray(values), deviation=deviation)


def test_marginals_are_sums_of_the_mixture():
    model = classes()
    cells = whole(model)
    np.testing.assert_allclose(model.weights(), cells)
    np.testing.assert_allclose(model.marginal((2, 0)), cells.sum(axis=1).T)
    np.testing.assert_allclose(model.marginal((1,)), cells.sum(axis=(0, 2)))
    assert model.marginal(()) == pytest.approx(600.0)
    both = QueryBlock(name="both", factors=(Factor.identity(1, 3), Factor.identity(0, 2)))
    np.testing.assert_allclose(model.answer(both), cells.sum(axis=2).T.reshape(-1))


def test_rows_hold_every_cell_of_a_class_as_often_as_expected():
    """Classes and, within each, cells of every column: their expected number rounded down or up."""
    laws = (np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.5, 0.25], [0.5, 0.75]]))
    model = LatentClasses(shares=np.array([0.25, 0.75]), laws=laws, total=1.0)
    codes = model.rows(160, seed=3)
    assert np.bincount(codes[:, 0] * 2 + codes[:, 1]).tolist() == [20, 20, 30, 90]
    assert (codes == model.rows(160, seed=3)).all()
    assert model.rows(0, seed=3).shape == (0, 2)
    assert codes.dtype == np.uint8


def test_columns_are_independent_within_a_class():
    """Rows of two columns of one class, 40,000 of them: no cell of the pair is further off than 5 deviations."""
    law = np.full((4, 1), 0.25)
    codes = LatentClasses(shares=np.ones(1), laws=(law, law), total=1.0).rows(40_000, seed=1)
    counts = np.bincount(codes[:, 0] * 4 + codes[:, 1], minlength=16)
    assert abs(counts - 2500).max() < 5 * np.sqrt(40_000 / 16)


def test_a_domain_that_is_too_large_is_not_listed():
    with pytest.raises(InfeasiblePlan, match="too many to list"):
        classes(shape=(300, 300, 300)).weights()


def test_the_gradient_is_that_of_the_loss():
    """Pairs, one column, three columns, ranges of one column and of two together, against differences of the loss."""
    cells = whole(classes())
    starts, stops = np.array([0, 1, 1]), np.array([2, 3, 2])
    boxes = QueryBlock(
        name="b",
        factors=(
            Factor(axes=(2,), sizes=(4,), matrix=Ranges(starts, stops, 4)),
            Factor(axes=(1,), sizes=(3,), matrix=Ranges(stops - 2, stops, 3)),
        ),
        rowwise=True,
    )
    prefixes = QueryBlock(name="p", factors=(Factor(axes=(2,), sizes=(4,), matrix=Prefix(4)), Factor.identity(0, 2)))
    evidence = [
        table((0, 1), cells.sum(axis=2), 2.0),
        table((1, 2), cells.sum(axis=0)),
        table((1,), cells.sum(axis=(0, 2)), 3.0),
        table((0, 1, 2), cells, 5.0),
        LinearMeasurement(key="p", axes=(0, 2), values=np.arange(8.0), deviation=4.0, block=prefixes),
        LinearMeasurement(key="b", axes=(1, 2), values=np.arange(3.0), deviation=2.0, block=boxes),
    ]
    fit = LatentClassFit.of(evidence, SHAPE, 600.0)
    point = GENERATOR.standard_normal(3 * (sum(SHAPE) + 1))
    slopes = fit.loss(point)[1]
    step = 1e-6 * np.eye(point.size)
    differences = [(fit.loss(point + one)[0] - fit.loss(point - one)[0]) / 2e-6 for one in step]
    # Central differences of a smooth function: the error is about 1e-6 of the largest slope.
    np.testing.assert_allclose(slopes, differences, atol=1e-5 * np.abs(slopes).max())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_fit_finds_the_classes_of_exact_pairs(seed):
    """Four classes of six columns are determined by their pairs. Residuals end far below the noise of one record."""
    generator, shape = np.random.default_rng(seed), (5, 4, 6, 3, 5, 4)
    truth = LatentClasses(
        shares=generator.dirichlet(np.full(4, 5.0)),
        laws=tuple(generator.dirichlet(np.ones(size), 4).T for size in shape),
        total=1000.0,
    )
    pairs = list(combinations(range(6), 2))
    fit = LatentClassFit.of([table(pair, truth.marginal(pair)) for pair in pairs], shape, 1000.0)
    one = fit.fitted(fit.first())
    four = fit.fitted(fit.split(fit.fitted(fit.split(one.point)).point), steps=2000)
    far, near = (
        np.mean([np.abs(model.marginal(pair) - truth.marginal(pair)).mean() for pair in pairs]) for model in (one, four)
    )
    assert near < 0.05 * far
    assert near < 0.3


def test_what_was_not_measured_is_even_and_independent():
    fit = LatentClassFit.of([table((0,), [30.0, 10.0])], (2, 4), 40.0)
    found = fit.fitted(fit.split(fit.first()))
    np.testing.assert_allclose(found.marginal((0,)), [30.0, 10.0], atol=0.1)
    np.testing.assert_allclose(found.marginal((1,)).sum(), 40.0)
    np.testing.assert_allclose(fit.fitted(fit.first()).marginal((1,)), 10.0)
