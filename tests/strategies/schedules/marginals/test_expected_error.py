"""What noise leaves in a marginal, and how many records noisy one-way marginals tell of."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.strategies.schedules.marginals.errors import ExpectedError, estimated_records
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense


def test_sums_of_few_cells_count_more_for_they_hold_less_noise() -> None:
    assert estimated_records({0: np.full(2, 60.0), 1: np.full(8, 10.0)}) == pytest.approx(
        (120 / 2 + 80 / 8) / (1 / 2 + 1 / 8)
    )
    random = np.random.default_rng(1)
    sizes = (2, 40, 80)
    told = [
        {axis: 1000.0 / size + random.normal(0.0, 20.0, size) for axis, size in enumerate(sizes)} for _ in range(400)
    ]
    plain = [np.mean([values.sum() for values in counts.values()]) for counts in told]
    assert np.std([estimated_records(counts) for counts in told]) < 0.5 * np.std(plain)


def test_nothing_and_less_than_nothing_tell_of_one_record() -> None:
    assert estimated_records({}) == estimated_records({0: np.array([-5.0, 2.0])}) == 1.0


def test_little_noise_leaves_its_size_in_every_cell_and_much_leaves_all_records_astray() -> None:
    pair = QueryBlock(name="pair", factors=(Factor.identity(0, 10), Factor.identity(1, 10)))
    errors = ExpectedError.of((pair,), {0: np.full(10, 1000.0), 1: np.full(10, 1000.0)})
    assert errors.at(pair, 1.0) == pytest.approx(100 * 100 / 101, rel=0.02)
    assert errors.at(pair, 1e7) == pytest.approx(10_000, rel=0.01)


def test_a_predicate_that_ties_columns_together_is_told_from_all_of_them() -> None:
    either = np.ones((1, 6), dtype=np.int64)
    either[0, :2] = 0
    block = QueryBlock(name="or", factors=(Factor(axes=(1, 0), sizes=(2, 3), matrix=Dense(either)),))
    errors = ExpectedError.of((block,), {0: np.array([50.0, 30.0, 20.0]), 1: np.array([60.0, 40.0])})
    answer = 100 * (1 - 0.6 * 0.8)
    assert errors.at(block, 1.0) == pytest.approx(answer / (1 + answer), rel=0.02)
