"""The product rule: each part reads its own measurements, and histograms of columns apart are consistent."""

import numpy as np
import pytest
from support.cases import in_one_test
from support.small_universes import measured, problem

from dpqr.models.compound import ProductDistribution
from dpqr.strategies.updates.product import Product, nearest_probabilities
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.partition import BucketMatrix

AGES = QueryBlock(name="ages", factors=(Factor(axes=(1,), sizes=(16,), matrix=Prefix(16)),))
CELLS = QueryBlock(name="strategy", factors=(Factor.identity(1, 16),))
SEX = QueryBlock(name="sex", factors=(Factor.identity(0, 2),))
PROBLEM = problem((2, 16), [SEX, AGES])
OF_SEX, LOUD = measured([SEX], [[30, 10]]), measured([SEX], [[45, 15]], 100.0)
OF_AGES = measured([CELLS], [[20, *[0] * 7, 12, *[0] * 6, 8]])


def test_every_part_reads_its_own_measurements():
    rule = Product()
    start = rule.start(PROBLEM)
    assert isinstance(start, ProductDistribution)
    first = rule.update(PROBLEM, start, [OF_SEX])
    np.testing.assert_allclose(first.answer(SEX), [30, 10], atol=0.5)
    np.testing.assert_allclose(first.answer(AGES), first.total * np.arange(1, 17) / 16)
    both = rule.update(PROBLEM, first, [OF_SEX, OF_AGES])
    np.testing.assert_allclose(both.answer(SEX), first.answer(SEX))
    # Least squares on cells gives the cells; the last cumulative count is the model's total.
    np.testing.assert_allclose(both.answer(AGES)[:-1], [20.0] * 8 + [32.0] * 7)
    assert both.answer(AGES)[-1] == pytest.approx(both.total)


def test_whoever_counts_the_records_best_decides_their_number():
    """2 rows of deviation s say 60, 16 rows of far less noise say 40: the mean by inverse variance is 40.01."""
    rule = Product()
    found = rule.update(PROBLEM, rule.start(PROBLEM), [LOUD, OF_AGES])
    share = (2 * 100**2) ** -1 / ((2 * 100**2) ** -1 + 16**-1)
    assert found.total == pytest.approx(60 * share + 40 * (1 - share))
    np.testing.assert_allclose(found.answer(SEX).sum(), found.total)


def test_buckets_count_the_records_too():
    """No row of this strategy, and no sum of rows, counts every record once. Least squares over the buckets does."""
    buckets = BucketMatrix(Dense(np.array([[1, 0], [1, 2]])), np.repeat([0, 1], 8))
    block = QueryBlock(name="buckets", factors=(Factor(axes=(1,), sizes=(16,), matrix=buckets),))
    rule = Product()
    found = rule.update(PROBLEM, rule.start(PROBLEM), [LOUD, measured([block], [[30, 50]])])
    assert found.total == pytest.approx(40, abs=0.1)
    assert found.answer(AGES)[7] == pytest.approx(30, abs=1)


def test_a_later_workload_changes_no_part():
    """Questions that come later may join what stood apart; the hypothesis says what was measured apart."""
    rule, both = Product(), QueryBlock(name="both", factors=(*SEX.factors, *CELLS.factors))
    later = problem((2, 16), [both])
    found = rule.update(PROBLEM, rule.start(PROBLEM), [OF_SEX, OF_AGES])
    again = rule.update(later, found, [OF_SEX, OF_AGES])
    np.testing.assert_allclose(again.answer(AGES), found.answer(AGES))
    np.testing.assert_allclose(again.answer(both).reshape(2, 16).sum(axis=1), found.answer(SEX))


def test_without_a_column_apart_it_is_the_fit_of_the_model():
    alone = problem((2, 16), [SEX])
    rule = Product()
    found = rule.update(alone, rule.start(alone), [OF_SEX])
    assert type(found) is type(rule.model.start(alone))
    np.testing.assert_array_equal(found.answer(SEX), rule.model.update(alone, rule.start(alone), [OF_SEX]).answer(SEX))


@in_one_test("seed", range(8))
def test_consistent_cumulative_counts_are_never_further_from_the_truth(seed):
    generator = np.random.default_rng(seed)
    truth = generator.multinomial(200, np.full(32, 1 / 32)) * generator.integers(2, size=32)
    total = float(truth.sum())
    noisy = truth + generator.normal(0, 10, 32)
    found = nearest_probabilities(noisy, total)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0)
    before, after = (np.cumsum(one - truth)[:-1] for one in (noisy, found * total))
    assert (after**2).sum() <= (before**2).sum() * (1 + 1e-9)


def test_without_records_the_cells_are_even():
    assert nearest_probabilities(np.array([3.0, -1.0]), 0.0).tolist() == [0.5, 0.5]
    assert nearest_probabilities(np.array([-5.0]), 4.0).tolist() == [1.0]
