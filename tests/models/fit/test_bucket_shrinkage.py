"""Shrinkage of bucket counts: less error where neighbours are alike, hardly any change where they are not."""

import numpy as np
import pytest

from dpqr.models.fit.buckets import shrunk
from dpqr.workload.partition import Bisection

QUARTERS = np.repeat(np.arange(16), 4)


def noisy(truth, deviation, seed=1):
    return truth + np.random.default_rng(seed).normal(0, deviation, len(truth))


def error(found, truth):
    return float(((found - truth) ** 2).mean())


def test_counts_that_noise_alone_tells_apart_come_together() -> None:
    truth = np.full(16, 50.0)
    counts = noisy(truth, 20.0)
    found = shrunk((64,), QUARTERS, counts, np.eye(16) * 400.0)
    assert error(found, truth) < 0.5 * error(counts, truth)
    assert found.sum() == pytest.approx(counts.sum(), rel=1e-3)


def test_counts_far_apart_stay() -> None:
    truth = np.where(np.arange(16) % 3, 0.0, 5000.0)
    counts = noisy(truth, 20.0)
    found = shrunk((64,), QUARTERS, counts, np.eye(16) * 400.0)
    assert error(found, truth) < 1.05 * error(counts, truth)


def test_without_noise_nothing_changes() -> None:
    counts = np.random.default_rng(2).poisson(100, 16).astype(float)
    np.testing.assert_allclose(shrunk((64,), QUARTERS, counts, np.eye(16) * 1e-9), counts, rtol=1e-6)


@pytest.mark.parametrize("shape", [(5,), (3, 7)])
def test_boxes_that_padding_leaves_without_cells_are_minded(shape) -> None:
    buckets = np.unique(Bisection(shape).places(2), return_inverse=True)[1]
    size = buckets.max() + 1
    counts = np.bincount(buckets) * 10.0
    np.testing.assert_allclose(shrunk(shape, buckets, counts, np.eye(size) * 100.0), counts, rtol=1e-6)


def test_one_bucket_is_left_as_it_was() -> None:
    np.testing.assert_array_equal(shrunk((4,), np.zeros(4, dtype=int), np.array([7.0]), np.eye(1)), [7.0])


def test_a_negative_total_makes_no_negative_variance() -> None:
    found = shrunk((64,), QUARTERS, noisy(np.zeros(16), 20.0) - 30.0, np.eye(16) * 400.0)
    assert np.isfinite(found).all()
