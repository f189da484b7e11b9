"""Measured marginals beside a model that has no room for them."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.models.compound import RefinedDistribution
from dpqr.models.fit.evidence import LinearMeasurement
from dpqr.models.fit.local_fits import Refinement, by_interaction
from dpqr.models.hypothesis import DenseDistribution

SIZES = (2, 3, 4)
RANDOM = np.random.default_rng(3)


def observed(axes, values, deviation=1.0):
    return LinearMeasurement(key=axes, axes=axes, values=np.asarray(values, dtype=np.float64), deviation=deviation)


def refined(base, left, inside=()):
    return RefinedDistribution(model=base, tables=Refinement(left=tuple(left), inside=frozenset(inside)))


def model(total=120.0):
    return DenseDistribution.uniform(SIZES, total)


def test_a_table_answers_what_it_holds_and_the_model_the_rest():
    pair = np.array([[40.0, 10.0, 10.0], [0.0, 30.0, 30.0]])
    found = refined(model(), [observed((0, 1), pair, 0.01)])
    assert found.marginal((0, 1)) == pytest.approx(pair, abs=0.5)
    assert found.marginal((1, 0)) == pytest.approx(pair.T, abs=0.5)
    assert found.marginal((0,)) == pytest.approx([60.0, 60.0])
    assert found.marginal((1, 2)) == pytest.approx(np.full((3, 4), 10.0))
    assert found.total == 120.0
    wide = np.zeros(SIZES)
    wide[0, 0] = wide[1, 1] = wide[1, 2] = 10.0
    wide[0, 1] = 5.0
    found = refined(model(), [observed((0, 1, 2), wide, 0.01)])
    assert found.marginal((1, 0)) == pytest.approx(found.marginal((0, 1, 2)).sum(axis=2).T)


def test_a_question_shares_the_marginals_that_overlap_it():
    """Nobody measured all three columns: (0, 1) and (1, 2) together tell them, as if they were a chain."""
    first, second = np.full((2, 3), 20.0), np.zeros((3, 4))
    first[0], second[0], second[1:, 3] = (30.0, 20.0, 10.0), (10.0, 10.0, 10.0, 20.0), 35.0
    found = refined(model(), [observed((0, 1), first, 0.01), observed((1, 2), second, 0.01)])
    expected = found.marginal((0, 1))[:, :, None] * found.marginal((1, 2)) / found.marginal((1,))[:, None]
    assert found.marginal((0, 1, 2)) == pytest.approx(expected, abs=1.0)
    assert found.marginal((2, 0, 1)) == pytest.approx(found.marginal((0, 1, 2)).transpose(2, 0, 1))
    assert found.marginal((0, 2)) == pytest.approx(np.full((2, 4), 15.0)), "no marginal looks at both"


def test_what_the_model_holds_stays():
    cells = RANDOM.uniform(0.5, 2.0, SIZES)
    base = DenseDistribution(probabilities=cells / cells.sum(), total=120.0)
    found = refined(base, [observed((0, 1), RANDOM.uniform(0.0, 40.0, SIZES[:2]))], [(1, 2)])
    table = found.marginal((0, 1, 2))
    assert table.sum(axis=0) == pytest.approx(base.marginal((1, 2)), rel=0.02)
    assert np.abs(table - base.marginal((0, 1, 2))).sum() > 1.0


def test_questions_asked_together_are_answered_as_one_by_one():
    left = [
        observed((0, 1), RANDOM.uniform(0.0, 40.0, SIZES[:2])),
        observed((1, 2), RANDOM.uniform(0.0, 20.0, SIZES[1:])),
    ]
    together, alone = refined(model(), left), refined(model(), left)
    together.prefetch([(0, 1, 2), (0, 1), (1, 0, 2), (2,), ()])
    assert set(together._cache) == {(0, 1, 2), (0, 1)}
    assert together.marginal((2, 1, 0)) == pytest.approx(alone.marginal((2, 1, 0)))
    assert together.marginal((0, 1)) == pytest.approx(alone.marginal((0, 1)))


def test_what_is_far_from_independence_goes_first():
    single = observed((2,), [30.0, 30.0, 30.0, 30.0])
    independent, dependent = (
        observed((0, 2), np.full((2, 4), 15.0)),
        observed((0, 1), [[60.0, 0.0, 0.0], [0.0, 30.0, 30.0]]),
    )
    assert by_interaction([independent, dependent, single]) == [single, dependent, independent]
    empty, further = observed((1, 2), np.full((3, 4), -1.0)), observed((0, 3), [[50.0, 10.0], [10.0, 50.0]])
    together = [empty, independent, further, dependent, single]
    assert by_interaction(together) == [single, dependent, further, independent, empty]
