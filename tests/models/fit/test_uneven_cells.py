"""Tables behind buckets: what was counted stays, and cells within a bucket are as uneven as the counts make likely."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.models.fit.buckets import BoxCounts, BucketCounts, draws_of, uneven_cells
from dpqr.workload.partition import Bisection

CELLS = 64
BUCKETS = np.repeat(np.arange(4), 16)
EVEN = np.full(CELLS, 1000.0)


def counted(counts: np.ndarray, noise: float) -> BoxCounts:
    levels = counts.size.bit_length() - 1
    return BoxCounts(
        bisection=Bisection((CELLS,)),
        counts=counts,
        variances=np.full(levels, noise**2),
        total=float(counts.sum()),
        deviation=noise,
    )


def bucket_counts(cells: np.ndarray, noise: float = 1e-3) -> BucketCounts:
    sums = np.bincount(BUCKETS, weights=cells)
    return BucketCounts(places=BUCKETS, counts=sums, covariance=noise**2 * np.eye(len(sums)))


def drawn(known: BoxCounts | None, cells: np.ndarray = EVEN, draws: int = 20, noise: float = 1e-3) -> np.ndarray:
    buckets = bucket_counts(cells, noise)
    return np.stack([uneven((CELLS,), buckets, known, seed) for seed in range(draws)])


def uneven(shape: tuple[int, ...], buckets: BucketCounts, known: BoxCounts | None, seed: int) -> np.ndarray:
    rng, draws = np.random.default_rng(seed), draws_of(shape)
    return uneven_cells(shape, buckets, known, rng.random(draws), rng.normal(size=draws))


@pytest.mark.parametrize("known", [None, counted(EVEN, 10.0), counted(EVEN.reshape(8, 8).sum(axis=1), 1e4)])
def test_whole_records_add_up_to_what_each_bucket_holds(known) -> None:
    found = drawn(known, np.repeat([0.0, 0.0, 1000.0, 7.0], 16))
    assert (found >= 0).all()
    assert (found == np.round(found)).all()
    sums = found.reshape(-1, 4, 16).sum(axis=2)
    assert (sums == [0.0, 0.0, 16_000.0, 112.0]).all()


def test_sure_counts_come_back() -> None:
    """Sampling of whole records apart, cells are where noiseless counts have seen them."""
    counts = EVEN.copy()
    counts[16:32] = np.where(np.arange(16) == 5, 16_000.0, 0.0)
    found = drawn(counted(counts, 1e-3))
    np.testing.assert_allclose(found.mean(axis=0), counts, atol=1.0)


def test_cells_are_the_more_uneven_the_less_is_known_of_them() -> None:
    sure, noisy, blind = (float(drawn(known).std()) for known in (counted(EVEN, 1.0), counted(EVEN, 500.0), None))
    assert sure < 10.0 < noisy < blind


def test_uneven_boxes_above_make_cells_below_likely_to_be_uneven() -> None:
    heaped = np.where(np.arange(16) % 2 == 0, 8000.0, 0.0)
    even = np.full(16, 4000.0)
    smooth, rough = (float(drawn(counted(counts, 10.0)).std()) for counts in (even, heaped))
    assert rough > 3 * smooth


def test_noisy_buckets_hold_what_their_noise_allows() -> None:
    cells = np.repeat([1000.0, 1100.0, 200.0, 900.0], 16)
    sums = drawn(None, cells, noise=300.0).reshape(-1, 4, 16).sum(axis=2)
    assert (sums.sum(axis=1) == 51_200.0).all()
    assert (sums.std(axis=0) > 30.0).all()
    assert (sums.std(axis=0) < 600.0).all()


def test_two_axes() -> None:
    buckets = Bisection((4, 8)).places(2)
    known = BucketCounts(places=buckets, counts=np.full(4, 800.0), covariance=1e-6 * np.eye(4))
    found = uneven((4, 8), known, None, 5)
    assert (np.bincount(buckets, weights=found.reshape(-1)) == 800.0).all()
    assert found.std() > 10.0
