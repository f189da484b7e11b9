"""Measured marginals beside a model that has no room for them."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.hypotheses.dense_distribution import DenseDistribution
from dpqr.strategies.updates.evidence import Evidence
from dpqr.strategies.updates.refinement import by_interaction, refined

SIZES = (2, 3, 4)


def told(axes, values, deviation=1.0):
    return Evidence(key=axes, axes=axes, values=np.asarray(values, dtype=np.float64), deviation=deviation)


def model(total=120.0):
    return DenseDistribution.uniform(SIZES, total)


def test_a_table_answers_what_it_holds_and_the_model_the_rest():
    pair = np.array([[40.0, 10.0, 10.0], [0.0, 30.0, 30.0]])
    found = refined(model(), [told((0, 1), pair, 0.01)])
    assert found.marginal((0, 1)) == pytest.approx(pair, abs=0.5)
    assert found.marginal((1, 0)) == pytest.approx(pair.T, abs=0.5)
    assert found.marginal((0,)) == pytest.approx([60.0, 60.0])
    assert found.marginal((1, 2)) == pytest.approx(np.full((3, 4), 10.0))
    assert found.total == 120.0


def test_a_pair_within_a_wider_table_is_its_sum():
    wide = np.zeros(SIZES)
    wide[0, 0] = wide[1, 1] = wide[1, 2] = 10.0
    wide[0, 1] = 5.0
    found = refined(model(), [told((0, 1, 2), wide, 0.01)])
    assert found.marginal((1, 0)) == pytest.approx(found.marginal((0, 1, 2)).sum(axis=2).T)


def test_rows_are_the_models():
    found = refined(model(), [told((0, 1), np.full(SIZES[:2], 20.0))])
    assert np.array_equal(found.rows(50, 3), model().rows(50, 3))
    assert np.array_equal(found.weights(), model().weights())


def test_an_empty_model_is_left_alone():
    empty = model(0.0)
    assert refined(empty, [told((0, 1), np.ones(SIZES[:2]))]) is empty


def test_what_is_far_from_independence_goes_first():
    single = told((2,), [30.0, 30.0, 30.0, 30.0])
    independent, dependent = told((0, 2), np.full((2, 4), 15.0)), told((0, 1), [[60.0, 0.0, 0.0], [0.0, 30.0, 30.0]])
    assert by_interaction([independent, dependent, single]) == [single, dependent, independent]
